import assert from "node:assert/strict";
import test from "node:test";

import {activeAt, bestStretch, details, distanceAt, lapStretches, lastMovement, momentAt, placeAt, splitStretches, timeAt, valueAt} from "../../../Services/Dashboard/Web/modules/workout-data.js";
import {editFields, formValues} from "../../../Services/Dashboard/Web/modules/workout-form.js";
import {bestsTable, exercises, exportText, outsideText, sourceLines, splitsTable, titleOf, totals, when, zoneLimits, zonesTable} from "../../../Services/Dashboard/Web/modules/workout-view.js";

const start = 1_700_000_000;
/** 100 s, a pause of 50 s, and 200 s more. */
const workout = {
  session: "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07",
  name: "Morning Run",
  activity: "running",
  environment: "outdoor",
  startedAt: start,
  endedAt: start + 350,
  segments: [[start, start + 100], [start + 150, start + 350]],
  activeDuration: 300,
  elapsedDuration: 350,
  distance: 903,
  splits: [],
  laps: []
};
const seconds = [...Array(101).keys(), ...Array.from({length: 201}, (_, i) => 150 + i)];
const series = {
  c: Float64Array.from(seconds, (second) => start + second),
  h: Float64Array.from(seconds, (second) => 100 + second / 10),
  d: Float64Array.from(seconds, (second) => second === 0 ? 0 : 3)
};
const track = {
  c: series.c,
  la: Float64Array.from(seconds, (second) => 52 + second / 1e5),
  lo: Float64Array.from(seconds, () => 13),
  al: Float64Array.from(seconds, () => 40)
};
const found = details(workout, series, track);
/** @param {number | undefined} a @param {number} b */
const near = (a, b, by = 0.05) => assert.ok(a !== undefined && Math.abs(a - b) <= by, `${a} is not ${b}`);

test("moments are active seconds without pauses, and back", () => {
  const {segments} = /** @type {any} */ (workout);
  near(activeAt(segments, start + 60), 60);
  near(activeAt(segments, start + 120), 100);
  near(activeAt(segments, start + 160), 110);
  near(activeAt(segments, start + 9999), 300);
  near(momentAt(segments, 60), start + 60);
  near(momentAt(segments, 110), start + 160);
});

test("a pause breaks each line, and no value lies in it", () => {
  for (const key of ["heartRate", "speed", "elevation"]) {
    const broken = [...found.lines[key].v].filter(Number.isNaN);
    assert.equal(broken.length, 1, key);
  }
  near(valueAt(found.lines.heartRate, 99), 109.9, 0.2);
  near(valueAt(found.lines.heartRate, 102), 115.2, 0.2);
  assert.equal(found.lines.power, undefined);
});

test("speed comes from distances, and never across a pause", () => {
  for (const value of found.lines.speed.v)
    if (!Number.isNaN(value)) near(value, 3, 0.1);
});

test("distances and places are known at each time", () => {
  near(distanceAt(found, 50), 150, 4);
  near(timeAt(found, 600), 200, 2);
  const place = placeAt(found, 60);
  near(place?.[0], 52.0006, 1e-5);
});

test("a silence breaks a line, and a device that is slow by nature does not", () => {
  const c = Float64Array.from([0, 1, 2, 3, 60, 61, 62], (second) => start + second);
  const gap = details(workout, {c, h: c.map(() => 120)}, {});
  assert.equal([...gap.lines.heartRate.v].filter(Number.isNaN).length, 1);
  const slow = Float64Array.from([0, 27, 54, 80], (second) => start + second);
  const pool = details(workout, {c: slow, h: slow.map(() => 120)}, {});
  assert.equal([...pool.lines.heartRate.v].filter(Number.isNaN).length, 0);
});

test("lengths of a pool and speeds add up to the distance of the record", () => {
  const c = Float64Array.from([25, 50, 75, 100], (second) => start + second);
  const pool = details({...workout, distance: 100}, {c, ln: c.map(() => 1)}, {});
  near(distanceAt(pool, 75), 75);
  const v = details({...workout, distance: 90}, {c, v: c.map(() => 1)}, {});
  near(distanceAt(v, 100), 90);
});

test("details of nothing are none", () => { assert.deepEqual(details(workout, {}, {}).lines, {}); });

test("splits, laps and bests are stretches of active time", () => {
  const splits = splitStretches({...workout, splits: [{duration: 90}, {duration: 60}]});
  near(splits[0].to, 90);
  near(splits[1].to, 150);
  const [lap] = lapStretches({...workout, laps: [{startedAt: start + 90, endedAt: start + 160}]});
  near(lap.from, 90);
  near(lap.to, 110);
  // 80 s with a pause of 50 s.
  const best = bestStretch(workout, {t: 90, s: 80});
  near(best.from, 90);
  near(best.to, 120);
});

test("who forgot to stop is offered the last movement", () => {
  assert.equal(lastMovement(found), undefined);
  const still = {
    ...found,
    duration: 1000,
    distance: {t: Float64Array.of(0, 300, 999), v: Float64Array.of(0, 900, 902)}
  };
  near(lastMovement(still), 300, 1);
});

test("one figure is the greatest, two follow, and unknown ones are left out", () => {
  const {hero, seconds, rest} = totals({...workout, averageHeartRate: 151}, "metric");
  assert.deepEqual([hero.label, hero.text.number], ["Distance", "0.90"]);
  assert.deepEqual(seconds.map(({label}) => label), ["Time", "Pace"]);
  assert.deepEqual(rest.map(({label}) => label), ["With pauses", "Average heart rate"]);
  assert.equal(titleOf(workout, "metric"), "Morning Run · 0.90 km");
  const lifting = totals({
    ...workout,
    activity: "traditionalStrength",
    distance: undefined,
    progress: {completed: {a: [{repetitions: 5, weight: 100}, {repetitions: 5, weight: 100}]}}
  },
    "metric");
  assert.deepEqual(
    lifting.seconds.map(({label, text}) => `${label} ${text.number} ${text.unit}`), ["Lifted 1,000 kg", "Sets 2 "]);
  assert.equal(totals({...workout, distance: undefined}, "metric").hero.label, "Time");
  assert.equal(totals({...workout, activity: "cycling", averageSpeed: 8}, "imperial").seconds[1].text.unit, "mph");
});

test("dates are in the workout's zone and in the language's clock", () => {
  assert.equal(when(1795238100, "Europe/Berlin", "de"), "Sat 21 Nov 2026, 06:15");
  assert.equal(when(1795238100, "Europe/Berlin", "en-US"), "Sat 21 Nov 2026, 6:15 am");
  assert.equal(when(1795238100 + 6 * 3600, "Europe/Berlin", "en-US"), "Sat 21 Nov 2026, 12:15 pm");
  assert.equal(when(1795238100 - 6 * 3600, "Europe/Berlin", "en-US"), "Sat 21 Nov 2026, 12:15 am");
});

test("splits are rows with pace and the columns that are known; the rest of the way is named", () => {
  const table = splitsTable({
    activity: "running",
    splits: [
      {distance: 1000, duration: 300, pace: 300, averageHeartRate: 150}, {distance: 1000, duration: 330, pace: 330},
      {distance: 210, duration: 66, pace: 314}
    ]
  },
    "metric");
  assert.equal(table.unit, "Kilometre");
  assert.deepEqual(table.columns.map(({label}) => label), ["Pace", "Heart rate"]);
  assert.deepEqual(table.rows.map(({label, values}) => [label, ...values]),
    [["1", "5:00 /km", "150 bpm"], ["2", "5:30 /km", "-- bpm".slice(0, 2)], ["0.21 km", "5:14 /km", "--"]]);
  assert.equal(table.rows[0].share, 1);
  const mile = splitsTable({activity: "cycling", splits: [{distance: 1609.344, duration: 240}]}, "imperial");
  assert.deepEqual([mile.unit, mile.columns[0].label, mile.rows[0].values[0]], ["Mile", "Speed", "15.0 mph"]);
});

test("zones have their limits if the profile gives them", () => {
  assert.deepEqual(zoneLimits({maximumHeartRate: 200}, start), [120, 140, 160, 180]);
  assert.deepEqual(zoneLimits({zones: [100, 120, 140, 160], maximumHeartRate: 200}, start), [100, 120, 140, 160]);
  near(zoneLimits({thresholdHeartRate: 160, maximumHeartRate: 200}, start)?.[3], 168);
  near(zoneLimits({birthYear: 1983}, start)?.[0], 0.6 * 180);
  assert.equal(zoneLimits(undefined, start), undefined);
  const rows = zonesTable({zones: [60, 0, 0, 0, 180]}, [120, 140, 160, 180]);
  assert.deepEqual(rows.map(({bounds}) => bounds), ["below 120", "120–139", "140–159", "160–179", "from 180"]);
  assert.equal(rows[4].percent, "75 %");
  assert.deepEqual(zonesTable({zones: [0, 0, 0, 0, 0]}, undefined), []);
});

test("sets say what was done, and what was planned where that differs", () => {
  const bench = {name: "Bench Press", sets: [{repetitions: 8, weight: 60}, {repetitions: 8, weight: 60}]};
  const [item] = exercises({
    plan: {blocks: [{timer: {type: "stopwatch"}, items: [{id: "1", chosen: 0, exercises: [bench]}]}]},
    progress: {
      completed: {1: [{round: 1, set: 0, repetitions: 8, weight: 60}, {round: 1, set: 1, repetitions: 6, weight: 60}]},
      skipped: [],
      painFlagged: ["1"]
    }
  },
    "metric");
  assert.deepEqual(item.sets.map((/** @type {any} */ {text, planned}) => [text, planned]),
    [["8 × 60 kg", ""], ["6 × 60 kg", "planned 8 × 60 kg"]]);
  assert.deepEqual([item.count, item.marks], ["2 of 2 sets", ["Pain noted"]]);
});

test("a record is better than all earlier workouts of the sport; later ones and other sports do not count", () => {
  const bests = (/** @type {number} */ s) => ({distance: [{m: 1000, s, t: 0}]});
  const own = {
    ...workout,
    bests: {...bests(280), power: [{s: 300, w: 250, t: 0}], sets: [{exercise: "Squat", weight: 100, repetitions: 3}]}
  };
  /** @param {any} changes */
  const other = (changes) => ({session: "other", activity: "running", startedAt: start - 5000, ...changes});
  const first = (/** @type {any[] | undefined} */ earlier) => bestsTable(own, earlier, "metric")[0];
  assert.deepEqual(
    [first([other({bests: bests(300)})]).isRecord, first([other({bests: bests(300)})]).note], [true, "0:20 faster"]);
  assert.equal(first([other({bests: bests(275)}), other({bests: bests(300)})]).isRecord, false);
  assert.equal(first([other({bests: bests(275), startedAt: start + 5000}), other({bests: bests(300)})]).isRecord, true);
  assert.equal(first([other({bests: bests(100), activity: "cycling"}), other({bests: bests(300)})]).isRecord, true);
  assert.equal(
    first([other({bests: bests(200), session: workout.session.toUpperCase()}), other({bests: bests(300)})]).isRecord,
    true);
  assert.deepEqual([first([]).isRecord, first([]).note], [false, "First"]);
  assert.deepEqual([first(undefined).isRecord, first(undefined).note], [false, ""]);
  const [, power, squat] = bestsTable(own,
    [other({bests: {power: [{s: 300, w: 240}], sets: [{exercise: "Squat", weight: 97.5, repetitions: 5}]}})], "metric");
  assert.deepEqual([power.label, power.note, squat.note], ["Power over 5 min", "10 W more", "2.5 kg more"]);
  assert.equal(bestsTable(workout, [other({distance: 500})], "metric")[0].label, "Longest distance");
  assert.deepEqual(bestsTable(workout, [], "metric"), []);
});

test("sources say which device counted until when", () => {
  const lines = sourceLines({
    activeDuration: 3600,
    sources: [
      {quantity: "heart_rate", device: "strap-1f", from: 0, to: 1930},
      {quantity: "heart_rate", device: "watch-3f9a", from: 1931, to: 3599},
      {quantity: "distance", device: "watch-3f9a", from: 0, to: 3600},
      {quantity: "cadence", device: "watch-3f9a", from: 2, to: 3599},
      {quantity: "power", device: "pod-aa", from: 120, to: 3000},
    ]
  });
  assert.deepEqual(lines, [
    {quantities: "Heart rate", text: "strap to 32:10, then watch"},
    {quantities: "Distance and cadence", text: "watch"},
    {quantities: "Power", text: "pod from 02:00 to 50:00"},
  ]);
  const two = sourceLines({
    activeDuration: 100,
    sources:
      [{quantity: "power", device: "pod-aa", from: 0, to: 50}, {quantity: "power", device: "pod-bb", from: 51, to: 100}]
  });
  assert.equal(two[0].text, "pod-aa to 00:50, then pod-bb");
  assert.deepEqual(sourceLines({activeDuration: 100}), []);
});

test("what counts for nothing is named", () => {
  assert.equal(outsideText({}), "");
  assert.equal(outsideText({outside: {"samples/watch-3f9a": 1}}),
    "1 measurement of the watch was recorded in pauses, before the start or after the end, and does not count.");
  assert.match(outsideText({outside: {"samples/watch-3f9a": 1200, "locations/phone-1": 2}}),
    /^1,200 measurements of the watch and 2 positions of the phone were/);
});

test("an export that failed can be tried again", () => {
  const time = () => "14:05";
  assert.deepEqual(exportText({status: "done", attempts: 2}, time), {text: "Exported", canRetry: false});
  assert.deepEqual(exportText({status: "failed", attempts: 1, reason: "no space"}, time),
    {text: "Not exported after 1 failed attempt: no space", canRetry: true});
  assert.deepEqual(exportText({status: "pending", attempts: 2, nextAttemptAt: 1, reason: "no answer"}, time),
    {text: "Next attempt at 14:05; 2 failed attempts: no answer", canRetry: true});
});

test("an edit sends what changed, in the units of the bus", () => {
  const profile = {edit: {note: "Windy.", trimEnd: start + 300}, recorded: {startedAt: start, endedAt: start + 350}};
  const before = formValues(workout, profile, "imperial");
  const span = {start, end: start + 350};
  assert.deepEqual([before.note, before.trimEnd, before.exertion], ["Windy.", "5:00", ""]);
  assert.deepEqual(editFields(before, before, span, "imperial"), {fields: {}});
  const {fields} = editFields(before,
    {...before, name: " Hills ", note: "", trimEnd: "", trimStart: "1:30", weight: "154.3 lb", exertion: "7"}, span,
    "imperial");
  near(/** @type {number} */ (fields.weight), 69.99, 0.01);
  delete fields.weight;
  assert.deepEqual(fields, {name: "Hills", note: null, trimEnd: null, trimStart: start + 90, exertion: 7});
});

test("a wrong value names its field, and nothing is sent", () => {
  const before = formValues(workout, undefined, "metric");
  const span = {start, end: start + 350};
  for (const [field, text] of [["weight", "5"], ["maximumHeartRate", "300"], ["trimEnd", "9:00"], ["trimEnd", "x"],
         ["name", "ä".repeat(101)], ["note", "x".repeat(4001)]]) {
    const {fields, wrong} = editFields(before, {...before, [field]: text}, span, "metric");
    assert.deepEqual([wrong?.field, fields], [field, {}], `${field} ${text.slice(0, 9)}`);
  }
  assert.equal(
    editFields(before, {...before, trimStart: "3:00", trimEnd: "2:00"}, span, "metric").wrong?.field, "trimEnd");
});
