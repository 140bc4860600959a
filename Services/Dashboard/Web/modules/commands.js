// Presses: kept in localStorage until the engine's answer, and sent again under the same id.

/**
 * @typedef {object} Press
 * @property {string} id
 * @property {string} type
 * @property {string} session
 * @property {string} path where it is posted
 * @property {number} pressedAt milliseconds of this browser's clock; only differences count
 * @property {Record<string, unknown>} fields
 * @property {string} [refusal] the engine's message, until it is dismissed
 *
 * @typedef {{ kind: "done" } | { kind: "pending" } | { kind: "refused", message: string } | { kind: "login" }
 *   | { kind: "later", seconds: number }} Answer
 */

/** @type {Record<string, string>} */
const pendingWords = {
  start: "Starting…", pause: "Pausing…", resume: "Resuming…", lap: "Lap…", end: "Ending…", discard: "Discarding…",
  recover: "Recovering…", suspend: "Saving for later…", completeSet: "Completing the set…", uncompleteSet: "Undoing…",
  skipExercise: "Skipping…", flagPain: "Noting pain…", swapExercise: "Swapping…", adjustDifficulty: "Adjusting…",
  goTo: "Changing the exercise…", setPresentationMode: "Changing the view…",
  create: "Creating the run…", accept: "Accepting…", decline: "Declining…", confirm: "Confirming…", begin: "Beginning…",
  cancel: "Canceling…", leave: "Leaving…", keepWaiting: "Waiting on…",
};
const repeatAfter = 5;
const silenceAfter = 10;
const retries = [1, 2, 5, 10, 20];

/** @param {Press} press */
const serviceOf = ({ path }) => (path.startsWith("/virtual-runs/") ? "virtual-run" : "session-engine");

/** @param {Press} press @param {number} now milliseconds */
export function pendingText(press, now) {
  if (now - press.pressedAt > silenceAfter * 1000) return `${serviceOf(press)} does not answer. Your press is kept.`;
  return pendingWords[press.type] ?? "Sending…";
}

/**
 * The body of a POST.
 *
 * @param {Press} press @param {number} now
 */
export const body = (press, now) =>
  ({ ...press.fields, id: press.id, type: press.type, age: Math.max(0, (now - press.pressedAt) / 1000) });

/** @param {number} status @param {any} data @param {number} retryAfter seconds @returns {Answer} */
export function answer(status, data, retryAfter) {
  if (status === 401) return { kind: "login" };
  if (status === 202) return { kind: "pending" };
  if (status === 429 || status >= 500) return { kind: "later", seconds: retryAfter || repeatAfter };
  if (status === 200) return { kind: "done" };
  const refused = data?.refused?.message ?? data?.refused?.error?.message ?? data?.error?.message;
  return { kind: "refused", message: refused ?? `The server refused the press with status ${status}.` };
}

/** A random UUID; `crypto.randomUUID` exists over TLS and on loopback only. */
export function newID() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const hex = Array.from(b, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The presses of a user on this browser, shared by its tabs. */
export class Presses {
  /**
   * @param {string} user
   * @param {(press: Press, outcome: Answer) => void} onOutcome
   * @param {() => void} onChange
   */
  constructor(user, onOutcome, onChange) {
    this.key = `pacebus.presses.${user}`;
    this.onOutcome = onOutcome;
    this.onChange = onChange;
    /** @type {Set<string>} */
    this.sending = new Set();
    addEventListener("storage", (event) => event.key === this.key && onChange());
    for (const press of this.all) this.#send(press, 0);
  }

  /** @returns {Press[]} */
  get all() {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {Press[]} presses */
  #store(presses) {
    localStorage.setItem(this.key, JSON.stringify(presses));
    this.onChange();
  }

  /**
   * The press that is under way.
   *
   * @param {string} session @returns {Press | undefined}
   */
  pending(session) {
    return this.all.find((press) => press.session === session && press.refusal === undefined);
  }

  /** @param {string} session @returns {Press | undefined} */
  refused(session) {
    return this.all.find((press) => press.session === session && press.refusal !== undefined);
  }

  /** @param {string} type @param {string} session @param {string} path @param {Record<string, unknown>} [fields] */
  press(type, session, path, fields = {}) {
    // One command at a time: a press is no item of a queue.
    if (this.pending(session)) return;
    const press = { id: newID(), type, session, path, pressedAt: Date.now(), fields };
    this.#store([...this.all.filter((p) => p.session !== session), press]);
    this.#send(press, 0);
  }

  /**
   * A reply that came by the stream.
   *
   * @param {any} reply
   */
  replied(reply) {
    const press = this.all.find(({ id }) => id === reply.id);
    if (!press) return;
    const isDone = reply.ok ?? reply.done ?? false;
    const message = reply.error?.message ?? reply.refused?.message ?? "The engine refused the press.";
    this.#finish(press, isDone ? { kind: "done" } : { kind: "refused", message });
  }

  /** @param {string} session */
  dismiss(session) {
    this.#store(this.all.filter((press) => press.session !== session || press.refusal === undefined));
  }

  /** @param {Press} press @param {Answer} outcome */
  #finish(press, outcome) {
    const others = this.all.filter(({ id }) => id !== press.id);
    this.#store(outcome.kind === "refused" ? [...others, { ...press, refusal: outcome.message }] : others);
    this.onOutcome(press, outcome);
  }

  /**
   * Posts until the answer is final; another tab may receive it first.
   *
   * @param {Press} press @param {number} attempt
   */
  async #send(press, attempt) {
    if (!this.all.some(({ id, refusal }) => id === press.id && refusal === undefined)) return;
    /** @type {Answer} */
    let outcome = { kind: "later", seconds: retries[Math.min(attempt, retries.length - 1)] };
    try {
      const response = await fetch(press.path, {
        method: "POST", keepalive: true, headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body(press, Date.now())),
      });
      const data = await response.json().catch(() => undefined);
      outcome = answer(response.status, data, Number(response.headers.get("Retry-After")));
    } catch {
      // No connection: the press stays and is posted again.
    }
    if (outcome.kind === "done" || outcome.kind === "refused") {
      if (this.all.some(({ id }) => id === press.id)) this.#finish(press, outcome);
      return;
    }
    if (outcome.kind === "login") return this.onOutcome(press, outcome);
    const seconds = outcome.kind === "later" ? outcome.seconds : repeatAfter;
    setTimeout(() => this.#send(press, attempt + 1), seconds * 1000);
  }
}
