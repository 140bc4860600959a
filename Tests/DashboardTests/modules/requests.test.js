import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {beforeEach, test} from "node:test";
import {Bus, newID} from "../../../Services/Dashboard/Web/modules/bus.js";
import {RepeatedRequest} from "../../../Services/Dashboard/Web/modules/requests.js";
import {Broker, Clock, Origin, Page, settle} from "./broker.js";

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string[]} [passing]
 * @property {{ at: number, type: "connect" | "disconnect" | "reply", delay?: number, error?: any }[]} events
 * @property {number} [until]
 * @property {number[]} sent
 * @property {string[]} [answers]
 */

/** @type {Case[]} */
const cases =
  JSON.parse(readFileSync(new URL("../../../Shared/Bus/examples/repeated-requests.json", import.meta.url), "utf8"));

/** @type {Clock} */
let clock;
/** @type {Broker} */
let broker;
/** @type {Origin} */
let origin;

beforeEach(() => {
  clock = new Clock();
  broker = new Broker(clock);
  origin = new Origin();
});

/** A tab with its bus, and what `onKept` was told. @param {any} [options] */
function tab({page = new Page(clock, origin), ...options} = {}) {
  /** @type {any[]} */
  const kept = [];
  const bus = new Bus({
    url: "/mqtt",
    user: "anna",
    openSocket: page.opener(broker),
    now: () => clock.now,
    wall: () => clock.wall,
    random: () => 0.5,
    page,
    onKept: (/** @type {any} */ request, /** @type {any} */ reply) =>
      kept.push([request.message.type, reply ? reply.error?.code ?? "ok" : undefined]),
    ...options
  });
  return {page, bus, kept};
}

/** What became of a promise. @param {Promise<any>} answer */
function outcome(answer) {
  /** @type {{ reply?: any, error?: any }} */
  const result = {};
  answer.then((reply) => { result.reply = reply; }, (error) => { result.error = error; });
  return result;
}

/** Seconds at which requests were published, without those before. */
const times = () => broker.published.splice(0).map(({at}) => at - 1000);
const ids = () => broker.published.map(({message}) => message.id);
const topic = "pacebus/v1/07/anna/5f0c/command";

for (const each of cases) {
  test(`the times of one request: ${each.name}`, () => {
    const request = new RepeatedRequest(each.passing);
    const events = [...each.events];
    const [sent, answers] = [/** @type {number[]} */ ([]), /** @type {string[]} */ ([])];
    for (let now = 0; now <= (each.until ?? 30); now += 0.5) {
      while (events[0]?.at <= now) {
        const {type, delay, error} = /** @type {Case["events"][number]} */ (events.shift());
        if (type === "connect") request.connect(delay && now + delay);
        else if (type === "disconnect") request.disconnect();
        else answers.push(request.receiveReply(error, now));
      }
      assert.equal(request.nextTurn <= now, request.takeTurn(now) && sent.push(now) > 0);
    }
    assert.deepEqual([sent, answers], [each.sent, each.answers ?? []]);
  });

  for (const keep of [false, true]) {
    test(`${keep ? "a kept" : "a"} request over a bus: ${each.name}`, async () => {
      broker.isUp = false;
      const {bus} = tab();
      const result = outcome(bus.ask(topic, {type: "start"}, {keep, passing: each.passing}));
      const until = each.until ?? 30;
      const seconds =
        [...each.events.map(({at}) => at), ...each.events.map(({at, delay = 0}) => at + delay), until + 0.5];
      for (const second of [...new Set(seconds)].sort((a, b) => a - b)) {
        await clock.runTo(1000 + second, false);
        if (second > until) break;
        for (const {type, delay, error} of each.events.filter(({at}) => at === second)) {
          if (type === "disconnect") broker.stop();
          else if (type === "reply") broker.reply(broker.published.at(-1)?.message, {error});
          else {
            if (delay) broker.ignored.add("subscribe");
            broker.start();
          }
        }
        await settle();
        // A SUBACK that comes `delay` seconds later.
        if (broker.ignored.has("subscribe") && each.events.some(({at, delay}) => delay && at + delay === second)) {
          broker.ignored.clear();
          for (const sent of broker.last.packets("subscribe")) broker.last.subscribe(sent);
        }
        await clock.runTo(1000 + second);
      }
      const published = broker.published.map(({at}) => Math.round(at - 1000));
      assert.deepEqual(published, each.sent);
      assert.equal(new Set(ids()).size, 1);
      const last = each.answers?.at(-1);
      assert.deepEqual([result.reply?.ok, result.error?.code],
        [last === "accepted" ? true : undefined, last === "refused" ? "invalid_state" : undefined]);
      assert.equal(origin.values.size, keep && !["accepted", "refused"].includes(last ?? "") ? 1 : 0);
    });
  }
}

test("a request has an id and the address of its reply, to which the page subscribes once and first", async () => {
  broker.onPublish = (message) => broker.reply(message, {workouts: []});
  const {bus} = tab();
  bus.subscribe(["a", "b"], {onMessage() {}});
  const [first, second] = await Promise.all([bus.ask(topic, {type: "workouts"}), bus.ask(topic, {type: "workouts"})]);
  assert.deepEqual([first.workouts, second.ok], [[], true]);
  const [{message, id}] = broker.published;
  assert.match(message.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual(message, {type: "workouts", id: message.id, client: bus.options.client});
  assert.ok(id > 0);
  assert.deepEqual(broker.last.packets("subscribe").map(({filters}) => filters),
    [[[`pacebus/v1/u/anna/replies/${bus.options.client}`, 1]], [["a", 0], ["b", 0]]]);
  assert.equal(origin.writes, 0);
});

test("ids are random", () => { assert.equal(new Set(Array.from({length: 1000}, newID)).size, 1000); });

test("a refusal has its code and message", async () => {
  broker.onPublish = (message) =>
    broker.reply(message, {error: {code: "invalid_state", message: "pause is not possible"}});
  const {bus} = tab();
  await settle();
  await assert.rejects(bus.ask(topic, {type: "pause"}), {message: "pause is not possible", code: "invalid_state"});
  broker.onPublish = (message) => broker.reply(message, {ok: false});
  await assert.rejects(bus.ask(topic, {type: "pause"}), {code: undefined});
});

test("a reply that names the id in another case counts", async () => {
  broker.onPublish = (message) => broker.reply({...message, id: message.id.toLowerCase()});
  const {bus} = tab();
  await settle();
  const id = newID().toUpperCase();
  assert.equal((await bus.ask(topic, {type: "pause", id}, {keep: true})).ok, true);
  assert.deepEqual([broker.published[0].message.id, origin.values.size], [id, 0]);
});

test("the reply to an earlier repetition ends all, and later replies change nothing", async () => {
  const {bus, kept} = tab();
  await settle();
  const result = outcome(bus.ask(topic, {type: "pause"}, {keep: true}));
  await clock.pass(11);
  const [first, second, third] = broker.published.map(({message}) => message);
  assert.deepEqual([second, third], [first, first]);
  broker.reply(first, {revision: 1});
  await settle();
  for (const error of [undefined, {code: "invalid_state", message: "twice"}])
    broker.reply(second, {revision: 2, error});
  await clock.pass(30);
  assert.deepEqual([result.reply?.revision, broker.published.length], [1, 3]);
  assert.deepEqual(kept, [["pause", undefined], ["pause", "ok"]]);
});

test("replies of other requests, and payloads that are none, change nothing", async () => {
  const {bus} = tab();
  await settle();
  const result = outcome(bus.ask(topic, {type: "pause"}));
  await settle();
  const address = `pacebus/v1/u/anna/replies/${bus.options.client}`;
  for (const payload of [{id: newID(), ok: true}, null, 5, "null", {}, {ok: true}, {id: null, ok: true}])
    broker.publish(address, payload, {qos: 1});
  await settle();
  assert.deepEqual([result, bus.state], [{}, "open"]);
  broker.reply(broker.published[0].message, {error: {code: "too_many_requests", message: "", retryAfter: "soon"}});
  await settle();
  assert.equal(result.error?.code, "too_many_requests");
});

test("a refused filter of replies leads to another connection", async () => {
  const {bus} = tab();
  await settle();
  broker.refused.add(`pacebus/v1/u/anna/replies/${bus.options.client}`);
  const result = outcome(bus.ask(topic, {type: "pause"}));
  await clock.pass(2);
  assert.deepEqual([broker.published.length, broker.sockets.length], [0, 2]);
  broker.refused.clear();
  broker.onPublish = (message) => broker.reply(message);
  await clock.pass(4);
  assert.equal(result.reply?.ok, true);
});

// Kept requests

test("a kept request is stored before it is sent, and gone with its reply", async () => {
  const {bus} = tab();
  await settle();
  broker.onPublish = (message) => {
    assert.match([...origin.values.values()].join(), new RegExp(message.id));
    broker.reply(message);
  };
  await bus.ask(topic, {type: "pause"}, {keep: true});
  assert.deepEqual([broker.published.length, origin.values.size], [1, 0]);
});

test("its time is that of the press by the server's clock, in each repetition and on each page", async () => {
  const {bus, page} = tab();
  bus.clockSample(clock.now, clock.now, clock.wall + 500);
  const at = clock.wall + 500;
  bus.ask(topic, {type: "pause"}, {keep: true});
  await clock.pass(7);
  page.leave();
  await clock.pass(100);
  clock.wall += 3600;
  const next = tab();
  next.bus.clockSample(clock.now, clock.now, clock.wall - 900);
  await clock.pass(7);
  assert.equal(broker.published.length, 4);
  assert.deepEqual([...new Set(broker.published.map(({message}) => message.at))], [at]);
});

test("a time of the page's own stays, and a request that is not kept has none", async () => {
  const {bus} = tab();
  bus.ask(topic, {type: "start", at: 5}, {keep: true});
  bus.ask(topic, {type: "workouts"});
  await settle();
  assert.deepEqual(broker.published.map(({message}) => message.at), [5, undefined]);
});

test("a page that is loaded again sends what waits, under its id and a new address, and tells its reply", async () => {
  const first = tab();
  await settle();
  first.bus.ask(topic, {type: "end"}, {keep: true});
  await clock.pass(1);
  first.page.leave();
  const again = tab();
  await settle();
  assert.equal(broker.published.length, 2);
  assert.equal(new Set(ids()).size, 1);
  const [before, now] = broker.published.map(({message}) => message);
  assert.notEqual(before.client, now.client);
  assert.deepEqual(again.kept, [["end", undefined]]);
  broker.reply(now);
  await settle();
  assert.deepEqual([again.kept, origin.values.size], [[["end", undefined], ["end", "ok"]], 0]);
});

test("a page can ask again for what an earlier page has stored, and gets the reply", async () => {
  const first = tab();
  await settle();
  const id = newID();
  first.bus.ask(topic, {type: "end", id}, {keep: true});
  await settle();
  first.page.leave();
  const again = tab();
  const result = outcome(again.bus.ask("elsewhere", {type: "end", id}, {keep: true}));
  await settle();
  assert.deepEqual(broker.published.map((sent) => sent.topic), [topic, topic]);
  broker.reply(broker.published[1].message);
  await settle();
  assert.equal(result.reply?.ok, true);
});

test("the wait of a refusal outlasts the page", async () => {
  const first = tab();
  await settle();
  first.bus.ask(topic, {type: "end"}, {keep: true});
  await settle();
  broker.reply(broker.published[0].message, {error: {code: "too_many_requests", message: "later", retryAfter: 60}});
  await clock.pass(10);
  first.page.leave();
  tab();
  await clock.pass(60);
  assert.deepEqual(times(), [0, 60, 65, 70]);
});

test("of two tabs the one with the press sends", async () => {
  const [first, other] = [tab(), tab()];
  await settle();
  const result = outcome(first.bus.ask(topic, {type: "end"}, {keep: true}));
  await clock.pass(60);
  assert.equal(broker.published.length, 13);
  assert.deepEqual(new Set(broker.published.map(({message}) => message.client)), new Set([first.bus.options.client]));
  assert.deepEqual(other.kept, [["end", undefined]]);
  broker.reply(broker.published[0].message);
  await clock.pass(30);
  assert.deepEqual([result.reply?.ok, broker.published.length, origin.values.size], [true, 13, 0]);
  assert.deepEqual(other.kept, [["end", undefined], ["end", "ok"]]);
});

test("another tab takes over at once if the one with the press is left, and within 10 s if it crashes", async () => {
  for (const [end, at] of /** @type {["leave" | "kill", number][]} */ ([["leave", 7], ["kill", 15]])) {
    clock.now = 1000;
    const [first, other] = [tab(), tab()];
    await settle();
    first.bus.ask(topic, {type: "end"}, {keep: true});
    await clock.pass(7);
    first.page[end]();
    await clock.pass(14);
    const {client} = other.bus.options;
    assert.deepEqual(
      broker.published.filter(({message}) => message.client === client).map((sent) => sent.at - 1000)[0], at);
    assert.equal(new Set(ids()).size, 1);
    broker.reply(broker.published.at(-1)?.message);
    await settle();
    assert.deepEqual([other.kept.at(-1), origin.values.size], [["end", "ok"], 0]);
    broker.published = [];
    broker.sockets = [];
    other.page.leave();
  }
});

test("a tab without a connection leaves the press to one that has it, and receives the reply from there", async () => {
  const first = tab({openSocket: () => new Broker(clock).open("").broker.last});
  const other = tab();
  await settle();
  first.bus.close();
  const accepted = outcome(first.bus.ask(topic, {type: "end"}, {keep: true}));
  const refused = outcome(first.bus.ask(topic, {type: "lap"}, {keep: true}));
  await clock.pass(1);
  assert.deepEqual(broker.published.map(({message}) => [message.type, message.client]),
    [["end", other.bus.options.client], ["lap", other.bus.options.client]]);
  const [end, lap] = broker.published.map(({message}) => message);
  broker.reply(end, {revision: 7});
  broker.reply(lap, {error: {code: "invalid_state", message: "over"}});
  await settle();
  assert.deepEqual([accepted.reply?.revision, refused.error?.code, origin.values.size], [7, "invalid_state", 0]);
  assert.deepEqual(first.kept, other.kept);
});

test("two tabs that reconnect send a press once", async () => {
  const tabs = [tab(), tab(), tab()];
  await settle();
  tabs[1].bus.ask(topic, {type: "end"}, {keep: true});
  await clock.pass(12);
  broker.stop();
  await clock.pass(3);
  times();
  broker.start();
  await clock.pass(30);
  const counts = broker.published.length;
  assert.ok(counts >= 6 && counts <= 8, `${counts}`);
  assert.equal(new Set(broker.published.map(({message}) => message.client)).size, 1);
});

test("a reply to a tab that no longer sends counts", async () => {
  const [first, other] = [tab(), tab()];
  await settle();
  const result = outcome(first.bus.ask(topic, {type: "end"}, {keep: true}));
  await clock.pass(1);
  broker.sockets[0].end(1006);
  await clock.pass(3);
  const [one, two] = broker.published.map(({message}) => message);
  assert.deepEqual([one.client, two.client], [first.bus.options.client, other.bus.options.client]);
  broker.reply(one);
  await clock.pass(30);
  assert.deepEqual([result.reply?.ok, other.kept.at(-1), origin.values.size], [true, ["end", "ok"], 0]);
  assert.equal(broker.published.length, 2);
});

test("a page from the back-forward cache sends nothing that was answered meanwhile", async () => {
  const {bus, page} = tab();
  await settle();
  const result = outcome(bus.ask(topic, {type: "end"}, {keep: true}));
  await settle();
  page.dispatch("pagehide");
  // Such a page receives no events.
  origin.pages.delete(page);
  const other = tab();
  broker.onPublish = (message) => broker.reply(message);
  await clock.pass(1);
  assert.deepEqual(other.kept.at(-1), ["end", "ok"]);
  other.page.leave();
  page.dispatch("pageshow", {persisted: true});
  await clock.pass(30);
  assert.equal(broker.published.length, 2);
  assert.match(result.error?.message, /withdrawn/);
});

test("a late event of another tab brings back nothing that has its reply", async () => {
  const [first, other] = [tab(), tab()];
  await settle();
  first.bus.ask(topic, {type: "end"}, {keep: true});
  await settle();
  const [[key, newValue]] = origin.values;
  broker.reply(broker.published[0].message);
  await settle();
  other.page.dispatch("storage", {key, newValue});
  await clock.pass(30);
  assert.deepEqual([broker.published.length, other.kept], [1, [["end", undefined], ["end", "ok"]]]);
});

test("a withdrawn request is sent no more, by no tab", async () => {
  const [first, other] = [tab(), tab()];
  await settle();
  const id = newID();
  const result = outcome(first.bus.ask(topic, {type: "start", id}, {keep: true}));
  await clock.pass(1);
  other.bus.requests.withdraw(id);
  other.bus.requests.withdraw(newID());
  await clock.pass(60);
  assert.match(result.error?.message, /withdrawn/);
  assert.deepEqual([broker.published.length, origin.values.size], [1, 0]);
  const chunks = outcome(first.bus.ask(topic, {type: "chunks", id: "c1"}));
  await clock.pass(6);
  first.bus.requests.withdraw("c1");
  await clock.pass(60);
  assert.equal(broker.published.length, 3);
  assert.match(chunks.error?.message, /withdrawn/);
});

test("logging out in another tab, which clears localStorage, ends kept requests", async () => {
  const {bus, page} = tab();
  await settle();
  const [kept, other] = [outcome(bus.ask(topic, {type: "end"}, {keep: true})), outcome(bus.ask(topic, {type: "x"}))];
  await settle();
  origin.values.clear();
  page.dispatch("storage", {key: null, newValue: null});
  await clock.pass(6);
  assert.match(kept.error?.message, /withdrawn/);
  assert.deepEqual([other, broker.published.length], [{}, 3]);
});

test("a full or blocked localStorage keeps a request as long as the page", async () => {
  for (const kind of ["full", "blocked"]) {
    clock.now = 1000;
    broker.published = [];
    origin = new Origin();
    const page = new Page(clock, origin);
    if (kind === "full") origin.room = 10;
    else page.isBlocked = true;
    const {bus, kept} = tab({page});
    await settle();
    const result = outcome(bus.ask(topic, {type: "end"}, {keep: true}));
    await clock.pass(7);
    broker.last.end(1006);
    await clock.pass(2);
    assert.deepEqual(broker.published.map(({at}) => at - 1000), [0, 5, 8]);
    broker.reply(broker.published[0].message, {client: bus.options.client});
    await settle();
    assert.equal(result.reply?.ok, true);
    assert.deepEqual(kept, [["end", undefined], ["end", "ok"]]);
    page.leave();
  }
});

test("a storage that fills up later loses no press and no reply", async () => {
  const [first, other] = [tab(), tab()];
  await settle();
  const result = outcome(first.bus.ask(topic, {type: "end"}, {keep: true}));
  await settle();
  origin.room = 0;
  await clock.pass(6);
  broker.reply(broker.published[0].message);
  await settle();
  assert.deepEqual([result.reply?.ok, origin.values.size], [true, 0]);
  await clock.pass(30);
  assert.equal(new Set(ids()).size, 1);
  assert.equal(other.kept.length, 2);
});

test("what other pages store, and what cannot be read, is left alone", async () => {
  const prefix = "pacebus.request.anna@/mqtt.";
  const others = {
    "pacebus.units": "metric",
    "pacebus.request.ben@/mqtt.1": JSON.stringify({topic, message: {id: "1"}, passing: [], sender: "", until: 0}),
    [`${prefix}2`]: "{",
    [`${prefix}3`]: "null",
    [`${prefix}4`]: "[]"
  };
  origin.values = new Map(Object.entries(others));
  const {page} = tab();
  await clock.pass(10);
  page.dispatch("storage", {key: "pacebus.units", newValue: null});
  page.dispatch("storage", {key: `${prefix}9`, newValue: "{"});
  await clock.pass(10);
  assert.deepEqual([broker.published, Object.fromEntries(origin.values)], [[], others]);
});

test("a browser's clock that steps backwards holds no request for longer than a refusal can", async () => {
  const first = tab();
  await settle();
  first.bus.ask(topic, {type: "end"}, {keep: true});
  await settle();
  first.page.kill();
  clock.wall -= 1_000_000;
  tab();
  await clock.pass(1);
  assert.equal(broker.published.length, 2);
});

test("replies set the server's clock, by the way since the first repetition", async () => {
  const {bus} = tab();
  await settle();
  const offset = () => Math.round((bus.serverNow() - clock.wall) * 100) / 100;
  bus.ask(topic, {type: "workouts"});
  await clock.pass(0.5);
  broker.reply(broker.published[0].message, {now: clock.wall + 500});
  await settle();
  assert.equal(offset(), 500.25);
  bus.ask(topic, {type: "workouts"});
  await clock.pass(6);
  // On its way for a second, or for six.
  broker.reply(broker.published[1].message, {now: clock.wall + 700});
  await settle();
  assert.equal(offset(), 500.25);
});

test("random losses, reloads and tabs: each press gets one reply, and nothing remains", async (context) => {
  let seed = Number(process.env.SEED ?? (Date.now() % 1_000_000) + 1);
  context.diagnostic(`SEED=${seed}`);
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  /** @type {Map<string, number>} */
  const done = new Map();
  broker.onPublish = (message) => {
    if (random() < 0.5) return;
    done.set(message.id, message.at);
    if (random() < 0.5) broker.reply(message);
  };
  let tabs = [tab({random}), tab({random})];
  /** @type {Map<string, number>} */
  const pressed = new Map();
  for (let turn = 0; turn < 300; turn++) {
    const index = Math.floor(random() * tabs.length);
    const action = random();
    if (action < 0.3) {
      const id = newID();
      pressed.set(id, tabs[index].bus.serverNow());
      tabs[index].bus.ask(topic, {type: "lap", id}, {keep: true});
    } else if (action < 0.45) {
      if (random() < 0.5) tabs[index].page.leave();
      else tabs[index].page.kill();
      tabs[index] = tab({random});
    } else if (action < 0.6) {
      broker.sockets[Math.floor(random() * broker.sockets.length)].end(1006);
    } else if (action < 0.65) {
      tabs[index].page.hide(random() < 0.5);
    } else {
      await clock.pass(random() * 8);
    }
  }
  for (const {page} of tabs) page.hide(false);
  broker.onPublish = (message) => {
    done.set(message.id, message.at);
    broker.reply(message);
  };
  await clock.pass(120);
  assert.equal(origin.values.size, 0);
  assert.deepEqual(new Map([...done].sort()), new Map([...pressed].sort()));
});

// Several replies

test("a request with several replies ends with the last one, and a refusal ends it at once", async () => {
  const {bus} = tab();
  await settle();
  /** @type {number[]} */
  const seen = [];
  const take = (/** @type {any} */ {n}) => seen.push(n) > 0 && seen.includes(1) && seen.includes(2);
  const result = outcome(bus.ask(topic, {type: "file"}, {take}));
  await settle();
  const [{message}] = broker.published;
  broker.reply(message, {n: 2});
  await clock.pass(3);
  assert.deepEqual([result, broker.published.length], [{}, 1]);
  broker.reply(message, {n: 2});
  await clock.pass(4.5);
  assert.equal(broker.published.length, 1);
  await clock.pass(1);
  assert.deepEqual([broker.published.length, new Set(ids()).size], [2, 1]);
  broker.reply(message, {n: 1});
  broker.reply(message, {n: 3});
  await clock.pass(20);
  assert.deepEqual([seen, result.reply?.n, broker.published.length], [[2, 2, 1], 1, 2]);
  const refused = outcome(bus.ask(topic, {type: "file"}, {take}));
  await settle();
  broker.reply(broker.published.at(-1)?.message, {error: {code: "file_failed", message: "no"}});
  await settle();
  assert.deepEqual([refused.error?.code, seen.length], ["file_failed", 3]);
});
