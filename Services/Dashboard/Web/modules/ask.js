// Requests that change nothing: asked again until their reply, which comes with the POST or by the stream.

import { newID } from "./commands.js";

const repeatAfter = 5;

/** @param {(reply: any) => void} onReply @param {(text: string) => void} onSilence */
export function ask(onReply, onSilence) {
  /** @type {string | undefined} */
  let pending;

  /** @param {any} reply */
  function replied(reply) {
    if (reply?.id?.toLowerCase() !== pending) return;
    pending = undefined;
    onReply(reply);
  }

  /** @param {string} id @param {Record<string, unknown>} fields */
  async function send(id, fields) {
    if (pending !== id) return;
    try {
      const response = await fetch("/virtual-runs/requests", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ id, ...fields }),
      });
      const data = await response.json().catch(() => undefined);
      if (response.status === 200) return replied(data?.reply);
      if (response.status === 409) return replied({ id, error: data?.refused ?? data?.error });
      if (response.status === 400 || response.status === 401) return;
    } catch {
      // No connection: asked again.
    }
    if (pending === id) onSilence("virtual-run does not answer. Trying again.");
    setTimeout(() => send(id, fields), repeatAfter * 1000);
  }

  return {
    replied,
    /** @param {string} type @param {Record<string, unknown>} fields */
    ask(type, fields) {
      pending = newID();
      send(pending, { type, ...fields });
    },
  };
}
