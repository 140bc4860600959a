// The page of all whom one may see: a card or a row for each, and a map of all.

import {sound} from "./alarm.js";
import {alerts, arrange, cards as cardsOf, noPeople, only, receive, sorted, summary, titleOf} from "./cards.js";
import {all, announce, arrange as put, byID, keep, make, setText, setValue, show} from "./dom.js";
import {format, joined} from "./format.js";
import {history} from "./history.js";
import {bus, busOf, isOperator, isSettled, login, ownsWorkouts, reader, serverNow, settle, units, whenSettled, whenUnitsChange} from "./page.js";
import {Histories, read, stateOf} from "./recent.js";
import {freshness, isEnded, statusWords, view} from "./session.js";
import {accountOf} from "./topics.js";
import {People} from "./watched.js";
import {drawWeek} from "./week.js";

/** @typedef {import("./cards.js").Card} Card */

// An operator has no workout and watches everyone's.
if (isOperator) {
  location.replace("/operator");
  await new Promise(() => {});
}

const root = document.documentElement;
const list = byID("cards");
const rows = byID("rows");
const filter = /** @type {HTMLInputElement} */ (byID("filter"));
setText(byID("empty"), ownsWorkouts ? "No workout is in progress." : "Nothing to see yet.");
if (!ownsWorkouts) {
  for (const element of all("[data-own]")) element.remove();
}
const connect = /** @type {HTMLDetailsElement | null} */ (document.getElementById("connect"));
for (const element of all("[data-login]")) setText(element, login);

/**
 * Whom the account sees; nothing until the broker says it.
 *
 * @type {string[] | undefined}
 */
let people;
let known = noPeople();
/** @type {string[]} */
let order = [];
/** @type {Record<string, import("./cards.js").Trouble> | undefined} */
let troubles;

/** What the start of one's own workout adds, in start.js: most who watch others have none. */
export const own = {
  drawn: () => {}
};
/** The newest of everyone. */
export const everyone = () => known;

// MARK: The bus

/** Seconds: the first messages bring everyone. */
const settling = 3;
/** Seconds: longer than the time between two messages of a live connection. */
const quiet = 12;
/** Milliseconds for which the page waits for histories: a card of them moves what is below. */
const historyWait = 1000;
/** Workouts of one request: mostly more than a week has. */
const pageSize = 20;
/** Milliseconds. A record that was not yet there when the page came, and a deletion, are in no topic that viewers read. */
const refreshInterval = 300_000;

const watched = new People(
  {subscribe: (topics, ...rest) => busOf(accountOf([topics].flat()[0])).subscribe(topics, ...rest)}, take, appear);
const histories = new Histories((user) => read(history(user, pageSize), user, serverNow()), takeNewest);

/** @param {string[]} users */
function see(users) {
  const next = [...new Set([...users, ...(ownsWorkouts ? [login] : [])])].sort();
  if (next.join() === people?.join()) return;
  people = next;
  known = only(known, people);
  histories.see(people);
  watched.watch(people);
  drawRecent();
  drawSoon();
}

/** @param {string} name @param {{ user: string, session?: string, payload: any }} event */
function take(name, event) {
  const {user, session = "", payload} = event;
  const card = known.sessions[session];
  const before = name === "current" ? known.currents[user] : card?.shown.state;
  const isOver = name === "state" && ["completed", "deleted"].includes(payload.status);
  // The broker retains deleted ones for months.
  if (card || payload.status !== "deleted") known = receive(known, name, event, serverNow());
  const hasChanged = name === "workout" || (isOver && isSettled() && payload.status !== before?.status) ||
    // One may have begun and ended without a connection.
    (name === "current" && !payload.session && before && payload.revision > before.revision);
  if (hasChanged) histories.readAgain(user);
  // Figures wait for the next second.
  if (name !== "metrics") drawSoon();
}

/**
 * Today's last workout has a card, whoever still has its topics.
 *
 * @param {import("./recent.js").Workout | undefined} workout
 */
function takeNewest(workout) {
  if (workout) {
    const {user, session} = workout;
    if (!known.sessions[session]?.shown.state)
      known = receive(known, "state", {user, session, payload: stateOf(workout)}, serverNow());
    known = receive(known, "workout", {user, session, payload: workout}, serverNow());
  }
  drawRecent();
  drawSoon();
  appear();
}

/** Shows the page once everyone's newest is there. */
function appear() {
  if (!people || !watched.isReady || isSettled()) return;
  if (histories.all) settle();
  else setTimeout(settle, historyWait);
}

setInterval(() => {
  if (document.hidden) return;
  if (!ownsWorkouts) people?.forEach((user) => histories.readAgain(user));
  // A week may have begun.
  drawRecent();
}, refreshInterval);

/** Whether a silence is the person's, not this connection's. */
const isHearing = () => bus.openFor > settling && serverNow() - bus.heardAt < quiet;

const drawRecent = () => drawWeek(histories.all, people ?? []);

let isDrawing = false;

/** Many messages come at once. */
function drawSoon() {
  if (isDrawing || !isSettled()) return;
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
  if (connect) connect.open = histories.all?.length === 0;
  draw();
});
setInterval(() => !document.hidden && draw(), 1000);

// MARK: Cards and rows

function draw() {
  own.drawn();
  const now = serverNow();
  const shown = cardsOf(known, now);
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
  const idle = (people ?? []).filter((user) => !order.includes(user) && user !== login);
  setText(byID("idle"), shown.length > 0 && idle.length > 0 ? `No workout today: ${idle.join(", ")}` : "");
  show(byID("empty"), shown.length === 0);
  show(connect, shown.length === 0);
  // Who sees several has them from the first card on: a second one moves nothing.
  const hasTools = shown.length > ((people ?? []).length > 2 ? 0 : 1);
  show(byID("card-tools"), hasTools);
  byID("summary").classList.toggle("room-kept", hasTools);
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
    const {la, lo} = shown.metrics ?? {};
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
  try {
    const {PeopleMap} = await import("./people-map.js");
    const made = new PeopleMap(byID("map-box"), reader.tiles?.url);
    map = made;
    byID("recenter").addEventListener("click", () => made.recenter());
    draw();
  } catch {
    // Without a connection the next drawing tries again.
    isLoading = false;
  }
}

// MARK: Alerts

/** @param {Card[]} cards @param {number} now */
function alert(cards, now) {
  if (!isHearing()) return;
  const {troubles: next, fresh} = alerts(troubles, cards, now);
  troubles = next;
  if (fresh.length === 0) return;
  announce(fresh.map((user) => `${user}: ${next[user] === "silent" ? "no signal" : "low battery"}`).join(", "));
  sound(fresh.map((user) => next[user]));
}

// One's own last workouts, canceled ones too; the history of others is asked for.
if (ownsWorkouts) {
  see([]);
  bus.subscribe(`pacebus/v1/+/${login}/+/state`,
    {onMessage: (topic, payload) => payload && take("state", {user: login, session: topic.split("/")[4], payload})});
}
// The broker's plugin says whose topics the account may read.
bus.subscribe(`$SYS/pacebus/accounts/${login}`,
  {onMessage: (_, account) => see(account?.users ?? []), onReady: () => people ?? see([])});
