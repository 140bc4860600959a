// The page of all whom one may see, with the start of one's own workout.

import {activities} from "./activities.js";
import {canceled, titleOf} from "./cards.js";
import {isUnanswered, pendingText} from "./commands.js";
import {activityOf, titleOf as planTitle} from "./definition.js";
import {announce, byID, drawLine, enable, kept, make, setList, setText, show} from "./dom.js";
import {browserZone, format, joined, metresPerYard} from "./format.js";
import {everyone, own} from "./home.js";
import {bus, dialog, login, ownsWorkouts, presses, serverNow, units} from "./page.js";
import {attempt, newID} from "./requests.js";
import {sessionTopic, userTopic} from "./topics.js";

/** Metres from which on the distance helps to recognize a workout. */
const least = 100;

function drawResume() {
  const known = everyone();
  const current = known.currents[login];
  const resume = /** @type {HTMLAnchorElement} */ (byID("resume"));
  if (current) {
    const session = current.session?.toLowerCase();
    const {state, metrics} = known.sessions[session]?.shown ?? {};
    // The page of a virtual run shows everybody, and one's own figures.
    const run = state?.run?.toLowerCase();
    show(resume, current.offersResume === true || (session !== undefined && run !== undefined));
    if (session) {
      const metres = metrics?.d;
      const progress = current.progress ? `${current.progress.done}/${current.progress.total} exercises`
        : metres >= least ? joined(format("roughDistance", metres, {units: units(), activity: current.activity}))
                          : "";
      resume.href = run ? `/virtual-runs/${run}` : `/live/${login}/${session}`;
      setText(
        resume.querySelector("span"), [run ? "Your virtual run" : "Resume", progress].filter(Boolean).join(" · "));
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

/** Presses about workouts. */
const ofWorkouts = () => presses.all.filter(({topic}) => topic.endsWith("/command"));

/** Shows the start that is under way, else the newest press of one's own workouts, which other pages made. */
function drawPress() {
  const all = ofWorkouts();
  const press = all.find(({type, fields}) => type === "start" || fields.withdraws) ?? all.at(-1);
  if (!press) return drawLine(byID("press"), "", false, dismissRefusals);
  const {name, activity} = everyone().sessions[press.key]?.shown.state ?? {};
  const workout = press.type === "start" || press.fields.withdraws
    ? ""
    : `${activity ? titleOf(activity, name ?? "") : "Your workout"}: `;
  if (press.refusal !== undefined) return drawLine(byID("press"), workout + press.refusal, true, dismissRefusals);
  const text = pendingText(press, serverNow(), bus.state === "open");
  if (workout) {
    return drawLine(byID("press"), workout + text, false, () => location.assign(`/live/${login}/${press.key}`), "Open");
  }
  const canWithdraw = press.type === "start" && isUnanswered(press, serverNow());
  drawLine(byID("press"), text, false, () => presses.withdraw(press.key), canWithdraw ? "Withdraw" : "");
}

function dismissRefusals() {
  for (const {key, refusal} of ofWorkouts())
    if (refusal !== undefined) presses.dismiss(key);
}

presses.whenAnswered(({type, key, fields, topic}, outcome) => {
  if (outcome !== "done" || !topic.endsWith("/command")) return;
  if (fields.withdraws) announce("The start is withdrawn.");
  if (type === "start") location.assign(`/live/${login}/${key}`);
});
presses.whenChanged(() => ownsWorkouts && drawResume());

/**
 * The reader's plans: they may be large, so they are read when the form opens.
 *
 * @type {any[] | undefined}
 */
let plans;

if (ownsWorkouts) {
  own.drawn = drawResume;
  show(byID("record"), navigator.geolocation !== undefined);
  // Until the server has all of it, the page of the recorder sends it.
  const waits =
    (attempt(() => Object.keys(localStorage)) ?? []).some((key) => key.startsWith(`pacebus.waiting.${login}.`));
  const label = kept(`pacebus.recording.${login}`) ? "Continue the recording"
    : waits                                        ? "A recorded workout waits to be sent"
                                                   : undefined;
  if (label) setText(byID("record").lastElementChild, label);
  const choices = Object.entries(activities).map(([value, {title, swims}]) => {
    const input = make("input", {type: "radio", name: "activity", value, checked: value === "running"});
    input.toggleAttribute("data-pool", swims === true);
    return make("label", {}, input, make("span", {}, title));
  });
  byID("activities").append(...choices);
  listen();
  drawResume();
}

function listen() {
  byID("start-new").addEventListener("click", () => {
    dialog("start-dialog").showModal();
    drawPool();
    readPlans();
  });
  byID("start-form").addEventListener("input", drawPool);
  byID("start-plan").addEventListener("change", choosePlan);
  byID("start-form").addEventListener("submit", (event) => {
    const values = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const environment = values.get("environment");
    const pool = Number(values.get("pool"));
    const plan = plans?.find(({plan}) => plan === values.get("plan"));
    dismissRefusals();
    const session = newID();
    presses.press(sessionTopic(login, session, "command"), "start", {
      activity: values.get("activity"),
      ...(environment ? {environment} : {}),
      ...(pool ? {poolLength: units() === "imperial" ? pool * metresPerYard : pool} : {}),
      ...(plan ? {definition: plan.definition} : {}),
      countdown: Number(values.get("countdown")),
      timeZone: browserZone,
      units: units(),
      ...(everyone().currents[login]?.session ? {replace: true} : {}),
    });
  });
}

/** A hidden field must not keep the form from being sent. */
function drawPool() {
  enable(byID("start-pool"), document.querySelector("#start-form [data-pool]:checked") !== null);
  setText(byID("pool-unit"), units() === "imperial" ? "yd" : "m");
}

function readPlans() {
  if (plans) return;
  plans = [];
  bus.subscribe(userTopic(login, "plans"), {
    onMessage(_, saved) {
      plans = saved?.plans ?? [];
      drawPlans();
    }
  });
}

/** A press carries the chosen plan, so that a later change of the plan changes no press. */
function drawPlans() {
  const list = /** @type {HTMLSelectElement} */ (byID("start-plan"));
  const chosen = list.value;
  const saved = plans ?? [];
  list.replaceChildren(make("option", {value: ""}, "None"),
    ...saved.map(({plan, definition}) => make("option", {value: plan}, planTitle(definition))));
  list.value = saved.some(({plan}) => plan === chosen) ? chosen : "";
  show(byID("plan-field"), saved.length > 0);
}

function choosePlan() {
  const chosen = /** @type {HTMLSelectElement} */ (byID("start-plan")).value;
  const definition = plans?.find(({plan}) => plan === chosen)?.definition;
  if (!definition) return;
  const implied = `[name="activity"][value="${activityOf(definition)}"]`;
  /** @type {HTMLInputElement} */ (document.querySelector(implied)).checked = true;
  drawPool();
}
