// The page of the account: profile, theme, logins, the export and the deletion of everything.

import {forget} from "./chunks.js";
import {showDevices} from "./devices.js";
import {all, byID, enable, keep, kept, setText, show} from "./dom.js";
import {openExports} from "./export-view.js";
import {grouped} from "./format.js";
import {openHistory} from "./history-copy.js";
import {bus, dialog, isOperator, login, ownsWorkouts, serverNow, settle, units, whenUnitsChange} from "./page.js";
import {weightText} from "./plan-text.js";
import {change, fields, formOf, read} from "./profile-form.js";
import {attempt} from "./requests.js";
import {isOlder, userTopic} from "./topics.js";

const request = userTopic(login, "request");
/** Milliseconds after which the page says that there is no answer. */
const silence = 10_000;

setText(byID("account"), login);
for (const code of all("[data-command]")) {
  const {command, rest = ""} = code.dataset;
  setText(code, `compose/user ${command} ${login}${rest}`);
}
for (const [id, type] of /** @type {["leave-here" | "leave-everywhere", "one" | "all"][]} */ (
       [["leave-here", "one"], ["leave-everywhere", "all"]]))
  byID(id).addEventListener("click", async () => (await import("./logout.js")).logOut(type));
// The operator's own password is not one of `compose/user`.
if (isOperator) byID("by-operator").remove();
const devicesShown = isOperator ? Promise.resolve() : showDevices();
if (!ownsWorkouts) {
  for (const element of all("[data-own]")) element.remove();
  devicesShown.then(settle);
}

// MARK: Profile

/** @type {any} the newest */
let profile;
/** The texts of the newest profile: what differs from them was changed here. */
let saved = formOf(undefined, units());
/** The units of the form's texts. */
let shownUnits = units();
let isSaving = false;
/** @type {Record<string, string>} */
let problems = {};

/** @param {string} field */
const input = (field) => /** @type {HTMLInputElement} */ (byID(field));
const thisYear = () => new Date(serverNow() * 1000).getUTCFullYear();
const changed = () => fields.filter((field) => input(field).value.trim() !== saved[field]);
/** @type {Record<string, string>} what another tab or device saved meanwhile, of fields that were changed here */
const elsewhere = {};

/** @param {any} next */
function see(next) {
  profile = next;
  const before = saved;
  const mine = changed();
  saved = formOf(profile, units());
  for (const field of fields) {
    if (!mine.includes(field)) input(field).value = saved[field];
    else if (saved[field] !== before[field] && !isSaving) elsewhere[field] = saved[field];
    if (input(field).value.trim() === saved[field]) delete elsewhere[field];
  }
  draw();
}

whenUnitsChange(() => {
  if (!ownsWorkouts) return;
  // A weight that was typed without a unit stays the same weight.
  const isTyped = changed().includes("weight");
  const {value} = read("weight", input("weight").value, shownUnits, thisYear());
  shownUnits = units();
  saved = formOf(profile, shownUnits);
  if (!isTyped) input("weight").value = saved.weight;
  else if (typeof value === "number") input("weight").value = weightText(value, shownUnits);
  draw();
});

if (ownsWorkouts)
  bus.subscribe(userTopic(login, "profile"), {
    onMessage: (_, next) => next && !isOlder(profile, next) && see(next),
    onReady() {
      see(profile);
      devicesShown.then(settle);
    }
  });

function draw() {
  const mine = changed();
  for (const field of fields) {
    if (!mine.includes(field)) delete problems[field];
    input(field).setAttribute("aria-invalid", String(problems[field] !== undefined));
    setText(byID(`${field}-note`), problems[field] ?? elsewhereText(field));
  }
  show(byID("unsaved"), mine.length > 0 && !isSaving);
  enable(byID("save"), !isSaving);
}

/** @param {string} field */
function elsewhereText(field) {
  if (!(field in elsewhere)) return "";
  const option = byID(field).querySelector(`option[value="${elsewhere[field]}"]`);
  const now = elsewhere[field] === "" ? "removed" : `changed to ${option?.textContent ?? elsewhere[field]}`;
  return `It was ${now} elsewhere. Saving replaces that.`;
}

/** @param {string} text @param {boolean} [isRefused] */
function say(text, isRefused = false) {
  byID("saved").classList.toggle("refused", isRefused);
  setText(byID("saved"), text);
}

byID("profile")?.addEventListener("input", () => {
  problems = {};
  say("");
  draw();
});

byID("profile")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (isSaving) return;
  const mine = changed();
  const form = Object.fromEntries(mine.map((field) => [field, input(field).value]));
  const next = change(profile, form, mine, units(), thisYear());
  problems = next.problems;
  const wrong = fields.find((field) => problems[field]);
  draw();
  if (wrong) {
    say("Nothing was saved yet: see the marked fields.", true);
    return input(wrong).focus();
  }
  if (mine.length === 0) return say("Nothing has changed.");
  await save(next.profile, mine);
});

/** @param {any} next @param {string[]} mine the fields that were changed here */
async function save(next, mine) {
  isSaving = true;
  // As it will come back: `63` becomes `63 kg`.
  const form = formOf(next, units());
  for (const field of mine) input(field).value = form[field];
  say("Saving…");
  draw();
  const late = setTimeout(() => say("No answer yet. This page asks again while it is open."), silence);
  try {
    // Not kept for a later visit: a profile replaces all that was saved meanwhile.
    const {revision} = await bus.ask(request, {type: "setProfile", profile: next});
    const isNewest = profile?.revision === revision;
    const lost = isNewest ? mine.filter((field) => next[field] !== undefined && profile[field] === undefined) : [];
    for (const field of mine) delete elsewhere[field];
    if (!isNewest) saved = form;
    say(lost.length === 0 ? "Saved." : `Saved without ${lost.map(nameOf).join(" and ")}: session-engine is too old.`,
      lost.length > 0);
  } catch (error) {
    say(`Not saved: ${/** @type {Error} */ (error).message}`, true);
  }
  clearTimeout(late);
  isSaving = false;
  draw();
}

/** @param {string} field */
const nameOf = (field) =>
  (byID("profile").querySelector(`label[for="${field}"]`)?.textContent ?? "").split(",")[0].toLowerCase();

addEventListener("beforeunload", (event) => {
  if (ownsWorkouts && changed().length > 0) event.preventDefault();
});

// MARK: Export

const exports = ownsWorkouts ? openExports(bus, login) : undefined;

// MARK: Deletion

/** The number of workouts at the press, for a page that is loaded again before the end. */
const key = `pacebus.erasing.${login}`;
/** Milliseconds between looks at what is left. */
const interval = 1000;
const name = /** @type {HTMLInputElement | null} */ (byID("delete-name"));

setText(byID("delete-account"), login);
name?.addEventListener("input", () => enable(byID("delete-confirm"), name.value.trim() === login));
byID("delete")?.addEventListener("click", () => {
  /** @type {HTMLInputElement} */ (name).value = "";
  enable(byID("delete-confirm"), false);
  setText(byID("delete-error"), "");
  dialog("delete-dialog").showModal();
});
byID("delete-form")?.addEventListener("submit", () => erase());

async function erase() {
  follow("Asking the server to delete everything…");
  const late = setTimeout(() => follow("No answer yet. This page asks again while it is open."), silence);
  const history = await openHistory(login);
  try {
    await history.update().catch(() => {});
    const count = history.all().length;
    await bus.ask(request, {type: "deleteEverything"});
    keep(key, String(count), "sessionStorage");
    clearTimeout(late);
    await finish(count, history);
  } catch (error) {
    clearTimeout(late);
    history.close();
    show(byID("erased"), false);
    show(byID("delete-part"), true);
    setText(byID("delete-error"), `Nothing was deleted: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {string} text @param {number} [left] workouts @param {number} [count] of all */
function follow(text, left, count) {
  show(byID("erased"), true);
  show(byID("delete-part"), false);
  setText(byID("erased-text"), text);
  const progress = /** @type {HTMLProgressElement} */ (byID("erased-progress"));
  if (left === undefined || !count) return progress.removeAttribute("value");
  progress.max = count;
  progress.value = Math.max(0, count - left);
}

/**
 * Looks at what is left until no workout is, and removes the copies of this browser.
 *
 * @param {number} count of all @param {import("./history-copy.js").History} history
 */
async function finish(count, history) {
  for (;;) {
    const isKnown = await history.update().then(() => true, () => false);
    const left = history.all().length;
    if (isKnown && left === 0) break;
    const whole = Math.max(count, left);
    follow(`${grouped(whole - left)} of ${grouped(whole)} workouts are deleted.`, left, whole);
    await new Promise((resume) => setTimeout(resume, interval));
  }
  history.close();
  for (const name of ["history", "imports"]) attempt(() => indexedDB.deleteDatabase(`pacebus.${name}.${login}`));
  attempt(() => forget(login));
  await (await exports)?.cancel();
  keep(key, "", "sessionStorage");
  follow(`All workouts, plans and the profile of ${login} are deleted.`);
  setText(byID("erased-title"), "Everything is deleted");
  byID("erased").classList.add("done");
  show(byID("erased-progress"), false);
  show(byID("remains"), true);
  byID("erased-title").focus();
}

const pending = kept(key, "sessionStorage");
if (ownsWorkouts && pending) openHistory(login).then((history) => finish(Number(pending), history));
