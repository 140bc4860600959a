import assert from "node:assert/strict";
import {afterEach, beforeEach, mock, test} from "node:test";
import {Bus, closed, step} from "../../../Services/Dashboard/Web/modules/bus.js";
import {Broker, Clock, Origin, Page, packet, publication, settle} from "./broker.js";

/** @type {Clock} */
let clock;
/** @type {Broker} */
let broker;
/** @type {Page} */
let page;
/** @type {any[]} */
let states;
/** @type {import("node:test").Mock<(...data: any[]) => void>} */
let errors;

beforeEach(() => {
  clock = new Clock();
  broker = new Broker(clock);
  page = new Page(clock, new Origin());
  states = [];
  errors = mock.method(console, "error", () => {});
});
afterEach(() => {
  const unexpected = errors.mock.calls.map(({arguments: [error]}) => error);
  errors.mock.restore();
  assert.deepEqual(unexpected, []);
});

/** The errors that a test expects. */
const reported = () => {
  const messages = errors.mock.calls.map(({arguments: [error]}) => error.message);
  errors.mock.resetCalls();
  return messages;
};

/** @param {any} [options] */
const open = (options) => new Bus({
  url: "/mqtt",
  user: "anna",
  openSocket: page.opener(broker),
  now: () => clock.now,
  wall: () => clock.wall,
  random: () => 0.5,
  page,
  onState: (/** @type {string} */ state, /** @type {string} */ reason) => states.push(reason ? [state, reason] : state),
  ...options
});

/** Writes down what a subscription receives. */
function listener() {
  /** @type {any[]} */
  const log = [];
  return {
    log,
    onMessage: (/** @type {string} */ topic, /** @type {any} */ message) => log.push([topic, message]),
    onReady: () => log.push("ready"),
    onRefused: (/** @type {string} */ filter) => log.push(["refused", filter]),
    /** What it received since the last call. */
    take: () => log.splice(0)
  };
}

/** Filters of each SUBSCRIBE on a connection. @param {any} [socket] */
const subscribed = (socket = broker.last) =>
  socket.packets("subscribe").map((/** @type {any} */ {filters}) => filters.map(([name]) => name));
/** @param {any} [socket] */
const unsubscribed = (socket = broker.last) =>
  socket.packets("unsubscribe").flatMap((/** @type {any} */ {filters}) => filters.map(([name]) => name));

// Connecting

test("a page of ours sends no name and no password, another one both", async () => {
  open();
  await settle();
  const [own] = broker.last.packets("connect");
  assert.deepEqual(
    [own.name, own.version, own.flags, own.keepAlive, own.user, own.rest], ["MQTT", 4, 2, 60, undefined, 0]);
  assert.match(own.client, /^page-[0-9a-f]{16}$/);
  assert.equal(broker.last.binaryType, "arraybuffer");
  open({password: "secret"});
  await settle();
  const [other] = broker.last.packets("connect");
  assert.deepEqual([other.flags, other.user, other.password, other.rest], [0xC2, "anna", "secret", 0]);
  assert.notEqual(other.client, own.client);
});

test("the address of replies is never the MQTT client id", async () => {
  const bus = open();
  await settle();
  assert.match(bus.options.client, /^page-[0-9a-f]{16}$/);
  assert.notEqual(broker.last.packets("connect")[0].client, bus.options.client);
});

test("a connection is open when the broker accepts it", async () => {
  broker.isUp = false;
  const bus = open();
  await settle();
  assert.deepEqual([states, bus.state], [["connecting"], "connecting"]);
  broker.start();
  await settle();
  assert.deepEqual([states, bus.state], [["connecting", "open"], "open"]);
});

test("CONNACK 4 and 5 end all attempts until the page opens the bus again", async () => {
  for (const code of [4, 5]) {
    broker.connack = code;
    states = [];
    const bus = open();
    await clock.pass(300);
    assert.deepEqual([states, bus.state], [["connecting", "refused"], "refused"]);
    page.hide(true);
    page.hide(false);
    page.dispatch("online");
    await clock.pass(10);
    assert.deepEqual(states, ["connecting", "refused"]);
    broker.connack = 0;
    bus.open();
    await settle();
    assert.equal(bus.state, "open");
    bus.close();
  }
  assert.equal(broker.sockets.length, 4);
});

test("other codes of CONNACK are failures that pass", async () => {
  broker.connack = 3;
  open();
  await clock.pass(0.5);
  assert.deepEqual(states, ["connecting", "closed"]);
  broker.connack = 0;
  await clock.pass(1);
  assert.equal(states.pop(), "open");
});

test("the end of a login ends all attempts, before and after CONNACK", async () => {
  for (const isOpen of [false, true]) {
    if (!isOpen) broker.ignored.add("connect");
    states = [];
    const bus = open();
    await settle();
    broker.last.end(4401);
    await clock.pass(300);
    assert.equal(bus.state, "login");
    assert.equal(states.pop(), "login");
    broker.ignored.clear();
  }
  assert.equal(broker.sockets.length, 2);
});

test("too many connections are told, and the next attempt waits for 20 s", async () => {
  broker.ignored.add("connect");
  open();
  await settle();
  broker.last.end(4429);
  await settle();
  assert.deepEqual(states, ["connecting", ["closed", "connections"]]);
  await clock.pass(19);
  assert.equal(broker.sockets.length, 1);
  broker.ignored.clear();
  await clock.pass(1);
  assert.equal(broker.sockets.length, 2);
  assert.equal(states.pop(), "open");
});

test("a close without CONNACK is a failure", async () => {
  broker.ignored.add("connect");
  open();
  await settle();
  broker.last.end(1000);
  await settle();
  assert.deepEqual(states, ["connecting", "closed"]);
  await clock.pass(1);
  assert.equal(broker.sockets.length, 2);
});

test("attempts follow after 1, 2, 5, 10, 20 and again 20 s", async () => {
  broker.ignored.add("connect");
  open();
  const at = [];
  for (let count = 1; count < 8; count++) {
    await settle();
    while (broker.sockets.length < count) await clock.pass(1);
    at.push(clock.now);
    broker.last.end(1006);
  }
  assert.deepEqual(at.map((time, index) => time - (at[index - 1] ?? 1000)), [0, 1, 2, 5, 10, 20, 20]);
});

test("an attempt without an answer for 10 s has failed", async () => {
  broker.ignored.add("connect");
  open();
  await clock.pass(9);
  assert.deepEqual(states, ["connecting"]);
  await clock.pass(1);
  assert.deepEqual(states, ["connecting", "closed"]);
  assert.equal(broker.last.readyState, 3);
});

test("jitter spreads an attempt by a quarter to either side", () => {
  const {link} = step(closed, "start", 0, 0);
  assert.equal(step(link, "lost", 0, 0).link.until, 0.75);
  assert.equal(step(link, "lost", 0, 1).link.until, 1.25);
  assert.deepEqual([step(link, "crowded", 0, 0).link.until, step(link, "crowded", 0, 1).link.until], [15, 25]);
  for (let failures = 0; failures < 9; failures++) {
    const delay = [1, 2, 5, 10][failures] ?? 20;
    const spread = [0, 1].map((jitter) => step({...link, failures}, "lost", 100, jitter).link.until - 100);
    assert.deepEqual(spread, [delay * 0.75, delay * 1.25]);
  }
});

test("only a connection that lasts for 10 s sets the waits back", async () => {
  broker.isUp = false;
  open();
  for (let failures = 0; failures < 3; failures++) {
    while (broker.last.readyState === 3) await clock.pass(1);
    broker.last.end(1006);
    await settle();
  }
  broker.isUp = true;
  await clock.pass(5);
  assert.equal(broker.isConnected, true);
  await clock.pass(9);
  broker.last.end(1006);
  await clock.pass(9);
  assert.equal(broker.isConnected, false);
  await clock.pass(1);
  assert.equal(broker.isConnected, true);
  await clock.pass(10);
  broker.last.end(1006);
  await clock.pass(1);
  assert.equal(broker.isConnected, true);
});

test("a page pings every 10 s, and reconnects after at most 20 s of silence", async () => {
  open();
  await clock.pass(40);
  assert.deepEqual([broker.sockets.length, broker.last.packets("pingreq").length], [1, 4]);
  broker.ignored.add("pingreq");
  await clock.pass(19);
  assert.deepEqual([broker.sockets.length, states], [1, ["connecting", "open"]]);
  await clock.pass(1);
  assert.deepEqual([states.pop(), broker.last.readyState], ["closed", 3]);
  await clock.pass(1);
  assert.equal(states.pop(), "open");
});

test("messages of the broker are signs of life too", async () => {
  const bus = open();
  bus.subscribe("a", listener());
  await clock.pass(5);
  broker.ignored.add("pingreq");
  for (let second = 0; second < 60; second += 5) {
    broker.publish("a", second);
    await clock.pass(5);
  }
  assert.equal(broker.sockets.length, 1);
  // The broker disconnects a client that sends nothing.
  assert.ok(broker.last.packets("pingreq").length >= 6);
});

test("a page hidden for 60 s disconnects without pings, and connects when it is visible", async () => {
  open();
  await clock.pass(5);
  page.hide(true);
  await clock.pass(59);
  assert.equal(broker.isConnected, true);
  assert.equal(broker.last.packets("pingreq").length, 0);
  await clock.pass(1);
  assert.equal(broker.isConnected, false);
  assert.equal(broker.last.received.at(-1).type, "disconnect");
  assert.deepEqual(clock.timers, []);
  await clock.pass(3600);
  page.hide(false);
  await settle();
  assert.deepEqual(states, ["connecting", "open", "closed", "connecting", "open"]);
});

test("a page that is visible again before 60 s keeps its connection, unless that was silent", async () => {
  const bus = open();
  bus.subscribe("a", listener());
  await clock.pass(5);
  page.hide(true);
  await clock.pass(50);
  broker.publish("a", 1);
  await clock.pass(5);
  page.hide(false);
  await clock.pass(30);
  assert.equal(broker.sockets.length, 1);
  page.hide(true);
  await clock.pass(30);
  page.hide(false);
  await settle();
  assert.equal(broker.sockets.length, 2);
  assert.equal(broker.isConnected, true);
});

test("a page that is opened hidden disconnects after 60 s", async () => {
  page.document.hidden = true;
  open();
  await clock.pass(61);
  assert.equal(states.pop(), "closed");
});

test("a hidden page that reconnects still disconnects after 60 s", async () => {
  open();
  await clock.pass(5);
  page.hide(true);
  await clock.pass(30);
  broker.last.end(1006);
  await clock.pass(29);
  assert.equal(broker.isConnected, true);
  await clock.pass(1);
  assert.equal(broker.isConnected, false);
});

test("a hidden page that holds its connection keeps it, with pings, also if timers run once a minute", async () => {
  const bus = open();
  bus.senders.add(bus);
  page.hide(true);
  await clock.pass(300);
  assert.equal(broker.last.packets("pingreq").length, 30);
  for (const timer of clock.timers) timer.every = 60;
  await clock.pass(600);
  assert.equal(broker.sockets.length, 1);
  broker.ignored.add("pingreq");
  await clock.pass(120);
  assert.equal(broker.last.readyState, 3);
  broker.ignored.clear();
  bus.senders.clear();
  await clock.pass(60);
  assert.equal(bus.state, "closed");
});

test("online tries at once, but not while the page is hidden", async () => {
  broker.isUp = false;
  open();
  await settle();
  broker.last.end(1006);
  broker.isUp = true;
  await settle();
  page.document.hidden = true;
  page.dispatch("online");
  await settle();
  assert.equal(broker.sockets.length, 1);
  page.document.hidden = false;
  page.dispatch("online");
  await settle();
  assert.equal(states.pop(), "open");
});

test("a page that is left disconnects, and one from the back-forward cache connects", async () => {
  const bus = open();
  const a = listener();
  bus.subscribe("a", a);
  await settle();
  page.dispatch("pagehide");
  await clock.pass(900);
  assert.deepEqual([broker.isConnected, broker.last.received.at(-1).type], [false, "disconnect"]);
  page.dispatch("pageshow", {persisted: false});
  await settle();
  assert.equal(broker.sockets.length, 1);
  broker.publish("a", 1, {retain: true});
  page.dispatch("pageshow", {persisted: true});
  await settle();
  assert.deepEqual([broker.isConnected, a.take()], [true, ["ready", ["a", 1], "ready"]]);
});

test("a page from the back-forward cache tries a login that had ended", async () => {
  const bus = open();
  await settle();
  broker.last.end(4401);
  await settle();
  page.dispatch("pageshow", {persisted: true});
  await settle();
  assert.equal(bus.state, "open");
});

test("a bus that the page has closed stays closed", async () => {
  const bus = open();
  await settle();
  bus.close();
  assert.equal(broker.last.received.at(-1).type, "disconnect");
  for (const type of ["online", "pagehide"]) page.dispatch(type);
  page.hide(true);
  page.hide(false);
  page.dispatch("pageshow", {persisted: true});
  await clock.pass(100);
  assert.deepEqual([bus.state, broker.sockets.length], ["closed", 1]);
});

test("an event of an earlier socket changes nothing", async () => {
  const bus = open();
  await settle();
  const [first] = broker.sockets;
  bus.close();
  bus.open();
  await settle();
  first.onclose({code: 4401});
  first.onmessage({data: new Uint8Array([0xFF, 0x00]).buffer});
  await settle();
  assert.deepEqual([bus.state, broker.sockets.length, reported().length], ["open", 2, 0]);
});

test("malformed, oversized, unexpected and text input closes the connection, and it is opened again", async () => {
  const wrong = [
    [0xFF, 0x00], packet(0x20, 0, 0), [0x30, 0x81, 0x80, 0x40], packet(0x40, 0, 9), packet(0xB0, 0, 9),
    packet(0x90, 0, 9, 0), packet(0xD0)
  ];
  open();
  for (const bytes of wrong) {
    await clock.pass(11);
    assert.equal(states.at(-1), "open");
    broker.last.deliver(bytes);
    await settle();
    assert.equal(states.at(-1), "closed", `${bytes}`);
    assert.equal(reported().length, 1);
    await clock.pass(1);
  }
  broker.last.onmessage({data: "text"});
  assert.deepEqual(reported(), ["malformed packet: a frame of text"]);
  broker.ignored.add("connect");
  await clock.pass(3);
  broker.last.deliver(packet(0xD0));
  await settle();
  assert.deepEqual(reported(), ["unexpected pingresp"]);
});

test("a SUBACK for a PUBLISH is unexpected", async () => {
  const bus = open();
  await settle();
  broker.ignored.add("publish");
  const published = bus.publish("a", 1, 1);
  await settle();
  broker.last.deliver(packet(0x90, 0, broker.last.packets("publish")[0].id, 0));
  assert.equal(await published, false);
  assert.deepEqual(reported(), ["unexpected suback"]);
});

// Publishing

test("QoS 0 is sent and QoS 1 acknowledged, on open connections only", async () => {
  const bus = open();
  assert.equal(await bus.publish("a", 1), false);
  await settle();
  assert.equal(await bus.publish("a", {b: "ü"}), true);
  assert.equal(await bus.publish("a/b", [1], 1), true);
  broker.ignored.add("publish");
  const lost = bus.publish("a", 2, 1);
  await settle();
  broker.last.end(1006);
  assert.equal(await lost, false);
  assert.deepEqual(broker.last.packets("publish").map(({flags, topic, text}) => [flags, topic, text]),
    [[0, "a", "{\"b\":\"ü\"}"], [2, "a/b", "[1]"], [2, "a", "2"]]);
});

test("packet ids are unique among those without an answer, and start over after 65535", async () => {
  const bus = open();
  await settle();
  broker.ignored.add("publish");
  bus.publish("a", 0, 1);
  await settle();
  const first = broker.last.packets("publish")[0].id;
  broker.ignored.clear();
  for (let count = 0; count < 65_600; count++) {
    bus.publish("a", count, 1);
    if (count % 100 === 0) await settle();
  }
  await settle();
  const ids = broker.last.packets("publish").map(({id}) => id);
  assert.equal(ids.length, 65_601);
  assert.equal(ids.filter((id) => id === first).length, 1);
  assert.deepEqual([Math.max(...ids.slice(-200)), Math.min(...ids.slice(-200))], [65_535, first + 1]);
});

test("at most 1,000 messages of QoS 1 are under way", async () => {
  const bus = open();
  await settle();
  broker.ignored.add("publish");
  const published = Array.from({length: 1001}, (_, index) => bus.publish("a", index, 1));
  assert.equal(await published[1000], false);
  assert.equal(broker.last.packets("publish").length, 1000);
});

test("a message of QoS 1 is acknowledged under its id", async () => {
  const bus = open();
  const a = listener();
  bus.subscribe("a", a);
  await settle();
  broker.last.deliver(publication("a", "1", 700));
  broker.last.deliver(publication("a", "2"));
  await settle();
  assert.deepEqual(a.take(), ["ready", ["a", 1], ["a", 2]]);
  assert.deepEqual(broker.last.packets("puback"), [{type: "puback", id: 700}]);
});

// Subscriptions

test("1,000 retained messages come before the subscription is ready", async () => {
  for (let n = 0; n < 1000; n++) broker.publish(`s/${n}`, n, {retain: true});
  const bus = open();
  const all = listener();
  bus.subscribe("s/+", all);
  await settle();
  assert.equal(all.log.length, 1001);
  assert.equal(all.log.indexOf("ready"), 1000);
  assert.deepEqual(broker.last.packets("subscribe")[0].filters, [["s/+", 0]]);
});

test("ready waits for the answer to the ping after SUBACK", async () => {
  const bus = open();
  const a = listener();
  broker.ignored.add("pingreq");
  bus.subscribe("a", a);
  await settle();
  assert.deepEqual(broker.last.received.map(({type}) => type), ["connect", "subscribe", "pingreq"]);
  assert.deepEqual(a.take(), []);
  broker.last.deliver(publication("a", "1", 0, true));
  broker.last.deliver(packet(0xD0));
  await settle();
  assert.deepEqual(a.take(), [["a", 1], "ready"]);
});

test("each answer to a ping belongs to its subscription, also among those of the silence", async () => {
  const bus = open();
  await clock.pass(9.5);
  broker.ignored.add("pingreq");
  const [a, b] = [listener(), listener()];
  bus.subscribe("a", a);
  await clock.pass(1);
  bus.subscribe("b", b);
  await settle();
  assert.equal(broker.last.packets("pingreq").length, 3);
  const taken = [];
  for (let count = 0; count < 3; count++) {
    broker.last.deliver(packet(0xD0));
    await settle();
    taken.push([...a.take(), ...b.take()].length);
  }
  assert.deepEqual(taken, [1, 0, 1]);
});

test("a second part of a page with the same filter gets what has come, and one SUBSCRIBE and UNSUBSCRIBE serve both",
  async () => {
    broker.publish("s/1", 1, {retain: true});
    broker.publish("s/2", 2, {retain: true});
    const bus = open();
    const [first, second] = [listener(), listener()];
    const leaveFirst = bus.subscribe("s/+", first);
    await settle();
    broker.publish("s/2", 22, {retain: true});
    broker.publish("s/1", undefined, {retain: true});
    broker.publish("s/3", 3);
    await settle();
    const leaveSecond = bus.subscribe("s/+", second);
    await settle();
    assert.deepEqual(second.take(), [["s/2", 22], ["s/3", 3], "ready"]);
    assert.deepEqual(first.take().slice(3), [["s/2", 22], ["s/1", undefined], ["s/3", 3]]);
    leaveFirst();
    broker.publish("s/2", 222);
    await settle();
    assert.deepEqual([first.take(), second.take()], [[], [["s/2", 222]]]);
    assert.deepEqual([subscribed(), unsubscribed()], [[["s/+"]], []]);
    leaveSecond();
    leaveSecond();
    await settle();
    assert.deepEqual(unsubscribed(), ["s/+"]);
    const third = listener();
    bus.subscribe("s/+", third);
    await settle();
    // What came for earlier users of the filter is not kept.
    assert.deepEqual([third.take(), subscribed()], [[["s/2", 22], "ready"], [["s/+"], ["s/+"]]]);
  });

test("a second part that comes before the filter is ready waits for it", async () => {
  broker.publish("a", 1, {retain: true});
  const bus = open();
  const [first, second] = [listener(), listener()];
  broker.ignored.add("pingreq");
  bus.subscribe("a", first);
  await settle();
  bus.subscribe(["a", "b"], second);
  await settle();
  assert.deepEqual([first.take(), second.take()], [[["a", 1]], [["a", 1]]]);
  broker.last.deliver(packet(0xD0));
  await settle();
  assert.deepEqual([first.take(), second.take()], [["ready"], []]);
  broker.last.deliver(packet(0xD0));
  await settle();
  assert.deepEqual([first.take(), second.take()], [[], ["ready"]]);
});

test("one message for overlapping filters reaches each part once", async () => {
  const bus = open();
  const [one, both, other] = [listener(), listener(), listener()];
  bus.subscribe("s/1", one);
  bus.subscribe(["s/+", "s/1", "s/1"], both);
  bus.subscribe("t", other);
  await settle();
  for (const each of [one, both, other]) each.take();
  broker.publish("s/1", 1);
  await settle();
  assert.deepEqual([one.take(), both.take(), other.take()], [[["s/1", 1]], [["s/1", 1]], []]);
  const late = listener();
  bus.subscribe(["s/+", "s/1"], late);
  await settle();
  assert.deepEqual(late.take(), [["s/1", 1], "ready"]);
});

test("filters are renewed on each connection, and ready is told again", async () => {
  const bus = open();
  const [a, b] = [listener(), listener()];
  bus.subscribe(["a/1", "a/2"], a);
  const leave = bus.subscribe("b", b);
  await clock.pass(20);
  leave();
  broker.publish("a/1", 5, {retain: true});
  await settle();
  assert.deepEqual(a.take(), ["ready", ["a/1", 5]]);
  broker.last.end(1006);
  await clock.pass(1);
  assert.deepEqual(subscribed(), [["a/1", "a/2"]]);
  assert.deepEqual([a.take(), b.take()], [[["a/1", 5], "ready"], ["ready"]]);
});

test("filters without a connection are subscribed on the next one, and those that were left are not", async () => {
  broker.isUp = false;
  const bus = open();
  const leave = bus.subscribe("a", listener());
  const b = listener();
  bus.subscribe("b", b);
  leave();
  broker.start();
  await settle();
  assert.deepEqual([subscribed(), unsubscribed(), b.take()], [[["b"]], [], ["ready"]]);
});

test("a refused filter is told, waits for nothing and is asked for again", async () => {
  broker.refused.add("x");
  broker.publish("a", 1, {retain: true});
  const bus = open();
  const [both, other] = [listener(), listener()];
  bus.subscribe(["x", "a"], both);
  await settle();
  assert.deepEqual(both.take(), [["a", 1], ["refused", "x"], "ready"]);
  broker.refused.clear();
  broker.publish("x", 2, {retain: true});
  const leave = bus.subscribe("x", other);
  await settle();
  assert.deepEqual([other.take(), both.take()], [[["x", 2], "ready"], [["x", 2]]]);
  broker.refused.add("x");
  broker.last.end(1006);
  await clock.pass(1);
  assert.deepEqual([other.take(), both.take()], [[["refused", "x"], "ready"], [["a", 1], ["refused", "x"], "ready"]]);
  leave();
  await settle();
  assert.deepEqual(unsubscribed(), []);
});

test("a filter that is left before its SUBACK is left at the broker", async () => {
  const bus = open();
  await settle();
  const a = listener();
  bus.subscribe("a", a)();
  const again = listener();
  bus.subscribe("a", again);
  await settle();
  assert.deepEqual([subscribed(), unsubscribed()], [[["a"], ["a"]], ["a"]]);
  assert.deepEqual([a.take(), again.take()], [[], ["ready"]]);
});

test("a subscription without filters is ready at once", async () => {
  const bus = open();
  const none = listener();
  bus.subscribe([], none);
  await settle();
  assert.deepEqual([none.take(), subscribed()], [["ready"], []]);
});

test("a message that is no JSON is dropped", async () => {
  const bus = open();
  const a = listener();
  bus.subscribe("a", a);
  await settle();
  broker.publish("a", "no JSON");
  broker.last.deliver(packet(0x30, [0, 1, 97], 0xFF));
  broker.publish("a", null);
  await settle();
  assert.deepEqual(a.take(), ["ready", ["a", null]]);
});

test("a listener that throws costs nobody a message", async () => {
  const bus = open();
  const a = listener();
  bus.subscribe("a", {onMessage() { throw new Error("broken part"); }});
  bus.subscribe("a", a);
  await settle();
  broker.publish("a", 1);
  await settle();
  assert.deepEqual([a.take(), bus.state, reported()], [["ready", ["a", 1]], "open", ["broken part"]]);
});

test("a listener that leaves, or closes the bus, receives nothing more", async () => {
  const bus = open();
  const b = listener();
  /** @type {() => void} */
  let leave;
  let count = 0;
  leave = bus.subscribe("a", {
    onMessage: () => {
      count++;
      leave();
    }
  });
  bus.subscribe("b", {onMessage: () => bus.close()});
  bus.subscribe("b", b);
  await settle();
  b.take();
  for (const topic of ["a", "b"]) {
    broker.last.deliver([...publication(topic, "1"), ...publication(topic, "2")]);
    await settle();
  }
  assert.deepEqual([count, b.take(), bus.state], [1, [["b", 1]], "closed"]);
});

test("a bus that a listener closes stays closed, whatever follows in the frame", async () => {
  const bus = open();
  bus.subscribe("a", {onMessage: () => bus.close()});
  await settle();
  broker.last.deliver([...publication("a", "1"), 0xFF, 0x00]);
  await clock.pass(30);
  assert.deepEqual([bus.state, broker.sockets.length, reported().length], ["closed", 1, 1]);
});

test("a bus that a listener closes and opens during SUBACK keeps its pings in order", async () => {
  broker.refused.add("x");
  const bus = open();
  let isFirst = true;
  bus.subscribe("x", {
    onMessage() {},
    onRefused: () => {
      if (isFirst) {
        isFirst = false;
        bus.close();
        bus.open();
      }
    }
  });
  const a = listener();
  bus.subscribe("a", a);
  await settle();
  assert.deepEqual([bus.state, a.take(), reported()], ["open", ["ready"], []]);
});

test("random frames, losses and subscriptions lose no message that is retained", async (context) => {
  let seed = Number(process.env.SEED ?? (Date.now() % 1_000_000) + 1);
  context.diagnostic(`SEED=${seed}`);
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const pick = (/** @type {any[]} */ from) => from[Math.floor(random() * from.length)];
  broker.frames = (bytes) => {
    const [rest, frames] = [[...bytes], /** @type {number[][]} */ ([])];
    while (rest.length > 0) frames.push(rest.splice(0, 1 + Math.floor(random() * 12)));
    return frames;
  };
  const bus = open({random});
  /** @type {{ filters: string[], values: Map<string, any>, isReady: boolean, leave: () => void }[]} */
  const parts = [];
  for (let turn = 0; turn < 400; turn++) {
    const action = random();
    if (action < 0.5) {
      broker.publish(`s/${Math.floor(random() * 5)}`, random() < 0.1 ? undefined : turn, {retain: true});
    } else if (action < 0.65) {
      const part = {
        filters: [pick(["s/+", "s/1", "s/#", "s/2"]), pick(["s/0", "s/+"])],
        values: new Map(),
        isReady: false,
        leave() {}
      };
      part.leave = bus.subscribe(part.filters, {
        onMessage: (topic, message) =>
          message === undefined ? part.values.delete(topic) : part.values.set(topic, message),
        onReady: () => { part.isReady = true; }
      });
      parts.push(part);
    } else if (action < 0.75 && parts.length > 0) {
      const [part] = parts.splice(Math.floor(random() * parts.length), 1);
      part.leave();
    } else if (action < 0.8) {
      broker.last.end(pick([1006, 4429]));
    } else if (action < 0.85) {
      page.hide(!page.document.hidden);
    }
    if (random() < 0.5) await clock.pass(random() * 4);
  }
  page.hide(false);
  await clock.pass(60);
  for (const {filters, values, isReady} of parts) {
    assert.equal(isReady, true);
    for (const [topic, text] of broker.retained)
      if (filters.some((filter) => filter === topic || /[+#]/.test(filter)))
        assert.equal(values.get(topic), JSON.parse(text));
  }
});

// The clock

test("the server's clock is this browser's until a sample, then the server's", async () => {
  const bus = open();
  assert.equal(bus.serverNow(), clock.wall);
  bus.clockSample(clock.now - 0.2, clock.now, clock.wall + 500);
  assert.ok(Math.abs(bus.serverNow() - clock.wall - 500.1) < 1e-6);
  await clock.pass(7);
  assert.ok(Math.abs(bus.serverNow() - clock.wall - 500.1) < 1e-6);
});

/** @param {Bus} bus seconds that the server's clock is ahead of this browser's */
const offset = (bus) => Math.round((bus.serverNow() - clock.wall) * 1000) / 1000;

test("the sample of the shortest way counts, until drift may have made it worse", async () => {
  const bus = open();
  bus.clockSample(clock.now - 4, clock.now, clock.wall + 8);
  assert.equal(offset(bus), 10);
  bus.clockSample(clock.now - 0.01, clock.now, clock.wall + 9.5);
  assert.equal(offset(bus), 9.505);
  bus.clockSample(clock.now - 2, clock.now, clock.wall + 11);
  assert.equal(offset(bus), 9.505);
  await clock.pass(300);
  bus.clockSample(clock.now - 0.05, clock.now, clock.wall + 12);
  assert.equal(offset(bus), 9.505);
  await clock.pass(110);
  bus.clockSample(clock.now - 0.05, clock.now, clock.wall + 12);
  assert.equal(offset(bus), 12.025);
});

test("a step of this browser's clock changes the server's time until the next sample", async () => {
  const bus = open();
  bus.clockSample(clock.now, clock.now, clock.wall + 10);
  clock.wall += 600;
  assert.equal(offset(bus), 10);
  clock.wall -= 600;
  assert.equal(offset(bus), 10);
  clock.wall += 600;
  bus.clockSample(clock.now - 3, clock.now, clock.wall - 590);
  assert.equal(offset(bus), -588.5);
});

test("after its device slept, a page knows the time by this browser's clock", () => {
  const bus = open();
  bus.clockSample(clock.now, clock.now, clock.wall + 10);
  // The clock of `now` stands still while a device sleeps.
  clock.wall += 3600;
  assert.equal(offset(bus), 10);
});

test("a sample that cannot be is none", () => {
  const bus = open();
  for (const time of [undefined, NaN, "5", null]) bus.clockSample(clock.now - 1, clock.now, /** @type {any} */ (time));
  bus.clockSample(clock.now, clock.now - 1, clock.wall + 99);
  assert.equal(offset(bus), 0);
});
