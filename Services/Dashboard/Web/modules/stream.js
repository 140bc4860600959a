// A stream of numbered items of a device: each is in IndexedDB before it is sent, and stays until the finished workout has it.

import {randomHex} from "./requests.js";

/** Items and batches in flight, and items of one batch. */
const [windowItems, windowBatches, batchItems] = [1000, 20, 100];
/** Seconds until the first batch is sent again without an acknowledgement. */
const stalls = [5, 10, 20, 40, 60];

/**
 * @typedef {Record<string, any> & { c: number }} Item `c`: its time
 * @typedef {{ s: number, x: Item[], a?: 1 }} Batch
 * @typedef {{ n?: number, e?: number, now?: number, error?: string, retryAfter?: number }} Ack
 * @typedef {"nothing" | "moved" | "fellBack" | "reused" | "full"} Progress `fellBack`: the server was restored from a backup
 */

/** The sending side of a stream, by the rules of the bus. A value without a clock. */
export class ItemWindow {
  /** Whether no item follows: the last batch asks for an acknowledgement. */
  isComplete = false;
  /** When the oldest unacknowledged batch that asks for an acknowledgement was sent. */
  askedAt = /** @type {number | undefined} */ (undefined);
  /** @type {Item[]} those from `acknowledged` on */
  #items;
  /** @type {[number, number][]} the unacknowledged batches: the first begins at `acknowledged` */
  #flights = [];
  /** @type {number | undefined} the acknowledgement that last made the stream go back */
  #wentBackFor;
  /** @type {number | undefined} the owner's, of the last acknowledgement */
  #epoch;
  /** @type {{ tries: number, due: number } | undefined} */
  #stall;
  #isInDoubt = false;
  #isConnected = false;
  #hasGoneBack = false;

  /** @param {Item[]} items from number `acknowledged` on @param {number} acknowledged what the server has */
  constructor(items = [], acknowledged = 0) {
    this.#items = items;
    this.acknowledged = acknowledged;
  }

  get count() { return this.acknowledged + this.#items.length; }
  get isEmpty() { return this.#items.length === 0; }
  get #cursor() { return this.#flights.at(-1)?.[1] ?? this.acknowledged; }

  /** When `take` sends the first batch again. */
  get nextTurn() { return this.#isConnected ? this.#stall?.due ?? Infinity : Infinity; }

  /** @param {Item[]} items */
  append(items) { this.#items.push(...items); }

  /** A new connection: batches in flight may be lost. */
  connect() {
    this.#isConnected = true;
    this.#sendAgain();
    this.#wentBackFor = undefined;
  }

  disconnect() { this.#isConnected = false; }

  /**
   * Begins again at a number.
   *
   * @param {Item[]} items from there on @param {number} number
   */
  takeBack(items, number) {
    [this.#items, this.acknowledged] = [items, number];
    this.#sendAgain();
    // A late acknowledgement from before the loss is no gap.
    this.#wentBackFor = number;
  }

  #sendAgain() {
    [this.#flights, this.#stall, this.askedAt] = [[], undefined, undefined];
    [this.#isInDoubt, this.#hasGoneBack] = [false, true];
  }

  /** @param {number} now seconds @returns {Batch[]} to send now */
  take(now) {
    if (!this.#isConnected) return [];
    /** @type {Batch[]} */
    const batches = [];
    if (this.#stall && this.#stall.due <= now && this.#flights.length > 0) {
      batches.push(this.#batch(this.#flights[0], true));
      this.#stall = stalled(this.#stall.tries + 1, now);
      this.#isInDoubt = true;
    }
    while (this.#flights.length < windowBatches) {
      const start = this.#cursor;
      const end = Math.min(this.count, start + Math.min(batchItems, windowItems - (start - this.acknowledged)));
      if (start >= end) break;
      this.#flights.push([start, end]);
      const isHalfFull = 2 * (end - this.acknowledged) >= windowItems || 2 * this.#flights.length >= windowBatches;
      batches.push(this.#batch([start, end], isHalfFull || (this.isComplete && end === this.count)));
    }
    if (this.#hasGoneBack && batches.length > 0) {
      /** @type {Batch} */ (batches.at(-1)).a = 1;
      this.#hasGoneBack = false;
    }
    if (batches.some(({a}) => a)) this.askedAt ??= now;
    if (this.#flights.length > 0) this.#stall ??= stalled(1, now);
    return batches;
  }

  /** @param {Ack} ack @param {number} now @returns {Progress} */
  receive({n, e, error}, now) {
    if (error === "stream_reused") return "reused";
    if (typeof n !== "number") return "nothing";
    // The server has more than the queue: another device's items.
    if (n > this.count) return "reused";
    if (n < this.acknowledged) {
      // A newer one overtook it; only after a stall it shows a loss.
      if (!this.#isInDoubt) return "nothing";
      this.#epoch = e ?? this.#epoch;
      return "fellBack";
    }
    if (error === "too_many_items") {
      this.#forget(n);
      return "full";
    }
    this.#isInDoubt = false;
    const hasNewOwner = e !== undefined && this.#epoch !== undefined && e !== this.#epoch;
    this.#epoch = e ?? this.#epoch;
    if (hasNewOwner) this.#stall = undefined;
    const isRepeated = n === this.acknowledged;
    if (isRepeated) {
      // It answers a gap, or a repeated batch that crossed it.
      if (this.#flights.length > 0 && (hasNewOwner || this.#wentBackFor !== n)) {
        this.#goBack();
        if (this.#stall) this.#stall = stalled(this.#stall.tries, now);
      }
      return "nothing";
    }
    const hasStalled = (this.#stall?.tries ?? 1) > 1;
    this.#forget(n);
    this.askedAt = undefined;
    this.#stall = this.#flights.length > 0 ? stalled(1, now) : undefined;
    // After a stall only the first batch was repeated.
    if ((hasNewOwner || hasStalled) && this.#flights.length > 0) this.#goBack();
    return "moved";
  }

  #goBack() {
    [this.#flights, this.#wentBackFor, this.#hasGoneBack] = [[], this.acknowledged, true];
    this.askedAt = undefined;
  }

  /** @param {number} number */
  #forget(number) {
    this.#items.splice(0, number - this.acknowledged);
    this.acknowledged = number;
    this.#flights = this.#flights.filter(([, end]) => end > number);
    if (this.#flights[0]?.[0] < number) this.#flights[0] = [number, this.#flights[0][1]];
  }

  /** @param {[number, number]} range @param {boolean} asksAck @returns {Batch} */
  #batch([start, end], asksAck) {
    const x = this.#items.slice(start - this.acknowledged, end - this.acknowledged);
    return asksAck ? {a: 1, s: start, x} : {s: start, x};
  }
}

/** @param {number} tries @param {number} now */
const stalled = (tries, now) => ({tries, due: now + stalls[Math.min(tries, stalls.length) - 1]});

/**
 * What a stream keeps, in IndexedDB or in a test's memory.
 *
 * @typedef {object} Kept
 * @property {() => Promise<{ device: string, acknowledged: number, count: number, items: Item[] }>} load `items`: the
 *   unacknowledged ones
 * @property {(first: number, items: Item[]) => Promise<void>} append resolved once they are on the disk
 * @property {(change: { device: string, acknowledged: number }) => Promise<void>} save
 * @property {(first: number) => Promise<Item[]>} read those from a number on
 * @property {() => Promise<void>} remove
 */

/** Sends what is appended, over each connection of a bus, until it is acknowledged. */
export class Stream {
  #window = new ItemWindow();
  /** @type {{ item: Item, done: (error?: unknown) => void }[]} */
  #unwritten = [];
  #isWriting = false;
  #leave = () => {};
  /** @type {any} */
  #timer;
  /** Until when the server takes no more. */
  #pausedUntil = -Infinity;
  #hasEnded = false;

  /**
   * @param {import("./bus.js").Bus} bus @param {Kept} kept
   * @param {{ topic: (device: string) => string, onChange: (stream: Stream) => void }} options `topic` of the batches
   */
  constructor(bus, kept, {topic, onChange}) {
    this.bus = bus;
    this.kept = kept;
    this.topic = topic;
    this.onChange = onChange;
    /** The device's name, which changes if the server has another stream of this name. */
    this.device = "";
    /** Items on this disk. */
    this.count = 0;
    /** Whether the session takes no more items. */
    this.isFull = false;
  }

  /** Items that the server has. */
  get acknowledged() { return this.#window.acknowledged; }

  async open() {
    const {device, acknowledged, count, items} = await this.kept.load();
    [this.device, this.count] = [device, count];
    this.#window = new ItemWindow(items, acknowledged);
    this.#subscribe();
    return this;
  }

  /**
   * Keeps an item, and sends it.
   *
   * @param {Item} item @returns {Promise<void>} resolved once it is on the disk, rejected if there is no room
   */
  append(item) {
    return new Promise((resolve, reject) => {
      this.#unwritten.push({item, done: (error) => (error ? reject(error) : resolve())});
      if (!this.#isWriting) this.#write();
    });
  }

  /** No item follows. */
  complete() {
    this.#window.isComplete = true;
    this.#send();
  }

  /** Removes the items: the finished workout has them. */
  async remove() {
    this.close();
    await this.kept.remove();
  }

  /** Sends no more; what is kept stays. */
  close() {
    this.#hasEnded = true;
    this.#leave();
    this.bus.options.page.clearTimeout(this.#timer);
    this.bus.senders.delete(this);
  }

  async #write() {
    this.#isWriting = true;
    while (this.#unwritten.length > 0 && !this.#hasEnded) {
      const taken = this.#unwritten.splice(0);
      const items = taken.map(({item}) => item);
      /** @type {unknown} */
      let failure;
      await this.kept.append(this.count, items).catch((error) => void (failure = error ?? new Error("not kept")));
      if (!failure) {
        this.count += items.length;
        this.#window.append(items);
        this.#send();
      }
      for (const {done} of taken) done(failure);
    }
    this.#isWriting = false;
  }

  #subscribe() {
    this.#leave();
    this.#leave = this.bus.subscribe(`${this.topic(this.device)}/ack`, {
      onMessage: (_, ack) => void (ack && this.#receive(ack)),
      onGranted: () => {
        this.#window.connect();
        this.#send();
      }
    },
      0, false);
    this.#send();
  }

  #send() {
    const {now, page} = this.bus.options;
    page.clearTimeout(this.#timer);
    if (this.#hasEnded) return;
    // Until then the page keeps its connection, also hidden.
    this.#window.isEmpty || this.isFull ? this.bus.senders.delete(this) : this.bus.senders.add(this);
    if (this.isFull) return;
    const pause = this.#pausedUntil - now();
    if (pause <= 0)
      for (const batch of this.#window.take(now())) this.bus.publish(this.topic(this.device), batch);
    const wait = pause > 0 ? pause : this.#window.nextTurn - now();
    if (wait < Infinity) this.#timer = page.setTimeout(() => this.#send(), Math.ceil(Math.max(wait, 0) * 1000));
  }

  /** @param {Ack} ack */
  async #receive(ack) {
    const {now} = this.bus.options;
    const {askedAt} = this.#window;
    if (askedAt !== undefined && ack.now !== undefined) this.bus.clockSample(askedAt, now(), ack.now);
    const progress = this.#window.receive(ack, now());
    if (progress === "reused") return this.#rename();
    if (progress === "full") {
      this.isFull = ack.retryAfter === undefined;
      this.#pausedUntil = now() + (ack.retryAfter ?? 0);
      this.#window.connect();
    }
    if (progress === "fellBack") {
      const number = /** @type {number} */ (ack.n);
      const items = await this.kept.read(number);
      // The window gets those that are being written later.
      this.#window.takeBack(items.slice(0, this.#window.count - number), number);
    }
    if (progress !== "nothing") {
      // Lost, it is only sent again.
      this.kept.save({device: this.device, acknowledged: this.acknowledged}).catch(() => {});
      this.onChange(this);
    }
    this.#send();
  }

  /** Sends everything under another name: acknowledgements of the old one are of other items. */
  async #rename() {
    this.device = `${this.device.replace(/-[0-9a-f]{4}$/, "")}-${randomHex(2)}`;
    await this.beginAgain(this.topic);
  }

  /**
   * Sends everything from the first item on.
   *
   * @param {(device: string) => string} topic of the batches
   */
  async beginAgain(topic) {
    this.#leave();
    this.topic = topic;
    const items = (await this.kept.read(0)).slice(0, this.#window.count);
    this.#window = Object.assign(new ItemWindow(items, 0), {isComplete: this.#window.isComplete});
    await this.kept.save({device: this.device, acknowledged: 0}).catch(() => {});
    this.#subscribe();
    this.onChange(this);
  }
}

// MARK: IndexedDB

/** @template Value @param {IDBRequest<Value>} request @returns {Promise<Value>} */
const result = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @type {Map<string, Promise<IDBDatabase>>} by account */
const databases = new Map();

/** @param {string} user @returns {Promise<IDBDatabase>} */
function openStreams(user) {
  const request = indexedDB.open(`pacebus.streams.${user}`, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("streams", {keyPath: "key"});
    request.result.createObjectStore("items");
  };
  return result(request);
}

/**
 * Reads or writes what one account's streams keep. A browser may close a database under a page, as after an error of the
 * disk: then it is opened again, and the whole is done again.
 *
 * @template Value
 * @param {string} user @param {(database: IDBDatabase) => Promise<Value>} use which may happen twice @returns {Promise<Value>}
 */
export async function inStreams(user, use) {
  for (let isRepeated = false;; isRepeated = true) {
    const opened = databases.get(user) ?? openStreams(user);
    databases.set(user, opened);
    try {
      return await use(await opened);
    } catch (error) {
      const {name} = /** @type {any} */ (error) ?? {};
      // Full, it stays open.
      if (name === "QuotaExceededError") throw error;
      if (databases.get(user) === opened) databases.delete(user);
      if (isRepeated) throw error;
    }
  }
}

/** @param {string} user @param {string} key of the stream @param {string} device @returns {Kept} */
export function keptIn(user, key, device) {
  const range = (from = 0) => IDBKeyRange.bound([key, from], [key, Infinity]);
  /** @param {IDBDatabase} database @param {IDBTransactionMode} mode */
  const transaction = (database, mode) => database.transaction(["streams", "items"], mode, {durability: "strict"});
  /** @param {(transaction: IDBTransaction) => void} change @returns {Promise<void>} once it is on the disk */
  const write = (change) => inStreams(user, (database) => new Promise((resolve, reject) => {
    const all = transaction(database, "readwrite");
    all.oncomplete = () => resolve();
    all.onabort = () => reject(all.error);
    change(all);
  }));
  return {
    load: () => inStreams(user,
      async (database) => {
        const all = transaction(database, "readonly");
        const stored = await result(all.objectStore("streams").get(key)) ?? {device, acknowledged: 0};
        const last = await result(all.objectStore("items").openKeyCursor(range(), "prev"));
        const items = await result(all.objectStore("items").getAll(range(stored.acknowledged)));
        return {...stored, count: last ? /** @type {any} */ (last.key)[1] + 1 : 0, items};
      }),
    append: (first, items) => write((all) => {
      for (const [index, item] of items.entries()) all.objectStore("items").put(item, [key, first + index]);
    }),
    save: (change) => write((all) => void all.objectStore("streams").put({key, ...change})),
    read: (first) => inStreams(
      user, (database) => result(transaction(database, "readonly").objectStore("items").getAll(range(first)))),
    remove: () => write((all) => {
      all.objectStore("streams").delete(key);
      all.objectStore("items").delete(range());
    })
  };
}

/**
 * The topics of a session's batches. Here, because other people's apps load this module and those of the bus alone.
 *
 * @param {string} user @param {string} session in lower case @param {"samples" | "locations"} kind
 * @returns {(device: string) => string}
 */
export const batchTopic = (user, session, kind) => (device) =>
  `pacebus/v1/${session.slice(-2)}/${user}/${session}/${kind}/${device}`;

/**
 * The name of the lock that a page has on a stream.
 *
 * @param {string} user @param {string} key `session/kind/device`
 */
export const lockOf = (user, key) => `pacebus.stream.${user}/${key}`;

/**
 * A device's stream of a session. One page at a time has it.
 *
 * @param {import("./bus.js").Bus} bus
 * @param {{ session: string, keptAs?: string, kind: "samples" | "locations", device: string,
 *   onChange?: (stream: Stream) => void }} options `keptAs`: the session that names it in this browser
 * @returns {Promise<Stream>} rejected if another tab has it, or without IndexedDB
 */
export async function openStream(bus, {session, keptAs = session, kind, device, onChange = () => {}}) {
  const {user} = bus.options;
  const key = `${keptAs.toLowerCase()}/${kind}/${device}`;
  await new Promise((resolve, reject) => {
    // Held until the page ends.
    navigator.locks.request(lockOf(user, key), {ifAvailable: true}, (lock) => {
      if (!lock) return void reject(new Error("another tab records this"));
      resolve(undefined);
      return new Promise(() => {});
    });
  });
  const kept = keptIn(user, key, device);
  return new Stream(bus, kept, {topic: batchTopic(user, session.toLowerCase(), kind), onChange}).open();
}
