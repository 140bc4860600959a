// The lanes of a virtual run's runners: their metres now, their gaps and their links. No DOM, no clock.

import {clock, format, grouped, joined, minutes} from "./format.js";
import {ghostName, isStopped, own, statusText} from "./run-status.js";
import {freshness} from "./session.js";

/**
 * @typedef {import("./format.js").Text} Text
 * @typedef {import("./format.js").Options} Options
 * @typedef {import("./virtual-run.js").Run} Run
 * @typedef {{ signal: "live" | "weak" | "silent" | "none", text: string }} Link
 * @typedef {{ key: string, name: string, isMine: boolean, gap: string, link: Link, place: string, distance: Text, pace: Text, heartRate: Text,
 *   share: number, isLost: boolean, line?: GapLine }} Lane
 * @typedef {{ points: string, text: string, label: string }} GapLine points of 100 by 40, the reader at 20
 */

const staleAge = 8;
const lostAge = 15;
/** Messages come at least as often, in seconds; older ones say nothing of a partner's link. */
const messageInterval = 10;

/**
 * A ghost may name the user whose workout it is.
 *
 * @param {{ u?: string, user?: string, g?: number, number?: number, ghost?: number }} runner
 */
export const keyOf = (runner) => {
  const ghost = runner.g ?? runner.number ?? runner.ghost;
  return ghost === undefined ? runner.u ?? runner.user ?? "" : `ghost ${ghost}`;
};

/** Seconds for which a speed is believed, and metres by which a correction goes back at once, like `RunnerDisplay` in Swift. */
const horizon = 15;
const jump = 20;
/** Newest items of runners who run alike may differ by this many seconds. */
const slack = 10;

/** @param {any} row whether its figures are those of now: of the others, a gap is that of their newest item */
const isCurrent = (row) => !["stale", "disconnected"].includes(row.st);

/**
 * Metres shrink only by a jump.
 *
 * @param {number | undefined} before @param {number} next
 */
const shown = (before, next) => (before !== undefined && before > next && before - next <= jump ? before : next);

/**
 * The metres of all runners now. A partner's are one's own and the gap, so that bars, metres and words agree. Those of a
 * partner without current data, and of one who finished or has run for less time, are their last.
 *
 * @param {Run} run @param {number} now @returns {Run}
 */
export function advance(run, now) {
  const {partners, metrics, view, metres: before} = run;
  if (!view || !partners) return run;
  const isMoving = own(view)?.status === "running" && !isStopped(run);
  const passed = isMoving ? Math.min(Math.max(0, now - partners.now), horizon) : 0;
  const mine = shown(before[view.user], partners.d + Math.max(0, metrics?.v ?? 0) * passed);
  /** @type {Record<string, number>} */
  const metres = partners.d === undefined ? {} : {[view.user]: mine};
  for (const row of partners.x) {
    const key = keyOf(row);
    const level = mine + row.gm;
    const isElsewhere = row.st === "finished" || (row.t < partners.t - slack && Math.abs(level - row.d) > jump);
    if (row.gm !== undefined && isCurrent(row) && !isElsewhere) metres[key] = level;
    else if (row.d !== undefined) metres[key] = shown(before[key], row.d);
  }
  return {...run, metres};
}

/** @param {any} row @param {number} passed @returns {Link} */
export function link(row, passed) {
  if (row.st === "finished") return {signal: "none", text: "Finished"};
  if (row.st === "paused") return {signal: "none", text: "Paused"};
  if (row.g !== undefined) return {signal: "none", text: "Ghost"};
  const age = (row.a ?? 0) + Math.min(passed, messageInterval);
  if (row.st === "disconnected" || age > lostAge) return {signal: "silent", text: `No signal for ${minutes(age)}`};
  return row.st === "stale" || age >= staleAge ? {signal: "weak", text: "Weak signal"} : {signal: "live", text: "Live"};
}

/**
 * One's own, with the age of one's own data.
 *
 * @param {Run} run @param {any} mine @param {boolean} isPaused @param {number} now @returns {Link}
 */
export function ownLink({state, heardAt}, mine, isPaused, now) {
  if (mine.status !== "running") return {signal: "none", text: statusText(mine)};
  if (isPaused) return {signal: "none", text: "Paused"};
  const fresh = freshness({state, heardAt}, now);
  return heardAt && ["weak", "silent"].includes(fresh.signal) ? fresh : {signal: "none", text: "You"};
}

/**
 * `29 m, 9 s ahead`; the gap is positive when the partner is ahead.
 *
 * @param {number | undefined} metres @param {number | undefined} seconds @param {Options} options
 */
export function gapText(metres, seconds, options) {
  if (metres === undefined) return "";
  const length = Math.abs(metres);
  if (length < 1) return "level";
  const time = seconds === undefined ? undefined : Math.abs(seconds);
  const parts = [joined(format(length < 1000 ? "height" : "distance", length, options))];
  if (time !== undefined) parts.push(time < 60 ? `${grouped(time)} s` : minutes(time));
  return `${parts.join(", ")} ${metres > 0 ? "ahead" : "behind"}`;
}

/** Points of a gap, at most. */
const gapLimit = 120;

/**
 * Adds the gaps of a message. Of too many points every second goes.
 *
 * @param {Run["gaps"]} gaps @param {any} message @returns {Run["gaps"]}
 */
export function remember(gaps, {now, x = []}) {
  return Object.fromEntries(x.map((/** @type {any} */ row) => {
    const before = (gaps[keyOf(row)] ?? []).filter(([at]) => at < now);
    const points = row.gm === undefined ? before : [...before, [now, row.gm]];
    return [keyOf(row), points.length > gapLimit ? points.filter((_, index) => index % 2 === 0) : points];
  }));
}

/**
 * A partner's gap over time as a line, higher when the partner is ahead.
 *
 * @param {[number, number][] | undefined} points @param {Options} options @returns {GapLine | undefined}
 */
export function gapLine(points = [], options) {
  const [[from, first], [to, last]] = [points[0] ?? [0, 0], points[points.length - 1] ?? [0, 0]];
  if (to - from < 10) return undefined;
  const most = points.reduce((most, [, metres]) => Math.max(most, Math.abs(metres)), 20);
  const text = `Gap over ${minutes(to - from)}`;
  return {
    points: points
      .map(([at, metres]) => `${((at - from) / (to - from) * 100).toFixed(1)},${(20 - metres / most * 18).toFixed(1)}`)
      .join(" "),
    text,
    label: `${text}: first ${gapText(first, undefined, options)}, now ${gapText(last, undefined, options)}`,
  };
}

/**
 * When a gap was so, if not now: `0:42 ago` of a partner without current data, `at 05:00` of the run's clock if the metres
 * shown are those of other times.
 *
 * @param {any} row @param {Run} run @param {number} passed
 */
function since(row, {view, partners, metres}, passed) {
  if (!isCurrent(row)) return ` ${minutes((row.a ?? 0) + Math.min(passed, messageInterval))} ago`;
  const isShown = Math.abs(metres[keyOf(row)] - metres[view.user] - row.gm) < 1;
  return isShown || row.t === undefined ? "" : ` at ${clock(Math.min(row.t, partners.t ?? row.t))}`;
}

/**
 * Of more than two, those ahead first, by the gaps: each compares two runners at the same active time. Only runners whose
 * data are current have a place; who has no gap yet comes last. Two, and equals, are in group order: the host first, then in
 * order of invitation, then ghosts.
 *
 * @param {Run} run @param {any} mine @param {number} passed @param {Link} own one's own link @param {Options} options @returns {Lane[]}
 */
export function lanes(run, mine, passed, own, options) {
  const {view, partners, metrics, metres, gaps: history} = run;
  const rows = new Map((partners?.x ?? []).map((/** @type {any} */ row) => [keyOf(row), row]));
  const group = view.participants.filter((/** @type {any} */ p) => p.user === view.user ||
      ["confirmed", "running", "finished", "absent"].includes(p.status));
  /** @param {{ runner: any, row: any }} lane */
  const ahead = ({runner, row}) =>
    (runner.user === view.user && runner.number === undefined ? 0 : row?.gm ?? -Infinity);
  const all =
    [...group, ...(view.ghosts ?? [])].map((runner) => ({runner, row: /** @type {any} */ (rows.get(keyOf(runner)))}));
  const runners = all.filter(({runner}) => runner.user !== view.user || runner.number !== undefined);
  if (runners.length > 1) all.sort((a, b) => (ahead(b) > ahead(a) ? 1 : ahead(b) < ahead(a) ? -1 : 0));
  const gaps = partners?.pl === undefined
    ? []
    : [0, ...runners.filter(({row}) => row?.gm !== undefined && isCurrent(row)).map(({row}) => row.gm)];
  const place = (/** @type {number | undefined} */ gap) =>
    (gap === undefined || gaps.length < 2 ? "" : String(1 + gaps.filter((other) => other > gap).length));
  const whole = view.goal?.distance ??
    Math.max(...runners.filter(({row}) => row).map(({row}) => metres[keyOf(row)] ?? 0),
      metres[view.user] ?? metrics?.d ?? 0, 1);
  const share = (/** @type {number | undefined} */ d) => Math.min(1, Math.max(0, (d ?? 0) / whole));
  const isSilent = own.signal === "silent";
  const gap = (/** @type {any} */ row, sign = 1) =>
    (row?.gm === undefined ? "" : gapText(sign * row.gm, row.gs, options) + since(row, run, passed));
  const mineText = runners.length === 1 ? gap(runners[0].row, -1) : "";
  const placeText = runners.length > 1 && partners?.pl !== undefined ? `Place ${partners.pl} of ${gaps.length}` : "";
  /** @type {Lane} */
  const me = {
    key: view.user,
    name: view.user,
    isMine: true,
    gap: mineText || placeText,
    place: place(partners?.pl === undefined ? undefined : 0),
    link: own,
    distance: format("distance", metres[view.user] ?? metrics?.d, options),
    pace: format("pace", isSilent ? undefined : metrics?.dp ?? metrics?.p, options),
    heartRate: format("heartRate", isSilent ? undefined : metrics?.h, options),
    share: share(metres[view.user] ?? metrics?.d),
    isLost: isSilent,
  };
  return all.map(({runner, row}) => {
    if (runner.user === view.user && runner.number === undefined) return me;
    const connection = row
      ? link(row, passed)
      : {signal: /** @type {const} */ ("none"), text: runner.status ? statusText(runner) : "Ghost"};
    const isLost = connection.signal === "silent";
    const d = row ? metres[keyOf(row)] : runner.finished?.distance;
    const now = (/** @type {number | undefined} */ value) => (isLost ? undefined : value);
    return {
      key: keyOf(runner),
      name: runner.number === undefined ? runner.user : ghostName(runner),
      isMine: false,
      place: place(row && isCurrent(row) ? row.gm : undefined),
      gap: gap(row),
      line: gapLine(history[keyOf(runner)], options),
      link: connection,
      isLost,
      share: share(d),
      distance: format("distance", d, options),
      pace: format("pace", now(row?.p ?? runner.finished?.pace), options),
      heartRate: format("heartRate", now(row?.h), options),
    };
  });
}
