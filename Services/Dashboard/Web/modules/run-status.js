// What a virtual run waits for, in words that every page shows. No DOM, no clock.

import {clock, format, joined, minutes, when} from "./format.js";

/**
 * @typedef {import("./format.js").Options} Options
 * @typedef {{ type: string, label: string, isPrimary?: boolean }} Choice a request and its button
 */

/** @param {any} view */
export const isOver = (view) => view.status === "finished" || view.status === "canceled";
/** @param {any} view */
export const own = (view) => view.participants.find((/** @type {any} */ p) => p.user === view.user);
/** @param {any} view @returns {any[]} */
export const others = (view) => view.participants.filter((/** @type {any} */ p) => p.user !== view.user);
/** @param {any} view whether people may join a run that has begun */
export const isOpen =
  (view) => ["starting", "running"].includes(view.status) && (view.start === "rolling" || view.lateJoin !== false);

/** @param {import("./virtual-run.js").Run} run whether one's own clock is stopped */
export const isStopped = ({state, metrics}) =>
  (state ? ["paused", "suspended"].includes(state.status) : metrics?.pa === true);

/** @param {string[]} names */
export const list = (names) =>
  (names.length > 3 ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more` : names.join(" and "));

/** @param {any} view */
export function title(view) {
  const part = others(view).filter(({status}) => !["declined", "left"].includes(status));
  const names = [
    ...(part.length > 0 ? part : others(view)).map((/** @type {any} */ p) => p.user),
    ...(view.ghosts ?? []).map(ghostName)
  ];
  return view.name ?? (names.length > 0 ? `Run with ${list(names)}` : "Virtual run");
}

/** @param {{ number: number, user?: string, pace?: number }} ghost */
export const ghostName = ({number, user, pace}) =>
  (pace ? `Pace ${minutes(pace)}` : `Ghost ${number}${user ? ` of ${user}` : ""}`);

/**
 * `5.00 km · gun time · at Sat 21 Nov 2026, 06:15`.
 *
 * @param {any} view @param {Options} options
 */
export function terms(view, options) {
  const {goal, scheduledAt, endsAt} = view;
  return [
    goal?.distance     ? joined(format("distance", goal.distance, options))
      : goal?.duration ? clock(goal.duration)
                       : "No goal",
    view.clock === "gun" ? "gun time" : "active time",
    view.start === "rolling" && `start at any time${endsAt && !isOver(view) ? ` until ${when(endsAt)}` : ""}`,
    scheduledAt && view.startsAt === undefined && `at ${when(scheduledAt)}`,
  ].filter(Boolean)
    .join(" · ");
}

/** @param {number | undefined} until @param {number} now */
const left = (until, now) => (until === undefined ? "" : minutes(Math.max(0, Math.ceil(until - now))));

/**
 * What waits for the reader: the text and its choices. `undefined` once the run is on.
 *
 * @param {any} view @param {number} now @returns {{ text: string, left: string, choices: Choice[] } | undefined}
 */
export function waiting(view, now) {
  const mine = own(view);
  if (!mine || isOver(view)) return undefined;
  const isHost = view.host === view.user;
  const cancel = {type: "cancel", label: "Cancel run"};
  const decline = {type: "decline", label: "Decline"};
  const leave = {type: "leave", label: "Leave"};
  const unanswered = others(view).filter(({status}) => status === "invited").map(({user}) => user);
  const unconfirmed = others(view).filter(({status}) => status === "accepted").map(({user}) => user);
  switch (mine.status) {
    case "invited":
      return {
        text: `${view.host} invites you`,
        left: "",
        choices: [{type: "accept", label: "Accept", isPrimary: true}, decline]
      };
    case "accepted":
      if (view.status === "confirming" || isOpen(view)) {
        const text = view.status === "confirming" ? "Ready to run?" : "The run is on. Join?";
        return {
          text,
          left: left(view.confirmBy, now),
          choices:
            [{type: "confirm", label: "Go", isPrimary: true}, isHost && view.status === "confirming" ? cancel : decline]
        };
      }
      if (!isHost) return {text: `Waiting for ${view.host} to begin`, left: "", choices: [decline]};
      return {
        text: unanswered.length > 0 ? `Waiting for ${list(unanswered)} to answer` : "All have answered",
        left: "",
        choices: unconfirmed.length > 0 || view.ghosts?.length > 0
          ? [{type: "begin", label: "Begin", isPrimary: true}, cancel]
          : [cancel],
      };
    case "confirmed":
      if (view.status !== "confirming") return undefined;
      return {
        text: `Waiting for ${list(unconfirmed)}`,
        left: left(view.confirmBy, now),
        choices: [isHost ? cancel : leave]
      };
    default:
      return undefined;
  }
}

/**
 * What a page of any kind says about the reader's runs, the most urgent first.
 *
 * @param {any[]} views @param {number} now @param {Options} options
 */
export function invitations(views, now, options) {
  const order = ["go", "invited", "on"];
  return views
    .flatMap((view) => {
      const status = own(view)?.status;
      if (!status || isOver(view)) return [];
      const run = view.run.toLowerCase();
      const next = waiting(view, now);
      if (status === "invited" && next) {
        return view.expiresAt !== undefined && view.expiresAt <= now ? [] : [{
          run,
          kind: "invited",
          text: `${view.host} invites you to a virtual run`,
          detail: terms(view, options),
          choices: next.choices
        }];
      }
      if (status === "accepted" && next && view.status === "confirming") {
        return [{
          run,
          kind: "go",
          text: title(view),
          detail: next.left && `${next.left} left to confirm`,
          choices: next.choices
        }];
      }
      if (["confirmed", "running"].includes(status))
        return [{run, kind: "on", text: title(view), detail: "", choices: []}];
      return [];
    })
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** @type {Record<string, string>} */
export const statusWords = {
  invited: "Invited",
  accepted: "Accepted",
  declined: "Declined",
  confirmed: "Ready",
  running: "Running",
  finished: "Finished",
  left: "Left",
  absent: "Not started",
};
/** @type {Record<string, string>} */
const reasonWords = {
  expired: "the invitation expired",
  unconfirmed: "not confirmed in time",
  removed: "removed by the host",
  closed: "the run is closed",
  canceled: "workout discarded",
  deleted: "workout deleted",
};

/** @param {any} participant */
export const statusText = ({status, reason}) =>
  (reasonWords[reason] ? `${statusWords[status]}: ${reasonWords[reason]}` : statusWords[status] ?? status);
