// The reader's virtual runs on every page: the banner, and the requests that this browser sent.

import {Presses, pendingText} from "./commands.js";
import {announce, byID, logIn, make, setList, setText, show} from "./dom.js";
import {invitations} from "./run-status.js";
import {isOlder} from "./stream.js";

/** @typedef {import("./run-status.js").Choice} Choice */

const main = byID("main");
const {login = "", run: shown} = main.dataset;
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
/** @type {(() => void)[]} */
const onChange = [];

/** Requests about virtual runs; the session of a press is its run. */
export const requests = new Presses(`${login}.runs`, (press, {kind}) => {
  if (kind === "login") logIn();
  // A workout's page stays.
  const opens = ["create", "accept", "confirm"].includes(press.type) && press.session !== shown &&
    !location.pathname.startsWith("/live/");
  if (kind === "done" && opens) location.assign(`/virtual-runs/${press.session}`);
  changed();
}, changed);

function changed() {
  for (const listener of onChange) listener();
}

/** @param {() => void} listener */
export const whenRequestsChange = (listener) => onChange.push(listener);

/**
 * Whether the request is taken, see `press`.
 *
 * @param {string} run @param {string} type @param {Record<string, unknown>} [fields]
 */
export function request(run, type, fields = type === "accept" ? {sharing: {}} : {}) {
  return requests.press(type, run, "/virtual-runs/requests", {run, ...fields});
}

/** @param {string} name @param {any} data an event of any page's stream */
export function receive(name, data) {
  const payload = data.payload ?? data;
  if (name === "reply") requests.replied(data);
  if (name === "current" && (data.user ?? login) === login) current = payload;
  if (name !== "view") return;
  const run = payload.run.toLowerCase();
  if (!isOlder(views.get(run), payload)) views.set(run, payload);
}

/**
 * The line about a request that has no answer yet, or was refused.
 *
 * @param {string} run @returns {{ text: string, isRefused: boolean, isPending: boolean }}
 */
export function requestLine(run) {
  const pending = requests.pending(run);
  const refused = requests.refused(run);
  return {
    text: pending ? pendingText(pending, Date.now()) : refused?.refusal ?? "",
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

/** @param {number} now the server's clock @param {import("./format.js").Options} options */
export function drawBanner(now, options) {
  const section = byID("invitations");
  const list = /** @type {HTMLElement} */ (section.firstElementChild);
  const items = invitations([...views.values()], now, options).filter(({run}) => run !== shown).map((item) => {
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
