// A broker, pages and a clock for tests of the bus: no network, no real time.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Runs what waits for promises. */
export const settle = async () => {
  for (let turn = 0; turn < 12; turn++) await null;
};

/** A clock and the timers of all pages. */
export class Clock {
  now = 1000;
  wall = 1_700_000_000;
  /** @type {{ id: number, page: any, due: number, every?: number, run: () => void }[]} */
  timers = [];
  #lastID = 0;

  /** @param {any} page @param {() => void} run @param {number} ms @param {boolean} repeats */
  add(page, run, ms, repeats) {
    const timer = {id: ++this.#lastID, page, due: this.now + ms / 1000, run};
    this.timers.push(repeats ? {...timer, every: ms / 1000} : timer);
    return timer.id;
  }

  /** @param {number} id */
  remove(id) { this.timers = this.timers.filter((timer) => timer.id !== id); }

  /** @param {number} time of `now`, which steps without timers */
  #set(time) {
    this.wall += time - this.now;
    this.now = time;
  }

  /** Runs timers up to a time. @param {number} time @param {boolean} [isIncluded] */
  async runTo(time, isIncluded = true) {
    await settle();
    for (;;) {
      const due = this.timers.filter((timer) => (isIncluded ? timer.due <= time : timer.due < time));
      if (due.length === 0) break;
      const timer = due.reduce((first, other) => (other.due < first.due ? other : first));
      this.#set(Math.max(timer.due, this.now));
      if (timer.every) timer.due += timer.every;
      else this.remove(timer.id);
      timer.run();
      await settle();
    }
    this.#set(time);
    await settle();
  }

  /** @param {number} seconds */
  pass(seconds) { return this.runTo(this.now + seconds); }
}

/** `localStorage` of an origin, and the events of its changes in other tabs. */
export class Origin {
  /** @type {Map<string, string>} */
  values = new Map();
  /** Characters that fit. */
  room = Infinity;
  /** @type {Set<Page>} */
  pages = new Set();
  writes = 0;

  /** @param {Page} page @param {string} key @param {string | null} newValue */
  change(page, key, newValue) {
    const used = [...this.values].reduce((sum, [k, v]) => sum + (k === key ? 0 : k.length + v.length), 0);
    if (newValue !== null && used + key.length + newValue.length > this.room)
      throw new DOMException("full", "QuotaExceededError");
    if (newValue === null ? !this.values.has(key) : this.values.get(key) === newValue) return;
    this.writes++;
    if (newValue === null) this.values.delete(key);
    else this.values.set(key, newValue);
    for (const other of this.pages)
      if (other !== page) queueMicrotask(() => other.dispatch("storage", {key, newValue}));
  }

  /** @param {Page} page */
  storage(page) {
    const methods = {
      getItem: (/** @type {string} */ key) => this.values.get(key) ?? null,
      setItem: (/** @type {string} */ key, /** @type {string} */ value) => this.change(page, key, String(value)),
      removeItem: (/** @type {string} */ key) => this.change(page, key, null)
    };
    return new Proxy(methods, {
      ownKeys: () => [...this.values.keys()],
      getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true})
    });
  }
}

/** What a window offers the bus. */
export class Page {
  /** @type {[string, (event: any) => void][]} */
  #listeners = [];
  isBlocked = false;
  /** @type {Socket[]} */
  sockets = [];
  document = {
    hidden: false,
    addEventListener: (/** @type {string} */ type, /** @type {(event: any) => void} */ listener) =>
      this.addEventListener(type, listener)
  };

  /** @param {Clock} clock @param {Origin} origin */
  constructor(clock, origin) {
    this.clock = clock;
    this.origin = origin;
    origin.pages.add(this);
  }

  get localStorage() {
    if (this.isBlocked) throw new DOMException("blocked", "SecurityError");
    return this.origin.storage(this);
  }

  /** @param {Broker} broker */
  opener(broker) {
    return (/** @type {string} */ url) => {
      const socket = broker.open(url);
      this.sockets.push(socket);
      return socket;
    };
  }

  /** @param {string} type @param {(event: any) => void} listener */
  addEventListener(type, listener) { this.#listeners.push([type, listener]); }

  /** @param {string} type @param {any} [event] */
  dispatch(type, event = {}) {
    for (const [name, listener] of this.#listeners)
      if (name === type) listener(event);
  }

  /** @param {boolean} hidden */
  hide(hidden) {
    this.document.hidden = hidden;
    this.dispatch("visibilitychange");
  }

  /** Ends as a tab that crashes, or is closed by a telephone. */
  kill() {
    this.#listeners = [];
    this.origin.pages.delete(this);
    this.clock.timers = this.clock.timers.filter(({page}) => page !== this);
    for (const socket of this.sockets) {
      socket.onopen = socket.onmessage = socket.onclose = () => {};
      socket.end(1006);
    }
  }

  /** Ends as a page that is left. */
  leave() {
    this.dispatch("pagehide");
    this.kill();
  }

  /** @param {() => void} run @param {number} ms */
  setTimeout(run, ms) { return this.clock.add(this, run, ms, false); }
  /** @param {() => void} run @param {number} ms */
  setInterval(run, ms) { return this.clock.add(this, run, ms, true); }
  /** @param {number} id */
  clearTimeout(id) { this.clock.remove(id); }
  /** @param {number} id */
  clearInterval(id) { this.clock.remove(id); }
}

/** Whether MQTT matches them; written level by level, unlike the module. @param {string} filter @param {string} topic */
export function matches(filter, topic) {
  const [levels, names] = [filter.split("/"), topic.split("/")];
  if (topic.startsWith("$") && levels[0] !== names[0]) return false;
  for (const [index, level] of levels.entries()) {
    if (level === "#") return true;
    if (index >= names.length || (level !== "+" && level !== names[index])) return false;
  }
  return levels.length === names.length;
}

/** @param {string} text */
const string = (text) => {
  const bytes = encoder.encode(text);
  return [bytes.length >> 8, bytes.length & 255, ...bytes];
};

/** @param {number} first @param {...(number | number[])} parts of the body */
export function packet(first, ...parts) {
  const body = parts.flat();
  const length = [];
  let rest = body.length;
  do {
    length.push((rest % 128) + (rest > 127 ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return [first, ...length].concat(body);
}

/** @param {string} topic @param {string} text @param {number} [id] @param {boolean} [isRetained] */
export const publication = (topic, text, id = 0, isRetained = false) => packet(
  0x30 + (id ? 2 : 0) + Number(isRetained), string(topic), id ? [id >> 8, id & 255] : [], [...encoder.encode(text)]);

/** One packet of a client. @param {Uint8Array} bytes */
export function read(bytes) {
  let [length, factor, at] = [0, 1, 1];
  for (;; at++) {
    length += (bytes[at] & 127) * factor;
    factor *= 128;
    if (bytes[at] < 128) break;
  }
  const body = bytes.slice(at + 1);
  if (body.length !== length) throw new Error(`a packet of ${body.length} bytes says ${length}`);
  let from = 0;
  const number = () => body[from++] * 256 + body[from++];
  const text = () => {
    const size = number();
    from += size;
    return decoder.decode(body.slice(from - size, from));
  };
  const first = bytes[0];
  if (first === 0x10) {
    const [name, version, flags] = [text(), body[from++], body[from++]];
    const [keepAlive, client] = [number(), text()];
    const hasAccount = (flags & 0xC0) === 0xC0;
    const account = hasAccount ? {user: text(), password: text()} : {};
    return {type: "connect", name, version, flags, keepAlive, client, ...account, rest: body.length - from};
  }
  if (first >> 4 === 3) {
    const topic = text();
    const id = first & 6 ? number() : 0;
    return {type: "publish", flags: first & 15, topic, id, text: decoder.decode(body.slice(from))};
  }
  if (first === 0x82 || first === 0xA2) {
    const id = number();
    const filters = [];
    while (from < body.length) filters.push(first === 0x82 ? [text(), body[from++]] : [text()]);
    return {type: first === 0x82 ? "subscribe" : "unsubscribe", id, filters};
  }
  if (first === 0x40) return {type: "puback", id: number()};
  if (first === 0xC0 && length === 0) return {type: "pingreq"};
  if (first === 0xE0 && length === 0) return {type: "disconnect"};
  throw new Error(`a client sends no packet ${first}`);
}

/** A broker that accepts and retains; tests change what it does. */
export class Broker {
  /** @type {Socket[]} */
  sockets = [];
  /** Whether it answers anything. */
  isUp = true;
  connack = 0;
  /** @type {Map<string, string>} */
  retained = new Map();
  /** @type {Set<string>} */
  refused = new Set();
  /** Packets that it does not answer. @type {Set<string>} */
  ignored = new Set();
  /** @type {{ at: number, topic: string, message: any, id: number, socket: Socket }[]} */
  published = [];
  /** @type {(message: any, topic: string, socket: Socket) => void} */
  onPublish = () => {};
  /** Cuts what it sends into frames. @type {(bytes: number[]) => number[][]} */
  frames = (bytes) => [bytes];

  /** @param {Clock} clock */
  constructor(clock) { this.clock = clock; }

  /** @param {string} url */
  open(url) {
    const socket = new Socket(this, url);
    this.sockets.push(socket);
    if (this.isUp) socket.accept();
    return socket;
  }

  get last() { return this.sockets[this.sockets.length - 1]; }
  get isConnected() { return this.sockets.some(({readyState, isLoggedIn}) => readyState === 1 && isLoggedIn); }

  /** Publishes as a service does. @param {string} topic @param {any} message @param {{ retain?: boolean, qos?: number }} [options] */
  publish(topic, message, {retain = false, qos = 0} = {}) {
    const text = message === undefined ? "" : typeof message === "string" ? message : JSON.stringify(message);
    if (retain && text) this.retained.set(topic, text);
    else if (retain) this.retained.delete(topic);
    for (const socket of this.sockets)
      if (socket.readyState === 1 && [...socket.filters.keys()].some((filter) => matches(filter, topic)))
        socket.deliver(publication(topic, text, qos && ++socket.lastID));
  }

  /** @param {any} request @param {any} [answer] @param {string} [user] */
  reply(request, answer = {}, user = "anna") {
    const reply = {id: request.id, ok: answer.error === undefined, now: this.clock.wall, ...answer};
    this.publish(`pacebus/v1/u/${user}/replies/${request.client}`, reply, {qos: 1});
  }

  /** Ends all connections and takes no new ones. @param {number} [code] */
  stop(code = 1006) {
    this.isUp = false;
    for (const socket of this.sockets) socket.end(code);
  }

  /** Takes connections, also those that have been waiting. */
  start() {
    this.isUp = true;
    for (const socket of this.sockets)
      if (socket.readyState === 0) socket.accept();
  }
}

/** The browser's end of a connection. */
export class Socket {
  readyState = 0;
  binaryType = "blob";
  isLoggedIn = false;
  lastID = 0;
  /** @type {any[]} packets of the client */
  received = [];
  /** @type {Map<string, number>} */
  filters = new Map();
  onopen = () => {};
  onmessage = (/** @type {any} */ _) => {};
  onclose = (/** @type {any} */ _) => {};

  /** @param {Broker} broker @param {string} url */
  constructor(broker, url) {
    this.broker = broker;
    this.url = url;
  }

  accept() {
    queueMicrotask(() => {
      if (this.readyState !== 0) return;
      this.readyState = 1;
      this.onopen();
    });
  }

  /** @param {number} code */
  end(code) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    queueMicrotask(() => this.onclose({code}));
  }

  close() { this.end(1005); }

  /** @param {number[]} bytes */
  deliver(bytes) {
    for (const frame of this.broker.frames(bytes))
      queueMicrotask(() => this.readyState === 1 && this.onmessage({data: new Uint8Array(frame).buffer}));
  }

  /** @param {string} type */
  packets(type) { return this.received.filter((each) => each.type === type); }

  /** @param {Uint8Array} bytes */
  send(bytes) {
    if (this.readyState === 0) throw new DOMException("not open", "InvalidStateError");
    if (this.readyState === 3) return;
    const {broker} = this;
    const sent = read(bytes);
    this.received.push(sent);
    if (broker.ignored.has(sent.type)) return;
    const id = [sent.id >> 8, sent.id & 255];
    if (sent.type === "connect") {
      this.isLoggedIn = broker.connack === 0;
      this.deliver(packet(0x20, 0, broker.connack));
    } else if (sent.type === "subscribe") {
      this.subscribe(sent);
    } else if (sent.type === "unsubscribe") {
      for (const [filter] of sent.filters) this.filters.delete(filter);
      this.deliver(packet(0xB0, ...id));
    } else if (sent.type === "pingreq") {
      this.deliver(packet(0xD0));
    } else if (sent.type === "publish") {
      if (sent.id) this.deliver(packet(0x40, ...id));
      const message = sent.text === "" ? undefined : JSON.parse(sent.text);
      broker.published.push({at: broker.clock.now, topic: sent.topic, message, id: sent.id, socket: this});
      broker.onPublish(message, sent.topic, this);
    }
  }

  /** As mosquitto: retained messages in the order of filters, SUBACK, and no retained one after it. @param {any} sent */
  subscribe(sent) {
    const codes = sent.filters.map(([filter, qos]) => (this.broker.refused.has(filter) ? 0x80 : qos));
    for (const [index, [filter, qos]] of sent.filters.entries()) {
      if (codes[index] === 0x80) continue;
      this.filters.set(filter, qos);
      for (const [topic, text] of this.broker.retained)
        if (matches(filter, topic)) this.deliver(publication(topic, text, 0, true));
    }
    this.deliver(packet(0x90, sent.id >> 8, sent.id & 255, ...codes));
  }
}
