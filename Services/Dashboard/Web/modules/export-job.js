// *Export everything*: asks for the files of one workout after the other and writes them into one zip file. It continues
// where an earlier page ended, in one tab at a time. No DOM.

import {folderOf, lockOf} from "./export-copy.js";
import {failureText, fetchFile, quietTime} from "./files.js";
import {when} from "./format.js";
import {openHistory} from "./history-copy.js";
import {began} from "./history-merge.js";
import {newID} from "./requests.js";
import {sessionTopic, userTopic} from "./topics.js";

/**
 * @typedef {"none" | "running" | "paused" | "done" | "elsewhere"} Phase `elsewhere`: another tab writes
 * @typedef {{ what: string, why: string }} Failure
 * @typedef {import("./files.js").Progress["wait"] | "engine"} Wait
 * @typedef {{ phase: Phase, done: number, of: number, bytes: number, now: string, wait: Wait, stopped: string,
 *   failures: Failure[], at: number }} State `done` and `of`: workouts; `now`: what it does; `stopped`: why it paused by
 *   itself; `at`: when it was complete, in Unix seconds
 */

/**
 * @typedef {{ store: Store, history: import("./history-copy.js").History, signal: AbortSignal, failures: Failure[],
 *   keys: Set<string> }} Run `keys`: of the entries to list
 */

const exported = ["fit", "json"];
/**
 * The key of an entry.
 *
 * @param {string} session @param {string} format
 */
const keyOf = (session, format) => `${session}.${format}`;
const canceled = () => Object.assign(new Error("canceled"), {code: "aborted"});
/** Failures that are listed; more of them have a reason in common. */
const failureLimit = 100;
/** Virtual runs of a request, and seconds for its answer. */
const [pageSize, runPatience] = [50, 20];

/** @type {State} */
const nothing = {
  phase: "none",
  done: 0,
  of: 0,
  bytes: 0,
  now: "",
  wait: "",
  stopped: "",
  failures: [],
  at: 0
};

/** The worker that writes. */
class Store {
  #worker = new Worker(new URL("./export-store.js", import.meta.url), {type: "module"});
  #lastID = 0;
  /** @type {Map<number, [(result: any) => void, (error: any) => void]>} */
  #calls = new Map();

  constructor() {
    this.#worker.onmessage = ({data: {id, result, error}}) => {
      const [resolve, reject] = this.#calls.get(id) ?? [];
      this.#calls.delete(id);
      error ? reject?.(Object.assign(new Error(error.message), {code: error.name})) : resolve?.(result);
    };
    this.#worker.onerror = () => {
      for (const [, reject] of this.#calls.values())
        reject(new Error("the browser ended the worker that writes the file"));
    };
  }

  /** @param {string} call @param {any} fields @returns {Promise<any>} */
  call(call, fields) {
    this.#lastID += 1;
    this.#worker.postMessage({id: this.#lastID, call, fields});
    return new Promise((...waiter) => this.#calls.set(this.#lastID, waiter));
  }

  /** Closes the file, without what is not whole. */
  end() { this.#worker.terminate(); }
}

/** @param {any} error @returns why the export pauses, and what to do */
function stopText(error) {
  if (error.code === "aborted") return "";
  if (error.code === "QuotaExceededError")
    return "This browser has no room left for the file. Free some space on the disk, then continue.";
  if (error.code === "NoModificationAllowedError") return "Another tab still closes the file. Continue in a moment.";
  return failureText(error);
}

export class ExportJob {
  /** @type {AbortController | undefined} */
  #controller;
  #isCanceled = false;
  #key = "";

  /**
   * @param {import("./bus.js").Bus} bus @param {string} login
   * @param {{ onChange: () => void, read: (key: string) => string | null, keep: (key: string, value: string) => void,
   *   forget: () => Promise<void> }} page `forget`: removes the file
   */
  constructor(bus, login, page) {
    this.bus = bus;
    this.login = login;
    this.page = page;
    this.#key = `pacebus.export.${login}`;
    /** @type {State} */
    this.state = {...nothing, ...JSON.parse(page.read(this.#key) || "{}")};
    bus.options.page.addEventListener("storage", ({key, newValue}) => key === this.#key && this.#follow(newValue));
    if (this.state.phase === "running") this.run();
  }

  /** @param {string | null} text what another tab keeps */
  #follow(text) {
    if (this.state.phase === "running") return;
    const state = {...nothing, ...JSON.parse(text || "{}")};
    this.state = {...state, phase: state.phase === "running" ? "elsewhere" : state.phase};
    this.page.onChange();
  }

  /** @param {Partial<State>} change */
  #set(change) {
    const before = this.state;
    this.state = {...before, ...change};
    const {phase, done, of, bytes, failures, stopped, at} = this.state;
    const isKept = phase !== "elsewhere" && (phase !== before.phase || done !== before.done);
    if (isKept)
      this.page.keep(
        this.#key, phase === "none" ? "" : JSON.stringify({phase, done, of, bytes, failures, stopped, at}));
    this.page.onChange();
  }

  pause() {
    this.#set({phase: "paused", now: "", wait: "", stopped: ""});
    this.#controller?.abort();
  }

  /** Ends it and removes the file. */
  async cancel() {
    this.#isCanceled = true;
    this.#controller?.abort();
    await this.page.forget();
    this.#set(nothing);
  }

  /** @param {boolean} [isNew] whether a former file is removed first */
  async run(isNew = false) {
    const controller = new AbortController();
    this.#isCanceled = false;
    const work = async (/** @type {any} */ lock) => {
      if (!lock) return this.#set({phase: "elsewhere"});
      this.#controller = controller;
      await this.#work(controller.signal, isNew);
    };
    // Logging out in another tab takes the lock.
    await navigator.locks.request(lockOf(this.login), {ifAvailable: true}, work).catch(() => controller.abort());
  }

  /** @param {AbortSignal} signal @param {boolean} isNew */
  async #work(signal, isNew) {
    /** @type {Promise<never>} */
    const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(canceled())));
    aborted.catch(() => {});
    // A hidden page keeps its connection meanwhile.
    this.bus.senders.add(this);
    const history = await openHistory(this.login);
    const store = new Store();
    try {
      const was = isNew ? nothing : this.state;
      this.#set({...was, phase: "running", failures: [], stopped: "", now: "Reading the list of workouts"});
      /** @type {Run} */
      const run = {store, history, signal, failures: [], keys: new Set()};
      await Promise.race([this.#export(run, isNew), aborted]);
    } catch (error) {
      if (!this.#isCanceled) this.#set({phase: "paused", now: "", wait: "", stopped: stopText(error)});
    } finally {
      store.end();
      history.close();
      this.bus.senders.delete(this);
    }
  }

  /**
   * A change of a run that may have ended meanwhile.
   *
   * @param {Run} run @param {Partial<State>} change
   */
  #report({signal}, change) {
    if (signal.aborted) throw canceled();
    this.#set(change);
  }

  /** @param {Run} run @param {boolean} isNew */
  async #export(run, isNew) {
    const {store, history, keys, failures} = run;
    this.#report(run, {});
    const {entries, size} = await store.call("open", {folder: folderOf(this.login), isNew});
    this.#report(run, {bytes: size});
    const late = setTimeout(() => run.signal.aborted || this.#set({wait: "engine"}), quietTime * 1000);
    await history.update().finally(() => clearTimeout(late));
    const workouts = history.all();
    /** @type {Map<string, string>} */
    const versions = new Map(entries.map((/** @type {any} */ {key, version}) => [key, version]));
    for (const [done, workout] of workouts.entries()) {
      this.#report(run, {done, of: workouts.length});
      await this.#exportWorkout(run, workout, versions);
    }
    const all = {done: workouts.length, of: workouts.length, wait: /** @type {const} */ ("")};
    this.#report(run, {...all, now: "Profile, plans and virtual runs"});
    await this.#exportRest(run);
    // A workout that was deleted meanwhile is not listed.
    await history.update();
    const left = new Set(history.all().map(({session}) => session));
    for (const {session} of workouts)
      if (!left.has(session))
        for (const format of exported) keys.delete(keyOf(session, format));
    const {size: bytes} = await store.call("finish", {keys});
    const at = this.bus.serverNow();
    this.#report(run, {...all, phase: "done", bytes, now: "", failures: failures.slice(0, failureLimit), at});
  }

  /**
   * @param {Run} run @param {import("./history-merge.js").Workout} workout
   * @param {Map<string, string>} versions of the entries, by key
   */
  async #exportWorkout(run, workout, versions) {
    const {history, signal, keys, failures} = run;
    const {session, name} = workout;
    const topic = sessionTopic(this.login, session, "request");
    for (const format of exported) {
      const key = keyOf(session, format);
      const version = String(workout.changed ?? 0);
      if (versions.has(key)) keys.add(key);
      if (versions.get(key) === version) continue;
      const what = `${name}, ${when(began(workout), workout.timeZone)}, ${format.toUpperCase()}`;
      this.#report(run, {now: what, wait: ""});
      const onProgress = (/** @type {import("./files.js").Progress} */ {wait}) => this.#report(run, {wait});
      /** @type {any} */
      let refusal;
      const file = await fetchFile(this.bus, topic, format, {signal, onProgress}).catch((error) => {
        if (!error.code || error.code === "aborted" || error.code === "no_answer") throw error;
        refusal = error;
      });
      if (!file) {
        if (refusal.code === "session_not_found" && await isGone(history, session)) return;
        failures.push({what, why: failureText(refusal)});
        continue;
      }
      // The next run asks for the rest.
      if (file.isIncomplete) failures.push({what, why: "Incomplete: data of a device is still missing."});
      const time = workout.endedAt ?? began(workout);
      await this.#add(run, {key, version: file.isIncomplete ? "" : version, name: file.name, time, blob: file.blob});
    }
  }

  /** @param {Run} run */
  async #exportRest(run) {
    /** @type {[string, () => Promise<any>][]} */
    const parts = [
      ["profile", () => this.#retained("profile")], ["plans", () => this.#retained("plans")],
      ["runs", () => this.#runs()]
    ];
    for (const [key, read] of parts) {
      const name = `${key}.json`;
      const value = await read().catch((error) => void run.failures.push({what: name, why: failureText(error)}));
      if (value === undefined) continue;
      const blob = new Blob([JSON.stringify(value, null, 2)]);
      await this.#add(run, {key, version: "", name, time: this.bus.serverNow(), blob});
    }
  }

  /** @param {Run} run @param {{ key: string, version: string, name: string, time: number, blob: Blob }} entry */
  async #add(run, entry) {
    const {size} = await run.store.call("add", entry);
    run.keys.add(entry.key);
    this.#report(run, {bytes: size});
  }

  /**
   * What the broker retains of the account.
   *
   * @param {string} name
   */
  #retained(name) {
    /** @type {any} */
    let value;
    return new Promise((resolve) => {
      const stop = this.bus.subscribe(userTopic(this.login, name), {
        onMessage: (/** @type {string} */ _, /** @type {any} */ message) => void (value = message),
        onReady() {
          stop();
          resolve(value);
        }
      });
    });
  }

  /** All virtual runs, the newest first. */
  async #runs() {
    const {now, page} = this.bus.options;
    /** @type {any[]} */
    const runs = [];
    for (;;) {
      const id = newID();
      const before = runs.at(-1)?.createdAt;
      const begun = now();
      const timer = page.setInterval(
        () => Math.min(now() - begun, this.bus.openFor) > runPatience && this.bus.requests.withdraw(id), 1000);
      const reply = await this.bus
                      .ask(userTopic(this.login, "run-request"),
                        {id, type: "runs", limit: pageSize, ...(before === undefined ? {} : {before})})
                      .catch((/** @type {any} */ error) => {
                        throw error.code ? error : new Error("virtual-run does not answer; try again later");
                      })
                      .finally(() => page.clearInterval(timer));
      runs.push(...reply.runs ?? []);
      if ((reply.runs ?? []).length < pageSize) return {runs};
    }
  }
}

/**
 * Whether a workout that the exporter does not know was deleted meanwhile.
 *
 * @param {import("./history-copy.js").History} history @param {string} session
 */
async function isGone(history, session) {
  await history.update();
  return !history.all().some((workout) => workout.session === session);
}
