// What all pages share: theme, units, dialogs, the bar that says how the server is reached, and its clock.

import {all, byID, keep, kept, leave, logIn, setText, show} from "./dom.js";
import {timeOfDay} from "./format.js";
import {follow, serverClock} from "./stream.js";

/** @typedef {import("./format.js").Units} Units */

document.documentElement.classList.add("ready");
// The modules of the page have run by then.
setTimeout(() => dispatchEvent(new Event("modules")));

/** @type {(() => void)[]} */
const onUnits = [];
const main = byID("main");

/**
 * Of a browser that keeps nothing.
 *
 * @type {string | undefined}
 */
let chosenUnits;

/** @returns {Units} the reader's choice, else the profile's */
export const units = () =>
  /** @type {Units} */ (kept("pacebus.units") ?? chosenUnits ?? main.dataset.units ?? "metric");

/** @param {() => void} listener */
export const whenUnitsChange = (listener) => onUnits.push(listener);

for (const [name, chosen] of Object.entries({theme: document.documentElement.dataset.theme, units: units()})) {
  for (const input of all(`[data-choice="${name}"] input`).map((e) => /** @type {HTMLInputElement} */ (e))) {
    input.checked = input.value === chosen;
    input.addEventListener("change", () => {
      keep(`pacebus.${name}`, input.value);
      if (name === "theme") return void (document.documentElement.dataset.theme = input.value);
      chosenUnits = input.value;
      for (const listener of onUnits) listener();
    });
  }
}

for (const button of all("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog")?.close());
}

// What opened a dialog may be gone when it closes.
for (const dialog of all("dialog")) {
  dialog.addEventListener("close", () => document.activeElement === document.body && leave(dialog));
}

// A menu closes on a press elsewhere and on Escape.
document.addEventListener("click", (event) => {
  for (const menu of all(".menu[open]")) {
    if (!menu.contains(/** @type {Node} */ (event.target))) menu.removeAttribute("open");
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of all(".menu[open]")) {
    menu.removeAttribute("open");
    menu.querySelector("summary")?.focus();
  }
});

let asOf = 0;
/** @type {{ connected: boolean, since?: number }} */
let broker = {connected: true};
/** @type {import("./stream.js").Link | undefined} */
let link;
let isOld = false;

/** The server's clock, in Unix seconds: this browser's may be off. */
export const serverNow = () => serverClock.now;

function updateBar() {
  const bar = byID("bar");
  let text = "";
  let offersReload = false;
  if (link?.end === "gone") text = "This page is no longer available.";
  else if (link?.phase === "waiting" || (link?.phase === "connecting" && link.attempt > 0)) {
    text = link.reason ?? (asOf ? `Reconnecting, as of ${timeOfDay(asOf)}` : "Connecting…");
  } else if (!broker.connected) {
    const since = broker.since ? ` since ${timeOfDay(broker.since)}` : "";
    text = `No connection to the broker${since}; what you see may be old`;
  } else if (isOld) {
    text = "Pacebus was updated.";
    offersReload = true;
  }
  setText(bar.firstElementChild, text);
  show(byID("reload"), offersReload);
  show(bar, text !== "");
}
byID("reload").addEventListener("click", () => location.reload());

/** @type {(() => void)[]} */
const onSettled = [];
let hasSettled = false;

/** @param {() => void} listener draws the page that appears */
export const whenSettled = (listener) => onSettled.push(listener);

/** Whether the page has appeared. What comes later must move nothing. */
export const isSettled = () => hasSettled;

/** Shows what the style sheet hides until all its parts are drawn, so that none moves another. */
export function settle() {
  if (hasSettled) return;
  hasSettled = true;
  for (const listener of onSettled) listener();
  // A frame later: what becomes visible in the frame that moves it counts as moved.
  requestAnimationFrame(() => requestAnimationFrame(() => main.classList.add("drawn")));
}

/**
 * Follows the page's stream. Returns what moves on to another one. The page appears with the event `ready`, which follows all
 * that the broker retains, unless it takes that event itself.
 *
 * @param {string} url @param {string[]} names @param {(name: string, data: any) => void} receive
 */
export function followPage(url, names, receive) {
  return follow(url, [...new Set([...names, ...runNames, "beat", "bus", "ready", "end"])], {
    changed(next) {
      link = next;
      // Without a stream the page shows what the server has rendered.
      if (next.phase === "waiting" || next.phase === "over") settle();
      if (next.end === "login") logIn();
      updateBar();
    },
    receive(name, data) {
      if (name === "beat") {
        serverClock.receive(data.now);
        isOld = data.version !== undefined && !import.meta.url.includes(data.version);
      }
      asOf = serverNow();
      if (name === "bus") broker = data;
      if (name === "beat" || name === "bus") updateBar();
      if (runNames.includes(name)) receiveRuns(name, data);
      if (names.includes(name)) receive(name, data);
      else if (name === "ready") settle();
    },
  });
}

const {login} = main.dataset;
/** Events about the reader's virtual runs, on every page. */
const runNames = ["view", "current", "reply"];
/** The banner of virtual runs, once there is one; the operator has none. */
/** @type {Promise<typeof import("./invitations.js")> | undefined} */
let runs;
/** The newest `current` of the reader, for the banner that is loaded later. */
/** @type {any} */
let ownCurrent;
const updateBanner = () => runs?.then(({drawBanner}) => drawBanner(serverNow(), {units: units()}));

function loadRuns() {
  if (runs) return runs;
  runs = import("./invitations.js");
  setInterval(() => !document.hidden && updateBanner(), 1000);
  runs.then(({whenRequestsChange}) => whenRequestsChange(updateBanner), () => {});
  return runs;
}

/** @param {string} name @param {any} data */
function receiveRuns(name, data) {
  if (login === "_operator") return;
  if (name !== "current") loadRuns().then(({receive}) => receive(name, data));
  else if ((data.user ?? login) === login) ownCurrent = data;
  if (ownCurrent) runs?.then(({receive}) => receive("current", ownCurrent));
  updateBanner();
}
if (kept(`pacebus.presses.${login}.runs`)?.includes("id")) loadRuns();
whenUnitsChange(updateBanner);

/** @param {string} id */
export const dialog = (id) => /** @type {HTMLDialogElement} */ (byID(id));

/**
 * Closes a dialog, so that its opener has the focus when the press switches it off, and opens it again if the press is not taken.
 *
 * @param {string} id @param {() => boolean | undefined} press
 */
export function closeFor(id, press) {
  dialog(id).close();
  if (!press()) dialog(id).showModal();
}
