// Sends the files of this browser's list to the importer, one after the other, and follows what becomes of each. It continues
// where an earlier page ended, in one tab at a time; the others follow. No DOM.

import {quietTime} from "./files.js";
import {FileUpload, Pace, partAt, partsOf} from "./import-upload.js";
import {ImportStore, isOver, nameOf} from "./import-store.js";
import {newID} from "./requests.js";
import {userTopic} from "./topics.js";

/**
 * @typedef {import("./import-store.js").Item} Item
 * @typedef {import("./archive-kinds.js").Found} Found
 * @typedef {"" | "connection" | "importer" | "answers"} Wait what sending waits for; `answers`: to questions
 */

/** Imports at the importer that are not over: it takes 20 of a user, and other devices import too. */
const roomLimit = 16;
/** Milliseconds between looks at what may be sent. */
const interval = 250;

/** @param {BufferSource} content */
async function hashOf(content) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class ImportJob {
  /** @type {Item[]} */
  items = [];
  /** @type {Wait} */
  wait = "";
  /** Why the importer takes no file now, in its own words. */
  limit = "";
  /** Whether another tab sends. */
  isElsewhere = false;
  /** What was sent of the file that is being sent, 0 to 1. */
  sent = 0;
  /** Why this browser could not keep or read a file. */
  failure = "";
  #isSending = false;
  /** Whether the browser has closed the storage. */
  #isClosed = false;
  /** @type {Map<string, any>} the newest status by import */
  #statuses = new Map();
  /** @type {{ item: Item, content: Uint8Array, upload: FileUpload, heardAt: number, until: number, end: () => void } | undefined} */
  #current;
  #pace = new Pace();
  /** @type {Promise<void>} the changes of the store, one after the other */
  #saved = Promise.resolve();

  /**
   * @param {import("./bus.js").Bus} bus @param {string} login @param {ImportStore} store
   * @param {{ onChange: () => void, read: (key: string) => string | null, keep: (key: string, value: string) => void }} page
   */
  constructor(bus, login, store, page) {
    this.bus = bus;
    this.login = login;
    this.store = store;
    this.page = page;
    this.channel = new BroadcastChannel(nameOf(login));
  }

  get #pausedKey() { return `${nameOf(this.login)}.paused`; }
  get #answerKey() { return `${nameOf(this.login)}.answer`; }
  get isPaused() { return this.page.read(this.#pausedKey) === "1"; }
  /** The answer to all questions: `import`, `skip`, or nothing. */
  get answerToAll() { return this.page.read(this.#answerKey) ?? ""; }
  get queued() { return this.items.filter(({status}) => status === "queued"); }
  get #maySend() { return !this.isPaused && !this.#isClosed && this.queued.length > 0; }
  get open() { return this.items.filter((item) => !isOver(item)); }

  async start() {
    this.items = await this.store.items();
    this.channel.onmessage = async () => {
      await this.#saved;
      const known = new Map(this.items.map((item) => [item.id, item]));
      this.items = (await this.store.items()).map((item) => known.get(item.id) ?? item);
      this.#changed();
    };
    this.bus.subscribe(userTopic(this.login, "imports/+"),
      {onMessage: (_, status) => status && this.#receive(status), onReady: () => this.#complete()}, 1);
    this.bus.subscribe(userTopic(this.login, "imports/+/parts/ack"), {
      onMessage: (topic, ack) => ack && this.#acknowledge(topic.split("/")[5], ack),
      onReady: () => this.#current?.upload.connected()
    },
      0, false);
    this.bus.options.page.setInterval(() => this.#look(), interval);
    this.#changed();
  }

  #changed() {
    this.page.onChange();
    if (this.#maySend) this.#send();
  }

  /** @param {Item[]} items */
  #save(items) {
    this.#saved = this.#saved.then(() => this.store.save(items)).catch(() => {});
    return this.#saved;
  }

  /**
   * Keeps files until they are sent. What is in the list and was not refused is not kept again.
   *
   * @param {Found[]} found @param {string} source @param {{ signal?: AbortSignal, onProgress?: (done: number) => void }} options
   * @returns {Promise<Item[]>} their items, also of those that were there
   */
  async add(found, source, {signal, onProgress = () => {}} = {}) {
    /** @type {Item[]} */
    const items = [];
    const known = new Map(this.items.filter(({status}) => status !== "refused").map((item) => [item.hash, item]));
    for (const [done, file] of found.entries()) {
      if (signal?.aborted) break;
      onProgress(done);
      const item = await this.#addOne(file, source, known);
      if (item) items.push(item);
      else if (this.failure) break;
    }
    this.channel.postMessage("");
    this.#changed();
    return items;
  }

  /** @param {Found} file @param {string} source @param {Map<string, Item>} known @returns {Promise<Item | undefined>} */
  async #addOne({name, title, activity, at, content}, source, known) {
    const order = (this.items.at(-1)?.order ?? 0) + 1;
    /** @type {Item} */
    const item = {id: newID(), order, name, title, activity, at, source, bytes: 0, hash: "", status: "queued"};
    /** @type {ArrayBuffer} */
    let bytes;
    try {
      bytes = await (await content()).arrayBuffer();
      [item.bytes, item.hash] = [bytes.byteLength, await hashOf(bytes)];
    } catch (error) {
      [item.status, item.reason] = ["refused", `cannot be read: ${/** @type {Error} */ (error).message}`];
      bytes = new ArrayBuffer(0);
    }
    const twin = known.get(item.hash);
    if (twin) return twin;
    if (item.status === "queued" && item.bytes === 0) [item.status, item.reason] = ["refused", "the file is empty"];
    try {
      await this.store.add(item, bytes);
    } catch (error) {
      this.failure = /** @type {Error} */ (error).name === "QuotaExceededError"
        ? "This browser has no room left for more files. Free some space on the disk, or wait until those here are imported."
        : "This browser does not keep files. Open the page outside a private window, or use the command pacebus import.";
      return undefined;
    }
    this.items.push(item);
    known.set(item.hash, item);
    this.#changed();
    return item;
  }

  pause() {
    this.page.keep(this.#pausedKey, "1");
    this.#current?.end();
    this.#changed();
  }

  resume() {
    this.page.keep(this.#pausedKey, "");
    this.#changed();
  }

  /** Removes what is not sent yet or waits, here and at the importer. */
  async cancel() {
    const gone = this.open.filter(({status}) => status !== "logging");
    this.#current?.end();
    for (const {id, status} of gone)
      if (status !== "queued" || this.#statuses.has(id)) this.#ask("cancel", id).catch(() => {});
    await this.#remove(gone);
    this.resume();
  }

  /** Removes from the list what is over. */
  clear() { return this.#remove(this.items.filter(isOver)); }

  /** @param {Item[]} gone */
  async #remove(gone) {
    await this.#saved;
    await this.store.remove(gone);
    this.items = this.items.filter((item) => !gone.includes(item));
    this.channel.postMessage("");
    this.#changed();
  }

  /**
   * Answers a question.
   *
   * @param {Item} item @param {"import" | "skip"} type @param {boolean} isForAll whether also the later ones
   */
  async answer(item, type, isForAll) {
    if (isForAll) this.page.keep(this.#answerKey, type);
    const items = isForAll ? this.items.filter(({status}) => status === "asking") : [item];
    await Promise.all(items.map(({id}) => this.#ask(type, id)));
  }

  /** Asks again about files that look like workouts that are there. */
  askAgain() {
    this.page.keep(this.#answerKey, "");
    this.#changed();
  }

  /** @param {Item} item that was refused within the last hour */
  retry(item) { return this.#ask("retry", item.id); }

  /** @param {string} type @param {string} id */
  #ask(type, id) { return this.bus.ask(userTopic(this.login, "import-request"), {type, import: id}); }

  // MARK: What the importer says

  /** @param {any} status */
  #receive(status) {
    const {import: id, revision} = status;
    if (revision < (this.#statuses.get(id)?.revision ?? 0)) return;
    this.#statuses.set(id, status);
    const item = this.items.find((each) => each.id === id);
    if (item) this.#follow(item, status);
  }

  /** @param {Item} item @param {any} status */
  #follow(item, {status, progress, sessions, reason, remarks, match}) {
    // Until all of it is there, the acknowledgements say how far it is.
    if (status === "receiving") return;
    const before = item.status;
    Object.assign(item, {status, progress, sessions, reason, remarks, match});
    if (status !== before) this.#save([item]);
    const answer = this.answerToAll;
    if (status === "asking" && before !== status && answer) this.#ask(answer, item.id).catch(() => {});
    if (this.#current?.item === item) this.#current.end();
    this.#changed();
  }

  /** All that the broker retains has come: what the importer does not know any more is sent again. */
  #complete() {
    const lost = this.open.filter(({id, status}) => status !== "queued" && !this.#statuses.has(id));
    for (const item of lost) item.status = "queued";
    if (lost.length > 0) this.#save(lost);
    this.#changed();
  }

  /** @param {string} id @param {{ n: number, error?: any }} ack */
  #acknowledge(id, {n, error}) {
    const current = this.#current;
    if (!current || current.item.id !== id) return;
    const {item, upload} = current;
    const now = this.bus.options.now();
    current.heardAt = now;
    if (error?.retryAfter) {
      current.until = now + error.retryAfter;
      this.limit = error.message;
      upload.restart();
      return this.page.onChange();
    }
    if (error) {
      [item.status, item.reason] = ["refused", error.message];
      this.#save([item]);
      return current.end();
    }
    this.limit = "";
    upload.receive(n, now);
    this.sent = upload.acknowledged / upload.of;
    if (!upload.isStored) return this.#look();
    if (item.status === "queued") item.status = "reading";
    this.#save([item]);
    current.end();
  }

  // MARK: Sending

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    await navigator.locks.request(nameOf(this.login), {ifAvailable: true}, async (lock) => {
      this.isElsewhere = !lock;
      if (!lock) return;
      // A hidden page keeps its connection meanwhile.
      this.bus.senders.add(this);
      try {
        while (this.#maySend) await this.#sendOne(this.queued[0]);
      } finally {
        this.bus.senders.delete(this);
      }
    });
    this.#isSending = false;
    this.page.onChange();
  }

  /** @param {Item} item */
  async #sendOne(item) {
    const content = await this.store.content(item.id).catch(() => null);
    if (content === null) {
      [this.#isClosed, this.failure] = [true, "The browser has closed its storage. Reload the page to continue."];
      return;
    }
    if (!content) {
      [item.status, item.reason] = ["refused", "this browser has lost the file; give it again"];
      await this.#save([item]);
      return;
    }
    const upload = new FileUpload(partsOf(content.byteLength));
    this.sent = 0;
    await new Promise((resolve) => {
      const end = () => resolve(undefined);
      const heardAt = this.bus.options.now();
      this.#current = {item, content: new Uint8Array(content), upload, heardAt, until: 0, end};
      this.#look();
    });
    this.#current = undefined;
    this.wait = "";
    this.#changed();
  }

  #look() {
    // A tab that sends may have been closed.
    if (this.isElsewhere && this.#maySend) this.#send();
    if (!this.#current) return;
    const {item, content, upload, heardAt, until} = this.#current;
    const now = this.bus.options.now();
    const isOpen = this.bus.state === "open";
    const atImporter = this.open.filter(({status}) => status !== "queued");
    /** @type {Wait} */
    let wait = "";
    if (!isOpen) wait = "connection";
    else if (atImporter.length >= roomLimit && atImporter.some(({status}) => status === "asking")) wait = "answers";
    else if (Math.min(now - Math.max(heardAt, until), this.bus.openFor) > quietTime && atImporter.length < roomLimit)
      wait = "importer";
    if (wait !== this.wait) {
      this.wait = wait;
      this.page.onChange();
    }
    if (!isOpen || now < until) return;
    if (atImporter.length >= roomLimit) {
      this.#current.heardAt = now;
      return;
    }
    while (this.#pace.isDue(now)) {
      const n = upload.take(now);
      if (n === undefined) return;
      const part = partAt(content, n, item);
      this.#pace.spend(part.x.length * 3 / 4, now);
      this.bus.publish(userTopic(this.login, `imports/${item.id}/parts`), part);
    }
  }
}
