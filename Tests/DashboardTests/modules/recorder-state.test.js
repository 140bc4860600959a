import assert from "node:assert/strict";
import {test} from "node:test";
import {Figures, metresBetween, stateAfter, withPhone, runStart} from "../../../Services/Dashboard/Web/modules/recorder-state.js";
import {activeSeconds, noSession} from "../../../Services/Dashboard/Web/modules/session.js";

const now = 1_800_000_000;
const start = {
  id: "1",
  type: "start",
  at: now,
  activity: "running",
  countdown: 3,
  session: "s",
  units: "metric"
};
/** @param {string} type @param {number} after seconds from the start of the countdown */
const command = (type, after, more = {}) => ({id: `${type}-${after}`, type, at: now + after, ...more});

test("without a server the session follows from the commands", () => {
  assert.equal(stateAfter(undefined, [], now), undefined);
  const counting = stateAfter(undefined, [start], now + 1);
  assert.deepEqual([counting.status, counting.countdownEndsAt, counting.allowed], ["preparing", now + 3, ["discard"]]);
  assert.equal(counting.name, "Outdoor Running");
  const commands = [start, command("lap", 10), command("pause", 13), command("resume", 23), command("pause", 33)];
  const paused = stateAfter(undefined, commands, now + 40);
  assert.deepEqual([paused.status, paused.laps, activeSeconds(paused, now + 99)], ["paused", [now + 10], 20]);
  assert.ok(paused.allowed.includes("end"));
  const ended = stateAfter(undefined, [...commands, command("end", 40)], now + 41);
  assert.deepEqual([ended.status, ended.endedAt, ended.allowed], ["saving", now + 40, []]);
});

test("commands that the status does not allow, and refused ones, change nothing", () => {
  const commands =
    [start, command("resume", 10), command("pause", 20), command("pause", 25), command("resume", 26, {refusal: "no"})];
  const state = stateAfter(undefined, commands, now + 30);
  assert.deepEqual([state.status, state.segments], ["paused", [[now + 3, now + 20]]]);
});

test("of commands that the server's state has, none counts again", () => {
  const server = {revision: 10, status: "active", segments: [[now, null]], laps: [], allowed: ["pause"]};
  assert.equal(stateAfter(server, [{...start, revision: 5}], now + 9), server);
  const paused = stateAfter(server, [{...start, revision: 5}, command("pause", 9, {revision: 12})], now + 9);
  assert.deepEqual([paused.status, paused.segments], ["paused", [[now, now + 9]]]);
  assert.equal(stateAfter({...server, revision: 12}, [command("pause", 9, {revision: 12})], now + 9).status, "active");
});

test("a countdown ends without the server", () => {
  const server = {revision: 10, status: "preparing", countdownEndsAt: now + 3, segments: [], laps: []};
  assert.equal(stateAfter(server, [], now + 2), server);
  assert.equal(stateAfter(server, [], now + 3).status, "active");
});

/** @param {number} seconds @param {number} metres to the north */
const fix = (seconds, metres, more = {}) => ({c: now + seconds, la: 52 + metres / 111_195.08, lo: 13, ac: 5, ...more});

test("distance is that of good fixes within active segments", () => {
  assert.ok(Math.abs(metresBetween(fix(0, 0), fix(0, 100)) - 100) < 0.01);
  const figures = new Figures();
  /** @type {[number, number | null][]} */
  const segments = [[now, now + 20], [now + 40, null]];
  for (const item of [fix(-5, -20), fix(0, 0), fix(10, 30), fix(11, 500, {ac: 50}), fix(12, 5000), fix(20, 60),
         fix(30, 100), fix(40, 160), fix(50, 190)])
    figures.addFix(item, segments);
  assert.ok(Math.abs(figures.distance - 90) < 0.05, String(figures.distance));
  const metrics = figures.metrics({segments, startedAt: now}, now + 52);
  assert.ok(Math.abs(metrics.v - 3) < 0.01);
  assert.ok(Math.abs(metrics.dp - 333.3) < 1);
  assert.equal(metrics.t, 30);
  assert.equal(figures.metrics({segments}, now + 66).v, undefined);
});

test("the distance continues from the server's", () => {
  const figures = new Figures();
  /** @type {[number, number | null][]} */
  const segments = [[now, null]];
  for (let second = 0; second <= 30; second++) figures.addFix(fix(second, 3 * second), segments);
  figures.follow({c: now + 20, d: 55}, undefined);
  assert.ok(Math.abs(figures.metrics({segments}, now + 30).d - 85) < 0.05);
});

test("the server's figures win while they are young", () => {
  const figures = new Figures();
  const state = {revision: 1, status: "active", segments: [[now, null]], laps: [], startedAt: now};
  for (let second = 0; second <= 30; second++) figures.addFix(fix(second, 3 * second), [[now, null]]);
  figures.addSample({c: now + 30, h: 140}, true);
  const young = {...noSession(), state, metrics: {c: now + 10, d: 31, k: 5}, heardAt: now + 25};
  assert.equal(withPhone(young, [], figures, now + 30).metrics.d, 31);
  const old = withPhone({...young, heardAt: now + 12}, [], figures, now + 30);
  assert.ok(old.isEstimated && Math.abs(old.metrics.d - 90) < 0.05);
  assert.deepEqual([old.metrics.k, old.metrics.h, old.metrics.hx, old.heardAt], [5, 140, 140, now + 30]);
  const offline = withPhone(noSession(), [start], figures, now + 30);
  assert.deepEqual([offline.state.status, offline.isEstimated], ["active", true]);
});

test("a device begins a virtual run by the start that the view names, and with a countdown of its own if it is late",
  () => {
    const own = {user: "anna", status: "confirmed", session: "A1", startId: "B2", startsAt: 1000};
    const view = {run: "C3", user: "anna", countdown: 10, participants: [{user: "ben"}, own]};
    assert.deepEqual(runStart(view, 990), {id: "B2", session: "A1", run: "C3", startAt: 1000});
    assert.equal(runStart(view, 1006)?.startAt, 1016);
    assert.equal(runStart({...view, participants: [{...own, startId: undefined}]}, 990), undefined);
    const state = stateAfter(undefined, [{...runStart(view, 990), type: "start", at: 990, activity: "running"}], 995);
    assert.deepEqual([state.status, state.startedAt, state.run], ["preparing", 1000, "C3"]);
  });

test("a phone whose start is refused goes on", () => {
  const state = stateAfter(undefined, [{...start, refusal: "no"}, command("pause", 20)], now + 30);
  assert.deepEqual([state.status, state.segments], ["paused", [[now + 3, now + 20]]]);
});
