import assert from "node:assert/strict";
import {beforeEach, test} from "node:test";

/** @type {Map<string, string>} */
const stored = new Map();
let isFull = false;
/** @type {((event: any) => void)[]} */
let listeners = [];

Object.assign(globalThis, {
  addEventListener: (/** @type {string} */ _, /** @type {(event: any) => void} */ listener) => listeners.push(listener),
  localStorage: {
    getItem: (/** @type {string} */ key) => stored.get(key) ?? null,
    setItem(/** @type {string} */ key, /** @type {string} */ value) {
      if (isFull) throw new DOMException("full", "QuotaExceededError");
      stored.set(key, value);
    }
  },
});

const {Presses, isUnanswered, pendingText} = await import("../../../Services/Dashboard/Web/modules/commands.js");

const session = "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07";
const command = `pacebus/v1/07/anna/${session}/command`;
const runRequest = "pacebus/v1/u/anna/run-request";

/** A bus that keeps requests until a test answers them. */
class FakeBus {
  /** @type {Map<string, any>} */
  kept = new Map();
  requests = {
    withdraw: (/** @type {string} */ id) => {
      const request = this.kept.get(id);
      this.kept.delete(id);
      this.presses.received(request);
    }
  };
  presses = new Presses("anna", () => /** @type {any} */ (this));

  /** @param {string} topic @param {any} message @param {{ keep: boolean }} options */
  ask(topic, message, {keep}) {
    assert.ok(keep);
    const request = {topic, message: {at: 1000, ...message}};
    this.kept.set(message.id, request);
    this.presses.received(/** @type {any} */ (request));
  }

  /** @param {any} reply of the newest request */
  answer(reply) {
    const [id, request] = [...this.kept].at(-1) ?? [];
    this.kept.delete(id);
    this.presses.received(request, {id, ...reply});
  }
}

/** @type {FakeBus} */
let bus;
/** @type {any[]} */
let outcomes;
let changes = 0;
const open = () => {
  bus = new FakeBus();
  outcomes = [];
  bus.presses.whenAnswered(({type, key}, outcome) => outcomes.push([type, key, outcome]));
  bus.presses.whenChanged(() => changes += 1);
  return bus.presses;
};

beforeEach(() => {
  stored.clear();
  listeners = [];
  isFull = false;
  open();
});

test("a press is pending until its reply, and its key is the session, the run, the plan or people", () => {
  const {presses} = bus;
  for (const [topic, fields, key] of /** @type {[string, any, string][]} */ ([
         [command, {}, session], [runRequest, {run: session.toUpperCase()}, session],
         [runRequest, {user: "ben"}, "people"], ["pacebus/v1/u/anna/request", {plan: "AB", definition: {}}, "ab"]
       ])) {
    assert.equal(presses.press(topic, "x", fields), true);
    assert.equal(presses.pending(key)?.type, "x");
    bus.answer({ok: true});
    assert.equal(presses.pending(key), undefined);
    assert.deepEqual(outcomes.pop(), ["x", key, "done"]);
  }
});

test("one press at a time: another one for the same is not taken, one for another is", () => {
  const {presses} = bus;
  presses.press(command, "pause");
  assert.equal(presses.press(command, "lap"), false);
  assert.equal(presses.press(runRequest, "block", {user: "ben"}), true);
  assert.deepEqual(presses.all.map(({type}) => type), ["pause", "block"]);
});

test("a refusal stays until it is dismissed, over a reload and in other tabs, or until the next press", () => {
  let {presses} = bus;
  presses.press(command, "pause");
  bus.answer({ok: false, error: {code: "x", message: "Not now"}});
  assert.deepEqual(outcomes, [["pause", session, "refused"]]);
  assert.equal(presses.refused(session)?.refusal, "Not now");
  assert.equal(presses.refused(session)?.code, "x");
  presses = open();
  assert.equal(presses.refused(session)?.refusal, "Not now");
  presses.press(command, "resume");
  assert.equal(presses.refused(session), undefined);
  bus.answer({ok: false, error: {message: "No"}});
  const before = changes;
  presses.dismiss(session);
  assert.equal(presses.refused(session), undefined);
  assert.ok(changes > before);
  listeners[0]({key: "pacebus.refused.anna", newValue: JSON.stringify([{key: session, refusal: "Elsewhere"}])});
});

test("at most twenty refusals are kept, and without a storage as long as the page", () => {
  const {presses} = bus;
  isFull = true;
  for (let number = 0; number < 25; number++) {
    presses.press(`pacebus/v1/07/anna/session-${number}/command`, "pause");
    bus.answer({ok: false, error: {message: "No"}});
  }
  assert.equal(presses.all.length, 20);
  assert.equal(presses.all[0].key, "session-5");
});

test("a start is taken back by a discard, which counts as done whatever the engine knows", () => {
  const {presses} = bus;
  presses.press(command, "pause");
  presses.withdraw(session);
  assert.equal(presses.pending(session)?.type, "pause", "only a start can be taken back");
  bus.answer({ok: true});
  presses.press(command, "start", {activity: "running"});
  presses.withdraw(session);
  assert.deepEqual([...bus.kept.values()].map(({message}) => message.type), ["discard"]);
  const press = presses.pending(session);
  assert.ok(press);
  assert.equal(pendingText(press, 2000, true), "Withdrawing…");
  bus.answer({ok: false, error: {code: "session_not_found", message: "no such session"}});
  assert.deepEqual(outcomes.pop(), ["discard", session, "done"]);
  assert.equal(presses.all.length, 0);
});

test("who logs out may forget what has no answer", () => {
  bus.presses.press(command, "pause");
  bus.presses.press(runRequest, "block", {user: "ben"});
  bus.presses.discard();
  assert.equal(bus.kept.size, 0);
  assert.deepEqual(bus.presses.all, []);
  assert.deepEqual(outcomes, []);
});

test("words say what happens, and after 10 s that nothing answers", () => {
  const {presses} = bus;
  presses.press(command, "pause");
  presses.press(runRequest, "block", {user: "ben"});
  const [pause, block] = presses.all;
  assert.equal(pendingText(pause, 1010, true), "Pausing…");
  assert.equal(isUnanswered(pause, 1010), false);
  assert.equal(pendingText(pause, 1011, true), "The server does not answer. Your press is kept.");
  assert.equal(pendingText(block, 1011, true), "The server does not answer. Your press is kept.");
  assert.equal(pendingText(block, 1011, false), "No connection. Your press is kept.");
  assert.equal(pendingText({...pause, type: "unknown"}, 1000, true), "Sending…");
});
