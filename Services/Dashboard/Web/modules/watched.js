// The topics of people that Home reads: their `current`, state and metrics of the session that it names, and at its end the
// record. Metrics have the position too. No DOM.

import {sessionTopic, userTopic} from "./topics.js";

/** @typedef {() => void} End ends a subscription */

export class People {
  /** @type {Map<string, { endCurrent: End, endSession: End, session?: string, isOver?: boolean }>} */
  #watched = new Map();
  /** Subscriptions whose retained messages have not come yet. */
  #unready = 0;

  /**
   * @param {Pick<import("./bus.js").Bus, "subscribe">} bus
   * @param {(name: string, event: { user: string, session?: string, payload: any }) => void} onEvent
   * @param {() => void} onReady all that the broker retains of everyone has come; again after changes
   */
  constructor(bus, onEvent, onReady) {
    this.bus = bus;
    this.onEvent = onEvent;
    this.onReady = onReady;
  }

  get isReady() { return this.#unready === 0; }

  /** @param {string[]} users whom to read from now on */
  watch(users) {
    for (const [user, {endCurrent, endSession}] of this.#watched) {
      if (users.includes(user)) continue;
      endCurrent();
      endSession();
      this.#watched.delete(user);
    }
    for (const user of users) {
      if (this.#watched.has(user)) continue;
      const endCurrent = this.#subscribe([userTopic(user, "current")], (_, payload) => this.#follow(user, payload));
      this.#watched.set(user, {endCurrent, endSession: () => {}});
    }
    if (this.isReady) this.onReady();
  }

  /** @param {string} user @param {any} current */
  #follow(user, current) {
    const watched = this.#watched.get(user);
    if (!watched) return;
    this.onEvent("current", {user, payload: current});
    const session = current.session?.toLowerCase() ?? watched.session;
    const isOver = !current.session;
    if (!session || (session === watched.session && isOver === watched.isOver)) return;
    const topics = ["state", isOver ? "workout" : "metrics"].map((name) => sessionTopic(user, session, name));
    const {endSession} = watched;
    Object.assign(watched, {session, isOver});
    watched.endSession = this.#subscribe(
      topics, (topic, payload) => { this.onEvent(topic.slice(topic.lastIndexOf("/") + 1), {user, session, payload}); });
    // Afterwards: the state stays subscribed.
    endSession();
  }

  /** @param {string[]} topics @param {(topic: string, payload: any) => void} onMessage @returns {End} */
  #subscribe(topics, onMessage) {
    let isReady = false;
    this.#unready += 1;
    const onReady = () => {
      if (isReady) return;
      isReady = true;
      this.#unready -= 1;
      if (this.isReady) this.onReady();
    };
    const end =
      this.bus.subscribe(topics, {onMessage: (topic, payload) => payload && onMessage(topic, payload), onReady});
    return () => {
      end();
      onReady();
    };
  }
}
