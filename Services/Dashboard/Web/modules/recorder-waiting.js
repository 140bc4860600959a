// Recordings that have ended without a connection. They are sent before the next one, whose start the server would refuse.

import {Recording, firstOf, savedRecordings} from "./recording.js";
import {lockOf} from "./stream.js";
import {sessionTopic} from "./topics.js";

/**
 * Takes a lock that no other tab has.
 *
 * @param {string} name @returns {Promise<(() => void) | undefined>} gives it back
 */
const take = (name) =>
  new Promise((resolve) => void navigator.locks.request(name, {ifAvailable: true},
                (lock) => lock ? new Promise((leave) => resolve(() => leave(undefined))) : resolve(undefined)));

/** Sends what waits, in one tab at a time. */
export class Waiting {
  /** @type {() => void} */
  onChange = () => {};
  /** The sessions of which the server does not have all. */
  sessions = new Set(/** @type {string[]} */ ([]));
  /** When the oldest one began, in Unix seconds of the server. */
  since;
  /** @type {string | undefined} why the server takes one of them not yet */
  refusal;
  /** @type {Set<Recording>} those whose start the server refuses: it has nothing of them */
  refused = new Set();
  /** @type {Set<Recording>} */
  discarded = new Set();
  /** @type {Promise<void>} once the server has answered all their commands */
  answered;

  /**
   * @param {import("./bus.js").Bus} bus @param {string} user
   * @param {import("./recording.js").Kept[]} waiting the oldest first
   */
  constructor(bus, user, waiting) {
    this.bus = bus;
    this.user = user;
    this.since = waiting[0]?.commands[0].at;
    for (const {session} of waiting) this.sessions.add(session);
    this.answered = new Promise((resolve) => {
      if (waiting.length === 0) return resolve();
      navigator.locks.request(`pacebus.waiting.${user}`, () => this.#sendAll()).then(resolve);
    });
  }

  /** Whether the server takes, or has, all that waits. */
  get isOver() { return this.sessions.size === 0 || this.refusal !== undefined; }

  /** Until the commands of all are answered; items may follow. */
  async #sendAll() {
    // Another tab may have sent some meanwhile, or have their items to send.
    const {waiting} = await savedRecordings(this.user);
    const mine = new Map();
    for (const kept of waiting) {
      const leave = await take(`pacebus.sending.${this.user}.${firstOf(kept)}`);
      if (leave) mine.set(kept, leave);
    }
    this.sessions = new Set([...mine.keys()].map(({session}) => session));
    this.onChange();
    for (const [kept, leave] of mine) {
      const recording = new Recording(this.bus, this.user, kept);
      recording.isWaiting = true;
      try {
        await this.#open(recording);
        this.#finish(recording).then(leave);
        await recording.answered();
      } catch (error) {
        this.refusal ??= /** @type {Error} */ (error).message;
      }
      const {refusal} = recording.commands[0];
      if (refusal !== undefined) this.refused.add(recording);
      this.refusal ??= refusal;
      this.onChange();
    }
  }

  /** @param {Recording[]} recordings of `refused`, to remove from this browser */
  discard(recordings) {
    for (const recording of recordings) {
      this.discarded.add(recording);
      recording.onChange();
    }
  }

  /** @param {Recording} recording which is sent from now on */
  async #open(recording) {
    const {kept} = recording;
    // The page that recorded it may take a moment to end, and has its streams until then.
    for (const {kind, device} of kept.streams)
      await navigator.locks.request(lockOf(this.user, `${firstOf(kept)}/${kind}/${device}`), () => {});
    // The connection lasts although the page is hidden.
    this.bus.senders.add(recording);
    await recording.resume();
  }

  /** @param {Recording} recording @returns {Promise<void>} once the server has all of it */
  async #finish(recording) {
    let {session} = recording;
    let leave = () => {};
    await new Promise((resolve) => {
      /** @type {Record<string, any>} */
      let published = {};
      const look = () => {
        if (this.discarded.has(recording) || recording.isOver(published.state, published.workout)) resolve(undefined);
      };
      const follow = () => {
        leave();
        this.sessions.delete(session);
        [session, published] = [recording.session, {}];
        this.sessions.add(session);
        leave = this.bus.subscribe(["state", "workout"].map((name) => sessionTopic(this.user, session, name)), {
          onMessage(topic, message) {
            published[/** @type {string} */ (topic.split("/").at(-1))] = message ?? undefined;
            look();
          }
        });
      };
      recording.onChange = look;
      recording.onSucceed = follow;
      follow();
    });
    leave();
    await recording.remove();
    this.bus.senders.delete(recording);
    this.sessions.delete(session);
    this.refused.delete(recording);
    if (this.refused.size === 0 && this.discarded.has(recording)) this.refusal = undefined;
    this.onChange();
  }
}
