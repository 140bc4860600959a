// Questions to virtual-run that change nothing: asked again until their answer.

import {newID} from "./commands.js";

const retries = [1, 2, 5, 10, 20];
const final = [400, 401, 403, 404];

/**
 * The reply; a refused one has an `error`.
 *
 * @param {string} type @param {Record<string, unknown>} fields @param {(text: string) => void} [onSilence] called while there is no answer
 * @returns {Promise<any>}
 */
export async function ask(type, fields, onSilence = () => {}) {
  for (let attempt = 0;; attempt++) {
    let wait = retries[Math.min(attempt, retries.length - 1)];
    try {
      const response = await fetch("/virtual-runs/reads", {
        method: "POST",
        headers: {"Content-Type": "application/json"},
        body: JSON.stringify({id: newID(), type, ...fields}),
      });
      const data = await response.json().catch(() => undefined);
      if (response.status === 200) return data?.reply ?? {};
      if (final.includes(response.status))
        return {error: {message: `The server refused the question with status ${response.status}.`}};
      if (response.status === 409 && !data?.refused?.retryAfter)
        return {error: data?.refused ?? { message: "virtual-run refused the question." }};
      wait = Math.max(wait, data?.refused?.retryAfter ?? 0);
    } catch {
      // No connection: asked again.
    }
    onSilence("virtual-run does not answer. Trying again.");
    await new Promise((resume) => setTimeout(resume, wait * 1000));
  }
}
