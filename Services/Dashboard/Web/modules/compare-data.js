// Workouts over each other: by distance or by time, each against the first. No DOM, no clock.

import {minutes} from "./format.js";
import {distanceAt, placeAt, timeAt, valueAt} from "./workout-data.js";

/** @typedef {import("./workout-data.js").Details} Details */
/** @typedef {import("./chart-data.js").Mode} Mode */

/** Points of a line over the whole width. */
export const pointCount = 600;

/** @param {Details} details @param {Mode} mode @returns metres or active seconds of the whole workout */
export const endOf = (details, mode) =>
  (mode === "distance" ? details.distance?.v[details.distance.v.length - 1] ?? 0 : details.duration);

/**
 * The active seconds of a workout at a place of the axis; nothing beyond its end.
 *
 * @param {Details} details @param {Mode} mode @param {number} x
 */
export function secondsAt(details, mode, x) {
  if (x < 0 || x > endOf(details, mode)) return undefined;
  return mode === "distance" ? timeAt(details, x) : x;
}

/**
 * How far a workout is ahead of the first: in seconds at a distance, in metres at a time. Behind is negative.
 *
 * @param {Details} first @param {Details} other @param {Mode} mode @param {number} x @returns {number | undefined}
 */
export function lead(first, other, mode, x) {
  const [one, two] = [secondsAt(first, mode, x), secondsAt(other, mode, x)];
  if (one === undefined || two === undefined) return undefined;
  if (mode === "distance") return one - two;
  const [metres, others] = [distanceAt(first, one), distanceAt(other, two)];
  return metres === undefined || others === undefined ? undefined : others - metres;
}

/**
 * Rows of one chart: a place of the axis, and for each workout its value there, `NaN` where there is none.
 *
 * @param {Details[]} all @param {Mode} mode @param {(details: Details, x: number) => number | undefined} value
 */
export function rows(all, mode, value) {
  const end = Math.max(...all.map((details) => endOf(details, mode)));
  return Array.from({length: pointCount + 1}, (_, index) => {
    const x = end * index / pointCount;
    return [x, ...all.map((details) => value(details, x) ?? NaN)];
  });
}

/**
 * The value of a line at a place of the axis.
 *
 * @param {Details} details @param {Mode} mode @param {string} key @param {number} x
 */
export function valueOf(details, mode, key, x) {
  const t = secondsAt(details, mode, x);
  return t === undefined ? undefined : valueAt(details.lines[key], t);
}

/**
 * Where a workout was; at its end, where it ended.
 *
 * @param {Details} details @param {Mode} mode @param {number} x
 */
export const placeOf = (details, mode, x) => placeAt(details, secondsAt(details, mode, x) ?? details.duration);

// MARK: A virtual run

/** Seconds between two values of a line. */
const step = 10;
/** Metres: the pace of a shorter rest behind the last mark is mostly its rounding. */
const shortest = 100;

/**
 * What a runner's splits say: the time at each mark, and the mean speed between two.
 *
 * @param {number[]} times seconds since Go at each mark @param {number} length metres between two
 * @param {{ time?: number, distance?: number }} [end] the result, beyond the last mark
 * @returns {Details}
 */
export function detailsOf(times, length, end) {
  const {time, distance} = end ?? {};
  const t = [0, ...times];
  const v = t.map((_, index) => index * length);
  if (time !== undefined && distance !== undefined && distance > v[v.length - 1] + 1 && time > t[t.length - 1]) {
    t.push(time);
    v.push(distance);
  }
  /** @type {number[][]} */
  const [at, speeds] = [[], []];
  for (let i = 1; i < t.length; i++) {
    if (v[i] - v[i - 1] < shortest) continue;
    const count = Math.ceil((t[i] - t[i - 1]) / step);
    for (let part = 0; part < count; part++) {
      at.push(t[i - 1] + (t[i] - t[i - 1]) * (part + 0.5) / count);
      speeds.push((v[i] - v[i - 1]) / (t[i] - t[i - 1]));
    }
  }
  return {
    duration: t[t.length - 1],
    breaks: [],
    lines: {speed: {t: Float64Array.from(at), v: Float64Array.from(speeds)}},
    distance: {t: Float64Array.from(t), v: Float64Array.from(v)}
  };
}

// MARK: The lead

/**
 * The chart of how far all are ahead of the first: in seconds over distance, in metres or feet over time.
 *
 * @param {Details[]} all @param {Mode} mode @param {import("./format.js").Units} units @param {string} first its name
 * @returns {import("./compare-chart.js").Chart}
 */
export function leadChart(all, mode, units, first) {
  const isTimed = mode === "distance";
  const foot = units === "imperial" ? 0.3048 : 1;
  const sign = (/** @type {number} */ value) => (value < 0 ? "\u2212" : value > 0 ? "+" : "");
  return {
    key: "lead",
    label: `Ahead of ${first}`,
    unit: isTimed            ? "min"
      : units === "imperial" ? "ft"
                             : "m",
    least: 10,
    widths: isTimed ? [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600] : undefined,
    mark: (value) => sign(value) + (isTimed ? minutes(Math.abs(value)) : String(Math.round(Math.abs(value)))),
    rows: rows(all, mode,
      (each, x) => {
        const ahead = lead(all[0], each, mode, x);
        return ahead === undefined || isTimed ? ahead : ahead / foot;
      })
  };
}

// MARK: Choosing

/**
 * The workouts of an activity to compare one with: those of a similar distance, or else duration, first.
 *
 * @param {any} workout @param {any[]} others
 */
export function similar(workout, others) {
  const size = (/** @type {any} */ {distance, activeDuration}) => (workout.distance > 0 ? distance : activeDuration);
  const far = (/** @type {any} */ other) => Math.abs(Math.log(size(other) / size(workout)));
  return others
    .filter((other) => other.activity === workout.activity &&
        other.session.toLowerCase() !== workout.session.toLowerCase() && size(other) > 0)
    .sort((a, b) => far(a) - far(b) || (b.startedAt ?? 0) - (a.startedAt ?? 0));
}
