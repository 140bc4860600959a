// What is being recorded in this browser: the commands of its session and the streams of its devices, kept until the server has
// them. One page at a time has it.

import {forget} from "./chunks.js";
import {deviceOf} from "./device-names.js";
import {Figures, stateAfter} from "./recorder-state.js";
import {attempt, newID} from "./requests.js";
import {batchTopic, inStreams, openStream} from "./stream.js";
import {sessionTopic} from "./topics.js";

/**
 * @typedef {import("./recorder-state.js").Command} Command
 * @typedef {import("./stream.js").Item} Item
 * @typedef {"samples" | "locations"} Kind
 * @typedef {{ id: string, name: string, device: string }} Sensor `id`: the browser's for the sensor
 * @typedef {{ session: string, first?: string, commands: Command[], streams: { kind: Kind, device: string }[],
 *   sensors: Sensor[], devices: Record<string, string>, version: number }} Kept
 *   as this browser keeps it; `first`: the session that it had before the server purged that one
 */

/** Seconds between positions, and between attempts to write, while the browser's storage is full. */
const [thinned, retryAfter] = [5, 5];
/** Seconds without the finished workout, after which `end` is sent again, and until a lost session is tried again. */
const [workoutLimit, lossLimit] = [15, 5];
/** Seconds after which the topics of a finished workout are gone. */
const retention = 48 * 3600;

/** @param {string} user */
const keyOf = (user) => `pacebus.recording.${user}`;

/** @param {string} user @param {string} session of a recording that waits */
const waitingKey = (user, session = "") => `pacebus.waiting.${user}.${session}`;

/** @param {string} user @returns {Kept | undefined} what a page of this browser records */
export const keptRecording = (user) =>
  attempt(() => JSON.parse(localStorage.getItem(keyOf(user)) ?? "null")) ?? undefined;

/**
 * What an earlier page began. Browsers write `localStorage` seconds later, so what a killed one records is beside its streams.
 *
 * @param {string} user @returns {Promise<{ kept: Kept | undefined, waiting: Kept[] }>} `waiting`: the oldest first
 */
export async function savedRecordings(user) {
  /** @type {{ key: string, kept: Kept }[]} */
  const saved = await inStreams(user, (database) => new Promise((resolve, reject) => {
    const request = database.transaction("streams").objectStore("streams").getAll();
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  })).catch(() => []);
  // Without room, only one of the two has the newest commands.
  const kept = newer(saved.find(({key}) => key === recordKey)?.kept, keptRecording(user));
  const local = (attempt(() => Object.keys(localStorage)) ?? [])
                  .filter((key) => key.startsWith(waitingKey(user)))
                  .map((key) => attempt(() => JSON.parse(localStorage.getItem(key) ?? "null")));
  /** @type {Map<string, Kept>} */
  const waiting = new Map();
  for (const each of [...saved.filter(({key}) => key.startsWith(waitingPrefix)).map(({kept}) => kept), ...local])
    if (each) waiting.set(firstOf(each), /** @type {Kept} */ (newer(waiting.get(firstOf(each)), each)));
  // A page that was killed while it set a recording aside may have left it in both places.
  return {
    kept: kept && waiting.has(firstOf(kept)) ? undefined : kept,
    waiting: [...waiting.values()].sort((a, b) => a.commands[0].at - b.commands[0].at)
  };
}

/** @param {Kept} kept @returns {string} the session that names what is kept */
export const firstOf = ({session, first = session}) => first;

/** @param {Kept | undefined} a @param {Kept | undefined} b */
const newer = (a, b) => (a && b && firstOf(a) === firstOf(b) && b.version > a.version ? b : a ?? b);

/** The keys of recordings among the streams. */
const [recordKey, waitingPrefix] = ["recording", "waiting/"];

/**
 * Calls a listener when another tab begins or finishes a recording.
 *
 * @param {string} user @param {() => void} listener
 */
export const whenKeptChanges = (user, listener) => addEventListener(
  "storage", ({key, oldValue, newValue}) => key === keyOf(user) && !oldValue !== !newValue && listener());

/** Lets another tab record. */
let endTurn = () => {};

/**
 * Whether this page may record: one at a time may, and keeps the right until it ends. The page before a reload may take a moment
 * to end.
 *
 * @param {string} user @returns {Promise<boolean>}
 */
export const takeTurn = (user) => new Promise((resolve) => {
  const limit = new AbortController();
  setTimeout(() => limit.abort(), 1000);
  navigator.locks
    .request(`pacebus.recorder.${user}`, {signal: limit.signal},
      () => {
        resolve(true);
        return new Promise((end) => void (endTurn = () => end(undefined)));
      })
    .catch(() => resolve(false));
});

export class Recording {
  figures = new Figures();
  /** Whether the browser's storage is full: items are then in this page's memory alone. */
  isFull = false;
  /** Whether the browser keeps nothing, so that no item can be recorded. */
  isBlocked = false;
  /** @type {() => void} */
  onChange = () => {};
  /** @type {() => void} called when the workout is logged again, as another session */
  onSucceed = () => {};
  /** @type {Promise<void>} after which its commands are sent */
  before = Promise.resolve();
  /** Whether it has ended and was set aside, so that another one can begin. */
  isWaiting = false;
  /** @type {Map<string, Promise<import("./stream.js").Stream>>} by kind and device */
  #streams = new Map();
  /** @type {Map<string, import("./stream.js").Stream>} by kind and device */
  #opened = new Map();
  /** @type {Set<Promise<void>>} items on their way to the disk */
  #writing = new Set();
  /** @type {{ kind: Kind, device: string, item: Item }[]} for which there was no room, in their order */
  #held = [];
  #isSending = false;
  #hasLost = false;
  /** @type {Promise<void> | undefined} while the workout becomes another session */
  #succession;
  #isRemoved = false;
  #workoutTimer = 0;
  /** @type {(() => void)[]} */
  #onAnswer = [];
  #hasFreed = false;

  /** @param {import("./bus.js").Bus} bus @param {string} user @param {Kept} kept */
  constructor(bus, user, kept) {
    this.bus = bus;
    this.user = user;
    this.kept = kept;
  }

  /**
   * Begins a session.
   *
   * @param {import("./bus.js").Bus} bus @param {string} user @param {Record<string, unknown>} fields of `start`
   * @param {Promise<void>} before see `before`
   */
  static start(bus, user, fields, before) {
    const session = String(fields.session ?? newID()).toLowerCase();
    const recording =
      new Recording(bus, user, {session, commands: [], streams: [], sensors: [], devices: {}, version: 0});
    recording.before = before;
    recording.command("start", {...fields, session}, bus.serverNow());
    return recording;
  }

  /** Goes on after a reload, with the figures of the items that are kept. */
  async resume() {
    const [start] = this.commands;
    // The other workout may have ended.
    if (start.code === "session_in_progress") [start.refusal, start.code] = [undefined, undefined];
    this.#send();
    /** @type {[number, number | null][]} */
    const segments = stateAfter(undefined, this.commands, Infinity)?.segments ?? [];
    for (const {kind, device} of this.kept.streams) {
      const stream = await this.#stream(kind, device).catch(() => undefined);
      for (const item of await stream?.kept.read(0) ?? [])
        kind === "locations" ? this.figures.addFix(item, segments)
                             : this.figures.addSample(item, isWithin(item.c, segments));
    }
    if (this.hasEnd) this.#complete();
  }

  get session() { return this.kept.session; }
  get commands() { return this.kept.commands; }
  /** Whether the session takes no more items. */
  get hasEnd() { return this.commands.some(({type, refusal}) => ["end", "discard"].includes(type) && !refusal); }
  /** Items that the server does not have. */
  get waiting() {
    return [...this.#opened.values()].reduce((sum, each) => sum + each.count - each.acknowledged, this.#held.length);
  }
  get #hasSentAll() {
    const streams = [...this.#opened.values()];
    return this.#held.length === 0 && streams.every((each) => each.isFull || each.count === each.acknowledged);
  }
  get count() { return [...this.#opened.values()].reduce((sum, {count}) => sum + count, this.#held.length); }

  /**
   * The device of a sensor, the same for all of the recording.
   *
   * @param {"phone" | "strap" | "pod"} kind @param {string} [sensor] the browser's id of it
   */
  device(kind, sensor = "") {
    const key = `${kind} ${sensor}`;
    if (this.kept.devices[key]) return this.kept.devices[key];
    this.kept.devices[key] = deviceOf(this.user, kind, sensor);
    this.#store();
    return this.kept.devices[key];
  }

  /** @param {Sensor} sensor that belongs to the recording, also after a reload */
  addSensor(sensor) {
    if (this.kept.sensors.some(({id, device}) => id === sensor.id && device === sensor.device)) return;
    this.kept.sensors = [...this.kept.sensors.filter(({id}) => id !== sensor.id), sensor];
    this.#store();
  }

  // MARK: Commands

  /**
   * Keeps a command and sends it once those before it are answered.
   *
   * @param {string} type @param {Record<string, unknown> | undefined} fields @param {number} at Unix seconds of the server
   */
  command(type, fields, at) {
    this.commands.push({id: newID(), type, at, ...fields});
    this.#store();
    this.onChange();
    this.#send();
  }

  /**
   * Ends the session, with the number of items of each stream.
   *
   * @param {number} at Unix seconds of the server
   */
  async end(at) {
    await this.#settleItems();
    if (!this.hasEnd) this.command("end", {streams: this.#counts()}, at);
    this.#complete();
  }

  get refused() { return this.commands.find(({refusal, isDismissed}) => refusal !== undefined && !isDismissed); }

  /** Hides a refusal. Without a start, nothing of the session is accepted, and it stays. */
  dismiss() {
    if (this.refused) this.refused.isDismissed = true;
    this.#store();
    this.onChange();
  }

  /**
   * Starts although another workout is unfinished, which is discarded, also one that began later.
   *
   * @param {string} other session
   */
  async replaceOther(other) {
    const [start] = this.commands;
    const discard = {id: newID(), type: "discard", at: this.bus.serverNow()};
    await this.bus.ask(sessionTopic(this.user, other, "command"), discard).catch(() => {});
    Object.assign(start, {id: newID(), refusal: undefined, code: undefined});
    this.#store();
    this.onChange();
    this.#send();
  }

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    await this.before;
    for (let next = this.#next(); next; next = this.#next()) {
      const {revision, session, ...message} = next;
      const asked = this.session;
      try {
        next.revision = (await this.bus.ask(sessionTopic(this.user, this.session, "command"), message)).revision ?? 0;
      } catch (error) {
        const {code, message} = /** @type {any} */ (error);
        if (code === "session_not_found" && !this.#hasLost) await this.#sendAgain();
        else if (this.#hasLost && (code === "session_not_found" || (next.type === "start" && code === "invalid_state")))
          await this.#succeed();
        else Object.assign(next, {refusal: message, code});
      }
      if (this.#isRemoved) return;
      // The answer is of the session before.
      if (this.session !== asked) continue;
      this.#store();
      this.onChange();
      for (const listener of this.#onAnswer.splice(0)) listener();
    }
    this.#isSending = false;
  }

  /** The server does not know the session, for example after a restore: it gets all commands again. */
  async #sendAgain() {
    this.#hasLost = true;
    await new Promise((resume) => setTimeout(resume, lossLimit * 1000));
    for (const command of this.commands)
      if (command.revision !== undefined) command.revision = undefined;
  }

  /** Logs the workout again as another session: the server has purged this one. The same one follows from the same session. */
  #succeed() { return this.#succession ??= this.#logAgain().finally(() => this.#succession = undefined); }

  async #logAgain() {
    if (this.#isRemoved) return;
    const {kept, session} = this;
    const next = await idAfter(session);
    const ids = await Promise.all(this.commands.map(({id}) => idAfter(id)));
    const end = this.commands.find(({type}) => type === "end");
    for (const [index, command] of this.commands.entries())
      Object.assign(command, {id: ids[index], revision: undefined, refusal: undefined, code: undefined});
    // A session that is over already does not conflict with an unfinished one.
    Object.assign(this.commands[0], {session: next, notSynced: session, endAt: end?.at});
    [kept.first, kept.session] = [kept.first ?? session, next];
    this.#store();
    for (const [key, stream] of this.#opened)
      await stream.beginAgain(batchTopic(this.user, next, /** @type {Kind} */ (key.split("/")[0])));
    this.#hasLost = false;
    this.onSucceed();
    this.#send();
  }

  /** All commands that can be sent are answered. */
  async answered() {
    while (this.#next()) await new Promise((resolve) => this.#onAnswer.push(() => resolve(undefined)));
  }

  /** The first command without an answer. After a refused start, none is accepted. */
  #next() {
    const [start] = this.commands;
    if (start?.refusal !== undefined) return undefined;
    return this.commands.find(({revision, refusal}) => revision === undefined && refusal === undefined);
  }

  #store() {
    if (this.#isRemoved) return;
    this.kept.version++;
    attempt(() => localStorage.setItem(this.#localKey, JSON.stringify(this.kept)));
    this.#save((streams) => streams.put({key: this.#savedKey, kept: this.kept}));
  }

  get #localKey() { return this.isWaiting ? waitingKey(this.user, firstOf(this.kept)) : keyOf(this.user); }
  get #savedKey() { return this.isWaiting ? waitingPrefix + firstOf(this.kept) : recordKey; }

  /**
   * Without room, `localStorage` has the recording.
   *
   * @param {(streams: IDBObjectStore) => void} change @returns {Promise<boolean>} whether it is on the disk
   */
  #save(change) {
    return inStreams(this.user, (database) => new Promise((resolve, reject) => {
      const all = database.transaction("streams", "readwrite", {durability: "strict"});
      all.oncomplete = () => resolve(true);
      all.onabort = () => reject(all.error);
      change(all.objectStore("streams"));
    }))
      .catch(() => false);
  }

  // MARK: Items

  /** @param {Kind} kind @param {string} device */
  #stream(kind, device) {
    const key = `${kind}/${device}`;
    const found = this.#streams.get(key);
    if (found) return found;
    const opened = openStream(
      this.bus, {session: this.session, keptAs: firstOf(this.kept), kind, device, onChange: () => this.onChange()});
    this.#streams.set(key, opened);
    opened.then(
      (stream) => {
        this.isBlocked = false;
        this.#opened.set(key, stream);
      },
      () => {
        // The next item tries it again.
        this.isBlocked = true;
        this.#streams.delete(key);
      });
    if (!this.kept.streams.some((each) => each.kind === kind && each.device === device)) {
      this.kept.streams.push({kind, device});
      this.#store();
    }
    return opened;
  }

  /** @param {Kind} kind @param {string} device @param {Item} item @param {any} state of the session */
  append(kind, device, item, state) {
    if (this.hasEnd) return;
    /** @type {[number, number | null][]} */
    const segments = state?.segments ?? [];
    if (kind === "locations") this.figures.addFix(item, segments);
    else this.figures.addSample(item, isWithin(item.c, segments));
    if (this.isFull) return this.#hold({kind, device, item});
    const written = this.#write({kind, device, item}).finally(() => this.#writing.delete(written));
    this.#writing.add(written);
  }

  /** @param {{ kind: Kind, device: string, item: Item }} entry */
  async #write(entry) {
    await this.#stream(entry.kind, entry.device)
      .then((stream) => stream.append(entry.item))
      .catch(() => this.#hold(entry));
  }

  /**
   * Keeps an item in memory until there is room: of positions one in five seconds.
   *
   * @param {{ kind: Kind, device: string, item: Item }} entry
   */
  #hold(entry) {
    const last = this.#held.filter(({kind}) => kind === "locations").at(-1);
    const isNear = last && Math.abs(entry.item.c - last.item.c) < thinned;
    if (entry.kind === "samples" || !isNear) this.#held.push(entry);
    if (this.isFull) return;
    this.isFull = true;
    // Details of workouts that were looked at can be fetched again.
    if (!this.#hasFreed) attempt(() => forget(this.user));
    setTimeout(() => this.#writeHeld(), this.#hasFreed ? retryAfter * 1000 : 0);
    this.#hasFreed = true;
    this.onChange();
  }

  async #writeHeld() {
    this.isFull = false;
    for (const entry of this.#held.splice(0)) {
      if (this.isFull) this.#held.push(entry);
      else await this.#write(entry);
    }
    this.onChange();
  }

  /** All items are on the disk, or there is no room for them. */
  async #settleItems() {
    await Promise.all(this.#writing);
    if (this.#held.length > 0) await this.#writeHeld();
  }

  #counts() {
    // The server may have made a stream take another name.
    const counts = [...this.#opened].map(([key, {device, count}]) => [`${key.split("/")[0]}/${device}`, count]);
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  #complete() {
    for (const stream of this.#opened.values()) stream.complete();
  }

  // MARK: The end

  /**
   * Whether the server has everything, so that nothing has to stay in this browser.
   *
   * @param {any} state @param {any} workout
   */
  isOver(state, workout) {
    if (state?.status === "deleted") {
      // Of a phone that was off for days, the server has purged what it had.
      if (state.endReason === "expired" && state.session?.toLowerCase() === this.session) this.#succeed();
      return state.endReason !== "expired";
    }
    const [start] = this.commands;
    // The server has nothing of it.
    if (start.refusal !== undefined) return this.commands.some(({type}) => type === "discard");
    if (this.#next()) return false;
    // The server keeps a discarded workout for 48 h, with all of its items.
    if (isDropped(state)) {
      this.#complete();
      return this.#hasSentAll;
    }
    if (!this.hasEnd) return false;
    const next = workout?.next ?? {};
    if (workout) return Object.entries(this.#counts()).every(([name, count]) => (next[name] ?? 0) >= count);
    if (!this.#hasSentAll || this.bus.state !== "open") return false;
    const end = this.commands.find(({type}) => type === "end");
    // Its topics are gone.
    if (!state && end && this.bus.serverNow() - end.at > retention) return true;
    this.#askForWorkout();
    return false;
  }

  /** The engine publishes the finished workout again when it gets `end` again. */
  #askForWorkout() {
    if (this.#workoutTimer) return;
    this.#workoutTimer = setTimeout(() => {
      this.#workoutTimer = 0;
      const end = this.commands.find(({type}) => type === "end");
      if (this.#isRemoved || !end) return;
      end.revision = undefined;
      this.#send();
    }, workoutLimit * 1000);
  }

  /** Whether it can be set aside: all of it is on the disk. */
  get canWait() { return this.hasEnd && this.#held.length === 0 && !this.isBlocked; }

  /**
   * Lets another recording begin while this one waits for the server.
   *
   * @returns {Promise<boolean>} not without room
   */
  async setAside() {
    this.isWaiting = true;
    const isLocal = attempt(() => (localStorage.setItem(this.#localKey, JSON.stringify(this.kept)), true)) ?? false;
    const isSaved = await this.#save((streams) => {
      streams.put({key: this.#savedKey, kept: this.kept});
      streams.delete(recordKey);
    });
    this.isWaiting = isLocal || isSaved;
    if (this.isWaiting) attempt(() => localStorage.removeItem(keyOf(this.user)));
    return this.isWaiting;
  }

  /** Removes what this browser keeps. */
  async remove() {
    this.#isRemoved = true;
    clearTimeout(this.#workoutTimer);
    await Promise.all([...this.#opened.values()].map((stream) => stream.remove()));
    await this.#save((streams) => streams.delete(this.#savedKey));
    attempt(() => localStorage.removeItem(this.#localKey));
    if (!this.isWaiting) endTurn();
  }
}

/**
 * Whether a session takes no more items. An expired one does, and goes on with them.
 *
 * @param {any} state
 */
export const isDropped = (state) =>
  state?.status === "deleted" || (state?.status === "canceled" && state.endReason !== "expired");

/** @param {string} id @returns {Promise<string>} that of the session, or command, by which a workout is logged again */
async function idAfter(id) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`notSynced ${id}`));
  const bytes = new Uint8Array(digest).slice(0, 16);
  // A UUID of version 8, of own making.
  bytes[6] = bytes[6] & 0x0F | 0x80;
  bytes[8] = bytes[8] & 0x3F | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** @param {number} c @param {[number, number | null][]} segments */
const isWithin = (c, segments) => segments.some(([start, end]) => c >= start && c <= (end ?? Infinity));
