// From Live to the page of the finished workout.

import {byID, make} from "./dom.js";

let wasUnfinished = false;

/**
 * Whether the workout can be looked at: it is saved, or after 10 s an incomplete record is there.
 *
 * @param {any} state @param {any} workout
 */
const canBeSeen = (state, workout) =>
  state?.status === "completed" || (state?.status === "saving" && workout?.incomplete === true);

/**
 * Leads on when a workout that the page showed has ended, on whatever device. Who only watches gets a link.
 *
 * @param {string} user @param {string} session @param {{ state?: any, workout?: any }} shown @param {boolean} isOwner
 */
export function followEnd(user, session, {state, workout}, isOwner) {
  const path = `/workout/${user}/${session}`;
  if (!canBeSeen(state, workout)) {
    wasUnfinished ||= ["preparing", "active", "paused", "suspended", "saving"].includes(state?.status);
    return;
  }
  if (isOwner && wasUnfinished) {
    wasUnfinished = false;
    // Back leads to where the workout began, not to a live page without life.
    return location.replace(path);
  }
  // While it is saved, a cover lies over the page.
  const box = byID(state.status === "saving" ? "saving" : "ended");
  if (!box.querySelector(".see-workout"))
    box.querySelector("p")?.after(make("a", {className: "button see-workout", href: path}, "See the workout"));
}
