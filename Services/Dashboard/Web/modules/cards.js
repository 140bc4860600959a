// The people of Home: `receive` takes events, `cards` and `arrange` say who is shown and where. No DOM, no clock.

import {day, rowOf, when} from "./format.js";
import {battery, freshness, isEnded, isStopped, isUnfinished, noSession, receive as receiveSession} from "./session.js";
import {isOlder} from "./topics.js";

/**
 * @typedef {object} Card
 * @property {string} user
 * @property {string} session
 * @property {import("./session.js").Session} shown
 *
 * @typedef {object} People
 * @property {Record<string, Card>} sessions by id
 * @property {Record<string, any>} currents the newest `current` of each user
 *
 * @typedef {"" | "silent" | "battery"} Trouble
 */

/** @returns {People} */
export const noPeople = () => ({sessions: {}, currents: {}});

const silentAfter = 60;
/** Milliseconds after which a session that no card shows is dropped. */
const lifetime = 48 * 3600e3;
const canceledLimit = 3;

/** @param {People} people @param {string} name @param {any} data @param {number} now @returns {People} */
export function receive(people, name, {user, session, payload}, now) {
  if (name === "current") {
    if (isOlder(people.currents[user], payload)) return people;
    return {...people, currents: {...people.currents, [user]: payload}};
  }
  if (!session) return people;
  const card = people.sessions[session] ?? {user, session, shown: noSession()};
  /** @type {Record<string, Card>} */
  const next = {...people.sessions, [session]: {...card, shown: receiveSession(card.shown, name, payload, now)}};
  for (const [id, {shown}] of Object.entries(next)) {
    if (!isUnfinished(shown.state) && (shown.state?.revision ?? now * 1000) < now * 1000 - lifetime) delete next[id];
  }
  return {...people, sessions: next};
}

/**
 * What is left when only these users may be seen.
 *
 * @param {People} people @param {string[]} users @returns {People}
 */
export function only({sessions, currents}, users) {
  /** @param {Record<string, any>} all @param {(entry: [string, any]) => string} userOf */
  const kept = (all, userOf) =>
    Object.fromEntries(Object.entries(all).filter((entry) => users.includes(userOf(entry))));
  return {sessions: kept(sessions, ([, card]) => card.user), currents: kept(currents, ([user]) => user)};
}

/**
 * Whether a session is the one to show of a user: unfinished, or finished today in its zone.
 *
 * @param {Card} card @param {People} people @param {number} now
 */
function isShown({user, session, shown: {state}}, {currents}, now) {
  if (isUnfinished(state)) return currents[user]?.session?.toLowerCase() === session;
  if (!isEnded(state)) return false;
  return state.status === "saving" || day(state.endedAt ?? 0, state.timeZone) === day(now, state.timeZone);
}

/**
 * One card for each user: the unfinished workout, else the one that ended last.
 *
 * @param {People} people @param {number} now @returns {Card[]}
 */
export function cards(people, now) {
  /** @type {Record<string, Card>} */
  const found = {};
  /** @param {Card} card */
  const end = ({shown: {state}}) => (isUnfinished(state) ? Infinity : state.endedAt ?? 0);
  for (const card of Object.values(people.sessions)) {
    if (!isShown(card, people, now)) continue;
    const other = found[card.user];
    if (!other || end(card) > end(other) || (end(card) === end(other) && card.session > other.session))
      found[card.user] = card;
  }
  return Object.values(found);
}

/**
 * The newest of a user's canceled workouts, which can be recovered until they are deleted. A canceled countdown left nothing.
 *
 * @param {People} people @param {string} user
 */
export function canceled({sessions}, user) {
  return Object.values(sessions)
    .filter((card) => card.user === user && card.shown.state?.allowed?.includes("recover"))
    .map(({session, shown: {state}}) => ({session, state}))
    .filter(({state}) => state.segments.length > 0)
    .sort((a, b) => b.state.revision - a.state.revision)
    .slice(0, canceledLimit)
    .map(({session, state: {name, activity, endReason, startedAt, timeZone}}) => ({
      session,
      text: `${titleOf(activity, name)} ${endReason === "expired" ? "expired" : "was discarded"}`,
      date: when(startedAt ?? 0, timeZone)
    }));
}

/**
 * Silent for over a minute, paused, live, finished.
 *
 * @param {Card} card @param {number} now
 */
export function rank({shown: {state, heardAt}}, now) {
  if (state.status === "active") return now - Math.max(heardAt ?? 0, begun(state)) > silentAfter ? 0 : 2;
  if (isStopped(state)) return 1;
  return state.status === "preparing" ? 2 : 3;
}

/**
 * The last start or resume: silence before it means nothing.
 *
 * @param {any} state
 */
const begun = ({segments = [], startedAt = 0, isLive}) =>
  (isLive ? segments[segments.length - 1]?.[0] ?? startedAt : 0);

/** @param {Card[]} list @param {number} now the order of the list, sorted @returns {string[]} users */
export const sorted = (list, now) => list.map((card) => ({user: card.user, rank: rank(card, now)}))
                                       .sort((a, b) => a.rank - b.rank || (a.user < b.user ? -1 : 1))
                                       .map(({user}) => user);

/**
 * Cards stay where they are until they are sorted again; new ones follow.
 *
 * @param {string[]} order @param {Card[]} list @param {number} now @returns {string[]} users
 */
export function arrange(order, list, now) {
  const users = new Set(list.map(({user}) => user));
  return [...order.filter((user) => users.has(user)), ...sorted(list.filter(({user}) => !order.includes(user)), now)];
}

const words = ["silent", "paused", "live", "finished today"];

/**
 * `2 silent · 15 live`.
 *
 * @param {Card[]} list @param {number} now
 */
export function summary(list, now) {
  const counts = words.map((word, index) => [list.filter((card) => rank(card, now) === index).length, word]);
  return counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`).join(" · ");
}

/** @param {Card} card @param {number} now @returns {Trouble} */
export function trouble({shown}, now) {
  if (!isUnfinished(shown.state)) return "";
  if (freshness(shown, now).signal === "silent" && now - begun(shown.state) > 15) return "silent";
  return battery(shown.metrics)?.isLow ? "battery" : "";
}

/**
 * Who got into trouble since `before`. Without a connection nothing can be said: the troubles stay.
 *
 * @param {Record<string, Trouble> | undefined} before none at first, where what is shown needs no alert
 * @param {Card[]} list @param {number} now
 */
export function alerts(before, list, now) {
  const troubles = Object.fromEntries(list.map((card) => [card.user, trouble(card, now)]));
  const fresh = before ? Object.keys(troubles).filter((user) => troubles[user] && troubles[user] !== before[user]) : [];
  // A weak battery alone is no news after silence.
  return {troubles, fresh: fresh.filter((user) => !(troubles[user] === "battery" && before?.[user] === "silent"))};
}

/**
 * `Outdoor Running`, `Strength · Upper Body A`.
 *
 * @param {string} activity @param {string} name
 */
export function titleOf(activity, name) {
  const title = rowOf({activity}).title ?? activity;
  return name.includes(title) ? name : `${title} · ${name}`;
}
