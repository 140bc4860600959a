import assert from "node:assert/strict";
import test from "node:test";
import {Recording} from "../../../Services/Dashboard/Web/modules/recording.js";

const now = 1_800_000_000;
const session = "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07";

/**
 * A server that answers commands, and a browser without storage.
 *
 * @param {(message: any, topic: string) => string | undefined} refusal the code of a refusal
 */
function server(refusal) {
  /** @type {{ topic: string, message: any }[]} */
  const asked = [];
  const bus = /** @type {any} */ ({
    state: "open",
    serverNow: () => now,
    senders: new Set(),
    async ask(/** @type {string} */ topic, /** @type {any} */ message) {
      asked.push({topic, message: {...message}});
      const code = refusal(message, topic);
      if (code) throw Object.assign(new Error(code), {code});
      return {revision: asked.length};
    }
  });
  return {asked, bus};
}

/** @param {any} bus @param {[string, number][]} commands types and seconds since the start */
function recorded(bus, commands) {
  const list = commands.map(([type, at], index) => ({
    id: `1d6a3c4${index}-0000-4000-8000-000000000000`,
    type,
    at: now - 100_000 + at,
    ...(type === "start" ? {session} : {})
  }));
  return new Recording(bus, "anna", {session, commands: list, streams: [], sensors: [], devices: {}, version: 0});
}

/** @param {number} seconds @param {import("node:test").TestContext} context */
async function pass(seconds, context) {
  for (let i = 0; i < seconds; i++) {
    for (let k = 0; k < 10; k++) await new Promise((resolve) => setImmediate(resolve));
    context.mock.timers.tick(1000);
  }
}

/**
 * Hashes are made beside this thread.
 *
 * @param {() => boolean} condition @param {import("node:test").TestContext} context
 */
async function until(condition, context) {
  for (let i = 0; !condition(); i++) {
    assert.ok(i < 100_000, `not so: ${condition}`);
    await new Promise((resolve) => setImmediate(resolve));
    context.mock.timers.tick(10);
  }
}

test("without topics, a workout that ended 48 hours ago and that the server has is over", async (context) => {
  context.mock.timers.enable({apis: ["setTimeout"]});
  const {bus} = server(() => undefined);
  const old = recorded(bus, [["start", -200_000], ["end", -100_000]]);
  assert.equal(old.isOver(undefined, undefined), false);
  await old.resume();
  await pass(1, context);
  assert.equal(old.isOver(undefined, undefined), true);
  const fresh = recorded(bus, [["start", 0], ["end", 50_000]]);
  await fresh.resume();
  await pass(1, context);
  assert.equal(fresh.isOver(undefined, undefined), false);
});

test("without the finished workout, the end is sent again under its id", async (context) => {
  context.mock.timers.enable({apis: ["setTimeout"]});
  const {asked, bus} = server(() => undefined);
  const recording = recorded(bus, [["start", 0], ["end", 50_000]]);
  await recording.resume();
  await pass(1, context);
  const state = {status: "saving", session};
  for (let i = 0; i < 3; i++) assert.equal(recording.isOver(state, undefined), false);
  await pass(20, context);
  assert.deepEqual(asked.map(({message}) => message.type), ["start", "end", "end"]);
  assert.equal(asked[1].message.id, asked[2].message.id);
  assert.equal(recording.isOver({status: "completed", session}, {next: {}}), true);
});

test("a session that the server has lost gets all commands again, under their ids", async (context) => {
  context.mock.timers.enable({apis: ["setTimeout"]});
  let isLost = true;
  const {asked, bus} = server(({type}) => {
    if (!isLost) return undefined;
    if (type === "start" && asked.length > 2) isLost = false;
    return type === "pause" && isLost ? "session_not_found" : undefined;
  });
  const recording = recorded(bus, [["start", 0], ["lap", 10], ["pause", 20], ["end", 30]]);
  await recording.resume();
  await pass(8, context);
  assert.deepEqual(asked.map(({message}) => message.type), ["start", "lap", "pause", "start", "lap", "pause", "end"]);
  assert.equal(asked[0].message.id, asked[3].message.id);
  assert.ok(recording.commands.every(({revision, refusal}) => revision !== undefined && refusal === undefined));
  assert.equal(recording.session, session);
});

for (const how of ["that expired", "that is unknown and cannot begin again", "that is unknown twice"]) {
  const isSaid = how === "that expired";
  test(`a workout of a session ${how} is logged again, always as the same one`, async (context) => {
    context.mock.timers.enable({apis: ["setTimeout"]});
    const sessions = new Set();
    const ids = new Set();
    for (let i = 0; i < 2; i++) {
      let calls = 0;
      const {asked, bus} = server(({type}, topic) => {
        if (!topic.includes(session)) return undefined;
        if (type === "start") return calls++ > 0 && how.includes("cannot") ? "invalid_state" : undefined;
        return "session_not_found";
      });
      const recording = recorded(bus, [["start", 0], ["pause", 20], ["end", 30]]);
      let successions = 0;
      recording.onSucceed = () => successions++;
      await recording.resume();
      if (isSaid) assert.equal(recording.isOver({status: "deleted", endReason: "expired", session}, undefined), false);
      await until(() => successions === 1, context);
      await until(() => recording.commands.every(({revision}) => revision !== undefined), context);
      const last = asked.slice(-3);
      assert.deepEqual(last.map(({message}) => message.type), ["start", "pause", "end"]);
      assert.ok(last.every(({topic}) => topic.includes(recording.session)));
      const {message: start} = last[0];
      assert.deepEqual([start.notSynced, start.endAt], [session, last[2].message.at]);
      sessions.add(recording.session);
      for (const {message} of last) ids.add(message.id);
      assert.equal(recording.isOver({status: "deleted", endReason: "expired", session}, undefined), false);
    }
    assert.equal(sessions.size, 1);
    assert.match([...sessions][0], /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(ids.size, 3);
  });
}

test("a deleted workout is over at once, and nothing of it is sent again", async (context) => {
  context.mock.timers.enable({apis: ["setTimeout"]});
  const {asked, bus} = server(() => "session_not_found");
  const recording = recorded(bus, [["start", 0], ["end", 30]]);
  await recording.resume();
  await pass(1, context);
  assert.equal(recording.isOver({status: "deleted", session}, undefined), true);
  recording.remove();
  await pass(30, context);
  assert.equal(asked.length, 1);
});

test("a start that the server refuses keeps the recording until it is discarded", async (context) => {
  context.mock.timers.enable({apis: ["setTimeout"]});
  const {bus} = server(({type}) => type === "start" ? "invalid_command" : undefined);
  const recording = recorded(bus, [["start", 0], ["end", 30]]);
  await recording.resume();
  await pass(1, context);
  assert.equal(recording.isOver(undefined, undefined), false);
  recording.command("discard", {}, now);
  assert.equal(recording.isOver(undefined, undefined), true);
});
