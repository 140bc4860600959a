// What all pages share: theme, units, dialogs, the bar that says how the server is reached, and its clock.

import { all, byID, setText, show } from "./dom.js";
import { timeOfDay } from "./format.js";
import { drawBanner, receive as receiveRuns, whenRequestsChange } from "./invitations.js";
import { follow } from "./stream.js";

/** @typedef {import("./format.js").Units} Units */

document.documentElement.classList.add("ready");

/** @type {(() => void)[]} */
const onUnits = [];
const main = byID("main");

/** @returns {Units} the reader's choice, else the profile's */
export const units = () => /** @type {Units} */ (localStorage.getItem("pacebus.units") ?? main.dataset.units ?? "metric");

/** @param {() => void} listener */
export const whenUnitsChange = (listener) => onUnits.push(listener);

for (const [name, chosen] of Object.entries({ theme: document.documentElement.dataset.theme, units: units() })) {
  for (const input of all(`[data-choice="${name}"] input`).map((e) => /** @type {HTMLInputElement} */ (e))) {
    input.checked = input.value === chosen;
    input.addEventListener("change", () => {
      localStorage.setItem(`pacebus.${name}`, input.value);
      if (name === "theme") document.documentElement.dataset.theme = input.value;
      else for (const listener of onUnits) listener();
    });
  }
}

for (const button of all("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog")?.close());
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

let clockOffset = 0;
let asOf = 0;
/** @type {{ connected: boolean, since?: number }} */
let broker = { connected: true };
/** @type {import("./stream.js").Link | undefined} */
let link;
let isOld = false;

/** The server's clock, in Unix seconds: this browser's may be off. */
export const serverNow = () => Date.now() / 1000 + clockOffset;

function updateBar() {
  const bar = byID("bar");
  let text = "";
  if (link?.end === "gone") text = "This page is no longer available.";
  else if (link?.phase === "waiting" || (link?.phase === "connecting" && link.attempt > 0)) {
    text = asOf ? `Reconnecting, as of ${timeOfDay(asOf)}` : "Connecting…";
  } else if (!broker.connected) {
    const since = broker.since ? ` since ${timeOfDay(broker.since)}` : "";
    text = `No connection to the broker${since}; what you see may be old`;
  } else if (isOld) text = "Pacebus was updated. Reload this page.";
  setText(bar, text);
  show(bar, text !== "");
}

/**
 * Follows the page's stream.
 *
 * @param {string} url @param {string[]} names @param {(name: string, data: any) => void} receive
 */
export function followPage(url, names, receive) {
  follow(url, [...new Set([...names, ...runNames, "beat", "bus", "end"])], {
    changed(next) {
      link = next;
      if (next.end === "login") location.assign(`/login?to=${encodeURIComponent(location.pathname)}`);
      updateBar();
    },
    receive(name, data) {
      if (name === "beat") {
        clockOffset = data.now - Date.now() / 1000;
        isOld = data.version !== undefined && !import.meta.url.includes(data.version);
      }
      asOf = serverNow();
      if (name === "bus") broker = data;
      if (name === "beat" || name === "bus") updateBar();
      if (runNames.includes(name)) {
        receiveRuns(name, data);
        updateBanner();
      }
      if (names.includes(name)) receive(name, data);
    },
  });
}

/** Events about the reader's virtual runs, on every page. */
const runNames = ["view", "current", "reply"];
const updateBanner = () => drawBanner(serverNow(), { units: units() });
whenRequestsChange(updateBanner);
whenUnitsChange(updateBanner);
setInterval(() => !document.hidden && updateBanner(), 1000);

/** @param {string} id */
export const dialog = (id) => /** @type {HTMLDialogElement} */ (byID(id));
