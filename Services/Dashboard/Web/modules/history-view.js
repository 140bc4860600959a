// What the page of the history shows: filters, months, sketches and records. No DOM, no clock.

import {dateOf, dayOf, months, yearOf} from "./calendar.js";
import {titleOf} from "./cards.js";
import {format, joined, rowOf} from "./format.js";
import {began} from "./history-merge.js";
import {decode} from "./route.js";

/** @typedef {import("./history-merge.js").Workout} Workout */
/** @typedef {{ activity: string, year: string, text: string, day?: number }} Filter empty: all; `day`: since 1970 */
/** @typedef {{ key: string, label: string, count: number, time: number, workouts: Workout[] }} Month */

/** @type {WeakMap<Workout, string>} */
const texts = new WeakMap();

/**
 * What a text is looked for in.
 *
 * @param {Workout} workout
 */
function textOf(workout) {
  let text = texts.get(workout);
  if (text === undefined)
    texts.set(workout,
      text = `${workout.name}\n${titleOf(workout.activity, workout.name)}\n${workout.note ?? ""}`.toLowerCase());
  return text;
}

/**
 * @param {Workout[]} workouts @param {Filter} filter
 */
export function filtered(workouts, {activity, year, text, day}) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return workouts.filter((workout) => (!activity || workout.activity === activity) &&
      (!year || yearOf(dayOf(workout)) === Number(year)) && (day === undefined || dayOf(workout) === day) &&
      words.every((word) => textOf(workout).includes(word)));
}

/**
 * The years and activities that there are; years the newest first, activities by how often.
 *
 * @param {Workout[]} workouts
 */
export function choices(workouts) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const years = new Set();
  for (const workout of workouts) {
    counts.set(workout.activity, (counts.get(workout.activity) ?? 0) + 1);
    years.add(yearOf(dayOf(workout)));
  }
  return {
    years: [...years].sort((a, b) => b - a).map(String),
    activities: [...counts].sort(([, a], [, b]) => b - a).map(([activity]) => activity)
  };
}

/**
 * @param {Workout[]} workouts newest first @returns {Month[]}
 */
export function byMonth(workouts) {
  /** @type {Month[]} */
  const found = [];
  for (const workout of workouts) {
    const date = dateOf(dayOf(workout));
    const key = `${date.getUTCFullYear()}-${date.getUTCMonth()}`;
    let month = found[found.length - 1];
    if (month?.key !== key) {
      month = {key, label: `${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`, count: 0, time: 0, workouts: []};
      found.push(month);
    }
    month.count += 1;
    month.time += workout.activeDuration;
    month.workouts.push(workout);
  }
  return found;
}

/**
 * @param {Workout[]} workouts
 */
export const sums = (workouts) => ({
  count: workouts.length,
  time: workouts.reduce((sum, {activeDuration}) => sum + activeDuration, 0),
  distance: workouts.reduce((sum, {distance}) => sum + (distance ?? 0), 0),
  ascent: workouts.reduce((sum, {ascent}) => sum + (ascent ?? 0), 0),
});

/**
 * `8.31 km · 42:10`; nothing of what is not there.
 *
 * @param {{ count: number, time: number, distance: number }} sum @param {import("./format.js").Units} units
 */
export const sumText =
  ({count, time, distance}, units) => [`${joined(format("count", count))} ${count === 1 ? "workout" : "workouts"}`,
    joined(format("duration", time)), ...(distance > 0 ? [joined(format("distance", distance, {units}))] : [])]
                                        .join(" · ");

/**
 * What a row shows at its end, in this order; nothing of what is not there.
 *
 * @param {Workout} workout @param {import("./format.js").Units} units @returns {{ key: string, text: string }[]}
 */
export function figures(workout, units) {
  const {activity, activeDuration, distance = 0, averageHeartRate, averagePower} = workout;
  const options = {units, activity};
  const row = rowOf(options);
  const isPaced = row.figure === "pace" || row.swims;
  const isMoved = distance > 0 && activeDuration > 0;
  /** @type {[string, string, number | undefined][]} */
  const found = [
    ["distance", "distance", distance > 0 ? distance : undefined],
    ["time", "duration", activeDuration],
    [
      "rate", isPaced ? "pace" : "speed",
      isMoved ? (isPaced ? activeDuration / distance * 1000 : distance / activeDuration) : undefined
    ],
    ["heart", "heartRate", averageHeartRate],
  ];
  if (!isMoved && averagePower !== undefined) found[2] = ["rate", "power", averagePower];
  return found.flatMap(([key, quantity, value]) => {
    if (value === undefined) return [];
    const text = format(quantity, value, options);
    return [{key, text: joined(text)}];
  });
}

/** Of a sketch: pixels of the line's box, and of the line's room around it. */
const [sketchSize, sketchEdge] = [44, 3];

/**
 * The path of a route's line in a box of 44 by 44, north up.
 *
 * @param {string | undefined} sketch an encoded polyline @returns {string | undefined}
 */
export function sketchPath(sketch) {
  const points = sketch ? decode([sketch])[0] : [];
  if (points.length < 2) return undefined;
  const [latitude] = points[0];
  const scale = Math.cos(latitude * Math.PI / 180);
  const flat = points.map(([la, lo]) => [lo * scale, -la]);
  const [xs, ys] = [0, 1].map((axis) => flat.map((point) => point[axis]));
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = sketchSize - 2 * sketchEdge;
  const factor = room / Math.max(right - left, bottom - top, 1e-6);
  const place = (/** @type {number[]} */[x,
    y]) => [(x - (left + right) / 2) * factor + sketchSize / 2, (y - (top + bottom) / 2) * factor + sketchSize / 2]
             .map((value) => Math.round(value * 10) / 10)
             .join(" ");
  return `M${flat.map(place).join("L")}`;
}

// MARK: Records

/** @typedef {{ label: string, text: string, workout: Workout, value: number }} Record_ */
/** @typedef {{ title: string, activity: string, records: Record_[] }} RecordGroup */

/**
 * Sports whose records are one another's.
 *
 * @type {{ title: string, activities: string[] }[]}
 */
const groups = [
  {title: "On foot", activities: ["running", "walking", "hiking"]},
  {title: "Cycling", activities: ["cycling"]},
  {title: "Swimming", activities: ["swimming"]},
  {title: "Rowing", activities: ["rowing"]},
];

/** @type {[number, string][]} */
const names = [[1609.344, "1 mile"], [21097.5, "Half marathon"], [42195, "Marathon"]];

/** @param {number} metres */
const distanceName = (metres) => names.find(([m]) => Math.abs(m - metres) < 1)?.[1] ??
  (metres % 1000 === 0 ? `${metres / 1000} km` : `${metres >= 1000 ? joined(format("count", metres)) : metres} m`);

/** @param {number} seconds */
const durationName = (seconds) => seconds < 60 ? `${seconds} s` : `${seconds / 60} min`;

/**
 * `4:31`, `1:05:07`; below 10 min with tenths.
 *
 * @param {number} seconds
 */
export function timeText(seconds) {
  const tenths = Math.round(seconds * 10);
  const [hours, minutes, rest] = [Math.floor(tenths / 36_000), Math.floor(tenths / 600) % 60, tenths % 600];
  const whole = String(Math.floor(rest / 10)).padStart(2, "0");
  if (hours > 0) return `${hours}:${String(minutes).padStart(2, "0")}:${whole}`;
  return minutes >= 10 ? `${minutes}:${whole}` : `${minutes}:${whole}.${rest % 10}`;
}

/**
 * The best of all workouts. Of equal ones the first that was done.
 *
 * @param {Workout[]} workouts @param {import("./format.js").Units} units @returns {RecordGroup[]}
 */
export function records(workouts, units) {
  const oldestFirst = [...workouts].sort((a, b) => began(a) - began(b));
  return [
    ...groups.map(({title, activities}) => {
      const all = oldestFirst.filter(({activity}) => activities.includes(activity));
      return {title, activity: activities[0], records: sportRecords(all, units)};
    }),
    {title: "Strength", activity: "traditionalStrength", records: setRecords(oldestFirst, units)},
  ].filter((group) => group.records.length > 0);
}

/** @param {Workout[]} workouts oldest first @param {import("./format.js").Units} units @returns {Record_[]} */
function sportRecords(workouts, units) {
  /** @type {Map<number, { s: number, workout: Workout }>} */
  const times = new Map();
  /** @type {Map<number, { w: number, workout: Workout }>} */
  const powers = new Map();
  /** @type {Record<string, { value: number, workout: Workout } | undefined>} */
  const most = {};
  for (const workout of workouts) {
    for (const {m, s} of workout.bests?.distance ?? [])
      if (!(times.get(m) && /** @type {any} */ (times.get(m)).s <= s)) times.set(m, {s, workout});
    for (const {s, w} of workout.bests?.power ?? [])
      if (!(powers.get(s) && /** @type {any} */ (powers.get(s)).w >= w)) powers.set(s, {w, workout});
    for (const key of /** @type {const} */ (["distance", "ascent"])) {
      const value = workout[key] ?? 0;
      if (value > (most[key]?.value ?? 0)) most[key] = {value, workout};
    }
  }
  /** @param {"distance" | "ascent"} key @param {string} label @param {string} quantity */
  const extreme = (key, label, quantity) => {
    const found = most[key];
    if (!found) return [];
    const options = {units, activity: found.workout.activity};
    return [{label, text: joined(format(quantity, found.value, options)), ...found}];
  };
  return [
    ...[...times].sort(([a], [b]) => a - b).map(([m,
      {s, workout}]) => ({label: distanceName(m), text: timeText(s), workout, value: s})),
    ...[...powers].sort(([a], [b]) => a - b).map(([s,
      {w, workout}]) => ({label: `Power, ${durationName(s)}`, text: joined(format("power", w)), workout, value: w})),
    ...extreme("distance", "Longest", "distance"),
    ...extreme("ascent", "Highest", "height"),
  ];
}

/** @param {Workout[]} workouts oldest first @param {import("./format.js").Units} units @returns {Record_[]} */
function setRecords(workouts, units) {
  /** @type {Map<string, { weight: number, repetitions?: number, workout: Workout }>} */
  const heaviest = new Map();
  for (const workout of workouts) {
    for (const {exercise, weight, repetitions} of workout.bests?.sets ?? []) {
      if (weight === undefined) continue;
      const before = heaviest.get(exercise);
      const isBetter = !before || weight > before.weight ||
        (weight === before.weight && (repetitions ?? 0) > (before.repetitions ?? 0));
      if (isBetter) heaviest.set(exercise, {weight, repetitions, workout});
    }
  }
  return [...heaviest].sort(([a], [b]) => a < b ? -1 : 1).map(([exercise, {weight, repetitions, workout}]) => ({
    label: exercise,
    text: (repetitions ? `${repetitions} × ` : "") + joined(format("weight", weight, {units})),
    workout,
    value: weight
  }));
}
