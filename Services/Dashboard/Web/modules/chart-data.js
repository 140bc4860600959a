// What a chart draws: at most 1,000 points, the axis of time or distance, and its marks. No DOM.

import {between, distanceAt, indexAt, timeAt} from "./workout-data.js";

/** @typedef {import("./workout-data.js").Details} Details */
/** @typedef {import("./workout-data.js").Line} Line */
/** @typedef {"time" | "distance"} Mode */

export const bucketLimit = 1000;

/**
 * The points of a line in a stretch: raw if they are few, else the means of buckets of equal time. What breaks the line stays.
 *
 * @param {Line} line @param {number} from @param {number} to active seconds @param {number} [limit]
 * @returns {[number, number][]} `NaN` breaks the line
 */
export function buckets({t, v}, from, to, limit = bucketLimit) {
  // One more on each side, so that a line goes to the edges.
  const first = Math.max(0, indexAt(t, from));
  const last = Math.min(t.length - 1, indexAt(t, to) + 1);
  /** @type {[number, number][]} */
  const points = [];
  if (last - first < limit) {
    for (let i = first; i <= last; i++) points.push([t[i], v[i]]);
    return points;
  }
  const width = (to - from) / (limit - 2);
  let [bucket, count, time, sum] = [-Infinity, 0, 0, 0];
  const close = () => {
    if (count > 0) points.push([time / count, sum / count]);
    [count, time, sum] = [0, 0, 0];
  };
  for (let i = first; i <= last; i++) {
    const isBreak = Number.isNaN(v[i]);
    const index = Math.floor((t[i] - from) / width);
    if (index !== bucket || isBreak) close();
    bucket = index;
    if (isBreak) points.push([t[i], NaN]);
    else {
      count += 1;
      time += t[i];
      sum += v[i];
    }
  }
  close();
  return points;
}

/** The most that a pause takes of the axis, as a part of the workout. */
const widestPause = 0.02;

/**
 * The axis of a chart. Over time, a pause is a gap of its length, but a long one takes little room.
 *
 * @param {Details} details @param {Mode} mode
 * @returns {{ mode: Mode, x: (t: number) => number, t: (x: number) => number, end: number }} `x` in seconds or metres
 */
export function axis(details, mode) {
  const {duration, breaks} = details;
  if (mode === "distance" && details.distance) {
    const {v} = details.distance;
    return {mode, x: (t) => distanceAt(details, t) ?? 0, t: (x) => timeAt(details, x), end: v[v.length - 1]};
  }
  const [ts, xs] = [[0], [0]];
  let sum = 0;
  for (const {t, seconds} of breaks) {
    ts.push(t - 1e-4);
    xs.push(t + sum);
    sum += Math.min(seconds, widestPause * duration);
    ts.push(t + 1e-4);
    xs.push(t + sum);
  }
  ts.push(Math.max(duration, ts[ts.length - 1] + 1e-3));
  xs.push(duration + sum);
  return {mode: "time", x: (t) => between(ts, xs, t), t: (x) => between(xs, ts, x), end: duration + sum};
}

const steps = {
  time: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400],
  distance: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000],
};

/**
 * Marks at round times or distances between two active seconds.
 *
 * @param {ReturnType<typeof axis>} axis @param {number} from @param {number} to @param {number} count the most
 * @param {number} [unit] metres of a distance's unit
 * @returns {{ x: number, value: number }[]}
 */
export function marks({mode, x}, from, to, count, unit = 1) {
  // Marks of time are of active time, wherever pauses are.
  const [low, high] = mode === "time" ? [from, to] : [x(from) / unit, x(to) / unit];
  const width = steps[mode]
                  .map((each) => (mode === "time" || unit === 1 ? each : each / 1000))
                  .find((each) => (high - low) / each <= count) ??
    Infinity;
  /** @type {{ x: number, value: number }[]} */
  const found = [];
  for (let value = Math.ceil(low / width - 1e-9) * width + 0; value <= high + 1e-9; value += width)
    found.push({x: mode === "time" ? x(value) : value * unit, value});
  return found;
}

/**
 * Round limits of a chart's values and the marks between them; a few values far from all others are cut off.
 *
 * @param {number[]} values @param {number} least the smallest span @param {number} count of marks @param {number[]} [widths]
 */
export function range(values, least, count, widths) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return {low: 0, high: 1, marks: []};
  const at = (/** @type {number} */ part) => sorted[Math.round((sorted.length - 1) * part)];
  const [inner, outer] = [[at(0.02), at(0.98)], [at(0), at(1)]];
  const reach = (inner[1] - inner[0]) * 0.5;
  let [low, high] = [Math.max(outer[0], inner[0] - reach), Math.min(outer[1], inner[1] + reach)];
  if (high - low < least) [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
  const pad = (high - low) * 0.06;
  [low, high] = [low - pad, high + pad];
  const power = 10 ** Math.floor(Math.log10((high - low) / count));
  const width =
    (widths ?? [1, 2, 2.5, 5, 10].map((each) => each * power)).find((each) => (high - low) / each <= count) ??
    (high - low);
  const found = [];
  for (let value = Math.ceil(low / width) * width; value <= high; value += width) found.push(value);
  return {low, high, marks: found};
}

/**
 * Classes of values, from slow or low to fast or high, and their limits.
 *
 * @param {number[]} values @param {number} count
 */
export function classes(values, count) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.round((sorted.length - 1) * part)];
  const [low, high] = [at(0.04), at(0.96)];
  const width = (high - low) / count;
  return {
    low,
    high,
    /** @param {number | undefined} value */
    of: (value) => value === undefined || !Number.isFinite(value) ? undefined
      : width > 0 ? Math.min(count - 1, Math.max(0, Math.floor((value - low) / width)))
                  : Math.floor(count / 2),
  };
}
