// The page of all virtual runs of the reader, of the people whom the reader runs with, and the form that creates a run.

import {all, byID, drawLine, enable, make, setList, setText, show} from "./dom.js";
import {askHistory} from "./history.js";
import {ask, noRunner, request, requestLine} from "./invitations.js";
import {bus, dialog, login, ownsWorkouts, presses, settle, units, whenUnitsChange} from "./page.js";
import {contactButtons, names} from "./people.js";
import {newID} from "./requests.js";
import {entry, ghosts, overview, proposal} from "./run-form.js";
import {userTopic} from "./topics.js";

const topic = userTopic(login, "run-request");
/** Runs of a question. */
const pageSize = 50;
/**
 * By run.
 *
 * @type {Map<string, any>}
 */
const runs = new Map();
/**
 * One's own newest finished workouts, once the form is open.
 *
 * @type {Promise<any[]> | undefined}
 */
let workouts;
/** @type {{ contacts: string[], blocked: string[], invitesFrom: string }} */
let people = {contacts: [], blocked: [], invitesFrom: "everyone"};
let status = "Loading…";
let hasOlder = false;
/** Whether the first page of runs came, or virtual-run is silent: until then nothing is shown that it would move. */
let isAnswered = false;
let isAsking = false;
let created = "";

if (ownsWorkouts) {
  bus.subscribe(userTopic(login, "runs/+"), {
    onMessage(_, view) {
      if (!view) return;
      runs.set(view.run.toLowerCase(), overview(view));
      draw();
    }
  });
  bus.subscribe(userTopic(login, "run-people"), {
    onMessage(_, payload) {
      people = payload ?? people;
      draw();
    },
    onReady: settle
  });
  askForRuns();
} else {
  status = noRunner;
  isAnswered = true;
  for (const element of all("[data-own]")) show(element, false);
  draw();
  settle();
}
whenUnitsChange(draw);

/** @param {number} [before] */
async function askForRuns(before) {
  isAsking = true;
  draw();
  const reply = await ask({type: "runs", limit: pageSize, ...(before === undefined ? {} : {before})}, (text) => {
    status = text;
    isAnswered = true;
    draw();
  });
  isAsking = false;
  isAnswered = true;
  status = reply.error?.message ?? "No virtual run yet. Invite a person, or accept an invitation.";
  hasOlder = reply.runs?.length === pageSize;
  for (const run of reply.runs ?? []) {
    if (!runs.has(run.run.toLowerCase())) runs.set(run.run.toLowerCase(), run);
  }
  draw();
}
byID("older").addEventListener(
  "click", () => askForRuns(Math.min(...[...runs.values()].map(({createdAt}) => createdAt))));

function draw() {
  const list = [...runs.values()].sort((a, b) => b.createdAt - a.createdAt).map((run) => entry(run));
  setList(byID("runs"), list,
    ({run, name, status, date, text, isOpen}) =>
      make("li", {className: "card", data: {status: isOpen ? "active" : "completed", activity: "running"}},
        make("a", {href: `/virtual-runs/${run}`},
          make("span", {className: "card-head"}, make("strong", {className: "card-user"}, name),
            make("span", {className: "chip"}, status)),
          make("span", {className: "card-name"}, date), make("span", {}, text))));
  show(byID("runs"), isAnswered);
  show(byID("people-box"), isAnswered && ownsWorkouts);
  setText(byID("empty"), status);
  show(byID("empty"), isAnswered && (list.length === 0 || isAsking));
  show(byID("older"), hasOlder && !isAsking);
  setList(byID("contacts"), people.contacts,
    (/** @type {string} */ user) => personLine(user, [["removeContact", "Remove"], ["block", "Block"]]));
  setList(byID("blocked"), people.blocked, (/** @type {string} */ user) => personLine(user, [["unblock", "Unblock"]]));
  show(byID("no-contacts"), people.contacts.length === 0);
  show(byID("blocked-box"), people.blocked.length > 0);
  const pending = presses.pending("people");
  const from = pending?.type === "setInvites" ? pending.fields.from : people.invitesFrom;
  for (const input of all("[name=invitesFrom]")) {
    /** @type {HTMLInputElement} */ (input).checked = /** @type {HTMLInputElement} */ (input).value === from;
  }
  drawPress();
}

function drawPress() {
  for (const [id, key] of [["press", created], ["people-press", "people"]]) {
    const line = key ? requestLine(key) : {text: "", isRefused: false};
    drawLine(byID(id), line.text, line.isRefused, () => presses.dismiss(key));
  }
  const {isPending} = requestLine("people");
  for (const control of all("#people-box button, [name=invitesFrom]")) enable(control, !isPending);
}
presses.whenChanged(draw);
setInterval(() => !document.hidden && drawPress(), 1000);

// MARK: People

/**
 * Whether the request is taken, see `press`.
 *
 * @param {string} type @param {Record<string, unknown>} fields
 */
const change = (type, fields) => presses.press(topic, type, fields);

/** @param {string} user @param {string[][]} choices a request and its button each */
function personLine(user, choices) {
  const buttons = choices.map(([type, label]) => {
    const button = make("button", {type: "button", ariaLabel: `${label} ${user}`}, label);
    button.addEventListener("click", () => change(type, {user}));
    return button;
  });
  return make("li", {}, make("strong", {}, user), make("span", {className: "person-buttons"}, ...buttons));
}

const personForm = /** @type {HTMLFormElement} */ (byID("person-form"));
personForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const input = /** @type {HTMLInputElement} */ (personForm.elements.namedItem("person"));
  const [user, ...others] = names(input.value);
  if (!user || others.length > 0) return input.focus();
  if (change(/** @type {HTMLButtonElement} */ (event.submitter)?.value || "addContact", {user})) personForm.reset();
});
for (const input of all("[name=invitesFrom]")) {
  input.addEventListener(
    "change", () => change("setInvites", {from: /** @type {HTMLInputElement} */ (input).value}) || draw());
}

// MARK: The form that creates a run

const form = /** @type {HTMLFormElement} */ (byID("invite-form"));
const values = () => /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)));

function drawForm() {
  const {goal, start} = values();
  for (const field of all("[data-goal]", form)) show(field, field.dataset.goal === goal);
  for (const field of all("[data-start]", form)) show(field, field.dataset.start === start);
  setText(byID("distance-unit"), units() === "imperial" ? "mi" : "km");
}

/** Ghosts are one's own finished workouts. */
async function offerGhosts() {
  workouts ??= askHistory(login, {limit: 100}).then(({workouts}) => workouts);
  try {
    const own = ghosts(await workouts, {units: units(), activity: "running"});
    setList(byID("ghosts"), own,
      ({session, text}) => make("label", {className: "check"},
        make("input", {type: "checkbox", name: "ghost", value: session}), make("span", {}, text)));
    show(byID("ghosts-box"), own.length > 0);
  } catch {
    workouts = undefined;
  }
}

function openForm() {
  drawForm();
  offerGhosts();
  contactButtons(
    byID("contact-choices"), people.contacts, /** @type {HTMLInputElement} */ (form.elements.namedItem("people")));
  dialog("invite-dialog").showModal();
}
byID("invite").addEventListener("click", openForm);

// The fields of a rematch.
const rematch = new URLSearchParams(location.search);
if (rematch.has("people")) {
  for (const [name, value] of rematch) {
    const field = form.elements.namedItem(name);
    if (field && "value" in field) field.value = value;
  }
  // A reload or the way back opens no form again.
  history.replaceState(null, "", location.pathname);
  openForm();
}
form.addEventListener("input", () => {
  show(byID("invite-error"), false);
  drawForm();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const {at, ...others} = values();
  const sessions = new FormData(form).getAll("ghost").map(String);
  const made = proposal({lateJoin: "", ...others, at: others.start === "rolling" ? "" : at}, units(), login, sessions);
  setText(byID("invite-error"), "error" in made ? made.error : "");
  show(byID("invite-error"), "error" in made);
  if ("error" in made) return;
  if (created) presses.dismiss(created);
  created = newID();
  request(created, "create", made.fields);
  dialog("invite-dialog").close();
});
