// The page of a session: takes its topics, draws the view once a second, sends presses.

import {all, announce, byID, cover, drawLine, enable, hider, icon, keep, kept, make, setList, setNumber, setText, setValue, show, value} from "./dom.js";
import {pendingText} from "./commands.js";
import {format, joined, when} from "./format.js";
import {findWorkout} from "./history.js";
import {busOf, closeFor, dialog, isSettled, login, ownsWorkouts, presses, reader, serverNow, settle, units, whenConnectionChanges, whenSettled, whenUnitsChange} from "./page.js";
import {showKilometres} from "./kilometres.js";
import {addToCharts, drawCharts, noteMissed} from "./live-charts.js";
import {drawPlan, startPlan} from "./live-plan.js";
import {drawingAfter, drawingAt, noDrawing} from "./drawing.js";
import {notices} from "./notices.js";
import {lock} from "./screen.js";
import {onlineServices, receivePresence} from "./services.js";
import {isEnded, isUnfinished, moment, noSession, receive, view} from "./session.js";
import {read, speak, startSpeech} from "./speech.js";
import {presences, sessionTopic} from "./topics.js";

/** @typedef {ReturnType<typeof look>} View */

const main = byID("main");
const isRecord = location.pathname === "/record";
/** @type {{ session?: string, recorder?: any }} what this phone records, once it has started */
const {session: recorded, recorder} = isRecord ? await (await import("./recorder.js")).begin() : {};
const [user = "", id = ""] = recorded ? [login, recorded] : location.pathname.split("/").slice(2);
const session = id.toLowerCase();
const isOwner = user === login && ownsWorkouts;
const isWide = matchMedia("(min-width: 900px)").matches;
const command = sessionTopic(user, session, "command");

main.classList.toggle("owned", isOwner);
if (!isOwner) {
  for (const element of all("[data-own]")) element.remove();
  setText(byID("whose"), `${user} · `);
}

/** What the broker does not retain; of this tab, over a reload. */
/** The connection to the broker of the session's topics. */
const bus = busOf(user);
const key = `pacebus.live.${session}`;
const former = JSON.parse(kept(key, "sessionStorage") ?? "{}");
/** What the server has published. */
let published = {...noSession(), ...former};
/** @returns what the page shows: with a recorder, also what the server does not have yet */
const withRecorder = () => recorder?.over(published, recorder.now()) ?? published;
let shown = withRecorder();
startSpeech(false);
/** @type {View | undefined} */
let drawn;
/** @type {import("./map.js").RouteMap | "loading" | undefined} */
let map;

/** @param {string} type @param {Record<string, unknown>} [fields] */
const press = (type, fields) => sender.press(command, type, fields);
/** Takes the presses of this page. */
const sender = recorder ?? presses;
sender.whenChanged(draw);

/** Names of topics, which are those of `receive`. */
const names = ["state", "metrics", "route", "weather", "announcements", "workout"];
bus.subscribe(names.map((name) => sessionTopic(user, session, name)), {
  onMessage: (topic, message) => take(/** @type {string} */ (topic.split("/").at(-1)), message),
  onReady() {
    hasAll = true;
    lostAt = undefined;
    noteMissed();
    if (shown.state) draw();
    else findPast();
  },
});
/** @type {import("./services.js").Services} */
let processes = {};
bus.subscribe(presences, {
  onMessage(topic, presence) {
    processes = receivePresence(processes, topic, presence, serverNow());
    drawServices();
  },
});
// A process that ended without a word is offline a minute later.
setInterval(drawServices, 10_000);

function drawServices() {
  const services = onlineServices(processes, serverNow());
  if (JSON.stringify(services) !== JSON.stringify(shown.services)) take("services", services);
}

/** @param {string} name @param {any} message */
function take(name, message) {
  if (message === undefined) return;
  if (name === "announcements") {
    read(message, shown.state?.activity);
    if (message.kind === "split") byID("distance").classList.add("reached");
  }
  const before = published;
  published = receive(published, name, message, serverNow());
  if (published === before) return;
  shown = withRecorder();
  if (name === "announcements") keepShown();
  if (name === "metrics") addToCharts(shown, user, session);
  if (name === "state" && message.run && isOwner) startSpeech(true);
  drawSoon(name);
}

/** The totals of a workout whose topics the broker has no more, if it was found. */
/** @type {any} */
let past;

async function findPast() {
  if (past !== undefined) return;
  past = await findWorkout(user, session).then((found) => found ?? null, () => null);
  draw();
}
whenUnitsChange(draw);
whenSettled(draw);
whenConnectionChanges(() => {
  // The athlete's own clock runs on, with or without a connection.
  if (isOwner || !hasAll || bus.state === "open") return;
  lostAt ??= bus.heardAt;
  draw();
});
document.addEventListener("visibilitychange", () => !document.hidden && draw());

// MARK: Drawing

/** The timer of the next drawing. */
let timer = 0;
let drawing = noDrawing;
/** Whether the stream has brought all that the broker retains. */
let hasAll = false;
/**
 * The time of what is shown to others than the athlete, while the page has no connection. Unix seconds of the server.
 *
 * @type {number | undefined}
 */
let lostAt;
/** The time of what is shown. */
const shownNow = () => lostAt ?? recorder?.now() ?? serverNow();

/** @param {string} name of an event that changed what is shown */
function drawSoon(name) {
  if (!isSettled()) return draw();
  const now = performance.now();
  setDrawing(drawingAfter(drawing, name, now), now);
}

/** @param {typeof noDrawing} next @param {number} now */
function setDrawing(next, now) {
  drawing = next;
  clearTimeout(timer);
  if (next.at < Infinity) timer = setTimeout(draw, next.at - now);
}

/** Draws now, and again when the clock shows the next second. No timer runs while nothing ticks or the page is hidden. */
function draw() {
  shown = withRecorder();
  if (shown.state || shown.metrics) drawSession();
  else {
    drawPast();
    drawPress();
  }
  if (hasAll ? shown.state || past !== undefined : shown.state && shown.metrics && shown.route) settle();
  const ticks = ["active", "preparing", "saving"].includes(drawn?.status) || sender.pending(session);
  const now = performance.now();
  const tickAt = ticks && !document.hidden ? now + 1005 - ((drawn?.active ?? 0) % 1) * 1000 : Infinity;
  setDrawing(drawingAt(drawing, tickAt, drawn?.status === "active" && !shown.state.plan), now);
}

/** Of a workout that is only in the history, the page has the totals. */
function drawPast() {
  if (past === undefined) return;
  show(byID("map-box"), false);
  main.classList.remove("mapped");
  const text = past ? `Started ${when(past.startedAt, past.timeZone)}. Only the totals are available here.`
                    : "This workout does not exist, or this account may not see it.";
  setText(byID("ended").querySelector("p"), text);
  show(byID("ended"), true);
  show(byID("grid"), past !== null);
  show(byID("tools"), false);
  show(byID("more"), false);
  show(byID("charts-part"), false);
  setText(byID("status"), past ? "Finished" : "Not found");
  if (!past) return;
  main.dataset.activity = past.activity;
  setText(main.querySelector("[data-text='name']"), past.name);
  /** @type {[string, any][]} */
  const values = [
    ["duration", format("duration", past.activeDuration)],
    ["distance", format("distance", past.distance, {units: units(), activity: past.activity})]
  ];
  for (const cell of all(".cell")) show(cell, values.some(([key]) => key === cell.dataset.key));
  for (const [key, text] of values)
    setNumber(/** @type {HTMLElement} */ (main.querySelector(`[data-key='${key}'] dd`)), text);
}

/** Milliseconds: a title costs the browser's window as much as a frame costs the page. */
const titleInterval = 4500;
let titledAt = -Infinity;

function look() {
  const next = view(shown, shownNow(), units(), lostAt !== undefined);
  // This phone is what the banner misses.
  const all = notices(shown, {units: units(), activity: next.activity}).filter(({id}) => !recorder || id !== "banner");
  all.unshift(...recorder?.notices() ?? []);
  return {...next, notices: all};
}

function drawSession() {
  const next = look();
  const before = drawn;
  drawn = next;
  if (!isSettled() || before?.status !== next.status || performance.now() - titledAt > titleInterval) {
    document.title = next.title;
    titledAt = performance.now();
  }
  main.dataset.status = next.status ?? "";
  main.dataset.activity = next.activity ?? "";
  setText(main.querySelector("[data-text='name']"), next.name ?? "");
  setText(byID("status"), next.statusText);
  // "Live" or "No signal" says that it is active.
  show(byID("status"), next.status !== "active" || next.fresh.signal === "none");
  if (before && before.status !== next.status) announce(next.statusText);

  const signal = byID("signal");
  signal.dataset.signal = next.fresh.signal;
  setText(signal, next.fresh.text);
  show(signal, next.fresh.text !== "");
  if (before?.fresh.signal !== "silent" && next.fresh.signal === "silent") announce("No signal");

  drawWeather(next);
  const battery = byID("battery");
  setText(battery.lastElementChild, next.battery ? `${next.battery.text}${next.battery.isLow ? ", low" : ""}` : "");
  battery.classList.toggle("low", next.battery?.isLow ?? false);
  show(battery, next.battery !== undefined);

  drawNumbers(next);
  drawCharts();
  drawMore(next);
  drawMap();
  for (const {id, text} of next.notices)
    if (!before?.notices.some((n) => n.id === id)) announce(text);
  setList(byID("notices"), hidden.rest(offersMap ? [...next.notices, mapNotice] : next.notices), notice);
  drawPlan(shown.state, moment(shown, shownNow()));
  drawCovers(next);
  recorder?.draw();
  followEnd();
  drawPress();
}

/** Whether the page showed the workout before its record was there. */
let wasUnfinished = false;

/** Leads on, or shows the way, when the workout has ended on whatever device. */
async function followEnd() {
  const {state, workout} = shown;
  if (isUnfinished(state) || (state?.status === "saving" && !workout)) wasUnfinished = true;
  // It leads on once nothing waits in this browser.
  if (recorder && !await recorder.finish(shown)) return;
  if (!isEnded(state)) return;
  const leads = isOwner && wasUnfinished;
  const {leadOn} = await import("./finish.js");
  leadOn(user, session, {state, workout}, leads);
}

/** @param {View} next */
function drawNumbers(next) {
  all(".cell").forEach((cell, index) => {
    const field = next.main[index];
    setText(cell.querySelector("dt"), field.label);
    setNumber(/** @type {HTMLElement} */ (cell.querySelector("dd")), field.text);
    cell.classList.toggle("dimmed", field.isDimmed ?? false);
    cell.classList.toggle("long", field.text.number.length + field.text.unit.length / 2.5 > 5.5);
  });
}

/** @param {View} next */
function drawMore(next) {
  const more = /** @type {HTMLDetailsElement} */ (byID("more"));
  if (!more.open) return;
  const rows = byID("rows");
  setList(rows, next.more.map(({label, isDimmed}) => ({label, isDimmed})), ({label,
    isDimmed}) => make("div", {className: isDimmed ? "row dimmed" : "row"}, make("dt", {}, label), make("dd")));
  next.more.forEach(({text}, index) => setValue(rows.children[index].lastElementChild, joined(text)));
  show(byID("zones-box"), next.zones.length > 0);
  setList(byID("zones"), next.zones, ({label, share, text}) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    bar.setAttribute("aria-hidden", "true");
    rect.setAttribute("height", "100%");
    rect.setAttribute("width", `${share * 100}%`);
    bar.append(rect);
    return make("li", {}, make("span", {}, label), bar, make("span", {}, text));
  });
  show(byID("laps-box"), next.laps.length > 0);
  setList(byID("laps"), next.laps,
    ({number, time, distance}) => make(
      "tr", {}, make("th", {scope: "row"}, String(number)), make("td", {}, time), make("td", {}, ...value(distance))));
  show(byID("devices-box"), next.devices.length > 0);
  setList(
    byID("devices"), next.devices, ({name, text}) => make("li", {}, make("span", {}, name), make("span", {}, text)));
}
byID("more").addEventListener("toggle", draw);
byID("distance").addEventListener("animationend", () => byID("distance").classList.remove("reached"));
if (isWide) byID("more").setAttribute("open", "");

/** @param {View} next */
function drawWeather({weather}) {
  const line = document.getElementById("weather");
  if (!line) return;
  setText(
    line, weather ? [weather.text, weather.condition, weather.isStale ? "old" : ""].filter(Boolean).join(" · ") : "");
  const attribution = byID("attribution");
  show(attribution, weather !== undefined);
  if (!weather) return;
  const {text, url} = weather.attribution;
  setList(attribution, [`${text} ${url}`],
    () => /^https?:\/\//.test(url) ? make("a", {href: url, rel: "noreferrer"}, text) : make("span", {}, text));
}

const hidden = hider();

/** @param {import("./notices.js").Notice} n */
function notice({id, text, kind, isDismissable}) {
  const line = make("li", {className: `notice ${kind}`}, make("span", {}, text));
  /** @param {string} text @param {() => void} act */
  const button = (text, act) => {
    const made = make("button", {}, text);
    made.addEventListener("click", () => {
      act();
      draw();
    });
    line.append(made);
  };
  if (id === mapNotice.id)
    button("Show map", () => {
      hasRoom = true;
      offersMap = false;
    });
  if (isDismissable)
    button("Dismiss", () => {
      published = {...published, dismissed: [...published.dismissed, id].slice(-64)};
      keepShown();
    });
  else button("Hide", () => hidden.hide(id));
  return line;
}

/** @param {View} next */
function drawCovers(next) {
  const countdown = byID("countdown");
  cover(countdown, next.countdown !== undefined);
  setText(countdown.querySelector(".countdown-number"), String(next.countdown ?? ""));
  const saving = byID("saving");
  cover(saving, next.saving !== undefined);
  show(byID("saving-home"), next.saving === "long");
  const savingText = next.saving === "long" ? "Still saving; you may leave" : "Saving workout";
  setText(saving.querySelector("p"), recorder?.savingText ?? savingText);
  const ended = byID("ended");
  show(ended, next.ended !== undefined);
  setText(ended.querySelector("p"), next.ended?.text ?? "");
  for (const element of all("[data-text='totals']")) setText(element, next.title);
}

/** Seconds from the start in which a first position is likely. */
const firstPosition = 120;
/** Whether the map has room on the page; decided when the page appears. Beside the numbers it always has. */
let hasRoom = main.classList.contains("mapped");
/** Whether a position came when the map had no room: a map would move the numbers, so the reader opens it. */
let offersMap = false;
/** @type {import("./notices.js").Notice} */
const mapNotice = {
  id: "map",
  kind: "info",
  text: "The position is known now."
};

function drawMap() {
  const {route, state} = shown;
  const isPlaced = route?.la !== undefined;
  if (!isSettled()) hasRoom = isPlaced || (main.classList.contains("mapped") && (isWide || isBeginning(state)));
  if (isPlaced && hasRoom) return void drawRoute(route);
  if (map !== undefined || !isSettled()) return;
  if (isPlaced && !offersMap) announce(mapNotice.text);
  offersMap = isPlaced;
  show(byID("map-box"), hasRoom);
  show(byID("no-position"), hasRoom);
  main.classList.toggle("mapped", hasRoom);
}

/** @param {any} state */
const isBeginning = (state) =>
  state?.status === "preparing" || (state?.status === "active" && serverNow() - state.startedAt < firstPosition);

/** @param {any} route */
async function drawRoute(route) {
  if (map === "loading") return;
  if (map) return map.update(route, units());
  map = "loading";
  show(byID("map-box"), true);
  show(byID("no-position"), false);
  main.classList.add("mapped");
  try {
    const {RouteMap} = await import("./map.js");
    map = new RouteMap(byID("map-box"), reader.tiles?.url);
    show(byID("whole"), true);
    showKilometres(map);
    map.update(shown.route, units());
  } catch {
    // Not on the server any more, after a new release: the next route tries again.
    map = undefined;
  }
}

// MARK: Presses

/**
 * Whether the engine takes a command of this type now.
 *
 * @param {string} type
 */
const allows = (type) => (shown.state?.allowed ?? []).includes(type);

/** The status that each press leads to. */
const goals = /** @type {Record<string, string>} */ (
  {pause: "paused", resume: "active", suspend: "suspended", discard: "canceled"});

function drawPress() {
  if (!isOwner) return;
  const {type = "", code} = sender.refused(session) ?? {};
  // Another device was faster, and the workout is as this press wanted it.
  if (code === "invalid_state" && shown.state?.status === goals[type]) sender.dismiss(session);
  const pending = sender.pending(session);
  const refused = sender.refused(session);
  drawLine(byID("press"), pending ? pendingText(pending, serverNow(), bus.state === "open") : refused?.refusal ?? "",
    !pending && refused !== undefined, () => sender.dismiss(session));
  byID("press").classList.toggle("asking", pending !== undefined && asksCoach(pending));
  const isStopped = allows("resume");
  // A recorder keeps its presses in their order; elsewhere one is under way at a time.
  const isBusy = pending !== undefined && !recorder;
  const set = (/** @type {string} */ id, /** @type {boolean} */ isEnabled) => enable(byID(id), isEnabled);
  show(byID("controls"), allows("discard"));
  set("toggle", (allows("pause") || isStopped) && !isBusy);
  set("lap", allows("lap") && !isBusy);
  // People pause before they end, so that a touch in motion ends nothing.
  set("end", !allows("pause") && allows("end") && !isBusy);
  setText(byID("end-reason"), allows("pause") && allows("end") ? "Pause first" : "");
  set("suspend", allows("suspend") && !isBusy);
  for (const id of ["discard", "discard-confirm", "end-confirm", "cancel-start"]) set(id, !isBusy);
  const toggle = byID("toggle");
  if (toggle.dataset.shown !== String(isStopped)) {
    toggle.dataset.shown = String(isStopped);
    toggle.replaceChildren(
      icon(isStopped ? "play-fill" : "pause-fill"), make("span", {}, isStopped ? "Resume" : "Pause"));
  }
  const recover = byID("recover");
  show(recover, allows("recover"));
  set("recover", !isBusy);
  for (const button of all("#plan button, #swap-dialog button:not([data-close])")) {
    if (button.dataset.off !== undefined) continue;
    enable(button, pending === undefined);
  }
}

/**
 * The coach may take three seconds.
 *
 * @param {import("./commands.js").Press} press
 */
const asksCoach = ({type, fields}) =>
  type === "adjustDifficulty" || (type === "swapExercise" && fields.alternative === undefined);

if (isOwner) {
  byID("toggle").addEventListener("click", () => press(allows("resume") ? "resume" : "pause"));
  byID("lap").addEventListener("click", () => press("lap"));
  for (const id of ["end", "finish"]) byID(id).addEventListener("click", () => dialog("end-dialog").showModal());
  byID("end-confirm").addEventListener("click", () => closeFor("end-dialog", () => press("end")));
  for (const id of ["discard", "cancel-start"])
    byID(id).addEventListener("click", () => dialog("discard-dialog").showModal());
  byID("discard-confirm").addEventListener("click", () => closeFor("discard-dialog", () => press("discard")));
  byID("suspend").addEventListener("click", () => press("suspend"));
  byID("recover").addEventListener("click", () => press("recover"));
  lock();
  drawPress();
}
startPlan({isOwner, press, redraw: draw, say: speak});
// Without a connection, no message comes that draws.
if (recorder) draw();

function keepShown() {
  const {announcements, dismissed} = published;
  keep(key, JSON.stringify({announcements, dismissed}), "sessionStorage");
}
