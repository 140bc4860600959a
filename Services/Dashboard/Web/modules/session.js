// A session as its page shows it: `receive` takes payloads of the bus, `view` turns them into text. No DOM, no clock.

import {clock, format, joined, minutes, rowOf, timeOfDay, weather as weatherText} from "./format.js";
import {isOlder} from "./topics.js";

/**
 * @typedef {import("./format.js").Units} Units
 * @typedef {import("./format.js").Text} Text
 * @typedef {{ key: string, label: string, text: Text, isDimmed?: boolean, isKnown?: boolean }} Field
 *
 * @typedef {object} Session
 * @property {any} [state]
 * @property {any} [metrics]
 * @property {any} [route]
 * @property {any} [weather]
 * @property {any} [workout]
 * @property {any} [profile]
 * @property {number | undefined} heardAt when a device's items last arrived, Unix seconds of the server
 * @property {number | undefined} savingSince Unix seconds of the server
 * @property {any[]} announcements those that stay on the page, the newest last, at most 64
 * @property {Record<string, boolean>} services whether each known one is online
 * @property {string[]} dismissed
 */

/** @returns {Session} */
export const noSession = () =>
  ({heardAt: undefined, savingSince: undefined, announcements: [], services: {}, dismissed: []});

const keptKinds = ["lap", "warning", "clock_skew"];
const keptCount = 64;
const weakAfter = 8;
const silentAfter = 15;
const lowBattery = 0.2;

/** @param {Session} session @param {string} name @param {any} payload @param {number} now @returns {Session} */
export function receive(session, name, payload, now) {
  switch (name) {
    case "metrics":
    case "route": {
      const shown = session[name];
      if (isOlder(shown, payload)) return session;
      return {...session, [name]: payload, heardAt: heardAfter(session, name, payload)};
    }
    case "state": {
      if (isOlder(session.state, payload)) return session;
      const isSaving = payload.status === "saving";
      return {
        ...session,
        state: payload,
        savingSince: isSaving ? session.savingSince ?? Math.min(now, payload.revision / 1000) : undefined
      };
    }
    case "weather":
    case "workout":
    case "profile":
      return isOlder(session[name], payload) ? session : {...session, [name]: payload};
    case "announcements":
      if (!keptKinds.includes(payload.kind)) return session;
      return {...session, announcements: [...session.announcements, payload].slice(-keptCount)};
    case "services":
      return {...session, services: payload};
    default:
      return session;
  }
}

/**
 * When items last arrived, as the metrics say: their figures are those that the page shows as live. The route says it until
 * there are metrics of items.
 *
 * @param {Session} session @param {"metrics" | "route"} name @param {any} payload
 */
function heardAfter(session, name, payload) {
  const hasMetrics = session.metrics?.c !== undefined;
  if (name === "route" && hasMetrics) return session.heardAt;
  const arrivedAt = arrival(session[name], payload, session.state);
  if (name === "metrics" && payload.c !== undefined && !hasMetrics) return arrivedAt;
  return Math.max(session.heardAt ?? 0, arrivedAt);
}

/**
 * When the items behind a payload arrived: more items came with this message; the first one may be hours old, and only
 * its newest item says so, by a clock that may be off.
 *
 * @param {any} shown @param {any} next @param {any} state
 */
export function arrival(shown, next, state) {
  const published = next.s / 1000;
  // The metrics of a session that has only locations count none of them.
  if (shown) return next.n > shown.n || next.c > shown.c ? published : 0;
  const device = Object.keys(next.ds ?? {}).find((name) => next.ds[name].c === next.c) ?? "";
  return next.c === undefined ? 0 : Math.min(published, next.c - (state?.clockSkew?.[device] ?? 0));
}

/**
 * Active seconds at a moment.
 *
 * @param {any} state @param {number} now
 */
export function activeSeconds(state, now) {
  /** @param {number} sum @param {[number, number | null]} segment */
  const add = (sum, [start, end]) => sum + Math.max(0, Math.min(end ?? now, now) - start);
  return (state?.segments ?? []).reduce(add, 0);
}

/**
 * A recording that is played back has its own time.
 *
 * @param {Session} session @param {number} now
 */
export function moment({state, metrics}, now) {
  if (state?.isLive) return now;
  const times = [state?.timer?.asOf, metrics?.c].filter((time) => time !== undefined);
  return times.length > 0 ? Math.max(...times) : now;
}

/**
 * @typedef {"live" | "weak" | "silent" | "none"} Signal
 * @param {Pick<Session, "state" | "heardAt">} session @param {number} now @returns {{ signal: Signal, text: string }}
 */
export function freshness({state, heardAt}, now) {
  if (state?.status !== "active") return {signal: "none", text: ""};
  if (!heardAt) return {signal: "silent", text: "No data yet"};
  const age = Math.max(0, now - heardAt);
  if (age < weakAfter) return {signal: "live", text: "Live"};
  if (age < silentAfter) return {signal: "weak", text: "Weak signal"};
  return {signal: "silent", text: `No signal for ${minutes(Math.floor(age))}`};
}

/** @type {Record<string, string>} */
export const statusWords = {
  preparing: "Starting",
  active: "Active",
  paused: "Paused",
  suspended: "Saved for later",
  saving: "Saving",
  completed: "Finished",
  canceled: "Canceled",
  deleted: "Deleted",
};

/** Rows of "More": key, label, quantity, value by `metrics`, `route` and active seconds, whether it is a value of this moment. */
/** @type {[string, string, string, (m: any, r: any, seconds: number) => number | undefined, boolean?][]} */
const rows = [
  ["pace", "Pace", "pace", (m) => m.dp ?? m.p, true],
  ["speed", "Speed", "speed", (m, r) => m.dv ?? m.v ?? r.v, true],
  ["heartRate", "Heart rate", "heartRate", (m) => m.h, true],
  ["averageHeartRate", "Average heart rate", "heartRate", (m) => m.ha],
  ["maximumHeartRate", "Maximum heart rate", "heartRate", (m) => m.hx],
  ["averagePace", "Average pace", "pace", (m) => m.ap],
  ["averageSpeed", "Average speed", "speed", (m, r, seconds) => averageSpeed(m.d ?? r.d, seconds)],
  ["power", "Power", "power", (m) => m.w, true],
  ["averagePower", "Average power", "power", (m) => m.wa],
  ["cadence", "Cadence", "cadence", (m) => m.cd, true],
  ["averageCadence", "Average cadence", "cadence", (m) => m.ca],
  ["maximumSpeed", "Maximum speed", "speed", (m, r) => m.vx ?? r.vx],
  ["ascent", "Ascent", "height", (m, r) => m.el ?? r.el],
  ["descent", "Descent", "height", (_, r) => r.dl],
  ["altitude", "Height", "height", (m, r) => r.al ?? m.al],
  ["movingDuration", "Moving time", "duration", (m) => m.tm],
  ["steps", "Steps", "count", (m) => m.sn],
  ["strokes", "Strokes", "count", (m) => m.st],
  ["lengths", "Lengths", "count", (m) => m.ln],
  ["temperature", "Temperature", "temperature", (m) => m.tp],
];

/** @param {number | undefined} metres @param {number} seconds */
function averageSpeed(metres, seconds) {
  return metres !== undefined && metres > 0 && seconds > 0 ? metres / seconds : undefined;
}

/** @type {Record<string, string>} */
const averages = {
  pace: "averagePace",
  speed: "averageSpeed",
  heartRate: "averageHeartRate"
};

/** @param {string[]} statuses @returns {(state: any) => boolean} */
const isOneOf = (...statuses) => (state) => statuses.includes(state?.status);
export const isUnfinished = isOneOf("preparing", "active", "paused", "suspended");
export const isStopped = isOneOf("paused", "suspended");
export const isEnded = isOneOf("saving", "completed");

/**
 * @param {Session} session @param {number} now @param {Units} units
 * @param {boolean} [isLost] whether the reader has no connection since `now`
 */
export function view(session, now, units, isLost = false) {
  const {state, metrics = {}, route = {}, weather} = session;
  const activity = state?.activity;
  const options = {units, activity, isEstimated: metrics.ks === "estimate" || metrics.ks === "mixed"};
  /** @type {{ signal: Signal | "lost", text: string }} `lost`: by the reader, not by the athlete */
  const fresh =
    isLost && isUnfinished(state) ? {signal: "lost", text: `As of ${timeOfDay(now)}`} : freshness(session, now);
  const isSilent = fresh.signal === "silent" || fresh.signal === "lost";
  const isResting = state !== undefined && state.status !== "active";
  const isOver = state && !isUnfinished(state);
  const at = moment(session, now);
  const active = activeSeconds(state, at);
  // While it goes on, the distance is that of the newest item.
  const seconds = isResting ? active : metrics.t;

  /** @param {string} key @returns {Field} */
  const row = (key) => {
    const [, label, quantity, value, isOfNow] = /** @type {typeof rows[number]} */ (rows.find(([k]) => k === key));
    const known = isOfNow && isResting ? undefined : value(metrics, route, seconds);
    return {
      key,
      label,
      text: format(quantity, isOfNow && isSilent ? undefined : known, options),
      isDimmed: isSilent,
      isKnown: known !== undefined
    };
  };
  const figure = rowOf(options).figure ?? "heartRate";
  const special = isResting ? averages[figure] : figure;
  // Without energy its place is the heart rate's, if there is any, also while it is unknown for a moment.
  const hasHeartRate = figure !== "heartRate" && (metrics.h ?? metrics.ha) !== undefined;
  const third = metrics.k !== undefined || !hasHeartRate ? "energy" : isResting ? "averageHeartRate" : "heartRate";
  /** @type {Field[]} */
  const main = [
    {
      key: "duration",
      label: "Time",
      text: state ? format("duration", active) : format("duration", undefined),
      isDimmed: fresh.signal === "lost"
    },
    {key: "distance", label: "Distance", text: format("distance", metrics.d ?? route.d, options), isDimmed: isSilent},
    third === "energy"
      ? {key: "energy", label: "Energy", text: format("energy", metrics.k, options), isDimmed: isSilent}
      : row(third),
    row(special),
  ];
  const hasPace = metrics.ap !== undefined;
  const more = rows.map(([key]) => key)
                 .filter((key) => key !== special && key !== third && !(key === "averageSpeed" && hasPace))
                 .map(row)
                 .filter(({isKnown}) => isKnown);

  const distance = main[1].text;
  const time = main[0].text.number;
  return {
    title: distance.isUnknown ? time : `${time} · ${joined(distance)}`,
    name: state?.name,
    activity,
    status: state?.status,
    statusText: statusWords[state?.status] ?? "Waiting for data",
    fresh,
    main,
    more,
    active,
    countdown: countdown(state, now),
    weather: weather && {
      text: weatherText(weather.temperature, weather.humidity, options),
      condition: words(weather.condition),
      attribution: weather.attribution,
      isStale: weather.isStale
    },
    battery: isOver ? undefined : battery(metrics),
    devices: isOver ? [] : devices(session),
    zones: zones(metrics.z),
    laps: laps(session, at, options),
    saving: state?.status === "saving" ? (now - (session.savingSince ?? now) > 15 ? "long" : "short") : undefined,
    ended: ended(state, session.workout),
  };
}

/**
 * Whole seconds to the start.
 *
 * @param {any} state @param {number} now
 */
function countdown(state, now) {
  if (state?.status !== "preparing" || state.countdownEndsAt === undefined) return undefined;
  const left = Math.ceil(state.countdownEndsAt - now);
  return left > 0 && left <= 600 ? left : undefined;
}

/** @param {string} name `partlyCloudy` */
const words = (name) => name === "unknown" ? "" : name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/**
 * The emptiest battery.
 *
 * @param {any} metrics @returns {{ text: string, isLow: boolean } | undefined}
 */
export function battery(metrics) {
  const all = Object.values(metrics?.ds ?? {}).map(({b}) => b).concat(metrics?.b).filter((b) => b !== undefined);
  if (all.length === 0) return undefined;
  const least = Math.min(...all);
  return {text: joined(format("share", least)), isLow: least <= lowBattery};
}

/** @param {Session} session */
function devices({metrics}) {
  return Object.entries(metrics?.ds ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, {c, b}]) => {
    const silence = Math.max(0, (metrics.c ?? c) - c);
    const parts = [silence > silentAfter ? `silent for ${minutes(silence)}` : "sending"];
    if (b !== undefined) parts.push(`battery ${joined(format("share", b))}`);
    return {name, text: parts.join(", ")};
  });
}

/** @param {number[] | undefined} seconds */
function zones(seconds) {
  const all = (seconds ?? []).reduce((sum, s) => sum + s, 0);
  if (!seconds || all === 0) return [];
  return seconds.map(
    (s, index) =>
      ({label: `Zone ${index + 1}`, share: s / all, text: `${clock(s)} · ${joined(format("share", s / all))}`}));
}

/**
 * The newest first.
 *
 * @param {Session} session @param {number} at @param {import("./format.js").Options} options
 */
function laps({state, metrics, announcements, workout}, at, options) {
  const ends = state?.laps ?? [];
  if (ends.length === 0) return [];
  const bounds = [-Infinity, ...ends, at];
  return bounds.slice(1)
    .map((end, index) => {
      const number = index + 1;
      const isCurrent = number === bounds.length - 1;
      const seconds = activeSeconds(state, end) - activeSeconds(state, bounds[index]);
      const announced = announcements.find((a) => a.kind === "lap" && a.number === number);
      const live = isCurrent ? (metrics?.lp === number ? metrics.ld : undefined) : announced?.distance;
      const metres = workout?.laps?.[index]?.distance ?? live;
      return {number, isCurrent, time: clock(seconds), distance: joined(format("distance", metres, options))};
    })
    .reverse();
}

/** @param {any} state @param {any} workout */
function ended(state, workout) {
  switch (state?.status) {
    case "completed":
      return {
        kind: "completed",
        text: workout?.incomplete ? "Finished. Items of some devices are still missing." : "Finished and saved."
      };
    case "canceled":
      return state.endReason === "expired" ? {
        kind: "canceled",
        text:
          "This workout expired, because no data and no command arrived for hours. Recover it to continue or to end it."
      }
                                           : {
                                               kind: "canceled",
                                               text: "This workout was discarded. It can be recovered for 48 hours."
                                             };
    case "deleted":
      return {kind: "deleted", text: "This workout was deleted."};
    default:
      return undefined;
  }
}
