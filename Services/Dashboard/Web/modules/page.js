// What all pages share: the reader, the bus, theme, units, dialogs, and the bar that says how the server is reached.

import {Bus} from "./bus.js";
import {Presses} from "./commands.js";
import {all, byID, keep, kept, leave, logIn, make, setText, show} from "./dom.js";
import {timeOfDay, useZone} from "./format.js";
import {accountOf, userTopic} from "./topics.js";

/**
 * @typedef {import("./format.js").Units} Units
 * @typedef {{ user: string, login: string, viewer: boolean, now: number, version: string, partitions: number,
 *   tiles?: { url: string, attribution: string } }} Reader `login`: its id; `viewer`: the account only watches others;
 *   `partitions`: the brokers that share the accounts
 */

const retries = [1, 2, 5, 10];

/** Fails after some seconds: a weak network may neither answer nor fail. @returns {Promise<never>} */
const silence = () => new Promise((_, reject) => setTimeout(() => reject(new Error("no answer")), 3000));

/**
 * Asks who reads the page, until the server answers. The first request left before the modules came.
 *
 * @returns {Promise<Reader & { sentAt: number, receivedAt: number }>} the times of `performance`, in seconds
 */
async function loadReader() {
  /** @type {Promise<Response> | undefined} */
  let request = /** @type {any} */ (globalThis).pacebusReader;
  // A workout begins and continues without a connection. The server's time is unknown then.
  const known = location.pathname === "/record" && kept("pacebus.reader");
  const asked = () => request ?? fetch("/me", {cache: "no-store"});
  for (let attempt = 0;; attempt++) {
    const sentAt = performance.now() / 1000;
    try {
      const response = await (known ? Promise.race([asked(), silence()]) : asked());
      if (response.ok) return {sentAt, receivedAt: performance.now() / 1000, ...await response.json()};
      if (response.status === 401) {
        logIn();
        await new Promise(() => {});
      }
      setText(byID("bar").firstElementChild, "Connecting…");
    } catch {
      setText(byID("bar").firstElementChild, "No connection. Trying again…");
    }
    request = undefined;
    if (known) return {sentAt: 0, receivedAt: 0, ...JSON.parse(known), now: NaN};
    show(byID("bar"), attempt > 0);
    await new Promise((resume) => setTimeout(resume, retries[Math.min(attempt, retries.length - 1)] * 1000));
  }
}

export const reader = await loadReader();
/** The account that reads. */
export const login = reader.user;
// The login page then knows that a login has ended.
keep("pacebus.account", login);
keep("pacebus.reader", JSON.stringify(reader));
export const isOperator = login === "_operator";
/** Whether it is a person who trains: viewers and operators own nothing. */
export const ownsWorkouts = !isOperator && !reader.viewer;

export const presses = new Presses(login, () => bus);
const partitionOf = reader.partitions > 1 ? (await import("./partitions.js")).partitionOf : () => 0;
/** @param {Partial<import("./bus.js").Bus["options"]>} options @returns {Bus} */
const connect = (options) =>
  new Bus({user: login, onState: (state, reason) => queueMicrotask(() => changed(state, reason)), ...options});
/** The connection to the broker of the reader's topics. */
export const bus = connect({
  // Those of an earlier page come before the bus is made.
  onKept: (request, reply) => presses.received(request, reply),
  route: (topic) => busOf(accountOf(topic)),
});
/** @type {Map<number, Bus>} */
const buses = new Map([[partitionOf(login, reader.partitions), bus]]);

/** @param {number} index @returns the connection to one of the brokers */
function busAt(index) {
  const found = buses.get(index) ?? connect({url: `/mqtt?partition=${index}`});
  buses.set(index, found);
  return found;
}

/** @param {string} user @returns the connection to the broker of someone's topics */
export const busOf = (user) => busAt(partitionOf(user, reader.partitions));

/** The connections to all brokers. */
export const allBuses = () => Array.from({length: reader.partitions}, (_, index) => busAt(index));

document.documentElement.classList.add("ready");
setText(byID("who"), login);
nameStreets(document.getElementById("tile-attribution"), reader.tiles?.attribution);
show(byID("plans-link"), ownsWorkouts);
show(byID("history-link"), !isOperator);
// The modules of the page have run by then.
setTimeout(() => dispatchEvent(new Event("modules")));

// MARK: Units

/** @type {(() => void)[]} */
const onUnits = [];
/**
 * Of a browser that keeps nothing.
 *
 * @type {string | undefined}
 */
let chosenUnits;
let profileUnits = kept(`pacebus.units.${login}`);
let profileZone = kept(`pacebus.zone.${login}`) ?? undefined;
useZone(profileZone);

/** @returns {Units} the reader's choice, else the profile's */
export const units = () => /** @type {Units} */ (kept("pacebus.units") ?? chosenUnits ?? profileUnits ?? "metric");

/** @param {() => void} listener also of the reader's zone */
export const whenUnitsChange = (listener) => onUnits.push(listener);

if (!isOperator) {
  bus.subscribe(userTopic(login, "profile"), {
    onMessage(_, profile) {
      const {units = profileUnits, timeZone = profileZone} = profile ?? {};
      if (units === profileUnits && timeZone === profileZone) return;
      [profileUnits, profileZone] = [units, timeZone];
      useZone(timeZone);
      if (units) keep(`pacebus.units.${login}`, units);
      if (timeZone) keep(`pacebus.zone.${login}`, timeZone);
      for (const listener of onUnits) listener();
    }
  });
}

for (const [name, chosen] of Object.entries({theme: document.documentElement.dataset.theme, units: units()})) {
  for (const input of all(`[data-choice="${name}"] input`).map((e) => /** @type {HTMLInputElement} */ (e))) {
    input.checked = input.value === chosen;
    input.addEventListener("change", () => {
      keep(`pacebus.${name}`, input.value);
      // A page may offer the choice of the menu too.
      for (const other of all(`[data-choice="${name}"] input`).map((e) => /** @type {HTMLInputElement} */ (e)))
        other.checked = other.value === input.value;
      if (name === "theme") return void (document.documentElement.dataset.theme = input.value);
      chosenUnits = input.value;
      for (const listener of onUnits) listener();
    });
  }
}

// MARK: Dialogs and menus

for (const button of all("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog")?.close());
}

// What opened a dialog may be gone when it closes.
for (const dialog of all("dialog")) {
  dialog.addEventListener("close", () => document.activeElement === document.body && leave(dialog));
}

// A menu closes on a press elsewhere and on Escape. What was pressed in it may be gone.
document.addEventListener("click", (event) => {
  const target = /** @type {Node} */ (event.target);
  for (const menu of all(".menu[open]")) {
    if (target.isConnected && !menu.contains(target)) menu.removeAttribute("open");
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of all(".menu[open]")) {
    menu.removeAttribute("open");
    menu.querySelector("summary")?.focus();
  }
});

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

for (const [id, type] of [["log-out", "one"], ["log-out-everywhere", "all"]])
  byID(id).addEventListener("click", async () => (await import("./logout.js")).logOut(/** @type {any} */ (type)));

// MARK: The server

/** The server's clock, in Unix seconds: this browser's may be off. */
export const serverNow = () => bus.serverNow();
bus.clockSample(reader.sentAt, reader.receivedAt, reader.now);

/** @type {(() => void)[]} */
const onConnection = [];

/** @param {() => void} listener */
export const whenConnectionChanges = (listener) => onConnection.push(listener);

/** Whether the page was connected before; a first connection is no event. */
let wasOpen = false;
// A browser may have kept the page of a former release.
let isOld = !import.meta.url.includes(reader.version);

/** @param {import("./bus.js").Bus["state"]} state @param {"connections"} [reason] */
function changed(state, reason) {
  // Of several connections, one that is away counts.
  if (state === "open") state = [...buses.values()].find((each) => each.state !== "open")?.state ?? state;
  // Without a connection the page shows what it has.
  if (state === "closed") settle();
  // Another tab may have renewed it.
  if (state === "login") lookForLogin();
  // The password changed, or the account is gone.
  if (state === "refused") fetch("/logout", {method: "POST"}).finally(logIn);
  if (state === "open" && wasOpen) lookForUpdate();
  wasOpen ||= state === "open";
  updateBar(state, reason);
  for (const listener of onConnection) listener();
}

async function lookForLogin() {
  const isValid = await fetch("/me", {cache: "no-store"}).then(({status}) => status !== 401, () => true);
  if (isValid) {
    for (const each of buses.values())
      if (each.state === "login") each.open();
  } else logIn();
}

/** A new release may have come with the restart that ended the connection. */
async function lookForUpdate() {
  const sentAt = performance.now() / 1000;
  try {
    const response = await fetch("/me", {cache: "no-store"});
    if (response.status === 401) logIn();
    if (!response.ok) return;
    const {now, version} = await response.json();
    bus.clockSample(sentAt, performance.now() / 1000, now);
    isOld = !import.meta.url.includes(version);
    updateBar(bus.state);
  } catch {
    // The next connection looks again.
  }
}

/** @param {import("./bus.js").Bus["state"]} state @param {"connections"} [reason] */
function updateBar(state, reason) {
  let text = "";
  if (state === "closed" || state === "connecting") {
    if (reason) text = "Too many pages are open on this server. This page tries again.";
    else if (wasOpen) text = `Reconnecting, as of ${timeOfDay(bus.heardAt)}`;
    else if (state === "closed") text = "Connecting…";
  } else if (isOld) text = "Pacebus was updated.";
  setText(byID("bar").firstElementChild, text);
  show(byID("reload"), text !== "" && state === "open");
  show(byID("bar"), text !== "");
}
byID("reload").addEventListener("click", () => location.reload());

/**
 * Says at the map where its streets come from, or how to turn them on and whom browsers then ask.
 *
 * @param {HTMLElement | null} line @param {string | undefined} attribution
 */
function nameStreets(line, attribution) {
  if (!line) return;
  if (attribution?.includes("OpenStreetMap"))
    line.replaceChildren(make("a", {href: "https://www.openstreetmap.org/copyright"}, attribution));
  else setText(line, attribution ?? "Streets: TILES=openstreetmap on the server; browsers then ask openstreetmap.org");
  line.classList.toggle("offer", attribution === undefined);
  show(line, true);
}

// MARK: The page appears

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
  requestAnimationFrame(() => requestAnimationFrame(() => byID("main").classList.add("drawn")));
  // The next visit needs no connection to show its page.
  navigator.serviceWorker?.register("/assets/service-worker.js", {scope: "/"}).catch(() => {});
}

// MARK: Virtual runs

// The banner about the reader's virtual runs, on every page; those who own no workouts have none.
if (ownsWorkouts) {
  /** @type {Promise<typeof import("./invitations.js")> | undefined} */
  let banner;
  const load = () => banner ??= import("./invitations.js");
  if (presses.all.some(({topic}) => topic === userTopic(login, "run-request"))) load();
  bus.subscribe(userTopic(login, "runs/+"), {onMessage: (_, view) => void (view && load())});
}
