// All sessions as an operator looks at them: `receive` takes payloads of the bus, `table` says what needs attention. No DOM, no clock.

import {format, joined, minutes, rowOf} from "./format.js";
import {isOnline} from "./services.js";
import {activeSeconds, statusWords} from "./session.js";
import {isOlder} from "./topics.js";

/**
 * @typedef {{ s: number, c?: number, n: number }} Heard
 * @typedef {{ user: string, session: string, state?: any, heard: Heard[], metrics?: any, seen?: number }} Facts
 *   `heard`: the newest of each kind; `seen`: the newest item of `metrics`, also when they are no longer read
 * @typedef {Map<string, Facts>} Sessions by id
 * @typedef {{ facts: Facts, since: number, hasItems: boolean, isStuck: boolean, rank: number }} Row
 */

/** Rows that are shown. */
export const rowLimit = 100;
/** Seconds without items after which an active session counts as silent. */
const silence = 60;
/** An owner publishes `heard` every 5 minutes while items come, and 15 s after the last one. */
const [heardEvery, heardAfter] = [300, 15];
const [weakAfter, silentAfter] = [8, 15];
const statuses = ["active", "paused", "suspended", "preparing", "saving", "completed", "canceled"];

/**
 * Takes a message; an empty one clears its topic.
 *
 * @param {Sessions} sessions which changes @param {string} topic @param {any} payload
 */
export function receive(sessions, topic, payload) {
  const [, , , user, session, name, kind] = topic.split("/");
  const facts = sessions.get(session) ?? {user, session, heard: []};
  if (name === "state" && (payload === undefined || payload.status === "deleted")) return void sessions.delete(session);
  if (payload === undefined) return;
  if (name === "heard") {
    const index = kind === "samples" ? 0 : 1;
    if (!isOlder(facts.heard[index], payload)) facts.heard[index] = {s: payload.s, c: payload.c, n: payload.n};
  } else if (name === "state") {
    if (isOlder(facts.state, payload)) return;
    const {status, activity, segments, isLive, revision} = payload;
    facts.state = {status, activity, segments, isLive, revision};
  } else if (name === "metrics" && !isOlder(facts.metrics, payload)) {
    facts.metrics = payload;
    facts.seen = payload.c;
  }
  sessions.set(session, facts);
}

/**
 * When the newest items came, as far as `heard` and, of a session that is shown, `metrics` say: those of now while they come.
 *
 * @param {Facts} facts @param {number} now
 */
function heardAt({heard, metrics, seen}, now) {
  const known = heard.filter((each) => each && each.n > 0).map(({s, c = 0}) => ({c, published: s / 1000}));
  if (known.length === 0 && seen === undefined) return undefined;
  const newest = Math.max(seen ?? 0, ...known.map(({c}) => c));
  // The values of this moment say it exactly.
  if (metrics) return Math.min(now, newest);
  // While items come there is another `heard`, and one when they stop.
  const isComing = known.some(({c, published}) => published - c < heardAfter - 1) || newest === seen;
  const published = Math.max(seen ?? 0, ...known.map((each) => each.published));
  return isComing && now - published < heardEvery + 2 * heardAfter ? now : Math.min(now, newest);
}

/** @param {Facts} facts @param {number} now @returns {Row} */
function rowFor(facts, now) {
  const {status, revision = 0} = facts.state ?? {};
  const heard = heardAt(facts, now);
  const since = status === "saving" ? revision / 1000 : heard ?? revision / 1000;
  const isStuck = ["active", "saving"].includes(status) && now - since > silence;
  const rank = ["active", "preparing", "saving"].includes(status) ? (isStuck ? 0 : 1)
    : ["completed", "canceled"].includes(status)                  ? 3
                                                                  : 2;
  return {facts, since, hasItems: heard !== undefined, isStuck, rank};
}

/** @param {Row} row @param {string} filter */
const matches = ({facts, rank, isStuck}, filter) => filter === "" ? rank < 3
  : filter === "silent"                                           ? isStuck && facts.state?.status === "active"
                                                                  : facts.state?.status === filter;

/**
 * Live ones are in the order of their names: their items come every second, and rows keep their place.
 *
 * @param {Row} a @param {Row} b
 */
const order = (a, b) => a.rank - b.rank ||
  (a.rank === 1      ? 0
      : a.rank === 3 ? b.since - a.since
                     : a.since - b.since) ||
  (a.facts.user < b.facts.user            ? -1
      : a.facts.user > b.facts.user       ? 1
      : a.facts.session < b.facts.session ? -1
                                          : 1);

/**
 * The sessions that an operator looks at first, and the counts of all: stuck sessions come first, then live ones, those at rest,
 * and those that are over; of stuck ones and those at rest the one that is silent for the longest time, and of those that are
 * over the latest.
 *
 * @param {Sessions} sessions @param {{ name: string, status: string }} filter @param {number} now
 */
export function table(sessions, {name, status}, now) {
  /** @type {Record<string, number>} */
  const counts = {};
  let [silent, stuckSaving] = [0, 0];
  let found = 0;
  /** @type {Row[]} the first ones, in their order */
  const rows = [];
  const part = name.trim().toLowerCase();
  for (const facts of sessions.values()) {
    const row = rowFor(facts, now);
    const own = facts.state?.status;
    if (own) counts[own] = (counts[own] ?? 0) + 1;
    if (row.isStuck) own === "saving" ? stuckSaving += 1 : silent += 1;
    if (facts.user.includes(part) && matches(row, status)) {
      found += 1;
      insert(rows, row);
    }
  }
  return {counts, silent, stuckSaving, matches: found, rows};
}

/**
 * Keeps the first rows. Most of many come after them, and cost one comparison.
 *
 * @param {Row[]} rows in their order @param {Row} row
 */
function insert(rows, row) {
  if (rows.length === rowLimit && order(row, rows[rowLimit - 1]) >= 0) return;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(row, rows[middle]) < 0) high = middle;
    else low = middle + 1;
  }
  rows.splice(low, 0, row);
  if (rows.length > rowLimit) rows.pop();
}

// MARK: Texts

const count = (/** @type {number} */ number) => joined(format("count", number));

/**
 * `12:01:07 UTC`, as in logs.
 *
 * @param {number} time
 */
export const utc = (time) => `${new Date(time * 1000).toISOString().slice(11, 19)} UTC`;

/**
 * `42 s`, `1:42`, `2 d 5 h`.
 *
 * @param {number} seconds
 */
export function age(seconds) {
  const all = Math.floor(Math.max(0, seconds));
  if (all < 60) return `${all} s`;
  return all < 86_400 ? minutes(all) : `${Math.floor(all / 86_400)} d ${Math.floor(all / 3600) % 24} h`;
}

/**
 * `3 sessions silent for over a minute; all services online.`
 *
 * @param {ReturnType<typeof table>} table @param {import("./services.js").Services} services @param {number} now
 */
export function headline({silent, stuckSaving}, services, now) {
  const sessions = (/** @type {number} */ number) => (number === 1 ? "1 session" : `${count(number)} sessions`);
  const names = Object.keys(services).sort();
  const offline = names.filter((name) => !Object.values(services[name]).some((process) => isOnline(process, now)));
  const parts = [
    silent === 0 ? "No session silent" : `${sessions(silent)} silent for over a minute`,
    ...(stuckSaving > 0 ? [`${sessions(stuckSaving)} saving for over a minute`] : []),
    names.length === 0       ? "no service known yet"
      : offline.length === 0 ? "all services online"
      : offline.length <= 3  ? `${offline.join(", ")} offline`
                             : `${offline.length} services offline`
  ];
  return {text: `${parts.join("; ")}.`, isTrouble: silent + stuckSaving + offline.length > 0 || names.length === 0};
}

/** @param {ReturnType<typeof table>} table */
export const countsOf =
  ({counts, silent, stuckSaving}) => [{label: "Silent", status: "silent", number: count(silent), isTrouble: silent > 0},
    ...statuses.map((status) => ({
      label: statusWords[status],
      status,
      number: count(counts[status] ?? 0),
      isTrouble: status === "saving" && stuckSaving > 0
    }))];

/** @param {number} matches @param {number} shown */
export const shownText = (matches, shown) => matches > shown ? `The first ${shown} of ${count(matches)} sessions`
  : matches === 1 ? "1 session"
                  : `${count(matches)} sessions`;

/** @param {Row} row @param {import("./format.js").Units} units @param {number} now */
export function rowText({facts: {user, session, state, metrics}, since, hasItems, isStuck}, units, now) {
  const options = {units, activity: state?.activity};
  const isActive = state?.status === "active";
  const quiet = Math.max(0, now - since);
  const known = !hasItems ? (isStuck ? "silent" : "none")
    : quiet < weakAfter   ? "live"
    : quiet < silentAfter ? "weak"
                          : "silent";
  const moment = state?.isLive ? now : metrics?.c ?? now;
  return {
    path: `/live/${user}/${session}`,
    user,
    activity: rowOf({activity: state?.activity}).title ?? "",
    status: statusWords[state?.status] ?? "",
    signal: isActive ? known
      : isStuck      ? "silent"
                     : "none",
    age: hasItems ? age(quiet)
      : isActive  ? "No data yet"
                  : "--",
    duration: joined(format("duration", state ? activeSeconds(state, moment) : undefined)),
    distance: joined(format("distance", metrics?.d, options)),
    heartRate: joined(format("heartRate", isActive && hasItems && quiet < silentAfter ? metrics?.h : undefined)),
  };
}

/** Services, and replicas of each, that are listed. */
const [serviceLimit, replicaLimit] = [20, 4];
const short = (/** @type {unknown} */ text) => String(text).replace(/[\p{C}]/gu, "?").slice(0, 40);

/** @param {import("./services.js").Services} services @param {number} now */
export function servicesText(services, now) {
  return Object.entries(services).sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, serviceLimit).map(([
    name, processes
  ]) => {
    const all = Object.entries(processes)
                  .map(([instance, process]) => ({instance, process, isOnline: isOnline(process, now)}))
                  .sort((a, b) => Number(b.isOnline) - Number(a.isOnline) || (a.instance < b.instance ? -1 : 1));
    const online = all.filter((each) => each.isOnline).length;
    const replicas = all.slice(0, replicaLimit).map(({instance, process, isOnline}) => {
      const {shards, version, since} = process;
      if (!isOnline) return `${instance}: offline${since ? ` since ${utc(since)}` : ""}`;
      const owned = shards === undefined ? "online"
        : shards === "none"              ? "standby, no sessions"
        : shards === "00-ff"             ? "all sessions"
                                         : `sessions of shards ${short(shards)}`;
      return `${instance}: ${[owned, version && `version ${short(version)}`].filter(Boolean).join(", ")}`;
    });
    const more = all.length > replicas.length ? [`and ${all.length - replicas.length} more`] : [];
    const text = online === 0 ? "Offline" : online === 1 ? "Online" : `Online, ${online} replicas`;
    return {name, isOnline: online > 0, text, replicas: [...replicas, ...more]};
  });
}

/** The broker's figures below `$SYS/broker`. */
export const figureTopics = [
  "clients/connected", "load/messages/received/1min", "load/messages/sent/1min", "load/bytes/received/1min",
  "load/bytes/sent/1min", "publish/messages/dropped", "retained messages/count", "store/messages/count", "heap/current",
  "uptime"
];

/** @param {Record<string, number>[]} figures by broker @returns of all, and the time since the last start */
export function sums(figures) {
  /** @type {Record<string, number>} */
  const all = {};
  for (const [topic, value] of figures.flatMap((each) => Object.entries(each ?? {})))
    all[topic] = topic === "uptime" ? Math.min(all[topic] ?? value, value) : (all[topic] ?? 0) + value;
  return all;
}

/** @param {Record<string, number | undefined>} figures by topic */
export function figuresText(figures) {
  /** @param {number | undefined} value @param {(value: number) => string} write */
  const text = (value, write) => (value === undefined || !Number.isFinite(value) ? "--" : write(value));
  const rate = (/** @type {number} */ value) => count(value / 60);
  const data = (/** @type {number} */ value) => bytes(value / 60);
  const [clients, messagesIn, messagesOut, bytesIn, bytesOut, dropped, retained, stored, heap, uptime] =
    figureTopics.map((topic) => figures[topic]);
  const queued = stored === undefined || retained === undefined ? undefined : Math.max(0, stored - retained);
  return [
    ["Clients", text(clients, count)],
    ["Messages a second", `${text(messagesIn, rate)} in, ${text(messagesOut, rate)} out`],
    ["Data a second", `${text(bytesIn, data)} in, ${text(bytesOut, data)} out`],
    ["In queues", text(queued, count)],
    ["Dropped", text(dropped, count)],
    ["Retained", text(retained, count)],
    ["Heap", text(heap, bytes)],
    ["Running for", text(uptime, age)],
  ];
}

/**
 * `512 B`, `12.3 kB`.
 *
 * @param {number} number
 */
function bytes(number) {
  let [value, unit] = [Math.max(0, number), "B"];
  for (const larger of ["kB", "MB", "GB"])
    if (value >= 1000) [value, unit] = [value / 1000, larger];
  return unit === "B" ? `${Math.floor(value)} B` : `${value.toFixed(1)} ${unit}`;
}

const textLimit = 120;

/**
 * A text of a stranger: short, and without characters that do more than show.
 *
 * @param {unknown} text
 */
export const printable = (text) => {
  const shown = String(text).replace(/\p{C}/gu, "?");
  return shown.length > textLimit ? `${shown.slice(0, textLimit)}…` : shown;
};
