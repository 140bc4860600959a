// The dialog that edits a finished workout; only its owner loads it.

import {activities} from "./activities.js";
import {make, setText, show} from "./dom.js";
import {clock} from "./format.js";
import {bus, login, units} from "./page.js";
import {timeText} from "./plan-text.js";
import {userTopic} from "./topics.js";
import {editFields, formValues, recordedSpan} from "./workout-form.js";

/** Words of the fields: label, and a hint. */
/** @type {Record<string, [string, string?]>} */
const labels = {
  name: ["Name"],
  activity: ["Activity"],
  environment: ["Place"],
  note: ["Note", "Only you read it."],
  exertion: ["How hard was it?"],
  trimStart: ["Starts at", "Time since the start of the recording, such as 2:30."],
  trimEnd: ["Ends at", "Nothing is lost: without a trim, all of it counts again."],
  weight: ["Weight", "For this workout alone: energy counts with it."],
  maximumHeartRate: [
    "Maximum heart rate",
    "For this workout alone: load and energy count with it, and zones that have no limits of their own."
  ],
};
const exertions =
  ["", "1, very easy", "2", "3, easy", "4", "5, moderate", "6", "7, hard", "8", "9, very hard", "10, all I had"];
/** What can be undone even though the form always has a value. */
const recordedFields = ["name", "activity", "environment"];

/** @param {string} field @param {string} value @returns {HTMLElement & { value: string }} */
function control(field, value) {
  /** @param {[string, string][]} options */
  const select = (options) =>
    make("select", {name: field}, ...options.map(([key, text]) => make("option", {value: key}, text)));
  /** @type {any} */
  const element = field === "activity" ? select(Object.entries(activities).map(([key, {title}]) => [key, title]))
    : field === "environment"          ? select([["outdoor", "Outdoor"], ["indoor", "Indoor"]])
    : field === "exertion"             ? select([
        ["", "--"],
        ...exertions.slice(1).map((text, index) => /** @type {[string, string]} */ ([String(index + 1), text]))
      ])
    : field === "note"                 ? make("textarea", {name: field, rows: 3, maxLength: 4000})
                                       : make("input", {name: field, autocomplete: "off", maxLength: 200});
  element.value = value;
  return element;
}

/**
 * @param {{ workout: any, profile: any, lastMovement?: number, onSent: (fields: Record<string, unknown>) => void }} of
 *   `lastMovement`: Unix seconds, if the recording went on long after it
 */
export function openEdit({workout, profile, lastMovement, onSent}) {
  const before = formValues(workout, profile, units());
  const span = recordedSpan(workout, profile);
  const edit = profile?.edit ?? {};
  const error = make("p", {className: "warning", role: "alert", hidden: true});
  /** @type {Map<string, HTMLElement & { value: string }>} */
  const controls = new Map();
  /** Fields that become as recorded. */
  const undone = new Set();
  const rows = Object.keys(labels).map((field) => {
    const [label, hint] = labels[field];
    const element = control(field, before[field]);
    controls.set(field, element);
    if (field === "trimEnd") element.setAttribute("placeholder", timeText(Math.floor(span.end - span.start)));
    if (field === "trimStart") element.setAttribute("placeholder", "0:00");
    const row =
      make("div", {className: `edit-field edit-${field}`}, make("label", {className: "field"}, label, element));
    if (hint) {
      const text = make("p", {className: "hint", id: `edit-hint-${field}`}, hint);
      element.setAttribute("aria-describedby", text.id);
      row.append(text);
    }
    if (edit[field] !== undefined) {
      const undo = make("button", {type: "button", className: "undo"}, "As recorded");
      undo.setAttribute("aria-label", `${label}: as recorded`);
      undo.addEventListener("click", () => {
        undone.add(field);
        element.value = recordedFields.includes(field) ? profile?.recorded?.[field] ?? element.value : "";
        undo.setAttribute("aria-pressed", "true");
      });
      element.addEventListener("input", () => {
        undone.delete(field);
        undo.removeAttribute("aria-pressed");
      });
      row.append(undo);
    }
    return row;
  });
  if (lastMovement !== undefined && edit.trimEnd === undefined) {
    const seconds = Math.ceil(lastMovement - span.start);
    const offer =
      make("button", {type: "button", className: "offer"}, `End it at the last movement, ${clock(seconds)}`);
    offer.addEventListener("click", () => /** @type {any} */ (controls.get("trimEnd")).value = timeText(seconds));
    rows.splice(5, 0, make("div", {className: "edit-field offer-row"}, make("p", {}, "Forgot to stop?"), offer));
  }
  const cancel = make("button", {type: "button"}, "Cancel");
  const save = make("button", {className: "primary"}, "Save");
  const form = make("form", {className: "edit-form", noValidate: true}, make("h2", {id: "edit-title"}, "Edit workout"),
    ...rows, error, make("div", {className: "dialog-buttons"}, cancel, save));
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", {className: "edit-dialog", id: "edit-dialog"}, form));
  dialog.setAttribute("aria-labelledby", "edit-title");
  cancel.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const after = Object.fromEntries([...controls].map(([field, {value}]) => [field, value]));
    const {fields, wrong} = editFields(before, after, span, units());
    for (const [field, element] of controls) element.toggleAttribute("aria-invalid", wrong?.field === field);
    setText(error, wrong?.text ?? "");
    show(error, wrong !== undefined);
    if (wrong) return controls.get(wrong.field)?.focus();
    for (const field of undone) fields[/** @type {string} */ (field)] = null;
    dialog.close();
    if (Object.keys(fields).length > 0) onSent(fields);
  });
  document.getElementById("main")?.append(dialog);
  dialog.showModal();
}

/** @param {string} session @param {Record<string, unknown>} fields @returns {Promise<any>} rejected if it is refused */
export const sendEdit = (session, fields) => bus.ask(userTopic(login, "request"), {type: "edit", session, ...fields});
