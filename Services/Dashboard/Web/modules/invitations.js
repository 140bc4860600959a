// The reader's virtual runs on every page: the banner, and the requests that this browser sent.

import {pendingText} from "./commands.js";
import {announce, byID, make, setList, setText, show} from "./dom.js";
import {bus, login, ownsWorkouts, presses, serverNow, units, whenUnitsChange} from "./page.js";
import {invitations} from "./run-status.js";
import {isOlder, userTopic} from "./topics.js";

/** @typedef {import("./run-status.js").Choice} Choice */

export const noRunner = "Virtual runs are for people who train. This account only watches others.";

const topic = userTopic(login, "run-request");
/** Milliseconds after which a page says that there is no answer. */
const patience = 3000;
/** The run of this page, if it is one's. */
const shown = location.pathname.match(/^\/virtual-runs\/([^/]+)/)?.[1].toLowerCase();
/**
 * By run.
 *
 * @type {Map<string, any>}
 */
const views = new Map();
/** @type {any} */
let current;
/** @type {Set<string>} */
const announced = new Set();

/** The requests of this page, by id. */
const sent = new Set();
/** Those from before it was loaded are its too, but none of other tabs. */
const isOwn = (/** @type {import("./commands.js").Press} */ {id, at}) =>
  sent.has(id) || at < serverNow() - performance.now() / 1000;

presses.whenAnswered((press, outcome) => {
  const opens = press.topic === topic && ["create", "accept", "confirm"].includes(press.type) && press.key !== shown;
  // A workout's page stays.
  if (outcome === "done" && opens && isOwn(press) && !location.pathname.startsWith("/live/"))
    location.assign(`/virtual-runs/${press.key}`);
});
presses.whenChanged(drawBanner);
whenUnitsChange(drawBanner);
if (ownsWorkouts) {
  setInterval(() => !document.hidden && drawBanner(), 1000);
  bus.subscribe(userTopic(login, "runs/+"), {
    onMessage(topic, view) {
      const run = topic.split("/")[5];
      if (!view) views.delete(run);
      else if (!isOlder(views.get(run), view)) views.set(run, view);
      drawBanner();
    }
  });
  bus.subscribe(userTopic(login, "current"), {onMessage: (_, payload) => void (current = payload)});
}

/**
 * The reply to a question, which changes nothing; a refused one has an `error`.
 *
 * @param {{ type: string } & Record<string, any>} question @param {(text: string) => void} onSilence
 */
export async function ask(question, onSilence) {
  const timer = setTimeout(() => onSilence("The server does not answer. Trying again."), patience);
  const reply = await bus.ask(topic, question).catch((error) => ({error}));
  clearTimeout(timer);
  return reply;
}

/**
 * Whether the request is taken, see `press`.
 *
 * @param {string} run @param {string} type @param {Record<string, unknown>} [fields]
 */
export function request(run, type, fields = type === "accept" ? {sharing: {}} : {}) {
  const isTaken = presses.press(topic, type, {run, ...fields});
  if (isTaken) sent.add(presses.pending(run.toLowerCase())?.id);
  return isTaken;
}

/**
 * The line about a request that has no answer yet, or was refused.
 *
 * @param {string} run @returns {{ text: string, isRefused: boolean, isPending: boolean }}
 */
export function requestLine(run) {
  const pending = presses.pending(run);
  const refused = presses.refused(run);
  return {
    text: pending ? pendingText(pending, serverNow(), bus.state === "open") : refused?.refusal ?? "",
    isRefused: !pending && refused !== undefined,
    isPending: pending !== undefined
  };
}

/** @param {string} run @param {Choice} choice @param {boolean} isDisabled */
export function choiceButton(run, {type, label, isPrimary}, isDisabled) {
  const button = make("button", {type: "button", className: isPrimary ? "primary" : "", disabled: isDisabled}, label);
  button.addEventListener("click", () => request(run, type));
  return button;
}

function drawBanner() {
  const section = byID("invitations");
  const list = /** @type {HTMLElement} */ (section.firstElementChild);
  const items =
    invitations([...views.values()], serverNow(), {units: units()}).filter(({run}) => run !== shown).map((item) => {
      const isBusy = item.kind === "go" && current?.session;
      const {text: status, isPending} = requestLine(item.run);
      return {...item, status, isPending, warning: isBusy ? `End your workout ${current.name ?? ""} first.` : ""};
    });
  show(section, items.length > 0);
  // Texts change every second; buttons stay under the finger.
  const stable =
    items.map(({run, kind, text, choices, isPending, warning}) => ({run, kind, text, choices, isPending, warning}));
  setList(list, stable, ({run, kind, text, choices, isPending, warning}) => {
    const buttons =
      choices.map((choice) => choiceButton(run, choice, isPending || (warning !== "" && choice.type === "confirm")));
    const open = make("a", {className: "button", href: `/virtual-runs/${run}`}, "Open");
    return make("li", {className: "invitation", data: {run, kind}},
      make("p", {}, make("strong", {}, text), make("span")),
      make("div", {className: "invitation-buttons"}, ...buttons, ...(choices.length > 0 ? [] : [open])));
  });
  items.forEach(({status, warning, detail}, index) =>
                  setText(list.children[index].querySelector("span"), status || warning || detail));
  for (const {run, kind, text} of items) {
    const key = `${run} ${kind}`;
    if (kind !== "on" && !announced.has(key)) announce(text);
    announced.add(key);
  }
}
