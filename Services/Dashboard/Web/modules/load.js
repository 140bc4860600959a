// Load over days: two means that forget, and their difference. No DOM, no clock.

import {dayOf} from "./calendar.js";

/** @typedef {import("./history-merge.js").Workout} Workout */
/** @typedef {{ day: number, load: number, long: number, short: number, form: number }} LoadDay `day`: since 1970 */

/** Days in which a load counts two thirds less. */
export const [longDays, shortDays] = [42, 7];

/**
 * Series that are never added: each has a unit of its own.
 *
 * @type {Record<string, (workout: Workout) => number | undefined>}
 */
export const loadSeries = {
  heartRate: ({load}) => load?.heartRate,
  stress: ({load}) => load?.stress
};

/**
 * From the first day with a load to the last.
 *
 * @param {Workout[]} workouts @param {(workout: Workout) => number | undefined} loadOf @param {string | undefined} zone of the person
 * @param {number} today days since 1970 @returns {LoadDay[]}
 */
export function loadDays(workouts, loadOf, zone, today) {
  /** @type {Map<number, number>} */
  const sums = new Map();
  for (const workout of workouts) {
    const load = loadOf(workout);
    if (load === undefined) continue;
    const day = dayOf(workout, zone);
    sums.set(day, (sums.get(day) ?? 0) + load);
  }
  if (sums.size === 0) return [];
  const first = [...sums.keys()].reduce((least, day) => Math.min(least, day));
  const [slow, fast] = [longDays, shortDays].map((days) => 1 - Math.exp(-1 / days));
  /** @type {LoadDay[]} */
  const days = [];
  let [long, short] = [0, 0];
  for (let day = first; day <= today; day++) {
    // What was there before today's workout.
    const form = long - short;
    const load = sums.get(day) ?? 0;
    long += (load - long) * slow;
    short += (load - short) * fast;
    days.push({day, load, long, short, form});
  }
  return days;
}

/**
 * What the form means, in a sentence.
 *
 * @param {LoadDay} today
 */
export function formText({form, long}) {
  const share = long > 0 ? form / long : 0;
  if (share < -0.3) return "Much more than you are used to: rest soon.";
  if (share < -0.05) return "More than you are used to: you build.";
  if (share <= 0.15) return "About what you are used to.";
  return "Less than you are used to: you are rested.";
}
