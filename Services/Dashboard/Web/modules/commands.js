// Presses: commands and requests of the reader, kept until their reply; refusals stay until they are dismissed.

import {attempt, newID} from "./requests.js";

/**
 * @typedef {object} Press
 * @property {string} id
 * @property {string} type
 * @property {string} key what it is about: a session, a run, or `people` for contacts
 * @property {string} topic
 * @property {number} at when it was pressed, in Unix seconds of the server
 * @property {Record<string, any>} fields the message on the bus
 * @property {string} [refusal] the service's message, until it is dismissed
 * @property {string} [code] of the refusal
 *
 * @typedef {"done" | "refused"} Outcome
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
  savePlan: "Saving…",
  deletePlan: "Deleting…",
};
const silenceAfter = 10;
/** Refusals that are kept. */
const refusalLimit = 20;

/** @param {Press} press @param {number} now Unix seconds of the server */
export const isUnanswered = (press, now) => now - press.at > silenceAfter;

/** @param {Press} press @param {number} now @param {boolean} isConnected */
export function pendingText(press, now, isConnected) {
  if (press.fields.withdraws) return "Withdrawing…";
  if (!isUnanswered(press, now)) return pendingWords[press.type] ?? "Sending…";
  return `${isConnected ? "The server does not answer" : "No connection"}. Your press is kept.`;
}

/** The presses of a user on this browser, shared by its tabs. */
export class Presses {
  /** @type {Map<string, Press>} by id, without a reply */
  #pending = new Map();
  /** @type {Press[]} if the storage is blocked */
  #refused = [];
  /** @type {((press: Press, outcome: Outcome) => void)[]} */
  #onOutcome = [];
  /** @type {(() => void)[]} */
  #onChange = [];

  /** @param {string} user @param {() => import("./bus.js").Bus} bus whose `onKept` calls `received` */
  constructor(user, bus) {
    this.name = `pacebus.refused.${user}`;
    this.bus = bus;
    this.#refused = attempt(() => JSON.parse(localStorage.getItem(this.name) ?? "[]")) ?? [];
    addEventListener("storage", ({key, newValue}) => {
      if (key !== this.name) return;
      this.#refused = JSON.parse(newValue ?? "[]");
      this.#changed();
    });
  }

  /** @param {(press: Press, outcome: Outcome) => void} listener also of presses of other tabs and pages */
  whenAnswered(listener) { this.#onOutcome.push(listener); }

  /** @param {() => void} listener */
  whenChanged(listener) { this.#onChange.push(listener); }

  #changed() {
    for (const listener of this.#onChange) listener();
  }

  /** @param {Press[]} refused */
  #keep(refused) {
    this.#refused = refused.slice(-refusalLimit);
    attempt(() => localStorage.setItem(this.name, JSON.stringify(this.#refused)));
  }

  /** All, the refused ones last. */
  get all() { return [...this.#pending.values(), ...this.#refused]; }

  /**
   * The press that is under way.
   *
   * @param {string} key
   */
  pending(key) { return [...this.#pending.values()].find((press) => press.key === key); }

  /** @param {string} key */
  refused(key) { return this.#refused.find((press) => press.key === key); }

  /**
   * Whether the press is taken. While another one is pending, for example of another tab, it is not, and its form stays.
   *
   * @param {string} topic @param {string} type @param {Record<string, unknown>} [fields] of the message on the bus
   */
  press(topic, type, fields = {}) {
    const key = keyOf(topic, fields);
    // One command at a time: a press is no item of a queue.
    if (this.pending(key)) return false;
    this.#keep(this.#refused.filter((press) => press.key !== key));
    this.bus().ask(topic, {id: newID(), type, ...fields}, {keep: true});
    return true;
  }

  /**
   * Takes back a start without an answer. The engine may have it already, so it gets a `discard`.
   *
   * @param {string} session
   */
  withdraw(session) {
    const start = this.pending(session);
    if (start?.type !== "start") return;
    this.bus().requests.withdraw(start.id);
    this.press(start.topic, "discard", {withdraws: start.id});
  }

  /** @param {string} key */
  dismiss(key) {
    this.#keep(this.#refused.filter((press) => press.key !== key));
    this.#changed();
  }

  /** Forgets what the services have not answered. */
  discard() {
    for (const id of [...this.#pending.keys()]) this.bus().requests.withdraw(id);
  }

  /** @param {import("./requests.js").Request} request @param {any} [reply] see `onKept` of the bus */
  received({topic, message}, reply) {
    const {id, type, at} = message;
    const press = {id, type, key: keyOf(topic, message), topic, at, fields: message};
    // `onKept` tells of a request when it is new and when it is over.
    if (!this.#pending.delete(id)) this.#pending.set(id, press);
    else if (reply) this.#answered(press, reply);
    this.#changed();
  }

  /** @param {Press} press @param {any} reply */
  #answered(press, {ok, error}) {
    // The engine knows no session whose start it never received.
    const isDone = ok === true || press.fields.withdraws !== undefined;
    if (!isDone) {
      const others = this.#refused.filter(({key}) => key !== press.key);
      const refusal = error?.message ?? "The server refused the press.";
      this.#keep([...others, {...press, refusal, code: error?.code}]);
    }
    for (const listener of this.#onOutcome) listener(press, isDone ? "done" : "refused");
  }
}

/** @param {string} topic @param {Record<string, any>} fields */
function keyOf(topic, fields) {
  if (topic.endsWith("/command")) return topic.split("/")[4];
  return fields.run?.toLowerCase() ?? fields.plan?.toLowerCase() ?? "people";
}
