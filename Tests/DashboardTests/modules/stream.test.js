import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import {Bus} from "../../../Services/Dashboard/Web/modules/bus.js";
import {inStreams, ItemWindow, keptIn, Stream} from "../../../Services/Dashboard/Web/modules/stream.js";
import {Broker, Clock, Origin, Page, settle} from "./broker.js";

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {boolean} [complete]
 * @property {{ at: number, type: "append" | "connect" | "disconnect" | "ack", count?: number, n?: number, e?: number,
 *   error?: string }[]} events
 * @property {number} until
 * @property {number[][]} sent time, first item, items, and 1 if an acknowledgement is asked for
 * @property {string[]} progress
 */

/** @type {Case[]} */
const cases = JSON.parse(readFileSync(new URL("../../../Shared/Bus/examples/streams.json", import.meta.url), "utf8"));

/** @param {number} first @param {number} count */
const items = (first, count) => Array.from({length: count}, (_, index) => ({c: first + index}));

for (const each of cases) {
  test(`a stream: ${each.name}`, () => {
    const window = new ItemWindow();
    window.isComplete = each.complete ?? false;
    const events = [...each.events];
    const [sent, progress] = [/** @type {number[][]} */ ([]), /** @type {string[]} */ ([])];
    for (let now = 0; now <= each.until; now += 0.5) {
      while (events[0]?.at <= now) {
        const {type, count = 0, ...ack} = /** @type {Case["events"][number]} */ (events.shift());
        if (type === "append") window.append(items(window.count, count));
        else if (type === "connect") window.connect();
        else if (type === "disconnect") window.disconnect();
        else {
          const outcome = window.receive(ack, now);
          progress.push(outcome);
          if (outcome === "fellBack") {
            const number = /** @type {number} */ (ack.n);
            window.takeBack(items(number, window.count - number), number);
          }
        }
      }
      for (const {s, x, a = 0} of window.take(now)) {
        assert.deepEqual(x.map(({c}) => c), items(s, x.length).map(({c}) => c));
        sent.push([now, s, x.length, a]);
      }
    }
    if (process.env.PRINT) console.log(JSON.stringify({name: each.name, sent, progress}));
    assert.deepEqual({sent, progress}, {sent: each.sent, progress: each.progress ?? []});
  });
}

const topic = (/** @type {string} */ device) => `pacebus/v1/07/anna/s/locations/${device}`;

/** What IndexedDB would keep, which outlasts a page. */
class Memory {
  /** @type {any[]} */
  items = [];
  state = {device: "phone", acknowledged: 0};
  isFull = false;

  async load() { return {...this.state, count: this.items.length, items: this.items.slice(this.state.acknowledged)}; }
  /** @param {number} first @param {any[]} more */
  async append(first, more) {
    if (this.isFull) throw new DOMException("full", "QuotaExceededError");
    assert.equal(first, this.items.length);
    this.items.push(...more);
  }
  /** @param {{ device: string, acknowledged: number }} change */
  async save(change) { this.state = change; }
  /** @param {number} first */
  async read(first) { return this.items.slice(first); }
  async remove() { this.items = []; }
}

/** A service that follows the table of the receiver. */
class Receiver {
  /** @type {Map<string, any[]>} by topic */
  stored = new Map();
  epoch = 1;
  isLossy = () => false;

  /** @param {Broker} broker */
  constructor(broker) {
    this.broker = broker;
    broker.onPublish = (batch, at) => at.includes("/locations/") && !this.isLossy() && this.receive(batch, at);
  }

  /** @param {any} batch @param {string} at */
  receive({s, x}, at) {
    const own = this.stored.get(at) ?? [];
    const ack = {n: own.length, e: this.epoch, now: this.broker.clock.wall};
    if (s === 0 && own.length > 0 && own[0].c !== x[0].c) return this.reply(at, {...ack, error: "stream_reused"});
    if (s <= own.length && s + x.length > own.length) own.push(...x.slice(own.length - s));
    this.stored.set(at, own);
    this.reply(at, {...ack, n: own.length});
  }

  /** @param {string} at @param {any} ack */
  reply(at, ack) {
    if (!this.isLossy()) this.broker.publish(`${at}/ack`, ack);
  }
}

/** A page with a stream. @param {Clock} clock @param {Broker} broker @param {Memory} kept */
async function open(clock, broker, kept) {
  const page = new Page(clock, new Origin());
  const options = {url: "/mqtt", user: "anna", openSocket: page.opener(broker), page};
  const bus = new Bus({...options, now: () => clock.now, wall: () => clock.wall, random: () => 0.5});
  /** @type {string[]} */
  const devices = [];
  const stream = await new Stream(bus, kept, {topic, onChange: ({device}) => devices.push(device)}).open();
  await settle();
  return {page, bus, stream, devices};
}

test("every item arrives once and in order, with losses, restarts, reloads and a restored server", async (context) => {
  let seed = Number(process.env.SEED ?? (Date.now() % 1_000_000) + 1);
  context.diagnostic(`SEED=${seed}`);
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let round = 0; round < 30; round++) {
    const [clock, kept] = [new Clock(), new Memory()];
    const broker = new Broker(clock);
    const receiver = new Receiver(broker);
    receiver.isLossy = () => random() < 0.2;
    let {page, stream} = await open(clock, broker, kept);
    let count = 0;
    for (let second = 0; second < 200; second++) {
      for (let more = Math.floor(random() * 4); more > 0; more--) stream.append({c: count++});
      const fate = random();
      if (fate < 0.02) {
        await settle();
        page.kill();
        ({page, stream} = await open(clock, broker, kept));
      } else if (fate < 0.04) broker.stop();
      else if (fate < 0.08) broker.start();
      else if (fate < 0.1) receiver.epoch += 1;
      else if (fate < 0.11) {
        for (const own of receiver.stored.values()) own.splice(Math.floor(random() * own.length));
        receiver.epoch += 1;
      }
      await clock.pass(1);
    }
    broker.start();
    receiver.isLossy = () => false;
    // A restore shows with the next item that stalls, or is asked for.
    stream.append({c: count++});
    await clock.pass(300);
    const stored = /** @type {any[]} */ (receiver.stored.get(topic(stream.device)));
    assert.equal(stream.count, count);
    assert.deepEqual(stored.map(({c}) => c), Array.from({length: count}, (_, c) => c), `round ${round}`);
    assert.equal(stream.acknowledged, count);
    page.kill();
  }
});

test("a page keeps its connection while a stream has items to send", async () => {
  const [clock, kept] = [new Clock(), new Memory()];
  const broker = new Broker(clock);
  const {page, bus, stream} = await open(clock, broker, kept);
  await stream.append({c: 1});
  page.hide(true);
  await clock.pass(100);
  assert.equal(bus.state, "open");
  new Receiver(broker);
  await clock.pass(200);
  assert.equal(stream.acknowledged, 1);
  assert.equal(bus.state, "closed");
});

test("a name that another stream has is replaced, and all items go out under the new one", async () => {
  const [clock, kept] = [new Clock(), new Memory()];
  const broker = new Broker(clock);
  const receiver = new Receiver(broker);
  receiver.stored.set(topic("phone"), [{c: 99}]);
  const {stream, devices} = await open(clock, broker, kept);
  await stream.append({c: 1});
  await stream.append({c: 2});
  await clock.pass(5);
  assert.match(stream.device, /^phone-[0-9a-f]{4}$/);
  assert.equal(devices.at(-1), stream.device);
  assert.deepEqual(receiver.stored.get(topic(stream.device)), [{c: 1}, {c: 2}]);
  assert.deepEqual(receiver.stored.get(topic("phone")), [{c: 99}]);
  assert.equal(kept.state.device, stream.device);
});

test("too many items: it waits as long as the server asks, or keeps the rest", async () => {
  const [clock, kept] = [new Clock(), new Memory()];
  const broker = new Broker(clock);
  /** @type {any} */
  let answer = {n: 0, error: "too_many_items", retryAfter: 360};
  broker.onPublish = (_, at) => at.includes("/locations/") && broker.publish(`${at}/ack`, {...answer, e: 1});
  const {stream} = await open(clock, broker, kept);
  await stream.append({c: 1});
  await clock.pass(350);
  const sent = () => broker.published.filter(({topic: at}) => at === topic("phone")).length;
  assert.equal(sent(), 1);
  answer = {n: 0, error: "too_many_items"};
  await clock.pass(20);
  assert.deepEqual([sent(), stream.isFull], [2, true]);
  await clock.pass(600);
  assert.equal(sent(), 2);
  assert.equal(kept.items.length, 1);
});

test("an item for which there is no room is refused, and the next one has its number", async () => {
  const [clock, kept] = [new Clock(), new Memory()];
  const broker = new Broker(clock);
  const receiver = new Receiver(broker);
  const {stream} = await open(clock, broker, kept);
  await stream.append({c: 1});
  kept.isFull = true;
  await assert.rejects(stream.append({c: 2}), {name: "QuotaExceededError"});
  kept.isFull = false;
  await stream.append({c: 3});
  await clock.pass(5);
  assert.deepEqual(receiver.stored.get(topic("phone")), [{c: 1}, {c: 3}]);
  await stream.remove();
  assert.equal(kept.items.length, 0);
});

test("a database that the browser closed is opened again, and one that is full is not", async (context) => {
  /** @type {any[]} */
  const opened = [];
  /** @param {any} request */
  const succeed = (request) => queueMicrotask(() => request.onsuccess());
  const global = /** @type {any} */ (globalThis);
  context.after(() => delete global.indexedDB);
  global.indexedDB = {
    open() {
      const items = new Map();
      /** @type {any} */
      const database = {items, failure: undefined};
      database.transaction = () => {
        const {failure} = database;
        if (failure === "InvalidStateError") throw Object.assign(new Error("closed"), {name: failure});
        const all = {
          error: failure && Object.assign(new Error(failure), {name: failure}),
          objectStore: () =>
            ({put: (/** @type {any} */ item, /** @type {any} */ key) => failure || items.set(key[1], item)}),
        };
        queueMicrotask(() => /** @type {any} */ (all)[failure ? "onabort" : "oncomplete"]());
        return all;
      };
      opened.push(database);
      const request = {result: database};
      succeed(request);
      return request;
    }
  };
  const kept = keptIn("anna", "session/samples/watch", "watch");
  await kept.append(0, [{c: 1}, {c: 2}]);
  await kept.append(2, [{c: 3}]);
  assert.equal(opened.length, 1);
  for (const name of ["InvalidStateError", "AbortError", "UnknownError"]) {
    const count = opened.length;
    opened[count - 1].failure = name;
    await kept.append(3, [{c: 4}]);
    assert.deepEqual([opened.length, [...opened[count].items]], [count + 1, [[3, {c: 4}]]]);
  }
  const count = opened.length;
  opened[count - 1].failure = "QuotaExceededError";
  await assert.rejects(kept.append(4, [{c: 5}]), {name: "QuotaExceededError"});
  opened[count - 1].failure = undefined;
  await kept.append(4, [{c: 5}]);
  assert.equal(opened.length, count);
  // What fails again is an error, and the next use opens it anew.
  await assert.rejects(inStreams("anna", () => Promise.reject(new Error("broken"))), {message: "broken"});
  await kept.append(5, [{c: 6}]);
  assert.equal(opened.length, count + 2);
});
