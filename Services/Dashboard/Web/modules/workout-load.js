// The details of a workout: kept in this browser, else from the chunks that its owners publish when they are asked.

import {ChunkCollector, kinds, load, save} from "./chunks.js";
import {busOf, login, ownsWorkouts, serverNow} from "./page.js";
import {newID} from "./requests.js";
import {sessionTopic, userTopic} from "./topics.js";

/** @typedef {import("./workout-data.js").Details} Details */

/** Milliseconds: after these there are no details. */
const patience = 15_000;
const interval = 5000;

export class DetailsLoader {
  /** @type {"none" | "waiting" | "missing" | "failed" | "there"} */
  state = "none";
  /** @type {Details | undefined} */
  details;
  /** What is being loaded, or was. */
  summaries = "";
  /** @type {{ chunks: ChunkCollector, stop: () => void } | undefined} */
  #collector;
  #requestTimer = 0;
  #patienceTimer = 0;

  /** @param {string} user @param {string} session in lower case @param {() => void} onChange */
  constructor(user, session, onChange) {
    this.user = user;
    this.session = session;
    this.onChange = onChange;
    this.bus = busOf(user);
  }

  /** Asks the owners to publish record, summaries and chunks again. */
  request() {
    requestChunks(this.user, this.session);
    clearTimeout(this.#requestTimer);
    this.#requestTimer = setTimeout(() => this.state === "waiting" && this.request(), interval);
  }

  /** Waits for an answer, but not for ever. */
  wait() {
    this.state = "waiting";
    clearTimeout(this.#patienceTimer);
    this.#patienceTimer = setTimeout(() => {
      if (this.state !== "waiting") return;
      this.state = "failed";
      clearTimeout(this.#requestTimer);
      this.#collector?.stop();
      this.#collector = undefined;
      this.summaries = "";
      this.onChange();
    }, patience);
  }

  /** @param {any} workout the record */
  async load(workout) {
    this.#collector?.stop();
    const chunks = new ChunkCollector(workout.summaries);
    const mine = {chunks, stop: () => {}};
    this.#collector = mine;
    this.summaries = JSON.stringify(workout.summaries);
    if (this.details === undefined) this.state = "waiting";
    const kept = await load(login, this.user, this.session, chunks.revision).catch(() => undefined);
    if (this.#collector !== mine) return;
    if (kept) return this.#take(kept);
    this.wait();
    let isWorking = false;
    /** @returns {Promise<void>} */
    const look = async () => {
      if (isWorking || this.#collector !== mine || !chunks.isComplete) return;
      isWorking = true;
      const {revision} = chunks;
      const made = await decode(workout, chunks.parts).catch(() => undefined);
      isWorking = false;
      if (this.#collector !== mine) return;
      // A newer summary came meanwhile.
      if (chunks.revision !== revision) return void look();
      mine.stop();
      if (!made) return;
      save(login, this.user, this.session, revision, made, serverNow()).catch(() => {});
      this.#take(made);
    };
    /** @param {string} name */
    const topic = (name) => sessionTopic(this.user, this.session, name);
    const stopChunks = this.bus.subscribe(kinds.map((kind) => topic(`${kind}/+`)), {
      onMessage(topic, message) {
        const kind = /** @type {import("./chunks.js").Kind} */ (topic.split("/")[5]);
        if (message) chunks.take(kind, message);
        look();
      },
      // A request before the broker knows who wants the answer would bring it to nobody.
      onReady: () => this.#collector === mine && this.request(),
    },
      1, false);
    const stopSummaries = this.bus.subscribe(["summary/metrics", "summary/route"].map(topic), {
      onMessage(topic, message) {
        if (message) chunks.expect(topic.endsWith("/route") ? "track" : "series", message);
        look();
      }
    });
    mine.stop = () => {
      stopChunks();
      stopSummaries();
    };
    look();
  }

  /** @param {Details} made */
  #take(made) {
    clearTimeout(this.#requestTimer);
    clearTimeout(this.#patienceTimer);
    this.details = made;
    this.state = Object.keys(made.lines).length > 0 ? "there" : "missing";
    this.onChange();
  }
}

/** @param {string} user @param {string} session in lower case */
function requestChunks(user, session) {
  const message = {id: newID(), type: "chunks"};
  if (user === login && ownsWorkouts) busOf(user).publish(sessionTopic(user, session, "request"), message, 1);
  else busOf(user).publish(userTopic(user, `viewers/${login}/request`), {...message, session}, 1);
}

/**
 * Asks the owners of a workout in progress for its items until now, until both have answered or some seconds have passed. An
 * owner without items does not answer.
 *
 * @param {string} user @param {string} session in lower case
 * @param {(parts: Record<import("./chunks.js").Kind, any[]>) => void} onParts receives the chunks that are whole, each time that others are
 */
export function loadUntilNow(user, session, onParts) {
  /** @type {Record<import("./chunks.js").Kind, any[]>} */
  const whole = {series: [], track: []};
  /** @type {Record<import("./chunks.js").Kind, any[]>} */
  const parts = {series: [], track: []};
  const stop = busOf(user).subscribe(kinds.map((kind) => sessionTopic(user, session, `${kind}/+`)), {
    onMessage(topic, chunk) {
      const kind = /** @type {import("./chunks.js").Kind} */ (topic.split("/")[5]);
      if (chunk?.revision !== 0) return;
      // Another reader's request brings them again, from the first.
      if (chunk.n === 0) parts[kind] = [];
      if (chunk.n !== parts[kind].length) return;
      parts[kind].push(chunk);
      if (chunk.of > parts[kind].length) return;
      whole[kind] = parts[kind];
      if (kinds.every((each) => whole[each].length > 0)) end();
      onParts(whole);
    },
    onReady: () => requestChunks(user, session),
  },
    1, false);
  const repetition = setInterval(() => requestChunks(user, session), interval);
  const limit = setTimeout(() => end(), patience);
  const end = () => {
    clearInterval(repetition);
    clearTimeout(limit);
    stop();
  };
}

/** @param {any} workout the record @param {Record<string, any[]>} parts @returns {Promise<Details>} */
export function decode({segments, activeDuration, distance}, parts) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./workout-data.js", import.meta.url), {type: "module"});
    worker.onmessage = ({data}) => {
      resolve(data);
      worker.terminate();
    };
    worker.onerror = (error) => {
      reject(error);
      worker.terminate();
    };
    worker.postMessage({parts, workout: {segments, activeDuration, distance}});
  });
}
