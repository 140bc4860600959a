// The list of virtual runs and the form that creates one. No DOM.

import {clock, format, joined, minutes, when} from "./format.js";
import {names} from "./people.js";
import {own, statusWords, title} from "./run-status.js";

/**
 * An entry of the list of runs.
 *
 * @param {any} run an overview of the reply to `runs`, or made by `overview`
 */
export function entry(run) {
  /** @type {Record<string, string>} */
  const words = {
    inviting: "Inviting",
    confirming: "Confirming",
    starting: "Starting",
    running: "Running",
    finished: "Finished",
    canceled: "Canceled"
  };
  return {
    run: run.run.toLowerCase(),
    name: run.name ?? `Run of ${run.host}`,
    status: words[run.status] ?? run.status,
    date: when(run.startsAt ?? run.createdAt),
    text: `${run.runners} ${run.runners === 1 ? "runner" : "runners"} · ${
      run.place ? `place ${run.place}` : (statusWords[run.own] ?? run.own).toLowerCase()}`,
    isOpen: run.status !== "finished" && run.status !== "canceled",
  };
}

/** @param {any} view */
export const overview = (view) => ({
  run: view.run,
  name: view.name ?? title(view),
  status: view.status,
  host: view.host,
  startsAt: view.startsAt,
  createdAt: view.createdAt,
  runners: view.participants.length + (view.ghosts?.length ?? 0),
  own: own(view)?.status,
  place: view.results?.rows.find((/** @type {any} */ row) => row.user === view.user)?.place,
});

/**
 * Finished workouts to run against, the newest first.
 *
 * @param {any[]} workouts records @param {import("./format.js").Options} options
 */
export const ghosts = (workouts, options) =>
  workouts.filter(({distance, status}) => distance >= 100 && status !== "deleted")
    .sort((a, b) => b.startedAt - a.startedAt)
    .map((workout) => ({
      session: workout.session.toLowerCase(),
      text: [
        when(workout.startedAt, workout.timeZone), joined(format("distance", workout.distance, options)),
        clock(workout.activeDuration)
      ].join(" · "),
    }));

/**
 * The fields of `create`, or what is wrong with the form.
 *
 * @param {Record<string, string>} form @param {import("./format.js").Units} units @param {string} user @param {string[]} [sessions] of ghosts
 * @returns {{ fields: Record<string, unknown> } | { error: string }}
 */
export function proposal(form, units, user, sessions = []) {
  const invite = names(form.people ?? "");
  const paces = form.pace ? [seconds(form.pace)] : [];
  const problem = (/** @type {string} */ error) => ({error});
  if (invite.includes(user)) return problem("You take part anyway: name the others.");
  if (paces[0] !== undefined && !(paces[0] >= 120 && paces[0] <= 1800))
    return problem("The pace of a kilometre is from 2:00 to 30:00.");
  if (form.pace && paces[0] === undefined) return problem(`The pace ${form.pace} is not like 5:30.`);
  const ghosts = [...sessions.map((session) => ({session})), ...paces.map((pace) => ({pace}))];
  if (ghosts.length > 8) return problem(`${ghosts.length} ghosts; at most 8, the pacing partner among them.`);
  if (invite.length + ghosts.length === 0) return problem("Name at least one person, a ghost or a pacing partner.");
  if (invite.length + ghosts.length > 49) return problem(`${invite.length} people; at most 49 can be invited.`);
  /** @type {Record<string, unknown>} */
  const fields = {invite, clock: form.clock || "active", start: form.start || "together", sharing: {}};
  if (ghosts.length > 0) fields.ghosts = ghosts;
  if (form.goal === "distance") {
    const metres = Number(form.distance) * (units === "imperial" ? 1609.344 : 1000);
    if (!(metres >= 100 && metres <= 500000)) {
      return problem(`The distance is from ${units === "imperial" ? "0.07 to 310 mi" : "0.1 to 500 km"}.`);
    }
    fields.goal = {distance: Math.round(metres * 1000) / 1000};
  } else if (form.goal === "duration") {
    const duration = seconds(form.duration ?? "");
    if (duration === undefined || duration < 60 || duration > 86400)
      return problem("The duration is from 1:00 to 24:00:00.");
    fields.goal = {duration};
  }
  if (form.name?.trim()) fields.name = form.name.trim();
  const isRolling = fields.start === "rolling";
  if (form.at && isRolling) return problem("A run that starts at any time has no time of its own.");
  for (const [field, text] of [["scheduledAt", form.at], ["endsAt", isRolling ? form.ends : ""]]) {
    if (!text) continue;
    const time = new Date(text).getTime() / 1000;
    if (!Number.isFinite(time)) return problem(`${text} is no time.`);
    fields[field] = time;
  }
  const countdown = Number(form.countdown || 3);
  if (!(countdown >= 3 && countdown <= 60)) return problem("The countdown is from 3 to 60 seconds.");
  if (countdown !== 3) fields.countdown = countdown;
  if (!isRolling && form.lateJoin === "") fields.lateJoin = false;
  return {fields};
}

/**
 * The form's fields for another run like this one, with the same people.
 *
 * @param {any} view @param {import("./format.js").Units} units
 * @returns {Record<string, string>} by the names of the form's fields
 */
export function rematch(view, units) {
  const {goal = {}} = view;
  const people =
    view.participants
      .filter((/** @type {any} */ p) => p.user && p.user !== view.user && !["declined", "left"].includes(p.status))
      .map((/** @type {any} */ p) => p.user);
  const pace = (view.ghosts ?? []).find((/** @type {any} */ ghost) => ghost.pace !== undefined)?.pace;
  const length = units === "imperial" ? 1609.344 : 1000;
  return {
    people: people.join(" "),
    goal: goal.distance ? "distance"
      : goal.duration   ? "duration"
                        : "",
    ...(goal.distance ? {distance: String(Math.round(goal.distance / length * 1000) / 1000)} : {}),
    ...(goal.duration ? {duration: minutes(goal.duration)} : {}),
    clock: view.clock ?? "active",
    start: view.start ?? "together",
    countdown: String(view.countdown ?? 3),
    ...(pace === undefined ? {} : {pace: minutes(pace)}),
    ...(view.name ? {name: view.name} : {})
  };
}

/** @param {string} text `5:30`, `1:05:00` */
function seconds(text) {
  const parts = text.trim().split(":");
  if (parts.length > 3 || !parts.every((part) => /^\d+$/.test(part)) ||
    !parts.slice(1).every((part) => Number(part) < 60))
    return undefined;
  return parts.reduce((sum, part) => sum * 60 + Number(part), 0);
}
