// The page of one plan: its editor, and the form that starts it.

import {activities} from "./activities.js";
import {pendingText} from "./commands.js";
import {activityOf} from "./definition.js";
import {byID, enable, make, setText, show} from "./dom.js";
import {browserZone, metresPerYard, when} from "./format.js";
import {bus, login, ownsWorkouts, presses, serverNow, settle, units, whenUnitsChange} from "./page.js";
import {categories, clockFields, clocks, edit, fileName, formOf, isSame, itemSummary, newForm, problemOf, read, readJSON, rowCount, rowLimit, rowWords, summaryOf, titleOf, write} from "./plan-form.js";
import {newID} from "./requests.js";
import {sessionTopic, userTopic} from "./topics.js";

/** @typedef {import("./plan-form.js").Form} Form */
/** @typedef {import("./plan-form.js").Problem} Problem */
/** @typedef {import("./commands.js").Press} Press */
/** @typedef {{ plan: string, savedAt: number, definition: any }} Plan */

const id = (location.pathname.split("/")[2] ?? "").toLowerCase();
const isNew = location.search.startsWith("?new");
const request = userTopic(login, "request");
const element = byID("plan-form");
/** @param {string} name */
const input = (name) => /** @type {HTMLInputElement} */ (byID(name));

/** @type {Plan | undefined} as it is saved now */
let saved;
/** @type {Plan | undefined} the version that the form began with */
let base;
/** The form; without one the plan is edited as JSON, in the box. */
/** @type {Form | undefined} */
let form = newForm();
/** @type {Problem[]} */
let problems = [];
let hasForm = false;
let isChanged = false;
let isLeaving = false;
/** What the last save or start was about, while it has no answer. */
/** @type {{ definition?: any, session?: string, isDeletion?: boolean } | undefined} */
let sent;
/** What an earlier page of this plan sent: it has no answer, or was refused. */
/** @type {Press | undefined} */
let kept;
/** @type {string | null} */
let current = null;
/** Rows whose details are open. */
/** @type {Set<string>} */
const open = new Set();

if (ownsWorkouts) {
  kept = presses.pending(id) ?? presses.refused(id);
  if (kept && kept.refusal === undefined)
    sent = {definition: kept.fields.definition, isDeletion: kept.type === "deletePlan"};
  bus.subscribe(userTopic(login, "plans"), {
    onMessage: (_, plans) => see((plans?.plans ?? []).find((/** @type {Plan} */ {plan}) => plan.toLowerCase() === id)),
    onReady() {
      if (!hasForm && !saved) see(undefined);
      settle();
    }
  });
  bus.subscribe(userTopic(login, "current"), {onMessage: (_, payload) => void (current = payload?.session ?? null)});
  presses.whenAnswered(answered);
  presses.whenChanged(drawPress);
  setInterval(() => !document.hidden && drawPress(), 1000);
} else {
  miss("Plans are for people who train. This account only watches others.");
  settle();
}

/** @param {string} text */
function miss(text) {
  setText(byID("missing").querySelector("p"), text);
  show(byID("missing"), true);
}

/** @param {Plan | undefined} next */
function see(next) {
  const before = saved;
  saved = next;
  if (!hasForm) {
    if (kept && (next || kept.type === "savePlan")) restore(kept);
    else if (next || isNew) begin(next);
    else miss("This plan does not exist. It may have been deleted elsewhere.");
    if (location.search === "?new=import") byID("json-box").setAttribute("open", "");
    return;
  }
  if (next && isSame(next.definition, sent?.definition ?? (isChanged ? undefined : before?.definition))) base = next;
  else if (next && !isChanged && !sent) return begin(next);
  drawHead();
  if (before && !next && !sent?.isDeletion) changedElsewhere(false);
}

/** @param {Plan | undefined} plan */
function begin(plan) {
  base = plan;
  hasForm = true;
  show(element, true);
  show(byID("missing"), false);
  take(plan?.definition);
  setChanged(false);
}

/** @param {Press} press */
function restore(press) {
  begin(saved);
  const {definition, base: {savedAt}} = press.fields;
  if (definition) {
    if (!saved || !isSame(saved.definition, definition))
      base = savedAt === undefined ? undefined : {plan: id, savedAt, definition};
    take(definition);
    setChanged(true);
  }
  if (press.refusal !== undefined) refuse(press);
  drawPress();
}

/** @param {any} definition */
function take(definition) {
  problems = [];
  const isLarge = definition && rowCount(definition) > rowLimit;
  form = isLarge ? undefined : definition ? formOf(definition, units()) : newForm();
  if (isLarge) input("json").value = JSON.stringify(definition, null, 2);
  if (isLarge) byID("json-box").setAttribute("open", "");
  if (form && rowCount(form) < 4) open.add("s0i0");
  drawRows();
  drawHead();
}

/** @param {boolean} next */
function setChanged(next) {
  isChanged = next;
  show(byID("unsaved"), next);
}
addEventListener("beforeunload", (event) => {
  if (isChanged && !isLeaving) event.preventDefault();
});

// MARK: Drawing

function drawHead() {
  const shown = saved ?? base;
  const title = shown ? titleOf(shown.definition) : "New plan";
  setText(byID("title"), title);
  document.title = title;
  setText(byID("summary"), saved ? `${summaryOf(saved.definition)} · Saved ${when(saved.savedAt)}` : "");
  for (const name of ["start-box", "download", "delete"]) show(byID(name), saved !== undefined);
  show(byID("json-only"), form === undefined);
  drawStart();
}

/** The field that has the focus keeps it. */
function drawRows() {
  const place = scrollY;
  const box = byID("rows");
  const focused = box.contains(document.activeElement) ? document.activeElement?.id : "";
  box.replaceChildren(...(form ? rows(form) : []));
  drawHint();
  scrollTo(0, place);
  if (focused) document.getElementById(focused)?.focus({preventScroll: true});
}

function drawHint() {
  setText(document.getElementById("units-hint"),
    "Loads such as 60 or 62.5 kg or 135 lb; a number alone counts in " +
      `${units() === "imperial" ? "lb" : "kg"}. Times such as 90 (seconds), 1:30 or 5 min.`);
}
whenUnitsChange(() => {
  drawHint();
  drawStart();
});

/** @param {string} field */
const problem = (field) => problems.find((each) => each.field === field)?.text;

/** @param {string} field @param {Node} control */
function marked(field, control) {
  const text = problem(field);
  if (!text) return [control];
  /** @type {HTMLElement} */ (control).setAttribute("aria-invalid", "true");
  /** @type {HTMLElement} */ (control).setAttribute("aria-describedby", `${field}-error`);
  return [control, make("p", {className: "field-error", id: `${field}-error`}, text)];
}

/** @param {string} field @param {string} label @param {string} value @param {Record<string, string>} [attributes] */
function textField(field, label, value, attributes = {}) {
  const control = make("input", {id: field, name: field, value});
  for (const [name, text] of Object.entries(attributes)) control.setAttribute(name, text);
  return make("div", {className: problem(field) ? "field bad" : "field", data: {part: field.split(".").at(-1) ?? ""}},
    make("label", {htmlFor: field}, label), ...marked(field, control));
}

/** @param {string} field @param {string} label @param {string} value @param {string} none @param {Record<string, string>} choices */
function choiceField(field, label, value, none, choices, className = "field") {
  // An unknown value stays as an option of its own, so that nothing changes unseen.
  const known = {"": none, ...choices, ...(value in choices || value === "" ? {} : {[value]: value})};
  const control = make("select", {id: field, name: field},
    ...Object.entries(known).map(([key, text]) => make("option", {value: key, selected: key === value}, text)));
  return make("div", {className}, make("label", {htmlFor: field}, label), ...marked(field, control));
}

/** @param {string} text @param {"add" | "up" | "down" | "remove"} verb @param {string} row @param {string} [list] */
function action(text, verb, row, list, more = {}) {
  const button = make("button", {type: "button", ...more}, text);
  button.dataset.verb = verb;
  button.dataset.row = row;
  button.addEventListener("click", () => change(verb, row, list));
  return button;
}

/** @param {string} row @param {string} words @param {boolean} canUp @param {boolean} canDown */
const tools = (row, words, canUp, canDown) =>
  make("span", {className: "row-tools"}, action("↑", "up", row, "", {ariaLabel: `Move ${words} up`, disabled: !canUp}),
    action("↓", "down", row, "", {ariaLabel: `Move ${words} down`, disabled: !canDown}),
    action("×", "remove", row, "", {ariaLabel: `Remove ${words}`}));

/** @param {string} field @param {import("./plan-form.js").Clock} clock @param {string} label @param {string} none */
function clockFieldsOf(field, clock, label, none) {
  /** @type {Record<string, [string, string]>} */
  const names = {rounds: ["Rounds", ""], work: ["Work", "1:00"], rest: ["Rest", "0:30"], cap: ["Time limit", "12:00"]};
  const shown = clockFields[clock.type] ?? [];
  return make("div", {className: "plan-clock-fields"},
    choiceField(`${field}.type`, label, clock.type, none, clocks, "field wide-field"),
    ...Object.entries(names)
      .filter(([name]) => shown.includes(name))
      .map(([name, [text, placeholder]]) => textField(`${field}.${name}`, text, /** @type {any} */ (clock)[name],
             placeholder ? {placeholder} : {inputmode: "numeric"})));
}

/** @param {string} field */
const error = (field) =>
  (problem(field) ? [make("p", {className: "field-error", id: field, tabIndex: -1}, problem(field) ?? "")] : []);

/** @param {Form} form */
function rows(form) {
  const sections = form.sections.map((section, s) => {
    const row = `s${s}`;
    return make("li", {className: "plan-section", id: row, tabIndex: -1},
      make("div", {className: "row-head"},
        textField(`${row}.name`, `Section ${s + 1}`, section.name, {placeholder: "Name", maxlength: "100"}),
        tools(row, `section ${s + 1}`, s > 0, s < form.sections.length - 1)),
      clockFieldsOf(`${row}.timer`, section.timer, "Clock", "As the workout"), ...error(`${row}.items`),
      make("ol", {className: "plan-exercises"}, ...section.items.map((item, i) => itemRow(form, item, s, i))),
      action("Add an exercise", "add", row, "i", {className: "add"}));
  });
  return [
    make("section", {className: "plan-top", ariaLabel: "Plan"},
      make("div", {className: "fields"}, textField("name", "Name", form.name, {maxlength: "100", enterkeyhint: "next"}),
        textField("focus", "Focus", form.focus, {placeholder: "strength, conditioning"}),
        textField("equipment", "Equipment", form.equipment, {placeholder: "barbell, rower"})),
      clockFieldsOf("timer", form.timer, "Clock of the workout", "Stopwatch"),
      make("p", {className: "hint", id: "units-hint"})),
    ...error("sections"), make("ol", {className: "plan-sections"}, ...sections),
    action("Add a section", "add", "", "s", {className: "add"})
  ];
}

/** @param {Form} form @param {import("./plan-form.js").Item} item @param {number} s @param {number} i */
function itemRow({sections}, item, s, i) {
  const row = `s${s}i${i}`;
  const heading = item.name || `Exercise ${i + 1}`;
  const isLast = s === sections.length - 1 && i === sections[s].items.length - 1;
  const details =
    make("details", {open: open.has(row) || problems.some(({field}) => field.match(/^s\d+i\d+/)?.[0] === row)},
      make("summary", {}, make("strong", {}, heading), " ", make("span", {}, itemSummary(item))),
      ...exerciseRows(item, row), ...error(`${row}.alternatives`),
      ...item.alternatives.map(
        (alternative, a) => make("fieldset", {className: "plan-alternative", id: `${row}a${a}`, tabIndex: -1},
          make("legend", {}, `Alternative ${a + 1}`),
          tools(`${row}a${a}`, `alternative ${a + 1}`, a > 0, a < item.alternatives.length - 1),
          ...exerciseRows(alternative, `${row}a${a}`))),
      make("div", {className: "plan-buttons"}, action("Add an alternative", "add", row, "a")),
      textField(`${row}.id`, "Id for commands", item.id, {placeholder: `${s + 1}-${i + 1}`, maxlength: "64"}));
  details.addEventListener(
    "toggle", () => /** @type {HTMLDetailsElement} */ (details).open ? open.add(row) : open.delete(row));
  return make(
    "li", {className: "plan-item", id: row, tabIndex: -1}, tools(row, heading, s > 0 || i > 0, !isLast), details);
}

/** @param {import("./plan-form.js").Exercise} exercise @param {string} row */
function exerciseRows({name, category, sets}, row) {
  const cells = /** @type {const} */ ([["repetitions", "numeric"], ["weight", "decimal"], ["time", ""], ["rest", ""]]);
  const words = {repetitions: "repetitions", weight: "load", time: "time", rest: "rest"};
  return [
    make("div", {className: "fields"}, textField(`${row}.name`, "Exercise", name, {maxlength: "100"}),
      choiceField(`${row}.category`, "Movement", category, "Other", categories)),
    ...error(`${row}.sets`),
    make("div", {className: "set-head", ariaHidden: "true"},
      ...["", "Reps", "Load", "Time", "Rest"].map((text) => make("span", {}, text))),
    make("ol", {className: "sets"}, ...sets.map((set, x) => {
      const at = `${row}x${x}`;
      const controls = cells.map(([cell, mode]) => {
        const control = make("input",
          {id: `${at}.${cell}`, name: `${at}.${cell}`, value: set[cell], ariaLabel: `Set ${x + 1}, ${words[cell]}`});
        if (mode) control.inputMode = mode;
        return marked(`${at}.${cell}`, control);
      });
      const menu = make("details", {className: "menu"}, make("summary", {ariaLabel: `Set ${x + 1}`}, "⋮"),
        make("div", {className: "sheet"}, tools(at, `set ${x + 1}`, x > 0, x < sets.length - 1)));
      return make("li", {id: at, tabIndex: -1}, make("span", {ariaHidden: "true"}, String(x + 1)),
        ...controls.map(([control]) => control), menu, ...controls.flatMap(([, ...errors]) => errors));
    })),
    action("Add a set", "add", row, "x", {className: "add"})
  ];
}

// MARK: Editing

/** @param {"add" | "up" | "down" | "remove"} verb @param {string} row @param {string} [list] */
function change(verb, row, list) {
  if (!form) return;
  // Numbers of rows change.
  if (verb !== "add") open.clear();
  problems = [];
  const next = edit(form, verb, row, list);
  const item = next.match(/^s\d+i\d+/)?.[0];
  if (item) open.add(item);
  setChanged(true);
  drawRows();
  const shown = document.getElementById(next);
  const same = shown?.querySelector(`[data-verb="${verb}"][data-row="${next}"]:enabled`);
  same?.closest("details.menu")?.setAttribute("open", "");
  const target = verb === "add" ? shown?.querySelector("input") : verb === "remove" ? shown : same ?? shown;
  /** @type {HTMLElement | null | undefined} */ (target)?.focus({preventScroll: true});
  target?.scrollIntoView({block: "nearest"});
}

element.addEventListener("input", (event) => {
  const {name, value, dataset} = /** @type {HTMLInputElement} */ (event.target);
  if (dataset.start !== undefined || !form) return;
  write(form, name, value);
  setChanged(true);
});
// Another kind of clock has other fields.
element.addEventListener("change", (event) => {
  const {name} = /** @type {HTMLSelectElement} */ (event.target);
  if (name.endsWith(".type")) drawRows();
});

/** @typedef {{ text: string, detail?: string, style?: string, problems?: Problem[], nodes?: Node[], isQuiet?: boolean }} Notice */

/** @param {Notice | undefined} notice */
function say(notice) {
  const box = byID("notice");
  show(box, notice !== undefined);
  if (!notice) return;
  box.className = `notice plan-notice ${notice.style ?? "warning"}`;
  box.setAttribute("role", notice.isQuiet ? "status" : "alert");
  const links = (notice.problems ?? []).map(({field, text}) => {
    const leaf = field.split(".").at(-1) ?? "";
    const names = {type: "clock", cap: "time limit", weight: "load", category: "movement", items: "exercises"};
    const label = [rowWords(field), /** @type {any} */ (names)[leaf] ?? (/^([siax]\d+)*$/.test(leaf) ? "" : leaf)]
                    .filter(Boolean)
                    .join(", ");
    const link = make("a", {className: "problem", href: `#${field}`}, `${label || "The plan"}: ${text}`);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(field);
      target?.closest("details")?.setAttribute("open", "");
      target?.focus();
    });
    return link;
  });
  box.replaceChildren(make("p", {}, make("strong", {}, notice.text), " ", notice.detail ?? ""), ...links,
    make("div", {className: "plan-buttons"}, ...(notice.nodes ?? [])));
  if (notice.isQuiet) return;
  box.scrollIntoView({block: "center"});
  box.focus();
}

/** @param {string} label @param {string} className @param {() => void} act */
function button(label, className, act) {
  const made = make("button", {type: "button", className}, label);
  made.addEventListener("click", act);
  return made;
}

/** @param {Problem[]} found */
function complain(found) {
  problems = found;
  drawRows();
  const json = problem("json");
  setText(byID("json-error"), json ?? "");
  show(byID("json-error"), json !== undefined);
  const text = found.length === 1 ? "Not saved: one thing to correct" : `Not saved: ${found.length} things to correct`;
  say({text, style: "error", problems: found});
}

/** The definition on the page, or what is wrong with it. */
function readPage() {
  if (form) return read(form, units());
  const {definition, problem} = readJSON(input("json").value);
  return {definition, problems: problem ? [{field: "json", text: problem}] : []};
}

// MARK: Saving

element.addEventListener("submit", (event) => {
  event.preventDefault();
  save(base);
});

/** @param {Plan | undefined} over the version that the save replaces */
function save(over) {
  const {definition, problems: found} = readPage();
  if (found.length > 0) return complain(found);
  problems = [];
  drawRows();
  const fields = {plan: id, definition, base: over ? {savedAt: over.savedAt} : {}};
  if (!presses.press(request, "savePlan", fields)) return;
  sent = {definition};
  say(undefined);
}

byID("delete").addEventListener("click", () => say({
  text: `Delete ${saved ? titleOf(saved.definition) : "this plan"}?`,
  detail: "A workout that uses it continues. This cannot be undone.",
  nodes: [button("Keep it", "primary", () => say(undefined)), button("Delete", "danger", () => remove(base))]
}));

/** @param {Plan | undefined} over */
function remove(over) {
  if (presses.press(request, "deletePlan", {plan: id, base: over ? {savedAt: over.savedAt} : {}}))
    sent = {isDeletion: true};
  say(undefined);
}

/** @param {Press} press @param {import("./commands.js").Outcome} outcome */
function answered({key, type, fields}, outcome) {
  if (key === sent?.session && outcome === "done") return leave(`/live/${login}/${key}`);
  if (key === sent?.session) return refusedStart(key);
  const isDeletion = type === "deletePlan";
  // Another tab's press is seen in the plan alone: what is typed here is not saved.
  if (key !== id || !(isDeletion ? sent?.isDeletion : isSame(fields.definition, sent?.definition))) return;
  sent = undefined;
  if (isDeletion && outcome === "done") return leave("/plans?deleted");
  if (!hasForm) {
    kept = presses.refused(id);
    return;
  }
  if (outcome === "refused") return refuse(/** @type {Press} */ (presses.refused(id)));
  setChanged(!isSame(readPage().definition, fields.definition));
  if (location.search) history.replaceState(null, "", location.pathname);
  say({text: "Saved.", style: "done", isQuiet: true});
}

/** @param {Press} press */
function refuse({type, refusal = "", code}) {
  presses.dismiss(id);
  const isDeletion = type === "deletePlan";
  if (code === "plan_changed") return changedElsewhere(isDeletion);
  if (isDeletion && code === "plan_not_found") return leave("/plans?deleted");
  const found = problemOf(refusal);
  if (found && form) complain([found]);
  else say({text: `Not ${isDeletion ? "deleted" : "saved"}: ${refusal}.`, style: "error"});
}

/** @param {string} path */
function leave(path) {
  isLeaving = true;
  location.assign(path);
}

/**
 * Another tab or device was faster: both versions stay until the person decides.
 *
 * @param {boolean} isDeletion
 */
function changedElsewhere(isDeletion) {
  if (!saved) {
    return say({
      text: "This plan was deleted elsewhere.",
      detail: "Yours is below, not saved.",
      nodes: [button("Save mine as a new plan", "", () => save(undefined))]
    });
  }
  const newest = saved;
  say({
    text: `This plan was saved elsewhere: ${when(saved.savedAt)}.`,
    detail: `There it is “${titleOf(saved.definition)}”, ${summaryOf(saved.definition)}. Yours is below, not saved.`,
    nodes: [
      make(
        "a", {className: "button", href: location.pathname, target: "_blank"}, "Open the other version in a new tab"),
      isDeletion ? button("Delete the newer version", "danger", () => remove(newest))
                 : button("Save mine over it", "danger", () => save(newest))
    ]
  });
}

/** The line about a change without an answer. */
function drawPress() {
  const pending = presses.pending(id) ?? (sent?.session ? presses.pending(sent.session) : undefined);
  for (const name of ["save", "start", "delete"]) enable(byID(name), pending === undefined);
  const box = byID("notice");
  const isShown = box.classList.contains("pending") && !box.hidden;
  if (!pending) return isShown ? say(undefined) : undefined;
  // A question or a conflict stays while another tab's press is under way.
  if (!isShown && !box.hidden && !box.classList.contains("done")) return;
  const text = pendingText(pending, serverNow(), bus.state === "open");
  // A screen reader would read it again each second.
  if (!isShown || box.querySelector("strong")?.textContent !== text) say({text, style: "pending", isQuiet: true});
}

// MARK: JSON

byID("import").addEventListener("click", () => {
  const {definition, problem} = readJSON(input("json").value);
  setText(byID("json-error"), problem ?? "");
  show(byID("json-error"), problem !== undefined);
  if (!definition) return byID("json").focus();
  input("json").value = "";
  take(definition);
  setChanged(true);
  say({text: "Imported, not saved yet.", isQuiet: true});
});
byID("json").addEventListener("input", () => form || setChanged(true));
byID("json-file").addEventListener("change", async () => {
  const text = await input("json-file").files?.[0]?.text();
  if (text !== undefined) input("json").value = text;
});
byID("download").addEventListener("click", () => {
  if (!saved) return;
  const href = URL.createObjectURL(new Blob([JSON.stringify(saved.definition, null, 2)], {type: "application/json"}));
  make("a", {href, download: `${fileName(saved.definition)}.json`}).click();
  URL.revokeObjectURL(href);
});

// MARK: Starting

byID("start-activity").append(...Object.entries(activities).map(([value, {title}]) => make("option", {value}, title)));
byID("start-box").addEventListener("change", drawStart);
let isActivityChosen = false;
byID("start-activity").addEventListener("change", () => isActivityChosen = true);

function drawStart() {
  const activity = input("start-activity");
  if (saved && !isActivityChosen) activity.value = activityOf(saved.definition);
  const [place, countdown] = [input("start-place").value, input("start-countdown").value];
  setText(byID("choices"), [
    activities[activity.value]?.title ?? "", place || "usual place",
    countdown === "0" ? "no countdown" : `${countdown} s countdown`
  ].join(" · "));
  show(byID("pool-field"), activities[activity.value]?.swims === true);
  setText(byID("pool-unit"), units() === "imperial" ? "yd" : "m");
}

byID("start").addEventListener("click", () => {
  if (!isChanged) return start(false);
  say({
    text: "There are unsaved changes.",
    detail: "Save them first, or start the version that is saved.",
    nodes: [button("Save", "primary", () => save(base)), button("Start the saved version", "", () => start(false))]
  });
});

/** @param {boolean} replaces whether it discards an unfinished workout */
function start(replaces) {
  if (!saved) return;
  const activity = input("start-activity").value;
  const pool = Number(input("start-pool").value.replace(",", "."));
  const poolLength = units() === "imperial" ? pool * metresPerYard : pool;
  const hasPool = activities[activity]?.swims === true && input("start-pool").value.trim() !== "";
  if (hasPool && !(poolLength >= 5 && poolLength <= 200))
    return say({text: "Not started: a pool is 5 to 200 m long.", style: "error"});
  const session = newID();
  sent = {session};
  presses.press(sessionTopic(login, session, "command"), "start", {
    activity,
    ...(input("start-place").value ? {environment: input("start-place").value} : {}),
    ...(hasPool ? {poolLength} : {}),
    countdown: Number(input("start-countdown").value),
    timeZone: browserZone,
    units: units(),
    definition: saved.definition,
    ...(replaces ? {replace: true} : {})
  });
}

/** @param {string} session */
function refusedStart(session) {
  const {refusal = "", code} = presses.refused(session) ?? {};
  presses.dismiss(session);
  sent = undefined;
  if (code !== "session_in_progress") return say({text: `Not started: ${refusal}.`, style: "error"});
  const resume = make("a", {className: "button", href: current ? `/live/${login}/${current.toLowerCase()}` : "/"});
  resume.textContent = "Resume it";
  say({
    text: "This will discard your current workout. Continue?",
    nodes: [resume, button("Discard it and start", "danger", () => start(true))]
  });
}
