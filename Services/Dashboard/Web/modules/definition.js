// What the definition of a planned workout says without a form. No DOM.

import {planWords} from "./activities.js";

/** @param {any} definition */
export const titleOf = (definition) => definition.name ?? "Plan without a name";

/**
 * The activity that the engine takes for a start without one, as `WorkoutDefinition` in Swift.
 *
 * @param {any} definition
 */
export function activityOf({focus = [], equipment = [], timer, sections}) {
  /** @param {string} text */
  const wordsIn = (text) => text.split(/[^\p{L}\p{M}]+/u).filter(Boolean);
  const texts = [...focus, ...equipment].map((text) => text.toLowerCase());
  const words = new Set([...texts, ...texts.flatMap(wordsIn).filter((word) => word !== "row")]);
  // Words of several activities mean the first of these.
  for (const activity of ["running", "rowing", ...Object.keys(planWords)])
    if (planWords[activity].split(" ").some((word) => words.has(word))) return activity;
  // There are ergs for skiers.
  if (!words.has("ski") && ["erg", "ergometer", "rowerg"].some((word) => words.has(word))) return "rowing";
  const timers = [timer, ...sections.map((/** @type {any} */ section) => section.timer)].filter(Boolean);
  const isAgainstTheClock = timers.some(({type}) => ["interval", "emom", "amrap"].includes(type));
  const isConditioning =
    focus.some((/** @type {string} */ text) => wordsIn(text.toLowerCase()).includes("conditioning"));
  if (isAgainstTheClock && isConditioning) return "hiit";
  return words.size === 0 && timers.length === 0 ? "other" : "traditionalStrength";
}
