// Days, weeks and the year of workouts. No DOM, no clock.

import {began} from "./history-merge.js";

/** @typedef {import("./history-merge.js").Workout} Workout */
/** @typedef {{ day: number, date: number, count: number, seconds: number, level: number }} CalendarDay `day`: since 1970; `level`: 0 to 4 */
/** @typedef {{ month: number, offset: number, days: CalendarDay[] }} CalendarMonth `offset`: days from Monday to its first */

/**
 * Formatters cost more than what they format.
 *
 * @type {Map<string, Intl.DateTimeFormat>}
 */
const formatters = new Map();

/** @param {string} zone */
function formatterOf(zone) {
  let found = formatters.get(zone);
  if (!found) {
    /** @type {Intl.DateTimeFormatOptions} */
    const options = {year: "numeric", month: "2-digit", day: "2-digit", timeZone: zone};
    try {
      found = new Intl.DateTimeFormat("en-CA", options);
    } catch {
      // One that this browser does not know.
      found = new Intl.DateTimeFormat("en-CA", {...options, timeZone: "UTC"});
    }
    formatters.set(zone, found);
  }
  return found;
}

/**
 * Days since 1970 of a moment in a zone.
 *
 * @param {number} time Unix seconds @param {string | undefined} zone
 */
export const dayAt = (time, zone = "UTC") => Date.parse(formatterOf(zone).format(time * 1000)) / 86_400e3;

/** @type {WeakMap<Workout, Map<string | undefined, number>>} */
const days = new WeakMap();

/**
 * The day of a workout, in its own zone or that of a person.
 *
 * @param {Workout} workout @param {string} [zone]
 */
export function dayOf(workout, zone = workout.timeZone) {
  let known = days.get(workout);
  if (!known) days.set(workout, known = new Map());
  let day = known.get(zone);
  if (day === undefined) known.set(zone, day = dayAt(began(workout), zone));
  return day;
}

/** @param {number} day since 1970 */
export const dateOf = (day) => new Date(day * 86_400e3);
/** @param {number} day since 1970 */
export const yearOf = (day) => dateOf(day).getUTCFullYear();
/** @param {number} day since 1970 @returns 0 for Monday */
export const weekdayOf = (day) => (day + 3) % 7;
/**
 * The Monday of a day's week.
 *
 * @param {number} day since 1970
 */
export const mondayOf = (day) => day - weekdayOf(day);

const [weekdays, months] = [
  "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" "),
  "January February March April May June July August September October November December".split(" ")
];
export {months, weekdays};

/**
 * `21 November 2026`.
 *
 * @param {number} day since 1970
 */
export const dayText = (day) =>
  `${dateOf(day).getUTCDate()} ${months[dateOf(day).getUTCMonth()]} ${dateOf(day).getUTCFullYear()}`;
/**
 * `21 Nov`.
 *
 * @param {number} day since 1970
 */
export const shortDayText = (day) => `${dateOf(day).getUTCDate()} ${months[dateOf(day).getUTCMonth()].slice(0, 3)}`;

/** Seconds from which a day has the next level. */
const levels = [0, 30 * 60, 60 * 60, 120 * 60];

/** @param {number} seconds */
export const levelOf = (seconds) => seconds > 0 ? levels.filter((limit) => seconds >= limit).length : 0;

/**
 * The months of a year, each day with what was done on it.
 *
 * @param {Workout[]} workouts @param {number} year @returns {CalendarMonth[]}
 */
export function calendarYear(workouts, year) {
  /** @type {Map<number, { count: number, seconds: number }>} */
  const done = new Map();
  for (const workout of workouts) {
    const day = dayOf(workout);
    const sum = done.get(day) ?? {count: 0, seconds: 0};
    done.set(day, {count: sum.count + 1, seconds: sum.seconds + workout.activeDuration});
  }
  return months.map((_, month) => {
    const first = Date.UTC(year, month, 1) / 86_400e3;
    const length = Date.UTC(year, month + 1, 1) / 86_400e3 - first;
    return {
      month,
      offset: weekdayOf(first),
      days: Array.from({length},
        (_, index) => {
          const {count, seconds} = done.get(first + index) ?? {count: 0, seconds: 0};
          return {
            day: first + index,
            date: index + 1,
            count,
            seconds,
            level: count > 0 ? Math.max(1, levelOf(seconds)) : 0
          };
        })
    };
  });
}

/**
 * Weeks from Monday, the last one with today.
 *
 * @param {Workout[]} workouts newest first @param {number} today days since 1970 @param {number} count
 */
export function weeksOf(workouts, today, count) {
  const last = mondayOf(today);
  const weeks = Array.from({length: count},
    (_, index) => ({monday: last - 7 * (count - 1 - index), count: 0, time: 0, distance: 0, ascent: 0}));
  for (const workout of workouts) {
    const index = count - 1 - (last - mondayOf(dayOf(workout))) / 7;
    // Another zone may be a day ahead.
    const week = weeks[Math.min(index, count - 1)];
    if (index < 0) {
      // Zones are a day apart at most.
      if (index < -1) break;
      continue;
    }
    week.count += 1;
    week.time += workout.activeDuration;
    week.distance += workout.distance ?? 0;
    week.ascent += workout.ascent ?? 0;
  }
  return weeks;
}
