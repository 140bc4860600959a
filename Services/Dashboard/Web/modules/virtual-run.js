// A virtual run as its page shows it: `receive` takes payloads of the bus, `runView` turns them into text. No DOM, no clock.

import { clock, date, format, grouped, joined, minutes, unknown } from "./format.js";
import { decode } from "./route.js";
import { ghostName, isOver, list, others, own, statusText, terms, title, waiting } from "./run-status.js";
import { isOlder } from "./stream.js";

/**
 * @typedef {import("./format.js").Text} Text
 * @typedef {import("./format.js").Options} Options
 * @typedef {{ signal: "live" | "weak" | "silent" | "none", text: string }} Link
 * @typedef {{ key: string, name: string, isMine: boolean, gap: string, link: Link, distance: Text, pace: Text, heartRate: Text,
 *   share: number, isLost: boolean }} Lane
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {any} [view]
 * @property {any} [partners]
 * @property {any} [positions]
 * @property {any} [metrics] of one's own session in the run
 * @property {any} [current]
 * @property {Record<string, any>} workouts one's own records by session
 * @property {Record<string, boolean>} services whether each known one is online
 * @property {Record<string, number>} metres of each partner, as shown last
 * @property {string[]} dismissed
 */

/** @param {string} id @returns {Run} */
export const noRun = (id) => ({ id, services: {}, metres: {}, workouts: {}, dismissed: [] });

const staleAge = 8;
const lostAge = 15;
/** Messages come at least as often, in seconds; older ones say nothing of a partner's link. */
const messageInterval = 10;
/** The longest wait that covers the page, in seconds. */
const longestCountdown = 60;

/** @param {Run} run @param {string} name @param {any} payload @returns {Run} */
export function receive(run, name, payload) {
  if (name === "services") return { ...run, services: payload };
  if (name === "workout") {
    const session = payload.session.toLowerCase();
    return isOlder(run.workouts[session], payload) ? run : { ...run, workouts: { ...run.workouts, [session]: payload } };
  }
  const named = { view: payload?.run, partners: payload?.r, positions: payload?.r, metrics: payload?.r, current: run.id }[name];
  if (named?.toLowerCase() !== run.id) return run;
  const shown = /** @type {any} */ (run)[name];
  return isOlder(shown, payload) ? run : { ...run, [name]: payload };
}

/** @param {{ u?: string, user?: string, g?: number, number?: number }} runner */
const keyOf = (runner) => runner.u ?? runner.user ?? `ghost ${runner.g ?? runner.number}`;

/**
 * The partners' metres now, which never shrink but by a jump, like `RunnerDisplay` in Swift.
 *
 * @param {Run} run @param {number} now @returns {Run}
 */
export function advance(run, now) {
  const passed = Math.max(0, now - (run.partners?.now ?? now));
  /** @type {Record<string, number>} */
  const metres = {};
  for (const row of run.partners?.x ?? []) {
    const before = run.metres[keyOf(row)];
    let next = row.d ?? before;
    if (next === undefined) continue;
    if (row.st === "disconnected") next = Math.max(next, before ?? next);
    else if (row.d !== undefined && (row.st === "connected" || row.st === "stale")) {
      next += Math.max(0, row.v ?? 0) * Math.min((row.a ?? 0) + passed, 15);
    }
    metres[keyOf(row)] = before !== undefined && next < before && before - next <= 20 ? before : next;
  }
  return { ...run, metres };
}

/** @param {any} row @param {number} passed @returns {Link} */
export function link(row, passed) {
  if (row.st === "finished") return { signal: "none", text: "Finished" };
  if (row.st === "paused") return { signal: "none", text: "Paused" };
  if (row.g !== undefined) return { signal: "none", text: "Ghost" };
  const age = (row.a ?? 0) + Math.min(passed, messageInterval);
  if (row.st === "disconnected" || age > lostAge) return { signal: "silent", text: `No signal for ${minutes(age)}` };
  return row.st === "stale" || age >= staleAge ? { signal: "weak", text: "Weak signal" } : { signal: "live", text: "Live" };
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

/** @type {Record<string, string>} */
const overWords = {
  declined: "Nobody accepted.", expired: "The invitations expired.", unconfirmed: "Too few confirmed in time.",
  left: "Too few stayed until the start.", deleted: "The host’s account was deleted.",
};

/** @param {Run} run @param {number} now @param {Options} options @param {string} [zone] */
export function runView(run, now, options, zone) {
  const { view, partners } = run;
  if (!view) return undefined;
  const mine = own(view);
  const passed = Math.max(0, now - (partners?.now ?? now));
  const startsIn = mine?.startsAt === undefined ? undefined : Math.ceil(mine.startsAt - now);
  const takesPart = ["confirmed", "running", "absent", "finished"].includes(mine?.status);
  const isOn = ["starting", "running"].includes(view.status) && takesPart;
  const isPaused = run.metrics?.pa === true;
  const seconds = partners?.t === undefined ? undefined : partners.t + (isPaused || mine?.status !== "running" ? 0 : passed);
  const isCovered = isOn && startsIn !== undefined && startsIn > 0 && startsIn <= longestCountdown;
  return {
    title: title(view), terms: terms(view, options, zone), status: view.status, isOver: isOver(view),
    people: [
      ...view.participants.map((/** @type {any} */ p) => ({ name: nameOf(p.user, view), text: statusText(p), isHost: p.user === view.host })),
      ...(view.ghosts ?? []).map((/** @type {any} */ ghost) => ({ name: ghostName(ghost), text: "Ghost", isHost: false })),
    ],
    waiting: waiting(view, now),
    unfinished: unfinished(run, mine),
    countdown: isCovered ? startsIn : undefined,
    isOn: isOn && !isCovered,
    starts: isOn && startsIn !== undefined && startsIn > longestCountdown ? `Starts at ${date(mine.startsAt, zone)}` : "",
    needsDevice: isOn && ["confirmed", "absent"].includes(mine.status) && startsIn !== undefined && startsIn < -5,
    time: seconds === undefined ? unknown : format("duration", seconds),
    place: partners?.pl === undefined ? "" : `Place ${partners.pl}`,
    lanes: isOn ? lanes(run, mine, passed, options) : [],
    prompt: prompt(run, mine, now, options),
    canLeave: isOn && mine.status !== "finished",
    session: mine?.session?.toLowerCase(),
    isRunning: mine?.status === "running",
    over: view.status === "canceled" ? `This run was canceled. ${overWords[view.reason] ?? ""}`.trim()
      : mine?.status === "left" ? "You left this run." : "",
    results: results(view, options),
    splits: isOver(view) ? splits(run.workouts[mine?.session?.toLowerCase()], options) : [],
    places: isOn ? places(run) : [],
    hasRoutes: view.status === "finished" && mine?.status !== "left" && (view.results?.rows ?? []).some((/** @type {any} */ row) => row.hasRoute),
  };
}

/** @param {any} workout @param {Options} options */
const splits = (workout, options) => (workout?.splits ?? []).map((/** @type {any} */ split, /** @type {number} */ index) => ({
  number: String(index + 1), distance: joined(format("distance", split.distance, options)), time: clock(split.duration),
  pace: joined(format("pace", split.pace, options)), heartRate: joined(format("heartRate", split.averageHeartRate, options)),
}));

/** Colors of runners on the map. */
const colors = 6;

/**
 * The same color for a runner in all maps.
 *
 * @param {any} view @param {string} user
 */
const colorOf = (view, user) => Math.max(0, view.participants.findIndex((/** @type {any} */ p) => p.user === user)) % colors;

/**
 * Where those who share it are now, and the reader.
 *
 * @param {Run} run
 */
function places({ view, metrics, positions }) {
  const shared = (positions?.x ?? []).map((/** @type {any} */ { u, la, lo }) => ({ user: u, la, lo }));
  const mine = metrics?.la === undefined || shared.length === 0 ? [] : [{ user: view.user, la: metrics.la, lo: metrics.lo }];
  return [...mine, ...shared].map(({ user, la, lo }) => ({
    name: user, color: colorOf(view, user), lines: [], here: /** @type {[number, number]} */ ([la, lo]),
  }));
}

/**
 * The routes of a reply, for the map.
 *
 * @param {any} view @param {{ user: string, polyline: string[] }[]} all
 */
export const routes = (view, all) =>
  all.map(({ user, polyline }) => ({ name: user, color: colorOf(view, user), lines: decode(polyline).filter((line) => line.length > 0) }))
    // All of a route may lie in hidden circles.
    .filter(({ lines }) => lines.length > 0);

/** @param {string | undefined} user @param {any} view */
const nameOf = (user, view) => (user === view.user ? `${user} (you)` : user ?? "Deleted account");

/**
 * A workout that the engine would refuse the run's start for.
 *
 * @param {Run} run @param {any} mine
 */
function unfinished({ current, view }, mine) {
  if (!current?.session || current.session.toLowerCase() === mine?.session?.toLowerCase()) return undefined;
  if (isOver(view) || !["accepted", "confirmed"].includes(mine?.status)) return undefined;
  return { session: current.session.toLowerCase(), text: `Your workout ${current.name ?? ""} is unfinished. End it before the run.` };
}

/** @param {Run} run @param {any} mine @param {number} passed @param {Options} options @returns {Lane[]} */
function lanes({ view, partners, metrics, metres }, mine, passed, options) {
  const rows = new Map((partners?.x ?? []).map((/** @type {any} */ row) => [keyOf(row), row]));
  const ahead = (/** @type {any} */ row) => row?.gm ?? -Infinity;
  const runners = [
    ...others(view).filter(({ status }) => ["confirmed", "running", "finished", "absent"].includes(status)),
    ...(view.ghosts ?? []),
  ].map((runner, index) => ({ runner, row: /** @type {any} */ (rows.get(keyOf(runner))), index }));
  const all = [...runners.filter(({ row }) => row).map(({ row }) => metres[keyOf(row)] ?? 0), metrics?.d ?? partners?.d ?? 0];
  const whole = view.goal?.distance ?? Math.max(...all, 1);
  const share = (/** @type {number | undefined} */ d) => Math.min(1, Math.max(0, (d ?? 0) / whole));
  const me = {
    gm: 0, index: -1,
    /** @type {Lane} */
    lane: {
      key: view.user, name: view.user, isMine: true, gap: mineText(runners, options),
      link: mine.status === "running" ? (metrics?.pa ? { signal: "none", text: "Paused" } : { signal: "none", text: "You" }) : { signal: "none", text: statusText(mine) },
      distance: format("distance", partners?.d ?? metrics?.d, options), pace: format("pace", metrics?.dp ?? metrics?.p, options),
      heartRate: format("heartRate", metrics?.h, options), share: share(partners?.d ?? metrics?.d), isLost: false,
    },
  };
  return [me, ...runners.map(({ runner, row, index }) => {
    const connection = row ? link(row, passed) : { signal: /** @type {const} */ ("none"), text: runner.status ? statusText(runner) : "Ghost" };
    const isLost = connection.signal === "silent";
    const d = row ? metres[keyOf(row)] : runner.finished?.distance;
    const now = (/** @type {number | undefined} */ value) => (isLost ? undefined : value);
    return {
      gm: ahead(row), index,
      lane: {
        key: keyOf(runner), name: runner.number === undefined ? runner.user : ghostName(runner), isMine: false,
        gap: gapText(row?.gm, row?.gs, options), link: connection, isLost, share: share(d),
        distance: format("distance", d, options), pace: format("pace", now(row?.p ?? runner.finished?.pace), options),
        heartRate: format("heartRate", now(row?.h), options),
      },
    };
  })].sort((a, b) => (b.gm === a.gm ? a.index - b.index : b.gm - a.gm)).map(({ lane }) => lane);
}

/**
 * One's own side of the gap to the only partner.
 *
 * @param {{ row: any }[]} runners @param {Options} options
 */
function mineText(runners, options) {
  const row = runners.length === 1 ? runners[0].row : undefined;
  return gapText(row?.gm && -row.gm, row?.gs, options);
}

/** @param {Run} run @param {any} mine @param {number} now @param {Options} options */
function prompt({ view, dismissed }, mine, now, options) {
  if (mine?.status !== "running" || view.status !== "running") return undefined;
  const partners = others(view).filter(({ status }) => ["running", "finished"].includes(status));
  if (view.prompt) {
    const lost = partners.filter(({ status }) => status === "running").map(({ user }) => user);
    return { id: `lost-${view.prompt.since}`, kind: "lost", text: lost.length > 1 ? "Partners lost" : "Partner lost",
      detail: `No data from ${list(lost)} for ${minutes(Math.max(0, now - view.prompt.since))}.` };
  }
  // In a larger run a finish is a line in the lanes.
  if (partners.length !== 1 || partners[0].status !== "finished" || view.ghosts?.length > 0) return undefined;
  const [{ user, finished }] = partners;
  const id = `finished-${user}`;
  if (dismissed.includes(id)) return undefined;
  const figures = [finished?.distance === undefined ? undefined : joined(format("distance", finished.distance, options)),
    finished?.pace === undefined ? undefined : joined(format("pace", finished.pace, options))].filter(Boolean).join(", ");
  // A unit stays with its number.
  return { id, kind: "finished", text: `${user} finished ${figures.replaceAll(/(?<=\d) /g, "\u00a0")}`.trim(), detail: "" };
}

/** @type {Record<string, string>} */
const resultWords = { dnf: "Did not finish", left: "Left", absent: "Did not start", withdrawn: "Withdrawn" };

/** @param {any} view @param {Options} options */
function results(view, options) {
  if (!view.results || !isOver(view)) return undefined;
  const text = (/** @type {string} */ quantity, /** @type {number | undefined} */ value) => joined(format(quantity, value, options));
  return {
    isProvisional: view.results.provisional === true,
    rows: view.results.rows.map((/** @type {any} */ row) => ({
      place: row.place === undefined ? "" : String(row.place),
      name: row.ghost === undefined ? nameOf(row.user, view) : ghostName((view.ghosts ?? []).find((/** @type {any} */ g) => g.number === row.ghost) ?? { number: row.ghost }),
      notes: [resultWords[row.status], row.environment === "indoor" && "indoor", row.incomplete && "incomplete",
        row.pauses?.count > 0 && `${row.pauses.count} pause${row.pauses.count === 1 ? "" : "s"}, ${clock(row.pauses.seconds)}`].filter(Boolean).join(" · "),
      time: text("duration", row.time), distance: text("distance", row.distance), pace: text("pace", row.pace),
      heartRate: row.averageHeartRate === undefined ? "" : text("heartRate", row.averageHeartRate),
      behind: row.behind?.seconds !== undefined ? `+${clock(row.behind.seconds)}` : row.behind?.meters !== undefined ? `\u2212${text("distance", row.behind.meters)}` : "",
    })),
  };
}
