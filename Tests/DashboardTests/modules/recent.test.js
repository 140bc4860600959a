import assert from "node:assert/strict";
import {test} from "node:test";
import * as r from "../../../Services/Dashboard/Web/modules/recent.js";

const day = 86_400;
// Wed 18 Nov 2026, 12:00 in Berlin.
const now = Date.UTC(2026, 10, 18, 11) / 1000;
const workout = (user, startedAt, changes = {}) => ({
  user,
  session: `0b9f6d1e-1f1a-4c58-9a55-${user.padEnd(8, "0")}${Math.floor(startedAt % 1e4)}`,
  activity: "running",
  name: "Outdoor Running",
  startedAt,
  endedAt: startedAt + 1800,
  timeZone: "Europe/Berlin",
  activeDuration: 1700,
  distance: 5000,
  ...changes
});

test("a week begins on Monday in the workout's zone", () => {
  const at = (text) => Date.parse(text) / 1000;
  const monday = r.week(at("2026-11-16T00:00:00+01:00"), "Europe/Berlin");
  assert.equal(r.week(at("2026-11-22T23:59:59+01:00"), "Europe/Berlin"), monday);
  assert.equal(r.week(at("2026-11-15T23:59:59+01:00"), "Europe/Berlin"), monday - 1);
  assert.equal(r.week(at("2026-11-23T00:00:00+01:00"), "Europe/Berlin"), monday + 1);
  // The same moment is Sunday in New York.
  assert.equal(r.week(at("2026-11-16T00:00:00+01:00"), "America/New_York"), monday - 1);
  // A year's end, a leap day, a change of the clock, and the zone of a phone that this browser does not know.
  assert.equal(r.week(at("2027-01-03T12:00:00Z")), r.week(at("2026-12-28T12:00:00Z")));
  assert.equal(r.week(at("2028-02-29T12:00:00Z")), r.week(at("2028-03-05T12:00:00Z")));
  assert.equal(
    r.week(at("2026-10-25T23:30:00+01:00"), "Europe/Berlin"), r.week(at("2026-10-19T00:10:00+02:00"), "Europe/Berlin"));
  assert.equal(r.week(now, "Mars/Olympus"), r.week(now));
});

test("each week has seven days, whatever the zone", () => {
  for (const zone of ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu", "UTC"]) {
    const starts = Array.from({length: 400}, (_, hour) => r.week(now + hour * 3600, zone));
    const changes = starts.flatMap((week, hour) => (hour > 0 && week !== starts[hour - 1] ? [hour] : []));
    assert.deepEqual(changes.slice(1).map((hour, index) => hour - changes[index]), [168]);
  }
});

test("this week's totals are those of the workouts that began in it", () => {
  const monday = now - 2 * day - 12 * 3600;
  const all = [
    workout("anna", monday),
    workout("anna", monday - 1),
    workout("ben", now - 3600, {distance: undefined, activeDuration: 100}),
    // In Kiritimati it is Thursday already, and was Monday a day before.
    workout("ben", monday - 12 * 3600, {timeZone: "Pacific/Kiritimati", distance: 7}),
    workout("ben", now - 9 * day),
  ];
  const {count, duration, distance} = r.recent(all, now);
  assert.deepEqual({count, duration, distance}, {count: 3, duration: 3500, distance: 5007});
});

test("without distances the week's is unknown, and without workouts all but the distance is 0", () => {
  assert.equal(r.recent([workout("anna", now, {distance: undefined})], now).distance, undefined);
  assert.deepEqual(r.recent([], now), {count: 0, duration: 0, distance: undefined, latest: []});
});

test("the latest five are of all users, those that began last first", () => {
  const all = Array.from({length: 4}, (_, index) => ["anna", "ben"].map((user) => workout(user, now - index * day)));
  const latest = r.recent(all.flat().reverse(), now).latest;
  const at = latest.map(({user, startedAt}) => [user, (now - startedAt) / day]);
  assert.deepEqual(at, [["ben", 0], ["anna", 0], ["ben", 1], ["anna", 1], ["ben", 2]]);
  const endedOnly = workout("carla", now, {startedAt: undefined, endedAt: now + 1});
  const timeless = workout("dora", now, {startedAt: undefined, endedAt: undefined});
  const order = r.recent([timeless, workout("anna", now), endedOnly], now).latest.map(({user}) => user);
  assert.deepEqual(order, ["carla", "anna", "dora"]);
});

test("the title names up to three others", () => {
  assert.equal(r.weekTitle("anna", ["anna"]), "This week");
  assert.equal(r.weekTitle("coach", ["ben", "anna"]), "This week of anna, ben");
  assert.equal(r.weekTitle("anna", ["anna", "ben", "carla", "dora"]), "This week of ben, carla, dora");
  assert.equal(r.weekTitle("coach", ["anna", "ben", "carla", "dora"]), "This week of 4 people");
  assert.equal(r.weekTitle("coach", []), "This week");
});

/** @param {number} count @param {number} days between them */
async function* pages(count, days, asked = []) {
  for (let index = 0; index < count; index++) {
    asked.push(index);
    const {user, ...overview} = workout("anna", now - index * days * day);
    yield {...overview, session: overview.session.toUpperCase()};
  }
}

test("a history is read until it is older than a week and has five workouts", async () => {
  const asked = [];
  const found = await r.read(pages(1000, 0.5, asked), "anna", now);
  assert.ok(found.length > 15 && found.length < 20 && asked.length === found.length + 1, `${found.length}`);
  assert.equal(found[0].user, "anna");
  assert.equal(found[0].session, found[0].session.toLowerCase());
  assert.equal((await r.read(pages(1000, 30), "anna", now)).length, 5);
  assert.equal((await r.read(pages(1000, 0.001), "anna", now)).length, 100);
  assert.deepEqual(await r.read(pages(0, 1), "anna", now), []);
});

/** Histories whose requests wait for `answers`. */
function begin(users) {
  const answers = new Map();
  const log = [];
  const read = (user) => new Promise((resolve, reject) => {
    log.push(user);
    assert.ok(!answers.has(user), `${user} is asked for twice at one time`);
    answers.set(user, {resolve, reject});
  });
  const newest = [];
  const histories = new r.Histories(read, (workout) => newest.push(workout?.user));
  histories.see(users);
  const answer = async (user, act) => {
    const {[act ? "reject" : "resolve"]: end} = answers.get(user);
    answers.delete(user);
    end(act ?? [workout(user, now)]);
    await new Promise(setImmediate);
  };
  return {answers, log, newest, histories, answer};
}

test("the histories of many are read five at a time, and count when all are there", async () => {
  const users = Array.from({length: 100}, (_, index) => `user-${index}`);
  const {answers, log, histories, answer, newest} = begin(users);
  assert.equal(log.length, 5);
  while (answers.size > 0) {
    assert.ok(answers.size <= 5, "too many requests at one time");
    assert.equal(histories.all, undefined);
    await answer([...answers.keys()].at(-1));
  }
  assert.deepEqual([log.length, new Set(log).size, newest.length], [100, 100, 100]);
  assert.equal(histories.all?.length, 100);
});

test("a refused request ends like an empty history, and keeps what was known", async () => {
  const {histories, answer} = begin(["anna", "ben"]);
  await answer("anna", new Error("no"));
  await answer("ben");
  assert.deepEqual(histories.all?.map(({user}) => user), ["ben"]);
});

test("who may no longer be seen is forgotten, also with a request that nobody answers", async () => {
  const users = ["a", "b", "c", "d", "e", "f"];
  const {histories, answer, answers, log} = begin(users);
  await answer("a");
  histories.see(["f", "g"]);
  assert.ok(log.includes("g"), "unanswered requests of others hold this one up");
  answers.delete("b");
  await answer("f");
  await answer("g");
  assert.deepEqual(histories.all?.map(({user}) => user), ["f", "g"]);
  await answer("c");
  assert.deepEqual(histories.all?.map(({user}) => user), ["f", "g"]);
  histories.see([]);
  assert.deepEqual(histories.all, []);
});

test("what changes while it is read is read again afterwards, once", async (context) => {
  context.mock.timers.enable({apis: ["setTimeout"]});
  const {histories, answer, log} = begin(["anna"]);
  for (let repeats = 0; repeats < 3; repeats++) histories.readAgain("anna");
  histories.readAgain("ben");
  context.mock.timers.tick(1000);
  assert.deepEqual(log, ["anna"]);
  await answer("anna");
  assert.deepEqual(log, ["anna", "anna"]);
  await answer("anna");
  context.mock.timers.tick(1000);
  assert.equal(log.length, 2);
});

test("a workout that only the history has is a finished one of its day", () => {
  const state = r.stateOf(workout("anna", now));
  assert.deepEqual([state.status, state.endedAt, state.revision], ["completed", now + 1800, (now + 1800) * 1000]);
  assert.equal(r.stateOf(workout("anna", now, {startedAt: undefined})).endedAt, now + 1800);
});
