// What a phone knows of the workout that it records: the session by its own commands, and figures by its own fixes and sensors.
// Values of the shapes of the bus; no DOM, no clock.

import {activities} from "./activities.js";
import {activeSeconds} from "./session.js";

/**
 * @typedef {Record<string, any> & { id: string, type: string, at: number, revision?: number, refusal?: string,
 *   code?: string }} Command `revision`: that of the state which has it, once it is answered
 * @typedef {import("./stream.js").Item} Item
 */

/** What the engine takes in each status. */
const allowed = /** @type {Record<string, string[]>} */ ({
  preparing: ["discard"],
  active: ["pause", "lap", "suspend", "end", "discard"],
  paused: ["resume", "suspend", "end", "discard"],
  suspended: ["resume", "end", "discard"],
});

/**
 * The state after commands that the server has not processed: the session goes on without a connection.
 *
 * @param {any} state the server's, if it has published one @param {Command[]} commands of the session, in their order
 * @param {number} now
 */
export function stateAfter(state, commands, now) {
  // The phone goes on although its start is refused: a person decides what becomes of it.
  const open = commands.filter(({type, revision, refusal}) => (refusal === undefined || type === "start") &&
      (revision ?? Infinity) > (state?.revision ?? 0));
  const next = open.reduce((/** @type {any} */ before, command) => after(before, command), state);
  const hasBegun = next?.status === "preparing" && (next.countdownEndsAt ?? Infinity) <= now;
  if (next === state && !hasBegun) return state;
  const status = hasBegun ? "active" : next?.status;
  return next && {...next, status, allowed: allowed[status] ?? []};
}

/** @param {any} state @param {Command} command */
function after(state, command) {
  const {type, at} = command;
  if (type === "start") return state ?? begun(command);
  if (!state) return state;
  // The countdown has ended by then.
  const status = state.status === "preparing" && at >= state.countdownEndsAt ? "active" : state.status;
  if (!allowed[status]?.includes(type)) return state;
  const segments = type === "lap" ? state.segments : closed(state.segments, at);
  switch (type) {
    case "lap":
      return {...state, status, laps: [...state.laps ?? [], at]};
    case "pause":
      return {...state, status: "paused", segments};
    case "suspend":
      return {...state, status: "suspended", segments};
    case "resume":
      return {...state, status: "active", segments: [...segments, [at, null]]};
    case "end":
      return {...state, status: "saving", segments, endedAt: at};
    case "discard":
      return {...state, status: "canceled", segments, endReason: "discarded"};
    default:
      return state;
  }
}

/** @param {Command} start */
function begun({session, at, startAt, countdown = 0, activity, environment = "outdoor", name, units, timeZone, run}) {
  const place = environment === "indoor" ? "Indoor" : "Outdoor";
  const startedAt = startAt ?? at + countdown;
  return {
    session,
    revision: 0,
    status: startedAt > at ? "preparing" : "active",
    activity,
    environment,
    name: name ?? `${place} ${activities[activity]?.title ?? "Workout"}`,
    isLive: true,
    startedAt,
    countdownEndsAt: startedAt,
    segments: [[startedAt, null]],
    laps: [],
    units,
    timeZone,
    ...(run ? {run} : {}),
  };
}

/** Seconds after which one joins a virtual run with a countdown of one's own. */
const lateness = 5;

/**
 * The fields of `start` by which a device begins its part of a virtual run; none until the run has a start.
 *
 * @param {any} view @param {number} now
 */
export function runStart(view, now) {
  const own = view.participants?.find((/** @type {any} */ each) => each.user === view.user);
  if (!own?.session || !own.startId || own.startsAt === undefined) return undefined;
  const isLate = now - own.startsAt > lateness;
  return {
    id: own.startId,
    session: own.session,
    run: view.run,
    startAt: isLate ? now + (view.countdown ?? 3) : own.startsAt
  };
}

/** @param {[number, number | null][]} segments @param {number} at @returns {[number, number | null][]} */
const closed = (segments, at) => segments.map(([start, end]) => [start, end ?? Math.max(start, at)]);

/** Fixes of this accuracy and worse count for no distance, as in the route. */
const leastAccuracy = 50;
/** m/s between two fixes that nothing on foot or wheels reaches. */
const impossibleSpeed = 60;
/** Seconds over which a speed is taken if the fixes have none. */
const speedSpan = 10;
/** Seconds after which a figure of this moment is unknown. */
const figureAge = 15;
/** Seconds after which the server's figures are old. */
const serverAge = 8;
const recentCount = 1000;

/** Distance and figures of a phone and its sensors. A value without a clock. */
export class Figures {
  /** Metres, over all active segments. */
  distance = 0;
  /** The time of the newest item. */
  newest = -Infinity;
  /** The newest fix, also a bad one. */
  fix = /** @type {Item | undefined} */ (undefined);
  /** @type {(Item & { segment: number }) | undefined} the last fix that counts */
  #last;
  /** @type {[number, number][]} times and distances of the newest fixes that count */
  #recent = [];
  /** @type {Record<string, [number, number]>} time and value of each quantity */
  #values = {};
  #heartRates = {sum: 0, count: 0, maximum: 0};
  /** How far the server's distance is ahead of this one. */
  #ahead = 0;

  /** @param {Item} item of `locations` @param {[number, number | null][]} segments */
  addFix(item, segments) {
    const {c, ac = 0, v} = item;
    this.newest = Math.max(this.newest, c);
    this.fix = item;
    const segment = segments.findIndex(([start, end]) => c >= start && c <= (end ?? Infinity));
    if (segment < 0 || ac >= leastAccuracy) return;
    const last = this.#last?.segment === segment ? this.#last : undefined;
    if (last) {
      const metres = metresBetween(last, item);
      if (c <= last.c || metres / (c - last.c) > impossibleSpeed) return;
      this.distance += metres;
    }
    this.#last = {...item, segment};
    this.#recent.push([c, this.distance]);
    if (this.#recent.length > 2 * recentCount) this.#recent.splice(0, recentCount);
    const [since, from] =
      this.#recent.find(([time]) => time >= Math.max(c - speedSpan, segments[segment][0])) ?? [c, 0];
    const measured = v ?? (c - since >= 3 ? (this.distance - from) / (c - since) : undefined);
    if (measured !== undefined) this.#values.v = [c, measured];
  }

  /** @param {Item} item of `samples` @param {boolean} isActive */
  addSample({c, ...values}, isActive) {
    this.newest = Math.max(this.newest, c);
    for (const key of ["h", "w", "cd", "v", "b"])
      if (values[key] !== undefined) this.#values[key] = [c, values[key]];
    if (values.h === undefined || !isActive) return;
    this.#heartRates.sum += values.h;
    this.#heartRates.count += 1;
    this.#heartRates.maximum = Math.max(this.#heartRates.maximum, values.h);
  }

  /**
   * The distance continues from the server's.
   *
   * @param {any} metrics @param {any} route
   */
  follow(metrics, route) {
    const [d, c] = metrics?.d !== undefined ? [metrics.d, metrics.c] : [route?.d, route?.c];
    if (d === undefined || c === undefined) return;
    const own = this.#recent.filter(([time]) => time <= c).at(-1)?.[1];
    if (own !== undefined) this.#ahead = d - own;
  }

  /** @param {any} state @param {number} now @returns {any} figures as `metrics` has them */
  metrics(state, now) {
    const newest = (/** @type {string} */ key) =>
      (this.#values[key] && now - this.#values[key][0] <= figureAge ? this.#values[key][1] : undefined);
    const {sum, count, maximum} = this.#heartRates;
    const t = activeSeconds(state, Math.min(now, Math.max(this.newest, state?.startedAt ?? now)));
    const d = this.#last ? Math.max(0, this.distance + this.#ahead) : undefined;
    const v = newest("v");
    const all = {
      c: this.newest > 0 ? this.newest : undefined,
      t,
      d,
      v,
      dv: v,
      dp: paceOf(v),
      p: paceOf(v),
      ap: d !== undefined && d >= 50 && t > 0 ? paceOf(d / t) : undefined,
      h: newest("h"),
      ha: count > 0 ? sum / count : undefined,
      hx: count > 0 ? maximum : undefined,
      w: newest("w"),
      cd: newest("cd"),
      b: this.#values.b?.[1],
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  }
}

/** @param {number | undefined} speed @returns seconds for a kilometre; none above half an hour */
const paceOf = (speed) => (speed !== undefined && speed > 1 / 1.8 ? 1000 / speed : undefined);

const earthRadius = 6_371_008.8;

/** @param {Item} a @param {Item} b */
export function metresBetween(a, b) {
  const radians = Math.PI / 180;
  const [north, east] = [(b.la - a.la) * radians / 2, (b.lo - a.lo) * radians / 2];
  const h = Math.sin(north) ** 2 + Math.cos(a.la * radians) * Math.cos(b.la * radians) * Math.sin(east) ** 2;
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(h)));
}

/**
 * What the page shows: the server's figures, or those of the phone while the server's are old.
 *
 * @param {import("./session.js").Session} session @param {Command[]} commands @param {Figures} figures @param {number} now
 * @returns {import("./session.js").Session & { isEstimated: boolean }}
 */
export function withPhone(session, commands, figures, now) {
  const state = stateAfter(session.state, commands, now);
  const isRunning = state?.status === "active" || state?.status === "paused" || state?.status === "suspended";
  const isFresh = session.heardAt !== undefined && now - session.heardAt < serverAge;
  // A pause brings nothing new: the server's figures stay unless the phone has newer items.
  const isNewer = figures.newest > (session.metrics?.c ?? session.route?.c ?? -Infinity) + serverAge;
  if (state?.status === "saving" && session.savingSince === undefined)
    session = {...session, savingSince: state.endedAt};
  if (!isRunning || isFresh || !isNewer) return {...session, state, isEstimated: false};
  const metrics = {...session.metrics, ...figures.metrics(state, now)};
  return {...session, state, metrics, heardAt: Math.min(now, figures.newest), isEstimated: true};
}
