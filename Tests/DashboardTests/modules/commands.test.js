import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

/** @type {Map<string, string>} */
const stored = new Map();
/** @type {any[]} */
let posts = [];
/** @type {(post: any) => any} */
let server;
/** @type {(() => void)[]} */
let timers = [];

Object.assign(globalThis, {
  addEventListener() {},
  localStorage: { getItem: (/** @type {string} */ key) => stored.get(key) ?? null, setItem: (/** @type {string} */ key, /** @type {string} */ value) => stored.set(key, value) },
  async fetch(/** @type {string} */ path, /** @type {any} */ { body }) {
    posts.push({ path, ...JSON.parse(body) });
    const { status, data, retryAfter } = server(posts.at(-1));
    return { status, json: async () => data, headers: { get: () => retryAfter ?? null } };
  },
  setTimeout: (/** @type {() => void} */ run) => timers.push(run),
});

const { Presses, answer, body, newID, pendingText } = await import("../../../Services/Dashboard/Web/modules/commands.js");

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
  outcomes = [];
});

test("a press is stored before it is posted and removed when it is done", async () => {
  server = () => {
    assert.match(stored.get("pacebus.presses.anna") ?? "", /"pause"/);
    return { status: 200, data: { done: true } };
  };
  open().press("pause", "s1", "/live/anna/s1/commands");
  await settle();
  assert.deepEqual(outcomes, [["pause", "done"]]);
  assert.equal(stored.get("pacebus.presses.anna"), "[]");
});

test("a page that is loaded again posts the same id with the age of the press", async () => {
  server = () => ({ status: 202 });
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
  server = () => {
    throw new TypeError("offline");
  };
  const presses = open();
  presses.press("lap", "s1", "/c");
  await settle();
  assert.equal(presses.pending("s1")?.type, "lap");
  server = () => ({ status: 200, data: { done: true } });
  await fire();
  assert.equal(new Set(posts.map(({ id }) => id)).size, 1);
  assert.deepEqual(outcomes, [["lap", "done"]]);
});

test("a reply of the stream ends a pending press, and a second one changes nothing", async () => {
  server = () => ({ status: 202 });
  const presses = open();
  presses.press("pause", "s1", "/c");
  await settle();
  const { id } = /** @type {any} */ (presses.pending("s1"));
  presses.replied({ id, ok: true });
  presses.replied({ id, ok: true });
  await fire();
  assert.deepEqual(outcomes, [["pause", "done"]]);
  assert.equal(posts.length, 1);
});

test("a refusal keeps the engine's message and frees the button", async () => {
  server = () => ({ status: 409, data: { refused: { message: "The session is paused." } } });
  const presses = open();
  presses.press("lap", "s1", "/c");
  await settle();
  assert.equal(presses.pending("s1"), undefined);
  assert.equal(presses.refused("s1")?.refusal, "The session is paused.");
  presses.dismiss("s1");
  assert.equal(presses.refused("s1"), undefined);
});

test("one press at a time for a session", async () => {
  server = () => ({ status: 202 });
  const presses = open();
  presses.press("pause", "s1", "/c");
  presses.press("lap", "s1", "/c");
  await settle();
  assert.deepEqual(posts.map(({ type }) => type), ["pause"]);
});

test("a login that ended keeps the press", async () => {
  server = () => ({ status: 401 });
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
  assert.equal(answer(200, {}, 0).kind, "done");
});

test("a press says after 10 s that the engine does not answer", () => {
  const press = { id: "1", type: "pause", session: "s", path: "/c", pressedAt: 1000, fields: {} };
  assert.equal(pendingText(press, 2000), "Pausing…");
  assert.equal(pendingText(press, 11_001), "session-engine does not answer. Your press is kept.");
  assert.equal(body(press, 500).age, 0);
});

test("ids are random UUIDs", () => {
  assert.match(newID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(newID(), newID());
});
