// The lines of a workout in progress: those until the page opened it, and the values that the page has received. No DOM, no clock.

import {rowOf} from "./format.js";

/** @typedef {{ t: number, at: number, values: Record<string, number | undefined> }} Point `t`: active seconds; `at`: Unix seconds */

/** Those of more than half a day. */
const pointLimit = 50_000;
/** Seconds without values that break a line. */
const silence = 15;

/**
 * @param {Point[]} points @param {import("./session.js").Session} session whose metrics are new @returns {Point[]}
 */
export function add(points, {state, metrics, route = {}}) {
  if (metrics?.t === undefined) return points;
  const last = points.at(-1);
  const isPaced = rowOf({activity: state?.activity}).figure === "pace" || rowOf({activity: state?.activity}).swims;
  const pace = metrics.dp ?? metrics.p;
  const speed = isPaced ? (pace ? 1000 / pace : undefined) : metrics.dv ?? metrics.v ?? route.v;
  const values = {speed, heartRate: metrics.h, elevation: route.al ?? metrics.al};
  const point = {t: metrics.t, at: metrics.c, values};
  // Late items may lower the time; in a pause it stands still.
  const before = last && last.t >= point.t ? points.filter(({t}) => t < point.t) : points;
  return [...before.slice(1 - pointLimit), point];
}

/** @typedef {import("./workout-data.js").Details} Details */

/**
 * The quantities that have values, in the order of their charts.
 *
 * @param {Point[]} points @param {Details} [before]
 */
export const known = (points, before) => ["speed", "heartRate", "elevation"].filter(
  (key) => before?.lines[key] || points.some(({values}) => values[key] !== undefined));

/**
 * What charts draw.
 *
 * @param {Point[]} points @param {string[]} keys @param {Details} [before] the lines until the page opened the workout
 * @returns {Details}
 */
export function details(points, keys, before) {
  /** @param {string} key */
  const line = (key) => {
    const {t: times, v} = before?.lines[key] ?? {t: new Float64Array(), v: new Float64Array()};
    /** @type {[number, number][]} */
    const all = Array.from(times, (t, index) => [t, v[index]]);
    let last = times.at(-1) ?? Infinity;
    for (const {t, values} of points) {
      if (t <= (times.at(-1) ?? -1)) continue;
      if (t - last > silence) all.push([last + 0.001, NaN]);
      all.push([t, values[key] ?? NaN]);
      last = t;
    }
    return {t: Float64Array.from(all, ([t]) => t), v: Float64Array.from(all, ([, v]) => v)};
  };
  return {
    duration: points.at(-1)?.t ?? 0,
    breaks: before?.breaks ?? [],
    lines: Object.fromEntries(keys.map((key) => [key, line(key)]))
  };
}

/**
 * The active seconds that are seen.
 *
 * @param {Point[]} points @param {number} length of the last ones, or `Infinity` @param {Details} [before]
 */
export function stretch(points, length, before) {
  const [first, to] = [before ? 0 : points[0]?.t ?? 0, points.at(-1)?.t ?? 0];
  return {from: Math.max(first, to - length), to};
}
