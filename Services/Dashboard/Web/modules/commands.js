// Presses: kept in localStorage until the engine's answer, and sent again under the same id.

import {serverClock} from "./stream.js";

/**
 * @typedef {object} Press
 * @property {string} id
 * @property {string} type
 * @property {string} session
 * @property {string} path where it is posted
 * @property {number} pressedAt milliseconds of this browser's clock; only differences count
 * @property {number} [at] the same by the server's clock, in seconds, if it was known
 * @property {Record<string, unknown>} fields
 * @property {string} [refusal] the engine's message, until it is dismissed
 * @property {string} [notice] why the server has not stored it
 * @property {true} [isWithdrawal] of a start
 *
 * @typedef {{ kind: "done" } | { kind: "pending" } | { kind: "refused", message: string } | { kind: "login" }
 *   | { kind: "later", seconds: number }} Answer
 */

/** @type {Record<string, string>} */
const pendingWords = {
  start: "Starting…",
  pause: "Pausing…",
  resume: "Resuming…",
  lap: "Lap…",
  end: "Ending…",
  discard: "Discarding…",
  recover: "Recovering…",
  suspend: "Saving for later…",
  completeSet: "Completing the set…",
  uncompleteSet: "Undoing…",
  skipExercise: "Skipping…",
  flagPain: "Noting pain…",
  swapExercise: "Swapping…",
  adjustDifficulty: "Adjusting…",
  goTo: "Changing the exercise…",
  setPresentationMode: "Changing the view…",
  create: "Creating the run…",
  accept: "Accepting…",
  decline: "Declining…",
  confirm: "Confirming…",
  begin: "Beginning…",
  cancel: "Canceling…",
  leave: "Leaving…",
  keepWaiting: "Waiting on…",
  invite: "Inviting…",
  remove: "Removing…",
  share: "Saving what you share…",
  addContact: "Adding…",
  removeContact: "Removing…",
  block: "Blocking…",
  unblock: "Unblocking…",
  setInvites: "Saving…",
};
const repeatAfter = 5;
const silenceAfter = 10;
/** Seconds without an answer after which a POST is repeated; the server answers within 3. */
const answerLimit = 10;
const retries = [1, 2, 5, 10, 20];
const notStored = "The server cannot store your press now. It is kept here and sent again.";

/** @param {Press} press */
const serviceOf = ({path}) => (path.startsWith("/virtual-runs/") ? "virtual-run" : "session-engine");

/** @param {Press} press @param {number} now milliseconds */
export const isUnanswered = (press, now) => press.notice !== undefined || now - press.pressedAt > silenceAfter * 1000;

/** @param {Press} press @param {number} now milliseconds */
export function pendingText(press, now) {
  if (press.notice) return press.notice;
  if (press.isWithdrawal) return "Withdrawing…";
  if (isUnanswered(press, now)) return `${serviceOf(press)} does not answer. Your press is kept.`;
  return pendingWords[press.type] ?? "Sending…";
}

/**
 * The body of a POST.
 *
 * @param {Press} press @param {number} now
 */
export const body = (press, now) =>
  ({...press.fields, id: press.id, type: press.type, at: press.at, age: Math.max(0, (now - press.pressedAt) / 1000)});

/** @param {number} status @param {any} data @param {number} retryAfter seconds @returns {Answer} */
export function answer(status, data, retryAfter) {
  if (status === 401) return {kind: "login"};
  if (status === 202) return {kind: "pending"};
  if (status === 429 || status >= 500) return {kind: "later", seconds: retryAfter || repeatAfter};
  // A proxy's own page has this status too.
  if (status === 200) return data?.done === true ? {kind: "done"} : {kind: "later", seconds: repeatAfter};
  const refused = data?.refused?.message ?? data?.refused?.error?.message ?? data?.error?.message;
  return {kind: "refused", message: refused ?? `The server refused the press with status ${status}.`};
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
    /** @type {Press[]} those that localStorage does not take, because it is full or blocked: they last as long as the page */
    this.unstored = [];
    /** Presses that this tab sends. */
    this.sent = new Set();
    addEventListener("storage", (event) => {
      if (event.key !== this.key) return;
      this.#help();
      onChange();
    });
    for (const press of this.all) this.#send(press, 0);
  }

  /** Sends other tabs' presses too, if they last: a tab may be closed or frozen, and the server drops the repeats of an id. */
  #help() {
    for (const press of this.all) {
      if (press.refusal !== undefined || this.sent.has(press.id)) continue;
      this.sent.add(press.id);
      setTimeout(() => this.#send(press, 0), repeatAfter * 1000);
    }
  }

  /** @returns {Press[]} */
  get all() {
    const unstored = new Set(this.unstored.map(({id}) => id));
    return [...this.#stored.filter(({id}) => !unstored.has(id)), ...this.unstored];
  }

  /** @returns {Press[]} */
  get #stored() {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {Press[]} presses */
  #store(presses) {
    try {
      localStorage.setItem(this.key, JSON.stringify(presses));
      this.unstored = [];
    } catch {
      const stored = new Set(this.#stored.map((press) => JSON.stringify(press)));
      this.unstored = presses.filter((press) => !stored.has(JSON.stringify(press)));
    }
    this.onChange();
  }

  /**
   * The press that is under way.
   *
   * @param {string} session @returns {Press | undefined}
   */
  pending(session) { return this.all.find((press) => press.session === session && press.refusal === undefined); }

  /** @param {string} session @returns {Press | undefined} */
  refused(session) { return this.all.find((press) => press.session === session && press.refusal !== undefined); }

  /**
   * Whether the press is taken. While another one is pending, for example of another tab, it is not, and its form stays.
   *
   * @param {string} type @param {string} session @param {string} path @param {Record<string, unknown>} [fields]
   */
  press(type, session, path, fields = {}) {
    // One command at a time: a press is no item of a queue.
    if (this.pending(session)) return false;
    this.#take({type, session, path, fields});
    return true;
  }

  /**
   * Takes back a start without answer: the server sends it no more, and a discard to the engine, which may have it already.
   *
   * @param {string} session @param {string} path of the session's commands
   */
  withdraw(session, path) {
    if (this.pending(session)?.type === "start")
      this.#take({type: "discard", session, path, fields: {}, isWithdrawal: true});
  }

  /** @param {Omit<Press, "id" | "pressedAt">} made */
  #take(made) {
    const press = {id: newID(), pressedAt: Date.now(), at: serverClock.exact, ...made};
    this.#store([...this.all.filter(({session}) => session !== press.session), press]);
    this.#send(press, 0);
  }

  /**
   * A reply that came by the stream.
   *
   * @param {any} reply
   */
  replied(reply) {
    const press = this.all.find(({id}) => id === reply.id);
    if (!press) return;
    const isDone = reply.ok ?? reply.done ?? false;
    const message = reply.error?.message ?? reply.refused?.message ?? "The engine refused the press.";
    this.#finish(press, isDone ? {kind: "done"} : {kind: "refused", message});
  }

  /** @param {string} session */
  dismiss(session) {
    this.#store(this.all.filter((press) => press.session !== session || press.refusal === undefined));
  }

  /** @param {Press} press @param {Answer} outcome */
  #finish(press, outcome) {
    // The engine knows no session whose start it never received.
    if (press.isWithdrawal) outcome = {kind: "done"};
    const others = this.all.filter(({id}) => id !== press.id);
    this.#store(outcome.kind === "refused" ? [...others, {...press, refusal: outcome.message}] : others);
    this.onOutcome(press, outcome);
  }

  /** @param {Press} press @param {string | undefined} notice */
  #note({id}, notice) {
    const presses = this.all;
    const press = presses.find((p) => p.id === id);
    if (!press || press.notice === notice) return;
    press.notice = notice;
    this.#store(presses);
  }

  /**
   * Posts until the answer is final; another tab may receive it first.
   *
   * @param {Press} press @param {number} attempt
   */
  async #send(press, attempt) {
    if (!this.all.some(({id, refusal}) => id === press.id && refusal === undefined)) return;
    this.sent.add(press.id);
    /** @type {Answer} */
    let outcome = {kind: "later", seconds: retries[Math.min(attempt, retries.length - 1)]};
    const request = new AbortController();
    const timer = setTimeout(() => request.abort(), answerLimit * 1000);
    try {
      const response = await fetch(press.path, {
        method: "POST",
        keepalive: true,
        redirect: "error",
        headers: {"Content-Type": "application/json"},
        body: JSON.stringify(body(press, Date.now())),
        signal: request.signal,
      });
      const data = await response.json().catch(() => undefined);
      outcome = answer(response.status, data, Number(response.headers.get("Retry-After")));
      this.#note(press, outcome.kind === "later" ? data?.refused?.message ?? notStored : undefined);
    } catch {
      // No connection, or a silent one: the press stays and is posted again.
    }
    clearTimeout(timer);
    const isStored = outcome.kind === "pending" && press.isWithdrawal;
    if (outcome.kind === "done" || outcome.kind === "refused" || isStored) {
      if (this.all.some(({id}) => id === press.id)) this.#finish(press, outcome);
      return;
    }
    if (outcome.kind === "login") return this.onOutcome(press, outcome);
    const seconds = outcome.kind === "later" ? outcome.seconds : repeatAfter;
    setTimeout(() => this.#send(press, attempt + 1), seconds * 1000);
  }
}
