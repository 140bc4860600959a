// The page of all whom one may see, with the start of one's own workout.

import {canceled, titleOf} from "./cards.js";
import {Presses, isUnanswered, newID, pendingText} from "./commands.js";
import {announce, byID, drawLine, enable, logIn, make, setList, setText, show} from "./dom.js";
import {format, joined, metresPerYard} from "./format.js";
import {everyone, own} from "./home.js";
import {dialog, units} from "./page.js";

const {login = ""} = byID("main").dataset;
const presses = new Presses(login, outcome, drawResume);
own.drawn = drawResume;
own.replied = (reply) => presses.replied(reply);

/** Metres from which on the distance helps to recognize a workout. */
const least = 100;

function drawResume() {
  const known = everyone();
  const current = known.currents[login];
  const resume = /** @type {HTMLAnchorElement} */ (byID("resume"));
  if (current) {
    show(resume, current.offersResume === true);
    if (current.session) {
      const session = current.session.toLowerCase();
      const {metrics, route} = known.sessions[session]?.shown ?? {};
      const metres = metrics?.d ?? route?.d;
      const progress = current.progress ? `${current.progress.done}/${current.progress.total} exercises`
        : metres >= least ? joined(format("roughDistance", metres, {units: units(), activity: current.activity}))
                          : "";
      resume.href = `/live/${login}/${session}`;
      setText(resume.querySelector("span"), ["Resume", progress].filter(Boolean).join(" · "));
    }
    show(byID("replace-warning"), current.session !== null);
    setText(byID("start-confirm"), current.session === null ? "Start" : "Discard and start");
  }
  setList(byID("canceled"), canceled(known, login),
    ({session, text, date}) => make("li", {},
      make("a", {href: `/live/${login}/${session}`}, make("span", {}, `${text} · `, make("strong", {}, "Recover")), " ",
        make("small", {}, date))));
  drawPress();
}

/** Shows the start that is under way, else the newest press of one's own workouts, which other pages made. */
function drawPress() {
  const press = presses.all.find(({type, isWithdrawal}) => type === "start" || isWithdrawal) ?? presses.all.at(-1);
  if (!press) return drawLine(byID("press"), "", false, dismissRefusals);
  const {name, activity} = everyone().sessions[press.session]?.shown.state ?? {};
  const workout = press.type === "start" || press.isWithdrawal
    ? ""
    : `${activity ? titleOf(activity, name ?? "") : "Your workout"}: `;
  if (press.refusal !== undefined) return drawLine(byID("press"), workout + press.refusal, true, dismissRefusals);
  if (workout) {
    return drawLine(byID("press"), workout + pendingText(press, Date.now()), false,
      () => location.assign(`/live/${login}/${press.session}`), "Open");
  }
  const canWithdraw = press.type === "start" && isUnanswered(press, Date.now());
  drawLine(byID("press"), pendingText(press, Date.now()), false,
    () => presses.withdraw(press.session, `/live/${login}/${press.session}/commands`), canWithdraw ? "Withdraw" : "");
}

function dismissRefusals() {
  for (const {session, refusal} of presses.all)
    if (refusal !== undefined) presses.dismiss(session);
}

/** @param {import("./commands.js").Press} press @param {import("./commands.js").Answer} answer */
function outcome(press, answer) {
  if (answer.kind === "login") logIn();
  if (answer.kind === "done" && press.isWithdrawal) announce("The start is withdrawn.");
  if (answer.kind === "done" && press.type === "start") location.assign(`/live/${login}/${press.session}`);
  drawResume();
}

byID("start-new").addEventListener("click", () => {
  dialog("start-dialog").showModal();
  drawPool();
  readPlans();
});
byID("start-form").addEventListener("input", drawPool);
byID("start-form").addEventListener("submit", (event) => {
  const values = new FormData(/** @type {HTMLFormElement} */ (event.target));
  const environment = values.get("environment");
  const pool = Number(values.get("pool"));
  dismissRefusals();
  const session = newID();
  presses.press("start", session, "/commands", {
    session,
    activity: values.get("activity"),
    ...(environment ? {environment} : {}),
    ...(pool ? {poolLength: units() === "imperial" ? pool * metresPerYard : pool} : {}),
    ...(definition ? {definition} : {}),
    countdown: Number(values.get("countdown")),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    units: units(),
    ...(everyone().currents[login]?.session ? {replace: true} : {}),
  });
});
drawResume();

/** A hidden field must not keep the form from being sent. */
function drawPool() {
  enable(byID("start-pool"), document.querySelector("#start-form [data-pool]:checked") !== null);
  setText(byID("pool-unit"), units() === "imperial" ? "yd" : "m");
}

/**
 * The chosen plan as it is saved; a press carries it, so that a later change of the plan changes no press.
 *
 * @type {any}
 */
let definition;

/** The plans of the start form. They are read when it opens, because reading them needs a connection to the broker. */
async function readPlans() {
  const list = /** @type {HTMLSelectElement | null} */ (document.getElementById("start-plan"));
  if (!list) return;
  try {
    const response = await fetch("/plans.json");
    if (!response.ok) return setText(byID("plan-hint"), "Your plans cannot be read now.");
    const plans = await response.json();
    const chosen = list.value;
    list.replaceChildren(make("option", {value: ""}, "None"),
      ...plans.map(
        (/** @type {any} */ {plan, name, activity}) => make("option", {value: plan, data: {activity}}, name)));
    list.value = chosen;
    show(byID("plan-field"), plans.length > 0);
    setText(byID("plan-hint"), "");
  } catch {
    setText(byID("plan-hint"), "Your plans cannot be read now.");
  }
}

async function choosePlan() {
  const list = /** @type {HTMLSelectElement} */ (byID("start-plan"));
  const start = /** @type {HTMLButtonElement} */ (byID("start-confirm"));
  const plan = list.value;
  definition = undefined;
  start.disabled = plan !== "";
  setText(byID("plan-hint"), "");
  if (!plan) return;
  const radio = /** @type {HTMLInputElement | null} */ (
    document.querySelector(`[name="activity"][value="${list.selectedOptions[0].dataset.activity}"]`));
  if (radio) radio.checked = true;
  drawPool();
  const read = await fetch(`/plans/${plan}/plan.json`)
                 .then((response) => (response.ok ? response.json() : undefined))
                 .catch(() => undefined);
  if (list.value !== plan) return;
  definition = read;
  start.disabled = false;
  if (definition) return;
  list.value = "";
  setText(byID("plan-hint"), "This plan cannot be read now.");
}
document.getElementById("start-plan")?.addEventListener("change", choosePlan);
