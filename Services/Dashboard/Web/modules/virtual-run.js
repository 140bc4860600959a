// A virtual run as its page shows it: `receive` takes payloads of the bus, `runView` turns them into text. No DOM, no clock.

import {clock, format, joined, minutes, unknown, when} from "./format.js";
import {lanes, ownLink, remember} from "./run-lanes.js";
import {places} from "./run-map.js";
import {nameOf, results, splits, winner} from "./run-results.js";
import {ghostName, isOpen, isOver, isStopped, list, others, own, statusText, terms, title, waiting} from "./run-status.js";
import {activeSeconds, arrival} from "./session.js";
import {isOlder} from "./topics.js";

/**
 * @typedef {import("./format.js").Options} Options
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {any} [view]
 * @property {any} [partners]
 * @property {any} [positions]
 * @property {any} [state] of one's own session in the run
 * @property {any} [metrics] of the same
 * @property {number} [heardAt] when its items last arrived, Unix seconds of the server
 * @property {any} [current]
 * @property {Record<string, any>} workouts one's own records by session
 * @property {Record<string, boolean>} services whether each known one is online
 * @property {Record<string, number>} metres of each runner, as shown last
 * @property {Record<string, [number, number][]>} gaps of each partner over time: the server's time and metres
 * @property {string[]} dismissed
 */

/** @param {string} id @returns {Run} */
export const noRun = (id) => ({id, services: {}, metres: {}, workouts: {}, gaps: {}, dismissed: []});

/** The longest wait that covers the page, in seconds. */
const longestCountdown = 60;

/** @param {Run} run @param {string} name @param {any} payload @returns {Run} */
export function receive(run, name, payload) {
  if (name === "services") return {...run, services: payload};
  if (name === "workout") {
    const session = payload.session.toLowerCase();
    return isOlder(run.workouts[session], payload) ? run : {...run, workouts: {...run.workouts, [session]: payload}};
  }
  const named = {
    view: payload?.run,
    partners: payload?.r,
    positions: payload?.r,
    metrics: payload?.r,
    state: payload?.run,
    current: run.id
  }[name];
  if (named?.toLowerCase() !== run.id) return run;
  const shown = /** @type {any} */ (run)[name];
  if (isOlder(shown, payload)) return run;
  if (name === "partners") return {...run, partners: payload, gaps: remember(run.gaps, payload)};
  if (name === "metrics")
    return {...run, metrics: payload, heardAt: Math.max(run.heardAt ?? 0, arrival(shown, payload, run.state))};
  return {...run, [name]: payload};
}

/** @param {any} view whether the reader may invite others into it */
const canInvite = (view) =>
  view.host === view.user && (["inviting", "confirming"].includes(view.status) || isOpen(view));
/** @param {any} view @param {any} p a participant */
const canRemove = (view, p) =>
  view.host === view.user && p.user !== view.host && !isOver(view) && ["invited", "accepted"].includes(p.status);
/** @param {any} view whether the reader may choose what the others see */
const canShare = (view) => view.status !== "canceled" &&
  ["invited", "accepted", "confirmed", "running", "absent", "finished"].includes(own(view)?.status);

/** @type {Record<string, string>} */
const canceledWords = {
  declined: "All declined.",
  expired: "The invitations expired.",
  unconfirmed: "Too few pressed Go within a minute. Create a new run, and press Go while the page counts down.",
  left: "Too few stayed until the start.",
  deleted: "The host’s account was deleted.",
};
/** @type {Record<string, string>} */
const declinedWords = {
  expired: "The invitation expired.",
  removed: "The host removed you.",
  closed: "The run is closed.",
};
/** @type {Record<string, string>} */
const leftWords = {
  canceled: "You discarded your workout.",
  deleted: "You deleted your workout."
};

/**
 * Why the run is over for the reader.
 *
 * @param {any} view
 */
function outcome(view) {
  const mine = own(view);
  if (mine?.status === "left") return `You left this run. ${leftWords[mine.reason] ?? ""}`.trim();
  if (mine?.status === "declined" && !mine.reason) return "You declined this run.";
  if (view.status === "canceled") return `This run was canceled. ${canceledWords[view.reason] ?? ""}`.trim();
  if (mine?.status === "declined" && mine.reason === "unconfirmed") return missed(view);
  return mine?.status === "declined" ? declinedWords[mine.reason] ?? "You are not in this run." : "";
}

/** @param {any} view whose run began without the reader */
const missed = ({lateJoin, host}) => `You did not press Go within a minute. ${
  lateJoin === false ? "Nobody can join this run any more: create a new one." : `Ask ${host} to invite you again.`}`;

/** @param {Run} run @param {number} now @param {Options} options */
export function runView(run, now, options) {
  const {view, partners} = run;
  if (!view) return undefined;
  const mine = own(view);
  const passed = Math.max(0, now - (partners?.now ?? now));
  const startsIn = mine?.startsAt === undefined ? undefined : Math.ceil(mine.startsAt - now);
  const takesPart = ["confirmed", "running", "absent", "finished"].includes(mine?.status);
  const isOn = ["starting", "running"].includes(view.status) && takesPart;
  const isPaused = isStopped(run);
  const canEdit = canInvite(view);
  const seconds =
    partners?.t === undefined ? undefined : partners.t + (isPaused || mine?.status !== "running" ? 0 : passed);
  const isCovered = isOn && startsIn !== undefined && startsIn > 0 && startsIn <= longestCountdown;
  return {
    title: title(view), terms: terms(view, options), status: view.status, isOver: isOver(view),
    people: [
      ...view.participants.map((/** @type {any} */ p) => ({
        user: p.user, name: nameOf(p.user, view), text: `${p.user === view.host ? "Host · " : ""}${statusText(p)}`, canRemove: canRemove(view, p),
      })),
      ...(view.ghosts ?? []).map((/** @type {any} */ ghost) => ({ user: "", name: ghostName(ghost), text: "Ghost", canRemove: false })),
    ],
    canInvite: canEdit,
    /** Whether a participant is not in the lanes. */
    hasOthers: view.participants.some((/** @type {any} */ p) => ["invited", "accepted", "declined", "left"].includes(p.status)),
    sharing: canShare(view) ? mine.sharing : undefined,
    isInvited: mine?.status === "invited" && !isOver(view),
    waiting: waiting(view, now),
    unfinished: unfinished(run, mine),
    countdown: isCovered ? startsIn : undefined,
    isOn: isOn && !isCovered,
    starts: isOn && startsIn !== undefined && startsIn > longestCountdown ? `Starts at ${when(mine.startsAt)}` : "",
    canRecord: ["accepted", "confirmed"].includes(mine?.status) && !isOver(view),
    needsDevice: isOn && ["confirmed", "absent"].includes(mine.status) && startsIn !== undefined && startsIn < -5,
    time: seconds === undefined ? unknown : format("duration", seconds),
    // In a larger run it is in one's own lane.
    place: partners?.pl === undefined || partners.x.length > 1 ? "" : `Place ${partners.pl}`,
    lanes: isOn ? lanes(run, mine, passed, ownLink(run, mine, isPaused, now), options) : [],
    prompt: prompt(run, mine, now, options),
    canLeave: isOn && mine.status !== "finished",
    session: mine?.session?.toLowerCase(),
    isRunning: mine?.status === "running",
    totals: run.state ? [clock(activeSeconds(run.state, now)), run.metrics?.d === undefined ? "" : joined(format("distance", run.metrics.d, options))].filter(Boolean).join(" · ") : "",
    over: outcome(view),
    winner: winner(view, options),
    results: results(view, options),
    splits: isOver(view) ? splits(run.workouts[mine?.session?.toLowerCase()], options) : [],
    places: isOn ? places(run) : [],
    /** Whether splits and routes can be asked for. */
    hasDetails: view.status === "finished" && view.results !== undefined && ["running", "finished", "absent"].includes(mine?.status),
  };
}

/**
 * A workout that the engine would refuse the run's start for.
 *
 * @param {Run} run @param {any} mine
 */
function unfinished({current, view}, mine) {
  if (!current?.session || current.session.toLowerCase() === mine?.session?.toLowerCase()) return undefined;
  if (isOver(view) || !["accepted", "confirmed"].includes(mine?.status)) return undefined;
  return {
    session: current.session.toLowerCase(),
    text: `Your workout ${current.name ?? ""} is unfinished. End it before the run.`
  };
}

/** @param {Run} run @param {any} mine @param {number} now @param {Options} options */
function prompt({view, dismissed}, mine, now, options) {
  if (mine?.status !== "running" || view.status !== "running") return undefined;
  const partners = others(view).filter(({status}) => ["running", "finished"].includes(status));
  if (view.prompt) {
    const lost = partners.filter(({status}) => status === "running").map(({user}) => user);
    return {
      id: `lost-${view.prompt.since}`,
      kind: "lost",
      text: lost.length > 1 ? "Partners lost" : "Partner lost",
      detail: `No data from ${list(lost)} for ${minutes(Math.max(0, now - view.prompt.since))}.`
    };
  }
  // In a larger run a finish is a line in the lanes.
  if (partners.length !== 1 || partners[0].status !== "finished" || view.ghosts?.length > 0) return undefined;
  const [{user, finished}] = partners;
  const id = `finished-${user}`;
  if (dismissed.includes(id)) return undefined;
  const figures = [
    finished?.distance === undefined ? undefined : joined(format("distance", finished.distance, options)),
    finished?.pace === undefined ? undefined : joined(format("pace", finished.pace, options))
  ].filter(Boolean).join(", ");
  // A unit stays with its number.
  return {
    id,
    kind: "finished",
    text: `${user} finished ${figures.replaceAll(/(?<=\d) /g, "\u00a0")}`.trim(),
    detail: ""
  };
}
