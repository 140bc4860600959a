import assert from "node:assert/strict";
import {test} from "node:test";
import * as calendar from "../../../Services/Dashboard/Web/modules/calendar.js";
import {changeOf, emptyCopy, isSameCursor, merge, sorted} from "../../../Services/Dashboard/Web/modules/history-merge.js";
import * as v from "../../../Services/Dashboard/Web/modules/history-view.js";
import * as load from "../../../Services/Dashboard/Web/modules/load.js";

const at = (text) => Date.parse(text) / 1000;
const day = (text) => Date.parse(text) / 86_400e3;
let count = 0;
const workout = (changes = {}) => ({
  session: `0b9f6d1e-1f1a-4c58-9a55-${String(count++).padStart(12, "0")}`,
  name: "Outdoor Running",
  activity: "running",
  environment: "outdoor",
  startedAt: at("2026-11-18T10:00:00Z"),
  timeZone: "Europe/Berlin",
  activeDuration: 1800,
  distance: 6000,
  ...changes
});

test("changes put, replace and remove, and their cursor is kept as it is", () => {
  const [a, b] = [workout({changed: 5}), workout({changed: 6})];
  const cursor = {changed: 6, since: 9};
  let copy = merge(emptyCopy(), changeOf({changes: [a, b], next: cursor, more: true}), 100);
  assert.deepEqual(copy.cursor, cursor);
  assert.equal(copy.at, 0, "it is not up to date while more follow");
  copy = merge(copy, changeOf({
    changes: [
      {...a, session: a.session.toUpperCase(), name: "Renamed", changed: 7},
      {session: b.session, deleted: true, changed: 8}
    ],
    next: 9
  }),
    200);
  assert.deepEqual([...copy.workouts.values()].map(({name}) => name), ["Renamed"]);
  assert.deepEqual([copy.cursor, copy.at], [9, 200]);
});

test("a reset drops the copy before it takes the changes", () => {
  const [a, b] = [workout(), workout()];
  const copy = merge(emptyCopy(), changeOf({changes: [a], next: 5}), 1);
  const next = merge(copy, changeOf({changes: [b], reset: true, next: 4}), 2);
  assert.deepEqual([...next.workouts.keys()], [b.session]);
  assert.equal(copy.workouts.size, 1, "the former copy is not changed");
  assert.equal(merge(copy, changeOf({changes: [], reset: true, next: 9}), 3).workouts.size, 0);
});

test("cursors are numbers or objects", () => {
  assert.ok(isSameCursor({changed: 1, since: 2}, {changed: 1, since: 2}));
  assert.ok(!isSameCursor({changed: 1, since: 2}, 1));
  assert.ok(!isSameCursor(0, 1));
});

test("the newest comes first, and one that never began has its end", () => {
  const [a, b, c] =
    [workout({startedAt: 100}), workout({startedAt: 300}), workout({startedAt: undefined, endedAt: 200})];
  assert.deepEqual(sorted([a, b, c]).map(({session}) => session), [b.session, c.session, a.session]);
});

test("a day is that of the workout's zone", () => {
  const late = workout({startedAt: at("2026-03-29T23:30:00Z"), timeZone: "Europe/Berlin"});
  assert.equal(calendar.dayOf(late), day("2026-03-30"));
  assert.equal(calendar.dayOf(late, "America/New_York"), day("2026-03-29"));
  assert.equal(calendar.dayOf(workout({startedAt: 1e9, timeZone: "Nowhere/Here"})), day("2001-09-09"));
  assert.equal(calendar.weekdayOf(day("2026-11-16")), 0);
  assert.equal(calendar.mondayOf(day("2026-11-22")), day("2026-11-16"));
});

test("a year has a day for each square, with its time and level", () => {
  const first = workout({startedAt: at("2024-02-29T10:00:00Z"), activeDuration: 1500});
  const second = workout({startedAt: at("2024-02-29T18:00:00Z"), activeDuration: 3000});
  const months = calendar.calendarYear([first, second, workout()], 2024);
  assert.equal(months.reduce((sum, {days}) => sum + days.length, 0), 366);
  const {offset, days} = months[1];
  assert.equal(offset, 3, "February 2024 began on a Thursday");
  assert.deepEqual(days[28], {day: day("2024-02-29"), date: 29, count: 2, seconds: 4500, level: 3});
  assert.deepEqual([0, 1, 1799, 1800, 3600, 7200, 9e4].map(calendar.levelOf), [0, 1, 1, 2, 3, 4, 4]);
});

test("weeks begin on Monday, and the last one has today", () => {
  const of = (text, changes) => workout({startedAt: at(`${text}T12:00:00Z`), ...changes});
  const all = sorted([
    of("2026-11-16", {distance: 1000, ascent: 30}), of("2026-11-22", {distance: undefined}), of("2026-11-15"),
    of("2026-08-31"), of("2026-08-30")
  ]);
  const weeks = calendar.weeksOf(all, day("2026-11-18"), 12);
  assert.equal(weeks.length, 12);
  assert.deepEqual(weeks[11], {monday: day("2026-11-16"), count: 2, time: 3600, distance: 1000, ascent: 30});
  assert.deepEqual(weeks[10].count, 1);
  assert.equal(weeks[0].monday, day("2026-08-31"));
  assert.equal(weeks[0].count, 1, "the Sunday before is another week");
});

test("load lines follow the formula, in the person's zone, and form is yesterday's difference", () => {
  const of = (text, heartRate) => workout({startedAt: at(text), load: {heartRate}});
  const today = day("2026-11-20");
  const days = load.loadDays(
    [of("2026-11-18T10:00:00Z", 100), of("2026-11-18T16:00:00Z", 20), of("2026-11-19T23:30:00Z", 50), workout()],
    load.loadSeries.heartRate, "Europe/Berlin", today);
  assert.deepEqual(days.map(({day, load}) => [day, load]), [[today - 2, 120], [today - 1, 0], [today, 50]]);
  const [slow, fast] = [1 - Math.exp(-1 / 42), 1 - Math.exp(-1 / 7)];
  const long = [120 * slow, 120 * slow * (1 - slow)];
  const short = [120 * fast, 120 * fast * (1 - fast)];
  assert.ok(Math.abs(days[1].long - long[1]) < 1e-9 && Math.abs(days[1].short - short[1]) < 1e-9);
  assert.equal(days[0].form, 0);
  assert.ok(Math.abs(days[2].form - (long[1] - short[1])) < 1e-9, "the form of today is before today's workout");
  assert.deepEqual(load.loadDays([workout()], load.loadSeries.stress, undefined, today), []);
});

test("filters are by activity, year, day, and words in name and note", () => {
  const ride = workout(
    {activity: "cycling", name: "Grunewald Loop", note: "with Ben, windy", startedAt: at("2025-12-31T23:30:00Z")});
  const all = [workout(), ride];
  const none = {activity: "", year: "", text: ""};
  assert.equal(v.filtered(all, none).length, 2);
  assert.deepEqual(v.filtered(all, {...none, activity: "cycling"}), [ride]);
  assert.deepEqual(v.filtered(all, {...none, text: "BEN  grune"}), [ride]);
  assert.deepEqual(v.filtered(all, {...none, text: "ben rain"}), []);
  // Berlin has had its new year.
  assert.equal(v.filtered(all, {...none, year: "2026"}).length, 2);
  assert.equal(v.filtered(all, {...none, year: "2025"}).length, 0);
  assert.deepEqual(v.filtered(all, {...none, day: day("2026-01-01")}), [ride]);
  assert.deepEqual(v.choices(all).years, ["2026"]);
});

test("rows of a month", () => {
  const all =
    [workout(), workout({startedAt: at("2026-10-31T23:30:00Z")}), workout({startedAt: at("2026-10-31T22:30:00Z")})];
  assert.deepEqual(v.byMonth(all).map(({label, count}) => [label, count]), [["November 2026", 2], ["October 2026", 1]]);
});

test("figures of a row", () => {
  const texts = (changes, units = "metric") => v.figures(workout(changes), units).map(({text}) => text);
  assert.deepEqual(texts({averageHeartRate: 151.4}), ["6.00 km", "30:00", "5:00 /km", "151 bpm"]);
  assert.deepEqual(texts({activity: "cycling", distance: 15000}, "imperial"), ["9.32 mi", "30:00", "18.6 mph"]);
  assert.deepEqual(texts({activity: "traditionalStrength", distance: undefined}), ["30:00"]);
  assert.deepEqual(texts({activity: "swimming", distance: 1500}), ["1,500 m", "30:00", "2:00 /100 m"]);
});

test("a sketch fits its box, north up", () => {
  const path = v.sketchPath("_p~iF~ps|U_ulLnnqC_mqNvxq`@");
  const numbers = path.match(/-?[\d.]+/g).map(Number);
  assert.ok(path.startsWith("M") && numbers.length === 6);
  assert.ok(numbers.every((value) => value >= 3 && value <= 41));
  assert.ok(numbers[5] < numbers[1], "the line leads north");
  assert.equal(v.sketchPath(""), undefined);
  assert.equal(v.sketchPath(undefined), undefined);
});

test("records are the best of all, of equal ones the first", () => {
  const bests = (distance) => ({bests: {distance}});
  const first = workout(
    {startedAt: 100, ...bests([{m: 1000, s: 270, t: 0}, {m: 1609.344, s: 440, t: 0}]), distance: 9000, ascent: 80});
  const equal = workout({startedAt: 200, ...bests([{m: 1000, s: 270, t: 0}])});
  const walk = workout({startedAt: 300, activity: "walking", ...bests([{m: 1000, s: 269.96, t: 5}]), ascent: 900});
  const ride = workout({
    startedAt: 50,
    activity: "cycling",
    distance: 80_000,
    bests: {power: [{s: 5, w: 700, t: 1}, {s: 1200, w: 250.4, t: 1}]}
  });
  const lift = workout({
    startedAt: 60,
    activity: "traditionalStrength",
    distance: undefined,
    bests: {sets: [{exercise: "Back Squat", weight: 100, repetitions: 3}, {exercise: "Plank"}]}
  });
  const more = workout({
    startedAt: 70,
    activity: "traditionalStrength",
    distance: undefined,
    bests: {sets: [{exercise: "Back Squat", weight: 100, repetitions: 5}]}
  });
  const found = v.records(sorted([first, equal, walk, ride, lift, more]), "metric");
  const rows =
    found.map(({title, records}) => [title, records.map(({label, text, workout}) => [label, text, workout.session])]);
  assert.deepEqual(rows, [
    [
      "On foot",
      [
        ["1 km", "4:30.0", walk.session], ["1 mile", "7:20.0", first.session], ["Longest", "9.00 km", first.session],
        ["Highest", "900 m", walk.session]
      ]
    ],
    [
      "Cycling",
      [
        ["Power, 5 s", "700 W", ride.session], ["Power, 20 min", "250 W", ride.session],
        ["Longest", "80.00 km", ride.session]
      ]
    ],
    ["Strength", [["Back Squat", "5 × 100 kg", more.session]]],
  ]);
  assert.deepEqual([59.96, 271.34, 3599.97, 11041].map(v.timeText), ["1:00.0", "4:31.3", "1:00:00", "3:04:01"]);
});
