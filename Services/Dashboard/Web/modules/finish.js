// From Live to the page of the finished workout.

import {byID, make} from "./dom.js";

/**
 * Whether the workout can be looked at: it is saved, or after 10 s an incomplete record is there.
 *
 * @param {any} state @param {any} workout
 */
const canBeSeen = (state, workout) =>
  state?.status === "completed" || (state?.status === "saving" && workout?.incomplete === true);

/** Whether the page is being left: another navigation would begin anew. */
let isLeaving = false;

/**
 * Leads on to a workout that has ended, or gives a link.
 *
 * @param {string} user @param {string} session @param {{ state?: any, workout?: any }} shown @param {boolean} leads
 */
export function leadOn(user, session, {state, workout}, leads) {
  if (isLeaving || !canBeSeen(state, workout)) return;
  const path = `/workout/${user}/${session}`;
  // Back leads to where the workout began, not to a live page without life.
  isLeaving = leads;
  if (leads) return location.replace(path);
  // While it is saved, a cover lies over the page.
  const box = byID(state.status === "saving" ? "saving" : "ended");
  if (!box.querySelector(".see-workout"))
    box.querySelector("p")?.after(make("a", {className: "button see-workout", href: path}, "See the workout"));
}
