import assert from "node:assert/strict";
import {beforeEach, test} from "node:test";

/** @type {Map<string, string>} */
const stored = new Map();
const store = (/** @type {string} */ key, /** @type {string} */ value) => {
  if (value.length > room) throw new DOMException("full", "QuotaExceededError");
  stored.set(key, value);
};
let room = Infinity;
/** @type {any[]} */
let posts = [];
/** @type {(post: any, signal: AbortSignal) => any} */
let server;
/** @type {(() => void)[]} */
let timers = [];
/** @type {((event: any) => void)[]} */
let listeners = [];

Object.assign(globalThis, {
  addEventListener: (/** @type {string} */ _, /** @type {(event: any) => void} */ listener) => listeners.push(listener),
  localStorage: {
    getItem: (/** @type {string} */ key) => stored.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => store(key, value)
  },
  async fetch(/** @type {string} */ path, /** @type {any} */ {body, signal, redirect}) {
    posts.push({path, redirect, ...JSON.parse(body)});
    const {status, data, retryAfter} = await server(posts.at(-1), signal);
    return {status, json: async () => data, headers: {get: () => retryAfter ?? null}};
  },
  setTimeout: (/** @type {() => void} */ run) => timers.push(run),
});

const {Presses, answer, body, newID, pendingText} = await import("../../../Services/Dashboard/Web/modules/commands.js");
const {serverClock} = await import("../../../Services/Dashboard/Web/modules/stream.js");

/** @type {any[]} */
let outcomes = [];
const open = () => new Presses("anna", (press, outcome) => outcomes.push([press.type, outcome.kind]), () => {});
const settle = () => new Promise((resolve) => setImmediate(resolve));
const fire = async () => {
  const due = timers;
  timers = [];
  for (const timer of due) timer();
  await settle();
};

beforeEach(() => {
  stored.clear();
  posts = [];
  timers = [];
  listeners = [];
  outcomes = [];
  room = Infinity;
});

test("a press is stored before it is posted and removed when it is done", async () => {
  server = () => {
    assert.match(stored.get("pacebus.presses.anna") ?? "", /"pause"/);
    return {status: 200, data: {done: true}};
  };
  open().press("pause", "s1", "/live/anna/s1/commands");
  await settle();
  assert.deepEqual(outcomes, [["pause", "done"]]);
  assert.equal(stored.get("pacebus.presses.anna"), "[]");
});

test("a page that is loaded again posts the same id with the age of the press", async () => {
  server = () => ({status: 202});
  open().press("end", "s1", "/c");
  await settle();
  const again = open();
  await settle();
  assert.equal(posts.length, 2);
  assert.equal(posts[0].id, posts[1].id);
  assert.ok(posts[1].age >= posts[0].age);
  assert.equal(again.pending("s1")?.type, "end");
});

test("without a connection the press stays and is posted again under its id", async () => {
  server = () => { throw new TypeError("offline"); };
  const presses = open();
  presses.press("lap", "s1", "/c");
  await settle();
  assert.equal(presses.pending("s1")?.type, "lap");
  server = () => ({status: 200, data: {done: true}});
  await fire();
  assert.equal(new Set(posts.map(({id}) => id)).size, 1);
  assert.deepEqual(outcomes, [["lap", "done"]]);
});

test("a POST that nothing answers ends, and the press is posted again under its id and time", async () => {
  serverClock.receive(2_000_000_000);
  server = (_, signal) => new Promise((_, reject) => signal.addEventListener("abort", reject));
  const presses = open();
  presses.press("end", "s1", "/c");
  await settle();
  await fire();
  server = () => ({status: 200, data: {done: true}});
  await fire();
  assert.equal(posts.length, 2);
  assert.equal(posts[0].id, posts[1].id);
  assert.equal(posts[0].at, posts[1].at);
  assert.ok(Math.abs(posts[0].at - 2_000_000_000) < 10);
  assert.deepEqual(outcomes, [["end", "done"]]);
});

test("a press that the server cannot store says so until it is stored", async () => {
  server = () => ({status: 503, retryAfter: 5});
  const presses = open();
  presses.press("end", "s1", "/c");
  await settle();
  const pending = () => pendingText(/** @type {any} */ (presses.pending("s1")), Date.now());
  assert.equal(pending(), "The server cannot store your press now. It is kept here and sent again.");
  server = () => ({status: 429, data: {refused: {message: "50 presses wait for a reply."}}, retryAfter: 5});
  await fire();
  assert.equal(pending(), "50 presses wait for a reply.");
  server = () => ({status: 202});
  await fire();
  assert.equal(pending(), "Ending…");
  assert.equal(new Set(posts.map(({id}) => id)).size, 1);
});

test("a reply of the stream ends a pending press, and a second one changes nothing", async () => {
  server = () => ({status: 202});
  const presses = open();
  presses.press("pause", "s1", "/c");
  await settle();
  const {id} = /** @type {any} */ (presses.pending("s1"));
  presses.replied({id, ok: true});
  presses.replied({id, ok: true});
  await fire();
  assert.deepEqual(outcomes, [["pause", "done"]]);
  assert.equal(posts.length, 1);
});

test("a refusal keeps the engine's message and frees the button", async () => {
  server = () => ({status: 409, data: {refused: {message: "The session is paused."}}});
  const presses = open();
  presses.press("lap", "s1", "/c");
  await settle();
  assert.equal(presses.pending("s1"), undefined);
  assert.equal(presses.refused("s1")?.refusal, "The session is paused.");
  presses.dismiss("s1");
  assert.equal(presses.refused("s1"), undefined);
});

test(
  "a start without answer is withdrawn by a discard, which a server that stored it or an engine without the session ends",
  async () => {
    for (const [status, data] of /** @type {[number, any][]} */ ([
           [202, undefined], [409, {refused: {code: "session_not_found", message: "no such session"}}],
           [200, {done: true}]
         ])) {
      stored.clear();
      [posts, timers, outcomes] = [[], [], []];
      server = ({type}) => (type === "start" ? {status: 202} : {status, data});
      const presses = open();
      presses.press("start", "s1", "/commands", {activity: "running"});
      await settle();
      presses.withdraw("s1", "/live/anna/s1/commands");
      assert.equal(pendingText(/** @type {any} */ (presses.pending("s1")), Date.now() + 60_000), "Withdrawing…");
      await settle();
      await fire();
      assert.deepEqual(
        posts.map(({type, path}) => [type, path]), [["start", "/commands"], ["discard", "/live/anna/s1/commands"]]);
      assert.deepEqual([presses.all, outcomes], [[], [["discard", "done"]]]);
      // The reply to the start comes after all.
      presses.replied({id: posts[0].id, ok: true});
      assert.equal(outcomes.length, 1);
    }
  });

test("a withdrawal is posted until the server has it, and nothing else is withdrawn", async () => {
  server = () => { throw new TypeError("offline"); };
  const presses = open();
  presses.press("start", "s1", "/commands");
  await settle();
  presses.withdraw("s1", "/c");
  await settle();
  server = () => ({status: 202});
  await fire();
  assert.deepEqual([posts.map(({type}) => type).pop(), presses.all], ["discard", []]);
  presses.press("pause", "s2", "/c");
  presses.withdraw("s2", "/c");
  assert.equal(presses.pending("s2")?.type, "pause");
});

test("one press at a time for a session", async () => {
  server = () => ({status: 202});
  const presses = open();
  assert.equal(presses.press("pause", "s1", "/c"), true);
  assert.equal(presses.press("lap", "s1", "/c"), false);
  await settle();
  assert.deepEqual(posts.map(({type}) => type), ["pause"]);
});

test("a press that its tab stops sending is posted by another tab under its id", async () => {
  server = () => { throw new TypeError("offline"); };
  const other = open();
  open().press("end", "s1", "/c");
  await settle();
  // The tab with the press is closed.
  timers = [];
  for (let changes = 0; changes < 2; changes++) listeners[0]({key: "pacebus.presses.anna"});
  assert.equal(timers.length, 1);
  assert.equal(posts.length, 1);
  server = () => ({status: 200, data: {done: true}});
  await fire();
  assert.equal(posts.length, 2);
  assert.equal(posts[0].id, posts[1].id);
  assert.deepEqual([other.all, outcomes], [[], [["end", "done"]]]);
});

test("a login that ended keeps the press", async () => {
  server = () => ({status: 401});
  const presses = open();
  presses.press("end", "s1", "/c");
  await settle();
  assert.deepEqual(outcomes, [["end", "login"]]);
  assert.equal(presses.pending("s1")?.type, "end");
});

test("answers by status", () => {
  assert.equal(answer(503, undefined, 7).kind, "later");
  assert.equal(answer(429, undefined, 0).kind, "later");
  assert.equal(answer(403, undefined, 0).kind, "refused");
  assert.equal(answer(200, {done: true}, 0).kind, "done");
  for (const data of [undefined, {}, "Log in"]) assert.equal(answer(200, data, 0).kind, "later");
});

test("a proxy's sign-in page keeps the press, and no redirect is followed", async () => {
  server = () => ({status: 200});
  const presses = open();
  presses.press("end", "s1", "/c");
  await settle();
  assert.equal(posts[0].redirect, "error");
  assert.equal(presses.pending("s1")?.type, "end");
  server = () => ({status: 200, data: {done: true}});
  await fire();
  assert.equal(posts[0].id, posts[1].id);
  assert.deepEqual(outcomes, [["end", "done"]]);
});

test("a press that a full storage does not take is posted, named and posted again under its id", async () => {
  server = () => ({status: 202});
  const presses = open();
  presses.press("lap", "s2", "/c");
  room = stored.get("pacebus.presses.anna")?.length ?? 0;
  presses.press("end", "s1", "/c");
  await settle();
  assert.equal(presses.pending("s1")?.type, "end");
  assert.equal(presses.press("lap", "s1", "/c"), false);
  // The press of the other session leaves, as another tab receives its reply.
  stored.set("pacebus.presses.anna", "[]");
  assert.equal(presses.pending("s2"), undefined);
  server = () => ({status: 200, data: {done: true}});
  await fire();
  const ids = posts.filter(({type}) => type === "end").map(({id}) => id);
  assert.equal(ids.length, 2);
  assert.equal(new Set(ids).size, 1);
  assert.deepEqual(outcomes, [["end", "done"]]);
  assert.deepEqual(presses.all, []);
});

test("a full storage takes no refusal, and the page shows it", async () => {
  server = () => ({status: 202});
  const presses = open();
  presses.press("lap", "s1", "/c");
  await settle();
  room = stored.get("pacebus.presses.anna")?.length ?? 0;
  presses.replied({id: presses.pending("s1")?.id, ok: false, error: {message: "The session is paused."}});
  assert.equal(presses.pending("s1"), undefined);
  assert.equal(presses.refused("s1")?.refusal, "The session is paused.");
  presses.dismiss("s1");
  assert.deepEqual(presses.all, []);
});

test("a press says after 10 s that the engine does not answer", () => {
  const press = {id: "1", type: "pause", session: "s", path: "/c", pressedAt: 1000, fields: {}};
  assert.equal(pendingText(press, 2000), "Pausing…");
  assert.equal(pendingText(press, 11_001), "session-engine does not answer. Your press is kept.");
  assert.equal(body(press, 500).age, 0);
});

test("ids are random UUIDs", () => {
  assert.match(newID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(newID(), newID());
});
