// The page of all whom one may see: a card or a row for each, and a map of all.

import {alerts, arrange, cards as cardsOf, noPeople, only, receive, sorted, summary, titleOf} from "./cards.js";
import {all, announce, arrange as put, byID, keep, kept, make, setList, setNumber, setText, setValue, show, value} from "./dom.js";
import {date, format, joined} from "./format.js";
import {followPage, isSettled, serverNow, units, whenSettled, whenUnitsChange} from "./page.js";
import {freshness, isEnded, statusWords, view} from "./session.js";
import {beep, mayPlay} from "./sound.js";

/** @typedef {import("./cards.js").Card} Card */

const main = byID("main");
const login = main.dataset.login ?? "";
let people = (main.dataset.people ?? "").split(" ").filter(Boolean);
const root = document.documentElement;
const list = byID("cards");
const rows = byID("rows");
const filter = /** @type {HTMLInputElement} */ (byID("filter"));

let known = noPeople();
/** @type {string[]} */
let order = [];
/** @type {Record<string, import("./cards.js").Trouble> | undefined} */
let troubles;

/** What the start of one's own workout adds, in start.js: most who watch others have none. */
export const own = {
  drawn: () => {},
  replied: (/** @type {any} */ _) => {}
};
/** The newest of everyone. */
export const everyone = () => known;

// MARK: The stream

/** Seconds: a stream's first events bring everyone. */
const settling = 3;
/** Longer than the time between two beats. */
const quiet = 12;
let begunAt = 0;
let heardAt = 0;
let isBrokerConnected = true;

const names =
  ["seen", "state", "metrics", "route", "current", "workout", "services", "reply", "profile", "bus", "beat"];
followPage("/events", names, (name, data) => {
  heardAt = performance.now() / 1000;
  if (name === "reply") return own.replied(data);
  if (name === "seen") see(data);
  if (name === "bus") {
    isBrokerConnected = data.connected;
    begunAt = heardAt;
  }
  if (name === "profile" && data.user === login) main.dataset.units = data.payload.units ?? main.dataset.units;
  if (data.user) known = receive(known, name, data, serverNow());
  if (name === "workout" || (name === "state" && data.payload.status === "deleted")) askRecent(data.payload.revision);
  drawSoon();
});

/**
 * Follows a change of whom the account may see.
 *
 * @param {{ users: string[], week: string }} seen
 */
function see({users, week}) {
  if (users.join(" ") === people.join(" ")) return;
  people = users;
  known = only(known, users);
  areServers = false;
  setText(document.getElementById("recent-title"), week);
  askSoon(0);
}

/** Whether a silence is the person's, not this connection's. */
function isHearing() {
  const now = performance.now() / 1000;
  return isBrokerConnected && begunAt > 0 && now - begunAt > settling && now - heardAt < quiet;
}

let isDrawing = false;

/** Many events come at once. */
function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  setTimeout(() => {
    isDrawing = false;
    draw();
  }, 50);
}

whenUnitsChange(draw);
whenUnitsChange(drawRecent);
whenSettled(() => {
  order = [];
  draw();
});
setInterval(() => !document.hidden && draw(), 1000);

// MARK: Cards and rows

/** Whether the cards are still the server's own: the stream has not begun. */
let areServers = true;

function draw() {
  own.drawn();
  const now = serverNow();
  const shown = cardsOf(known, now);
  // Until the stream has begun, the server's own cards stay.
  areServers &&= Object.keys(known.sessions).length === 0;
  if (areServers) return;
  order = isSettled() ? arrange(order, shown, now) : sorted(shown, now);
  const wanted = filter.value.trim().toLowerCase();
  const inOrder = order.map((user) => /** @type {Card} */ (shown.find((card) => card.user === user)));
  const isTable = root.dataset.view === "table";
  const [box, element] = isTable ? [rows, rowOf] : [list, cardOf];
  const elements = inOrder.map(element);
  put(box, elements);
  inOrder.forEach((card, index) => {
    drawElement(elements[index], card, texts(card, now));
    show(elements[index], card.user.includes(wanted));
  });
  setText(byID("summary"), shown.length > 1 ? summary(shown, now) : "");
  byID("sort").classList.toggle("due", sorted(shown, now).join() !== order.join());
  const idle = people.filter((user) => !order.includes(user) && user !== login);
  setText(byID("idle"), shown.length > 0 && idle.length > 0 ? `No workout today: ${idle.join(", ")}` : "");
  show(byID("empty"), shown.length === 0);
  show(document.getElementById("connect"), shown.length === 0);
  // Who sees several has them from the first card on: a second one moves nothing.
  show(byID("card-tools"), shown.length > (people.length > 2 ? 0 : 1));
  drawMap(inOrder.filter(({user}) => user.includes(wanted)), now);
  alert(shown, now);
}

/** @param {Card} card @param {number} now */
function texts({shown}, now) {
  const {state, workout} = shown;
  const next = view(shown, now, units());
  const fresh = freshness(shown, now);
  const options = {units: units(), activity: next.activity};
  const rate = [...next.main, ...next.more].find(({key}) => key === "heartRate")?.text;
  const isOver = isEnded(state);
  return {
    activity: next.activity ?? "",
    status: next.status ?? "",
    signal: fresh.signal,
    statusText: fresh.text || statusWords[next.status ?? ""],
    name: titleOf(next.activity ?? "", next.name ?? ""),
    duration: joined(workout ? format("duration", workout.activeDuration) : next.main[0].text),
    distance: joined(workout ? format("distance", workout.distance, options) : next.main[1].text),
    heartRate: !rate || rate.isUnknown || isOver ? "-- bpm" : joined(rate),
    battery: !isOver && next.battery?.isLow ? `Battery ${next.battery.text}` : "",
  };
}

/** @typedef {ReturnType<typeof texts>} Texts */

/**
 * Cards and rows by user.
 *
 * @type {Record<string, Map<string, HTMLElement>>}
 */
const made = {
  card: new Map(),
  row: new Map()
};

/** @param {string} kind @param {string} user @param {() => HTMLElement} build */
function element(kind, user, build) {
  const found = made[kind].get(user) ?? build();
  made[kind].set(user, found);
  return found;
}

/** @param {string} key @param {string} tag @param {string} className */
const field = (key, tag = "span", className = "value") => make(tag, {className, data: {card: key}});

const chips = () =>
  make("span", {className: "chips"}, field("battery", "span", "chip low"), field("status", "span", "chip"));

/** @param {Card} card */
const cardOf = ({user}) => element("card", user,
  () => make("li", {className: "card", data: {user}},
    make("a", {}, make("span", {className: "card-head"}, make("strong", {className: "card-user"}, user), chips()),
      field("name", "span", "card-name"),
      make("span", {className: "card-values"}, field("duration"), field("distance"), field("heartRate")))));

/** @param {Card} card */
const rowOf = ({user}) => element("row", user, () => {
  const head = make("th", {}, make("a", {}, user), chips(), field("name", "small", "row-name"));
  head.setAttribute("scope", "row");
  return make("tr", {data: {user}}, head, field("duration", "td"), field("distance", "td"), field("heartRate", "td"));
});

/** @param {HTMLElement} element @param {Card} card @param {Texts} next */
function drawElement(element, {user, session}, next) {
  Object.assign(element.dataset, {activity: next.activity, status: next.status});
  element.classList.toggle("silent", next.signal === "silent");
  const link = /** @type {HTMLAnchorElement} */ (element.querySelector("a"));
  const path = `/live/${user}/${session}`;
  if (link.getAttribute("href") !== path) link.href = path;
  for (const part of all("[data-card]", element)) {
    const key = /** @type {keyof Texts} */ (part.dataset.card);
    // A card has no labels.
    setValue(part, key === "status" ? next.statusText : next[key], key === "heartRate" ? "heart rate" : key);
    if (key === "battery") show(part, next.battery !== "");
    if (key !== "status") continue;
    part.classList.toggle("signal", next.signal !== "none");
    part.dataset.signal = next.signal;
  }
}

// MARK: Choices of this browser

filter.addEventListener("input", draw);
byID("sort").addEventListener("click", () => {
  order = sorted(cardsOf(known, serverNow()), serverNow());
  draw();
});

for (const input of all("[name='view']").map((e) => /** @type {HTMLInputElement} */ (e))) {
  input.checked = input.value === root.dataset.view;
  input.addEventListener("change", () => {
    choose("view", input.value);
    draw();
  });
}

byID("map-toggle").addEventListener("click", () => {
  choose("map", root.dataset.map === "on" ? "off" : "on");
  draw();
});

/** @param {"view" | "map"} name @param {string} value */
function choose(name, value) {
  root.dataset[name] = value;
  keep(`pacebus.${name}`, value);
}

// MARK: The map

/** @type {import("./people-map.js").PeopleMap | undefined} */
let map;
let isLoading = false;

/** @param {Card[]} cards @param {number} now */
function drawMap(cards, now) {
  const isOn = root.dataset.map === "on" && cards.length > 0;
  byID("map-toggle").setAttribute("aria-pressed", String(root.dataset.map === "on"));
  if (!isOn && !map) return;
  const placed = cards.flatMap(({user, session, shown}) => {
    const {la, lo} = shown.route ?? {};
    if (la === undefined || lo === undefined || shown.state.status === "completed") return [];
    // Moves of less than a metre or so are noise.
    const place = /** @type {[number, number]} */ ([Math.round(la * 1e5) / 1e5, Math.round(lo * 1e5) / 1e5]);
    return [{
      user,
      href: `/live/${user}/${session}`,
      activity: shown.state.activity,
      isSilent: freshness(shown, now).signal === "silent",
      place
    }];
  });
  show(byID("map-empty"), placed.length === 0);
  if (map) map.show(placed);
  else if (placed.length > 0 && !isLoading) loadMap();
}

/** The map's code and styles are loaded when they are wanted. */
async function loadMap() {
  isLoading = true;
  const styles = make("link", {rel: "stylesheet", href: new URL("../leaflet/leaflet.css", import.meta.url).href});
  // The page's own rules come after Leaflet's.
  const sheet = document.querySelector("link[rel='stylesheet']");
  const isStyled = new Promise((resolve) => Object.assign(styles, {onload: resolve, onerror: resolve}));
  sheet?.before(styles);
  try {
    const [{PeopleMap}] = await Promise.all([import("./people-map.js"), isStyled]);
    const made = new PeopleMap(byID("map-box"), main.dataset.tiles);
    map = made;
    byID("recenter").addEventListener("click", () => made.recenter());
    draw();
  } catch {
    // Without a connection the next drawing tries again.
    isLoading = false;
  }
}

// MARK: Alerts

const boxes = all("[name='alert']").map((e) => /** @type {HTMLInputElement} */ (e));
/** @type {AudioContext | undefined} */
let audio;

for (const box of boxes) {
  box.checked = (kept("pacebus.alerts") ?? "").split(" ").includes(box.value);
  box.addEventListener("change", () => {
    keep("pacebus.alerts", boxes.filter(({checked}) => checked).map(({value}) => value).join(" "));
    prepareSound();
  });
}
for (const type of ["pointerdown", "keydown"]) addEventListener(type, prepareSound);
prepareSound();

/** Browsers allow sound after a press on the page only. */
function prepareSound() {
  const isWanted = boxes.some(({checked}) => checked);
  if (isWanted && mayPlay()) {
    audio ??= new AudioContext();
    audio.resume().then(drawSound, () => {});
  }
  drawSound();
}

function drawSound() {
  const isWanted = boxes.some(({checked}) => checked);
  const isAllowed = audio?.state === "running";
  setText(byID("alerts-text"), !isWanted ? "Alerts" : isAllowed ? "Alerts on" : "Press for alerts");
  byID("alerts-summary").classList.toggle("on", isWanted && isAllowed);
}

/** @param {Card[]} cards @param {number} now */
function alert(cards, now) {
  if (!isHearing()) return;
  const {troubles: next, fresh} = alerts(troubles, cards, now);
  troubles = next;
  if (fresh.length === 0) return;
  announce(fresh.map((user) => `${user}: ${next[user] === "silent" ? "no signal" : "low battery"}`).join(", "));
  const isWanted = fresh.some((user) => boxes.some(({value, checked}) => checked && value === next[user]));
  if (!isWanted || audio?.state !== "running") return;
  beep(audio);
}

// MARK: This week and the latest workouts

const recentBox = document.getElementById("recent");
/** @type {any} as text in the page until something changes */
let recent;
/** The newest revision that the shown totals may lack. */
let asked = Number(recentBox?.dataset.revision ?? 0);
let isAsking = false;

/** @param {number} revision of a record that came, or of a deletion */
function askRecent(revision) {
  if (!recentBox || revision <= asked) return;
  asked = revision;
  // Several come together, and the server's index takes them first.
  askSoon(500);
}

/** @param {number} delay milliseconds */
function askSoon(delay) {
  if (!isAsking) setTimeout(loadRecent, delay);
  isAsking = true;
}

async function loadRecent() {
  isAsking = false;
  try {
    const response = await fetch("/recent", {cache: "no-store"});
    if (!response.ok) return;
    recent = await response.json();
    drawRecent();
  } catch {
    askSoon(5000);
  }
}

function drawRecent() {
  if (!recentBox) return;
  if (!recent) return askSoon(0);
  const options = {units: units()};
  for (const cell of all(".cell", byID("week"))) {
    const key = /** @type {"count" | "duration" | "distance"} */ (cell.dataset.key);
    setNumber(/** @type {HTMLElement} */ (cell.querySelector("dd")), format(key, recent[key], options));
  }
  show(byID("latest-box"), recent.latest.length > 0);
  setList(byID("latest"), recent.latest.map((/** @type {any} */ workout) => ({...workout, ...options})), latestRow);
}

/** @param {any} workout */
function latestRow({user, session, totals, units: shown}) {
  const options = {units: shown, activity: totals.activity};
  const name = titleOf(totals.activity, totals.name);
  const head = make("th", {},
    make("a", {href: `/live/${user}/${session.toLowerCase()}`}, people.length > 1 ? `${user} · ${name}` : name), " ",
    make("small", {}, date(totals.startedAt ?? totals.endedAt ?? 0, totals.timeZone)));
  head.setAttribute("scope", "row");
  return make("tr", {data: {activity: totals.activity}}, head,
    make("td", {}, ...value(joined(format("duration", totals.activeDuration)))),
    make("td", {}, ...value(joined(format("distance", totals.distance, options)))));
}

if (units() !== main.dataset.units) drawRecent();
