// A copy of users' histories in this browser: shown at once, then brought up to date by what has changed since. Without a
// database, or with one that is full or broken, it lasts as long as the page.

import {askHistory} from "./history.js";
import {changeOf, emptyCopy, isSameCursor, merge, sorted} from "./history-merge.js";
import {login, serverNow} from "./page.js";

/** @typedef {import("./history-merge.js").Copy} Copy */
/** @typedef {import("./history-merge.js").Change} Change */
/** @typedef {import("./history-merge.js").Workout} Workout */

/** Of the stored format: a copy of another one is dropped. */
const version = 1;
/** @param {string} account */
const nameOf = (account) => `pacebus.history.${account}`;

/**
 * @template Value
 * @param {IDBRequest<Value>} request @returns {Promise<Value>}
 */
const result = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {IDBTransaction} transaction @returns {Promise<void>} */
const finished = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onabort = () => reject(transaction.error);
});

/** @returns {Promise<IDBDatabase>} */
async function openDatabase() {
  const open = () => {
    const request = indexedDB.open(nameOf(login), version);
    request.onupgradeneeded = () => {
      const database = request.result;
      for (const name of [...database.objectStoreNames]) database.deleteObjectStore(name);
      database.createObjectStore("workouts");
      database.createObjectStore("users");
    };
    return result(request);
  };
  return open().catch(async (error) => {
    // Of a newer release.
    if (error?.name !== "VersionError") throw error;
    await result(indexedDB.deleteDatabase(nameOf(login)));
    return open();
  });
}

/**
 * The keys of a user's workouts.
 *
 * @param {string} user
 */
const keysOf = (user) => IDBKeyRange.bound([user], [user, []]);

export class History {
  /** @type {Copy} */
  #copy = emptyCopy();
  /** @type {IDBDatabase | undefined} */
  #database;
  /** @type {BroadcastChannel | undefined} */
  #channel;
  /** @type {Workout[] | undefined} */
  #sorted;
  /** @type {Promise<void> | undefined} */
  #updating;
  /** Called when workouts came, changed or went. */
  onChange = () => {};
  /** Whether the copy lasts only as long as the page. */
  isInMemory = false;

  /** @param {string} user */
  constructor(user) { this.user = user; }

  async open() {
    try {
      this.#database = await openDatabase();
      // Logging out in another tab deletes it, and so does a newer release.
      this.#database.onversionchange = () => this.#forgo();
      this.#database.onclose = () => this.#forgo();
      await this.#load();
    } catch {
      this.#forgo();
    }
    if ("BroadcastChannel" in globalThis) {
      this.#channel = new BroadcastChannel(`${nameOf(login)} ${this.user}`);
      this.#channel.onmessage = async () => {
        await this.#load().catch(() => this.#forgo());
        this.onChange();
      };
    }
    return this;
  }

  close() {
    this.#database?.close();
    this.#channel?.close();
    this.onChange = () => {};
  }

  #forgo() {
    this.#database?.close();
    this.#database = undefined;
    this.isInMemory = true;
  }

  async #load() {
    const database = this.#database;
    if (!database) return;
    const transaction = database.transaction(["users", "workouts"]);
    const [user, workouts] = await Promise.all([
      result(transaction.objectStore("users").get(this.user)),
      result(transaction.objectStore("workouts").getAll(keysOf(this.user)))
    ]);
    if (!user) return;
    this.#sorted = undefined;
    this.#copy = {...user, workouts: new Map(workouts.map((workout) => [workout.session, workout]))};
  }

  /** The newest first. */
  all() { return this.#sorted ??= sorted(this.#copy.workouts.values()); }

  /** When the copy was up to date, in Unix seconds; 0 if it never was. */
  get at() { return this.#copy.at; }

  /** Asks for what has changed; rejected if that is refused. Without a connection it waits for one. */
  update() { return this.#updating ??= this.#update().finally(() => this.#updating = undefined); }

  async #update() {
    for (;;) {
      const {cursor} = this.#copy;
      const change = changeOf(await askHistory(this.user, {changedAfter: cursor}));
      const isChanged = change.isReset || change.put.length + change.removed.length > 0;
      if (!await this.#store(change, cursor)) continue;
      if (isChanged || !change.more) this.onChange();
      if (isChanged) this.#channel?.postMessage("");
      if (!change.more) return;
    }
  }

  /**
   * Stores a change, unless another tab has stored one meanwhile: then the page continues from that tab's copy.
   *
   * @param {Change} change @param {any} cursor of the request @returns {Promise<boolean>}
   */
  async #store(change, cursor) {
    const database = this.#database;
    const next = merge(this.#copy, change, serverNow());
    if (database) {
      try {
        const transaction = database.transaction(["users", "workouts"], "readwrite");
        const done = finished(transaction);
        done.catch(() => {});
        const [users, workouts] = ["users", "workouts"].map((name) => transaction.objectStore(name));
        const stored = await result(users.get(this.user));
        if (!isSameCursor(stored?.cursor ?? 0, cursor)) {
          await done;
          await this.#load();
          // A database that another tab emptied has nothing to continue from.
          if (!stored) this.#copy = emptyCopy();
          return false;
        }
        if (change.isReset) workouts.delete(keysOf(this.user));
        for (const session of change.removed) workouts.delete([this.user, session]);
        for (const workout of change.put) workouts.put(workout, [this.user, workout.session]);
        users.put({cursor: next.cursor, at: next.at}, this.user);
        await done;
      } catch {
        // Full, or gone.
        this.#forgo();
      }
    }
    this.#copy = next;
    this.#sorted = undefined;
    return true;
  }
}

/**
 * The copy of a user's history as this browser has it; `update` brings it up to date.
 *
 * @param {string} user
 */
export const openHistory = (user) => new History(user).open();
