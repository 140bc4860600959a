// Commands and requests: repeated until their reply, and if asked kept in localStorage, which tabs share.

const interval = 5;
const longestWait = 86_400;

/** The times of one request: once on each connection, then every 5 s, until its final reply. A value without a clock. */
export class RepeatedRequest {
  /** @type {number | undefined} */
  firstSentAt;
  /** The end of the wait that the last refusal asked for. A new connection does not shorten it. */
  pausedUntil = -Infinity;
  #dueAt = -Infinity;
  #isConnected = false;
  #isAnswered = false;

  /** @param {string[]} [passing] the codes of refusals that pass with time */
  constructor(passing = []) { this.passing = passing; }

  /** @param {number} [start] when the request goes out on this connection; at once without */
  connect(start = -Infinity) { [this.#isConnected, this.#dueAt] = [true, start]; }
  disconnect() { this.#isConnected = false; }

  /** When to send next: never without a connection and after the final reply. */
  get nextTurn() { return this.#isConnected && !this.#isAnswered ? Math.max(this.#dueAt, this.pausedUntil) : Infinity; }

  /** @param {number} now seconds @returns whether to send the request now; the next time is an interval later */
  takeTurn(now) {
    if (now < this.nextTurn) return false;
    this.#dueAt = now + interval;
    this.firstSentAt ??= now;
    return true;
  }

  /**
   * @param {{ code: string, retryAfter?: number } | undefined} refusal none if accepted @param {number} now
   * @param {boolean} [isLast] `false`: more replies follow, and are asked for after an interval without one
   */
  receiveReply(refusal, now, isLast = true) {
    if (typeof refusal?.retryAfter === "number") {
      this.pausedUntil = now + Math.min(Math.max(refusal.retryAfter, interval), longestWait);
      return "postponed";
    }
    if (refusal ? this.passing.includes(refusal.code) : !isLast) {
      this.#dueAt = now + interval;
      return "postponed";
    }
    this.#isAnswered = true;
    return refusal ? "refused" : "accepted";
  }
}

/** @param {number} bytes */
export const randomHex = (bytes) =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A random UUID; `crypto.randomUUID` exists over TLS and on loopback only. */
export const newID = () => randomHex(16).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5");

/** @template Value @param {() => Value} use @returns {Value | undefined} nothing if it throws */
export function attempt(use) {
  try {
    return use();
  } catch {
    return undefined;
  }
}

/**
 * @typedef {{ topic: string, message: Record<string, any> & { id: string }, passing: string[], sender: string,
 *   until: number }} Request as `localStorage` has it. `sender`: the reply address of the tab that sends it; `until`: when
 *   another one may, in Unix seconds of this browser
 * @typedef {{ request: Request, key: string, isKept: boolean, isStored: boolean, times: RepeatedRequest, timer?: any,
 *   take?: (reply: any) => boolean, waiters: [(reply: any) => void, (error: Error) => void][] }} Entry
 *   `isStored`: not if `localStorage` is full or blocked; then it lasts as long as the page
 */

/** Seconds after its turn in which only the tab that sends a request may send it. */
const grace = 5;

/** The requests of a page. One tab sends a kept request; another one takes over if that tab ends. */
export class Requests {
  #isConnected = false;
  /** @type {Map<string, Entry>} by key in `localStorage` */
  #entries = new Map();

  /** @param {import("./bus.js").Bus} bus @param {string} prefix of keys in `localStorage` */
  constructor(bus, prefix) {
    this.bus = bus;
    this.prefix = prefix;
    this.storage = /** @type {Storage} */ (attempt(() => bus.options.page.localStorage));
    bus.options.page.addEventListener("storage", ({key, newValue}) => {
      // A reply is in its event alone; of other changes the last one counts. Without a key everything was removed.
      const reply = newValue?.startsWith("{\"reply\"") ? newValue : undefined;
      for (const each of key === null ? [...this.#entries.keys()] : [key]) this.#look(each, reply);
    });
    for (const key of Object.keys(this.storage ?? {})) this.#look(key);
  }

  /** @param {unknown} id in any case: services write it in lower case */
  #key(id) { return this.prefix + String(id).toLowerCase(); }

  /**
   * @param {string} topic @param {Request["message"]} message @param {boolean} isKept @param {string[]} passing
   * @param {(reply: any) => boolean} [take] whether an accepted reply is the last one
   */
  ask(topic, message, isKept, passing, take) {
    let entry = this.#entries.get(this.#key(message.id));
    if (!entry) {
      entry = this.#add({topic, message, passing, sender: this.bus.options.client, until: 0}, isKept);
      this.#store(entry, true);
    }
    entry.take ??= take;
    const {waiters} = entry;
    /** @type {Promise<any>} */
    const answer = new Promise((...waiter) => waiters.push(waiter));
    // `onKept` has the answer too.
    if (isKept) answer.catch(() => {});
    this.#turn(entry);
    return answer;
  }

  /** @param {string} id of a request that is sent no more, by no tab */
  withdraw(id) {
    const entry = this.#entries.get(this.#key(id));
    if (entry) this.#finish(entry);
  }

  /** Replies arrive from now on. */
  connect() {
    this.#isConnected = true;
    for (const entry of [...this.#entries.values()]) {
      entry.times.connect();
      this.#wake(entry);
    }
  }

  disconnect() {
    this.#isConnected = false;
    for (const entry of this.#entries.values()) {
      entry.times.disconnect();
      this.#store(entry);
    }
  }

  /** @param {any} reply */
  receive(reply) {
    const entry = this.#entries.get(this.#key(reply?.id));
    // To a repetition, after the reply.
    if (!entry) return;
    const now = this.bus.options.now();
    const {firstSentAt} = entry.times;
    // Of the repetitions, only the first one is surely older than the reply.
    if (firstSentAt !== undefined) this.bus.clockSample(firstSentAt, now, reply.now);
    const isLast = !reply.ok || (entry.take?.(reply) ?? true);
    if (entry.times.receiveReply(reply.ok ? undefined : reply.error ?? {}, now, isLast) !== "postponed")
      return this.#finish(entry, reply);
    this.#store(entry);
    this.#turn(entry);
  }

  /** @param {Request} request @param {boolean} isKept */
  #add(request, isKept) {
    const times = new RepeatedRequest(request.passing);
    if (this.#isConnected) times.connect();
    /** @type {Entry} */
    const entry = {request, key: this.#key(request.message.id), isKept, isStored: isKept, times, waiters: []};
    this.#entries.set(entry.key, entry);
    this.bus.listen();
    if (isKept) this.bus.options.onKept(request);
    return entry;
  }

  /** @param {Entry} entry @param {any} [reply] none if it was withdrawn */
  #finish(entry, reply) {
    if (entry.isStored) {
      // Other tabs read the reply in the event, and nothing remains.
      attempt(() => reply && this.storage.setItem(entry.key, JSON.stringify({reply})));
      attempt(() => this.storage.removeItem(entry.key));
    }
    this.#end(entry, reply);
  }

  /** @param {Entry} entry @param {any} [reply] */
  #end(entry, reply) {
    this.#entries.delete(entry.key);
    this.bus.options.page.clearTimeout(entry.timer);
    const {code, message} = reply?.error ?? {message: "the request was withdrawn"};
    const error = Object.assign(new Error(message), {code});
    for (const [resolve, reject] of entry.waiters) reply?.ok ? resolve(reply) : reject(error);
    if (entry.isKept) this.bus.options.onKept(entry.request, reply);
  }

  /** @param {Entry} entry which is sent if it is this tab's turn, and waits for the next one */
  #turn(entry) {
    const {client, now, page, route, wall} = this.bus.options;
    const {request, times} = entry;
    page.clearTimeout(entry.timer);
    if (times.nextTurn === Infinity) return;
    const held = request.sender === client ? 0 : request.until - wall();
    // A longer one was written before this browser's clock stepped backwards.
    const wait = Math.max(times.nextTurn - now(), held > longestWait + grace ? 0 : held);
    if (wait > 0) return void (entry.timer = page.setTimeout(() => this.#wake(entry), Math.ceil(wait * 1000)));
    times.takeTurn(now());
    request.sender = client;
    this.#store(entry);
    (route(request.topic) ?? this.bus).publish(request.topic, {...request.message, client}, 1);
    this.#turn(entry);
  }

  /** @param {Entry} entry */
  #wake(entry) { return entry.isStored ? this.#look(entry.key) : this.#turn(entry); }

  /** @param {string} key @param {string | null | undefined} text what another tab, or an earlier page, has stored there */
  #look(key, text = attempt(() => this.storage.getItem(key))) {
    if (!key.startsWith(this.prefix)) return;
    const entry = this.#entries.get(key);
    const stored = attempt(() => JSON.parse(text ?? "null"));
    if (stored?.message) {
      if (entry) entry.request = stored;
      this.#turn(entry ?? this.#add(stored, true));
    } else if (entry?.isStored) this.#end(entry, stored?.reply);
  }

  /** @param {Entry} entry of which other tabs read when they may send it @param {boolean} [isNew] */
  #store(entry, isNew = false) {
    const {client, now, wall} = this.bus.options;
    const {request, key, times} = entry;
    if (!entry.isStored || request.sender !== client) return;
    // Without a connection, another tab waits only as long as a refusal said.
    const end = this.#isConnected ? Math.max(times.nextTurn, now()) + grace : Math.max(times.pausedUntil, now());
    request.until = wall() + end - now();
    // Another tab may have received the reply.
    if (!isNew && !attempt(() => this.storage.getItem(key))) return;
    const isStored = attempt(() => (this.storage.setItem(key, JSON.stringify(request)), true));
    if (isNew) entry.isStored = isStored ?? false;
  }
}
