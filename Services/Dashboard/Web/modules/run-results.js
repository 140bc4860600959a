// The results of a virtual run: places, everyone's splits and one's own. No DOM, no clock.

import {behind, clock, format, joined, minutes, tenths} from "./format.js";
import {ghostName, isOver, list} from "./run-status.js";

/** @typedef {import("./format.js").Options} Options */

/** @param {{ user?: string, ghost?: number }} runner @param {any} view */
export const runnerName = ({user, ghost}, view) => ghost === undefined
  ? nameOf(user, view)
  : ghostName((view.ghosts ?? []).find((/** @type {any} */ g) => g.number === ghost) ?? {number: ghost, user});

/** @param {string | undefined} user @param {any} view */
export const nameOf = (user, view) => (user === view.user ? `${user} (you)` : user ?? "Deleted account");

/** @type {Record<string, string>} */
const resultWords = {
  dnf: "Did not finish",
  left: "Left",
  absent: "Did not start",
  withdrawn: "Withdrawn"
};

/** Seconds between two results within which tenths tell them apart. */
const close = 10;

/** @param {any[]} rows by place @param {number} index whether the result is close to one beside it */
const isClose = (rows, index) => [rows[index - 1], rows[index + 1]].some((other) => other?.time !== undefined &&
    rows[index].time !== undefined && Math.abs(other.time - rows[index].time) < close);

const ordinals = new Intl.PluralRules("en", {type: "ordinal"});
/** @param {number} place `2nd` */
const ordinal = (place) => `${place}${
  /** @type {Record<string, string>} */ ({one: "st", two: "nd", few: "rd"})[ordinals.select(place)] ?? "th"}`;

/**
 * Who won, and by how much; nothing while nobody has a place.
 *
 * @param {any} view @param {Options} options
 */
export function winner(view, options) {
  if (!view.results || !isOver(view)) return undefined;
  const {rows, provisional: isProvisional} = view.results;
  const first = rows.filter((/** @type {any} */ {place}) => place === 1);
  if (first.length === 0) return undefined;
  const isMine = (/** @type {any} */ row) => row.user === view.user && row.ghost === undefined;
  const mine = rows.find(isMine);
  const names = first.map((/** @type {any} */ row) => (isMine(row) ? "You" : runnerName(row, view)));
  const second = rows.find((/** @type {any} */ {place}) => place > 1);
  const margin = (/** @type {any} */ row) => (row?.behind?.seconds !== undefined ? behind(row.behind.seconds).slice(1)
      : row?.behind?.meters !== undefined ? joined(format("distance", row.behind.meters, options))
                                          : "");
  const title = first.length > 1 ? `Dead heat: ${list(names)}`
    : isProvisional ? `${names[0]} ${isMine(first[0]) ? "are" : "is"} first so far`
                    : `${names[0]} won`;
  const detail = mine?.place > 1 && margin(mine) ? `You came in ${ordinal(mine.place)}, ${margin(mine)} behind.`
    : second && margin(second) ? `${margin(second)} ahead of ${runnerName(second, view)}.`
                               : "";
  return {title, detail, isMine: first.some(isMine)};
}

/** @param {any} view @param {Options} options */
export function results(view, options) {
  if (!view.results || !isOver(view)) return undefined;
  const {rows} = view.results;
  const text = (/** @type {string} */ quantity, /** @type {number | undefined} */ value) =>
    joined(format(quantity, value, options));
  return {
    isProvisional: view.results.provisional === true,
    rows: rows.map((/** @type {any} */ row, /** @type {number} */ index) => ({
      place: row.place === undefined ? "" : String(row.place),
      name: runnerName(row, view),
      notes: [
        resultWords[row.status], row.environment === "indoor" && "indoor", row.incomplete && "incomplete",
        row.clockSkew !== undefined && `a clock was ${minutes(Math.abs(row.clockSkew))} off`,
        row.pauses?.count > 0 &&
          `${row.pauses.count} pause${row.pauses.count === 1 ? "" : "s"}, ${clock(row.pauses.seconds)}`
      ].filter(Boolean)
        .join(" · "),
      time: isClose(rows, index) ? tenths(row.time) : text("duration", row.time),
      distance: text("distance", row.distance),
      pace: text("pace", row.pace),
      heartRate: row.averageHeartRate === undefined ? "" : text("heartRate", row.averageHeartRate),
      behind: row.behind?.seconds !== undefined ? behind(row.behind.seconds)
        : row.behind?.meters !== undefined      ? `\u2212${text("distance", row.behind.meters)}`
                                                : "",
    })),
  };
}

/**
 * Why no route can be shown.
 *
 * @param {any} view of a finished run
 */
export function routesText({participants, results}) {
  const shared = participants.filter((/** @type {any} */ p) => p.sharing?.route);
  if (shared.length === 0) return "No routes: no runner shares one.";
  return results.provisional ||
      results.rows.some(
        (/** @type {any} */ {user, hasRoute}) => hasRoute && shared.some((/** @type {any} */ p) => p.user === user))
    ? "No routes yet: they come once the workouts are complete."
    : "No routes: the shared workouts have no positions.";
}

/** @param {any} workout @param {Options} options */
export const splits = (workout, options) =>
  (workout?.splits ?? []).map((/** @type {any} */ split, /** @type {number} */ index) => ({
    number: String(index + 1),
    distance: joined(format("distance", split.distance, options)),
    time: clock(split.duration),
    pace: joined(format("pace", split.pace, options)),
    heartRate: joined(format("heartRate", split.averageHeartRate, options)),
  }));

/**
 * Everyone's splits, in the order of the results, with the gap to the first at each mark: the gap over time.
 *
 * @param {any} view @param {{ user?: string, ghost?: number, km: number[], mi: number[] }[]} all @param {Options} options
 */
export function splitTable(view, all, options) {
  const unit = options.units === "imperial" ? "mi" : "km";
  const runners = all.map((runner) => ({name: runnerName(runner, view), times: runner[unit]}));
  const count = Math.max(0, ...runners.map(({times}) => times.length));
  const rows = Array.from({length: count}, (_, mark) => {
    const first = Math.min(...runners.map(({times}) => times[mark] ?? Infinity));
    return {
      mark: String(mark + 1),
      cells: runners.map(({times}) => {
        if (times[mark] === undefined) return {time: "", gap: ""};
        const gap = times[mark] - first;
        return {time: clock(times[mark] - (times[mark - 1] ?? 0)), gap: gap > 0 ? behind(gap) : ""};
      }),
    };
  });
  return {unit, names: runners.map(({name}) => name), rows};
}
