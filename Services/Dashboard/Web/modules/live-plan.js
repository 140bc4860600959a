// The planned part of a live page: draws the plan's view and sends its presses.

import {all, byID, enable, make, setList, setText, show} from "./dom.js";
import {format} from "./format.js";
import {closeFor, dialog, units} from "./page.js";
import {planView} from "./plan.js";
import {drawRest} from "./rest.js";
import {isUnfinished} from "./session.js";

/**
 * @typedef {object} Page
 * @property {boolean} isOwner
 * @property {(type: string, fields?: Record<string, unknown>) => boolean | undefined} press
 * @property {() => void} redraw
 * @property {(text: string) => void} say reads out, if the reader wants it
 */

/** @type {{ key: string, repetitions?: number, weight?: number }} */
let entered = {key: ""};
/** The state that was drawn last, and its time on its own clock. */
/** @type {any} */
let shown;
let shownAt = 0;
/** @type {Page} */
let page;

/** @param {Page} of the page that shows the plan */
export function startPlan(of) {
  page = of;
  if (page.isOwner) planControls();
}

/** @param {any} state @param {number} now on the session's clock */
export function drawPlan(state, now) {
  [shown, shownAt] = [state, now];
  const section = byID("plan");
  show(section, Boolean(state?.plan) && isUnfinished(state));
  if (!state?.plan) return;
  const plan = planView(state, now, units());
  section.classList.toggle("rest", plan.isRest);
  const set = [plan.set, plan.hasPain ? "Pain noted" : ""].filter(Boolean).join(" · ");
  for (const [key, text] of Object.entries({
         block: plan.block,
         phase: plan.phase,
         clock: plan.clock,
         exercise: plan.exercise,
         set,
         prescription: plan.prescription,
         progress: plan.progress,
         undo: plan.undo ? ` ${plan.undo}` : "",
         skip: ` ${plan.skip}`,
       }))
    setText(section.querySelector(`[data-plan='${key}']`), text);
  show(section.querySelector("[data-plan='set']"), set !== "");
  drawRest(state, now, page);
  drawItems(plan);
  if (page.isOwner) drawPlanControls(plan);
}

/** @param {ReturnType<typeof planView>} plan */
function drawItems(plan) {
  const list = byID("plan-items");
  show(list, plan.isList);
  setList(list, plan.isList ? plan.items : [], (item) => {
    const line = [make("span", {}, item.name), make("span", {}, item.text)];
    const inner = page.isOwner ? make("button", {type: "button", data: {item: item.id}}, ...line)
                               : make("div", {className: "still"}, ...line);
    const entry = make("li", {className: item.isCurrent ? "current" : ""}, inner);
    if (item.isCurrent) entry.setAttribute("aria-current", "step");
    return entry;
  });
}

/** @param {ReturnType<typeof planView>} plan */
function drawPlanControls(plan) {
  const key = `${plan.item} ${plan.set} ${JSON.stringify(plan.planned)}`;
  if (entered.key !== key) entered = {key, repetitions: plan.planned.repetitions, weight: plan.planned.weight};
  for (const stepper of all(".stepper")) {
    const kind = /** @type {"repetitions" | "weight"} */ (stepper.dataset.step);
    const value = entered[kind];
    show(stepper, value !== undefined && plan.canComplete);
    if (value === undefined) continue;
    const load = format("weight", value, {units: units()});
    setText(stepper.querySelector("output"), kind === "weight" ? load.number : String(value));
    if (kind === "weight") setText(byID("load-unit"), load.unit);
  }
  show(byID("complete-set"), plan.canComplete);
  show(byID("finish"), plan.isComplete);
  const next = byID("next-exercise");
  show(next, plan.next !== undefined);
  setText(next, plan.next ? `Next: ${plan.next.name}` : "");
  const undo = /** @type {HTMLElement} */ (document.querySelector("[data-plan-command='uncompleteSet']"));
  // What is off stays in its place, or another button comes under the finger.
  if (plan.undo) delete undo.dataset.off;
  else undo.dataset.off = "";
  if (!plan.undo) enable(undo, false);
  setText(byID("presentation"), plan.isList ? "Show one exercise" : "Show all exercises");
}

function planControls() {
  const {press} = page;
  for (const stepper of all(".stepper")) {
    const kind = /** @type {"repetitions" | "weight"} */ (stepper.dataset.step);
    all("button", stepper).forEach((button, index) => {
      button.addEventListener("click", () => {
        const pound = 0.45359237;
        const step = kind === "repetitions" ? 1 : units() === "imperial" ? 5 * pound : 2.5;
        const least = kind === "repetitions" ? 1 : 0;
        entered[kind] = Math.max(least, (entered[kind] ?? 0) + (index === 0 ? -step : step));
        drawPlan(shown, shownAt);
      });
    });
  }
  byID("steppers").addEventListener("submit", (event) => {
    event.preventDefault();
    const {planned} = planView(shown, shownAt, units());
    const {progress: {item, set}, timer: {round}} = shown;
    // The set on the page: another device may complete it before the server has the press.
    /** @type {Record<string, unknown>} */
    const fields = {item, set, round};
    if (entered.repetitions !== planned.repetitions) fields.repetitions = entered.repetitions;
    if (entered.weight !== planned.weight) fields.weight = entered.weight;
    press("completeSet", fields);
  });
  for (const button of all("[data-plan-command]")) {
    const {planCommand = ""} = button.dataset;
    const isDifficulty = planCommand === "easier" || planCommand === "harder";
    button.addEventListener(
      "click", () => (isDifficulty ? press("adjustDifficulty", {difficulty: planCommand}) : press(planCommand)));
  }
  byID("next-exercise").addEventListener("click", () => {
    const {next} = planView(shown, shownAt, units());
    if (next) press("goTo", {item: next.item});
  });
  byID("presentation").addEventListener("click", () => {
    const isList = shown?.progress.presentationMode === "list";
    press("setPresentationMode", {presentationMode: isList ? "workout" : "list"});
  });
  byID("plan-items").addEventListener("click", (event) => {
    const item = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.item;
    if (item) press("goTo", {item});
  });
  byID("swap").addEventListener("click", () => {
    const {alternatives} = planView(shown, shownAt, units());
    if (alternatives.length === 0) return press("swapExercise");
    setList(byID("alternatives"), alternatives, (/** @type {string} */ name) => {
      const button = make("button", {type: "button"}, name);
      button.addEventListener("click", () => closeFor("swap-dialog", () => press("swapExercise", {alternative: name})));
      return make("li", {}, button);
    });
    dialog("swap-dialog").showModal();
  });
  byID("swap-any").addEventListener("click", () => closeFor("swap-dialog", () => press("swapExercise")));
}
