// A page as a client of the bus: MQTT over WebSocket, subscriptions that outlast connections, requests, the server's clock.

import * as mqtt from "./mqtt.js";
import {Requests, attempt, newID, randomHex} from "./requests.js";

export {newID} from "./requests.js";

const [pingInterval, silenceLimit, hiddenLimit, keepAlive] = [10, 20, 60, 60];
/** A broker may accept a connection and close it at once: one that does not last counts as failed. */
const lasting = 10;
const delays = [1, 2, 5, 10, 20];
/** @type {Map<number, LinkEvent>} by the close codes of `/mqtt` */
const ends = new Map([[4401, "login"], [4429, "crowded"]]);
/** Packets without an answer: mosquitto drops what exceeds its own queue. */
const inFlightLimit = 1000;
const decoder = new TextDecoder();

/**
 * @typedef {"closed" | "connecting" | "open" | "waiting" | "hidden" | "refused" | "login"} Phase
 * @typedef {{ phase: Phase, since: number, heardAt: number, pingedAt: number, failures: number, until: number,
 *   hiddenSince?: number, reason?: "connections" }} Link `since`: of the phase; `until`: the end of `waiting`
 * @typedef {"start" | "accepted" | "heard" | "closed" | "refused" | "login" | "lost" | "crowded" | "hidden" | "visible"
 *   | "left" | "returned" | "tick"} LinkEvent `crowded`: lost, because there are too many connections
 */

/** @type {Link} */
export const closed = {
  phase: "closed",
  since: 0,
  heardAt: 0,
  pingedAt: 0,
  failures: 0,
  until: 0
};

/**
 * @param {Link} link @param {LinkEvent} event @param {number} now seconds of any clock that does not step
 * @param {number} jitter 0…1 @param {boolean} [holdsOpen] whether a hidden page keeps its connection
 * @returns {{ link: Link, action?: "open" | "close" | "ping" }} `open` closes what was open
 */
export function step(link, event, now, jitter, holdsOpen) {
  const {phase, hiddenSince} = link;
  const isActive = phase === "connecting" || phase === "open" || phase === "waiting";
  /** @param {Partial<Link>} [change] @param {"open" | "close" | "ping"} [action] */
  const next = (change, action) => ({link: {...link, ...change}, action});
  /** @param {Partial<Link>} [change] */
  const open = (change) => next({phase: "connecting", since: now, pingedAt: now, ...change}, "open");
  /** @param {number} failures before this one @param {Link["reason"]} [reason] */
  const wait = (failures, reason) => {
    const until = now + delays[Math.min(failures, delays.length - 1)] * (0.75 + jitter / 2);
    return next({phase: "waiting", since: now, until, failures: failures + 1, reason}, "close");
  };
  const fail = () => wait(phase === "open" && now - link.since >= lasting ? 0 : link.failures);

  if (event === "start") return isActive ? next() : open({failures: 0});
  if (event === "accepted") return next({phase: "open", since: now, reason: undefined});
  if (event === "heard") return next({heardAt: now});
  if (event === "closed" || event === "refused" || event === "login") return next({phase: event}, "close");
  if (event === "lost") return isActive ? fail() : next();
  if (event === "crowded") return wait(delays.length - 1, "connections");
  if (event === "hidden") return next({hiddenSince: hiddenSince ?? now});
  if (event === "left") return isActive ? next({phase: "hidden"}, "close") : next();
  if (event === "returned") return phase === "closed" ? next() : open({hiddenSince: undefined});
  if (event === "visible") {
    const isSilent = phase === "open" && now - link.heardAt > silenceLimit;
    const change = {hiddenSince: undefined};
    return phase === "hidden" || phase === "waiting" || isSilent ? open(change) : next(change);
  }
  if (!isActive) return next();
  if (now - (hiddenSince ?? now) >= hiddenLimit && !holdsOpen) return next({phase: "hidden"}, "close");
  if (phase === "waiting") return now >= link.until ? open() : next();
  // Timers of a hidden page may run once a minute, so only what follows a ping says whether the server is there.
  if (link.heardAt < link.pingedAt && now - link.pingedAt >= pingInterval) return fail();
  const isDue = phase === "open" && now - link.pingedAt >= pingInterval && (hiddenSince === undefined || holdsOpen);
  return isDue ? next({pingedAt: now}, "ping") : next();
}

/**
 * @typedef {object} Listener
 * @property {(topic: string, message: any) => void} onMessage `undefined`: nothing is retained any more
 * @property {() => void} [onReady] on each connection: everything retained has come
 * @property {(filter: string) => void} [onRefused] before `onReady`, which waits for no refused filter
 * @property {() => void} [onGranted] on each connection, for each filter
 * @typedef {{ listener: Listener, filters: Filter[], isReady: boolean, hasEnded: boolean }} Subscription
 * @typedef {{ name: string, qos: number, pattern?: RegExp, newest?: Map<string, any>, users: Set<Subscription>,
 *   state: "new" | "asked" | "granted" | "ready" | "refused" }} Filter
 * @typedef {{ type: string, id: number, done: (packet?: mqtt.Packet) => void }} Expected an answer of the broker; `done`
 *   without one if the connection ends before
 * @typedef {import("./requests.js").Request} Request
 */

/** `now`: seconds of a clock that does not step; `wall`: Unix seconds of this browser. */
const defaults = {
  url: "/mqtt",
  user: "",
  /** @type {string | undefined} without one, the server puts in that of the login */
  password: undefined,
  /** The address of replies; the MQTT client id is another one. */
  client: "",
  /** A reason of `closed`: too many connections. `refused`: the password changed or the account is gone. `login`: it ended. */
  onState: (/** @type {Exclude<Phase, "waiting" | "hidden">} */ _state, /** @type {Link["reason"]} */ _reason) => {},
  /** A kept request of any tab is new, or has its reply, or was withdrawn. */
  onKept: (/** @type {Request} */ _request, /** @type {any} */ _reply) => {},
  /** The connection that publishes the requests on a topic, if it is another one. */
  route: (/** @type {string} */ _topic) => /** @type {Bus | undefined} */ (undefined),
  // Older browsers take no path.
  openSocket: (/** @type {string} */ url) => new WebSocket(new URL(url, location.href.replace("http", "ws")), "mqtt"),
  now: () => performance.now() / 1000,
  wall: () => Date.now() / 1000,
  random: Math.random,
  page: globalThis
};

export class Bus {
  /**
   * Streams with unsent items: while there are any, the connection lasts although the page is hidden.
   *
   * @type {Set<object>}
   */
  senders = new Set();
  #link = closed;
  /** @type {WebSocket | undefined} */
  #socket;
  /** @type {Map<string, Filter>} */
  #filters = new Map();
  /** @type {Filter[]} those with wildcards */
  #wide = [];
  /** @type {Expected[]} */
  #expected = [];
  #lastID = 0;
  /** @type {any} */
  #timer;
  #mqttClient = `page-${randomHex(8)}`;
  /** How far the server's clock is ahead of `now` and `wall`. */
  #sample = {ahead: 0, aheadOfWall: 0, way: Infinity, at: 0};

  /** @param {Partial<typeof defaults>} options */
  constructor(options) {
    this.options = {...defaults, client: `page-${randomHex(8)}`, ...options};
    const {page, now, wall, user, url} = this.options;
    this.#sample.ahead = wall() - now();
    this.requests = new Requests(this, `pacebus.request.${user}@${url}.`);
    const look = () => this.#handle(page.document.hidden ? "hidden" : "visible");
    page.document.addEventListener("visibilitychange", look);
    page.addEventListener("online", () => page.document.hidden || look());
    page.addEventListener("pagehide", () => this.#handle("left"));
    page.addEventListener("pageshow", ({persisted}) => persisted && this.#handle("returned"));
    this.open();
  }

  get state() {
    const {phase} = this.#link;
    return phase === "waiting" || phase === "hidden" ? "closed" : phase;
  }

  /** How long the connection has been open, in seconds; 0 without one. */
  get openFor() { return this.#link.phase === "open" ? this.options.now() - this.#link.since : 0; }

  /** When the broker was last heard, by the server's clock. */
  get heardAt() { return this.serverNow() - (this.options.now() - this.#link.heardAt); }

  /** Connects, also after `close`, `refused` and `login`. */
  open() {
    this.#handle("start");
    if (this.options.page.document.hidden) this.#handle("hidden");
  }

  /** Disconnects until `open`. */
  close() { this.#handle("closed"); }

  /** The server's clock in Unix seconds: this browser's may be wrong. */
  serverNow() {
    const {now, wall} = this.options;
    const byWall = wall() + this.#sample.aheadOfWall;
    // After sleep, or a step of this browser's clock, any new sample is better.
    if (Math.abs(now() + this.#sample.ahead - byWall) > 2)
      this.#sample = {...this.#sample, ahead: byWall - now(), way: Infinity};
    return now() + this.#sample.ahead;
  }

  /** @param {number} sentAt @param {number} receivedAt by `now` @param {number} serverNow of the answer */
  clockSample(sentAt, receivedAt, serverNow) {
    const ahead = serverNow - (sentAt + receivedAt) / 2;
    const aheadOfWall = ahead + this.options.now() - this.options.wall();
    const way = receivedAt - sentAt;
    this.serverNow();
    // The shortest way counts, until drift of 0.01 % may have made it worse.
    const isBetter = way >= 0 && way <= this.#sample.way + (receivedAt - this.#sample.at) * 1e-4;
    if (isBetter && Number.isFinite(serverNow)) this.#sample = {ahead, aheadOfWall, way, at: receivedAt};
  }

  /**
   * Delivers messages until the returned function is called; at first what has come for filters in use.
   *
   * @param {string | string[]} filters @param {Listener} listener @param {number} [qos]
   * @param {boolean} [isKept] whether the newest messages are kept for later subscriptions; not for topics without number
   */
  subscribe(filters, listener, qos = 0, isKept = true) {
    /** @type {Subscription} */
    const subscription = {listener, filters: [], isReady: false, hasEnded: false};
    for (const name of new Set([filters].flat())) {
      const filter = this.#filters.get(name) ?? {
        name,
        qos,
        pattern: mqtt.pattern(name),
        newest: isKept ? new Map() : undefined,
        users: new Set(),
        state: "new"
      };
      this.#filters.set(name, filter);
      filter.users.add(subscription);
      subscription.filters.push(filter);
    }
    this.#listWide();
    // The caller has the function by then.
    queueMicrotask(() => {
      const newest = new Map(subscription.filters.flatMap(({newest}) => [...newest ?? []]));
      for (const [topic, message] of newest) this.#tell(subscription, "onMessage", topic, message);
      this.#settle(subscription);
    });
    this.#request(subscription.filters.filter(({state}) => state === "new" || state === "refused"));
    return () => {
      subscription.hasEnded = true;
      const unused = subscription.filters.filter(({users}) => users.delete(subscription) && users.size === 0);
      for (const {name} of unused) this.#filters.delete(name);
      this.#listWide();
      const known = unused.filter(({state}) => state !== "new" && state !== "refused");
      if (known.length > 0) this.#write(mqtt.unsubscribe(this.#expect("unsuback"), known));
    };
  }

  #listWide() { this.#wide = [...this.#filters.values()].filter(({pattern}) => pattern); }

  /** @param {Filter[]} filters */
  #request(filters) {
    if (this.state !== "open" || filters.length === 0) return;
    for (const filter of filters) filter.state = "asked";
    const id = this.#expect("suback", (packet) => {
      for (const [index, filter] of filters.entries()) {
        const isGranted = (packet?.codes[index] ?? 128) < 128;
        filter.state = isGranted ? "granted" : "refused";
        for (const user of filter.users) this.#tell(user, isGranted ? "onGranted" : "onRefused", filter.name);
      }
      // The broker answers it after everything that it retains for them.
      this.#ping(() => {
        for (const filter of filters) {
          if (filter.state === "granted") filter.state = "ready";
          for (const user of filter.users) this.#settle(user);
        }
      });
    });
    this.#write(mqtt.subscribe(id, filters));
  }

  /** @param {Subscription} subscription that may be ready now */
  #settle(subscription) {
    const isReady = subscription.filters.every(({state}) => state === "ready" || state === "refused");
    if (isReady && !subscription.isReady) this.#tell(subscription, "onReady");
    subscription.isReady = isReady;
  }

  /** @param {Subscription} subscription @param {keyof Listener} event @param {...any} values */
  #tell({listener, hasEnded}, event, ...values) {
    /** @type {((...values: any[]) => void) | undefined} */
    const call = hasEnded ? undefined : listener[event];
    try {
      call?.apply(listener, values);
    } catch (error) {
      // The other parts of the page receive the message all the same.
      console.error(error);
    }
  }

  /**
   * Whether it was sent and, with QoS 1, the broker has it. Only a reply says that a service has it: see `ask`.
   *
   * @param {string} topic @param {any} message @param {0 | 1} [qos] @returns {Promise<boolean>}
   */
  async publish(topic, message, qos = 0) {
    if (this.state !== "open" || this.#expected.length >= inFlightLimit) return false;
    return new Promise((resolve) => {
      const id = qos === 0 ? 0 : this.#expect("puback", (packet) => resolve(packet !== undefined));
      this.#write(mqtt.publish(topic, JSON.stringify(message), id));
      if (qos === 0) resolve(true);
    });
  }

  /**
   * Sends a command or request until its reply, which it returns, or throws an `Error` with the `code` of the refusal.
   * With `keep` it outlasts the page, and carries the time of the press.
   *
   * A request with several replies has `take`, which gets each and returns whether it is the last one. Replies may come
   * twice and in any order: after 5 s without one, or over a new connection, the request is sent again.
   *
   * @param {string} topic @param {Record<string, any>} message
   * @param {{ keep?: boolean, passing?: string[], take?: (reply: any) => boolean }} options `passing`: codes of refusals
   *   that pass with time
   */
  ask(topic, message, {keep = false, passing = [], take} = {}) {
    const at = keep ? {at: this.serverNow()} : {};
    return this.requests.ask(topic, {id: newID(), ...at, ...message}, keep, passing, take);
  }

  /** Subscribes to replies, once; early, the first press is sent at once. */
  listen() {
    const {user, client} = this.options;
    const topic = `pacebus/v1/u/${user}/replies/${client}`;
    const onMessage = (/** @type {string} */ _, /** @type {any} */ reply) => this.requests.receive(reply);
    const [onGranted, onRefused] = [() => this.requests.connect(), () => this.#handle("lost")];
    if (!this.#filters.has(topic)) this.subscribe(topic, {onMessage, onGranted, onRefused}, 1);
  }

  /** @param {string} type @param {Expected["done"]} done @returns the id of the packet that `type` answers */
  #expect(type, done = () => {}) {
    do this.#lastID = (this.#lastID % 65_535) + 1;
    while (this.#expected.some(({id}) => id === this.#lastID));
    this.#expected.push({type, id: this.#lastID, done});
    return this.#lastID;
  }

  /**
   * A socket that is closing says so later: what it does not take is sent over the next connection.
   *
   * @param {Uint8Array} packet
   */
  #write(packet) {
    if (this.#socket?.readyState === 1) this.#socket.send(packet);
  }

  #ping(done = () => {}) {
    // A listener may have closed the connection.
    if (this.state !== "open") return;
    this.#expected.push({type: "pingresp", id: 0, done});
    this.#write(mqtt.pingreq);
  }

  /** @param {mqtt.Packet} packet */
  #receive(packet) {
    const {type, id} = packet;
    if ((type === "connack") !== (this.#link.phase === "connecting")) throw new Error(`unexpected ${type}`);
    if (type === "connack") {
      // 4 and 5 are about the password; other reasons may pass.
      if (id > 0) return this.#handle(id === 4 || id === 5 ? "refused" : "lost");
      this.#handle("accepted");
      // Replies first: if the filters are too many, others are refused.
      for (const qos of [1, 0]) this.#request([...this.#filters.values()].filter((filter) => filter.qos === qos));
    } else if (type === "publish") {
      if (id > 0) this.#write(mqtt.puback(id));
      this.#deliver(packet);
    } else {
      const index = this.#expected.findIndex((each) => each.type === type && each.id === id);
      if (index < 0) throw new Error(`unexpected ${type}`);
      this.#expected.splice(index, 1)[0].done(packet);
    }
  }

  /** @param {mqtt.Packet} packet */
  #deliver({topic, payload}) {
    const text = decoder.decode(payload);
    // Everything on the bus is JSON, or clears its topic; the broker's own figures may be text.
    const parsed = attempt(() => JSON.parse(text));
    const message = parsed === undefined && topic.startsWith("$SYS/broker/") ? text : parsed;
    if (message === undefined && payload.length > 0) return;
    const filters = this.#wide.filter(({pattern}) => pattern?.test(topic));
    const exact = this.#filters.get(topic);
    if (exact) filters.push(exact);
    for (const {newest} of filters) payload.length > 0 ? newest?.set(topic, message) : newest?.delete(topic);
    for (const user of new Set(filters.flatMap(({users}) => [...users]))) this.#tell(user, "onMessage", topic, message);
  }

  /** @param {LinkEvent} event */
  #handle(event) {
    const {now, random, page, onState} = this.options;
    const [state, {reason}] = [this.state, this.#link];
    const {link, action} = step(this.#link, event, now(), random(), this.senders.size > 0);
    this.#link = link;
    const isActive = ["connecting", "open", "waiting"].includes(link.phase);
    if (!isActive) page.clearInterval(this.#timer);
    this.#timer = isActive ? this.#timer ?? page.setInterval(() => this.#handle("tick"), 1000) : undefined;
    if (action === "open" || action === "close") this.#disconnect();
    if (action === "open") this.#connect();
    if (action === "ping") this.#ping();
    if (this.state !== state || this.#link.reason !== reason) onState(this.state, this.#link.reason);
  }

  #disconnect() {
    const [socket, expected] = [this.#socket, this.#expected];
    [this.#socket, this.#expected] = [undefined, []];
    if (socket?.readyState === 1) socket.send(mqtt.disconnect);
    socket?.close();
    for (const filter of this.#filters.values()) {
      filter.state = "new";
      for (const user of filter.users) user.isReady = false;
    }
    for (const {type, done} of expected)
      if (type === "puback") done();
    this.requests.disconnect();
  }

  #connect() {
    const {url, user, password, openSocket} = this.options;
    const reader = new mqtt.PacketReader();
    const socket = openSocket(url);
    const isCurrent = () => socket === this.#socket;
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(mqtt.connect(this.#mqttClient, keepAlive, user, password));
    socket.onclose = ({code}) => isCurrent() && this.#handle(ends.get(code) ?? "lost");
    socket.onmessage = ({data}) => {
      if (!isCurrent()) return;
      this.#handle("heard");
      try {
        for (const packet of reader.read(data))
          if (isCurrent()) this.#receive(packet);
      } catch (error) {
        console.error(error);
        this.#handle("lost");
      }
    };
  }
}
