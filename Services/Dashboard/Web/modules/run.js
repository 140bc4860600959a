// The page of a virtual run: takes the stream's events, draws the runners once a second, sends requests.

import { ask } from "./ask.js";
import { Presses } from "./commands.js";
import { all, announce, byID, make, setList, setNumber, setText, show } from "./dom.js";
import { choiceButton, request, requestLine, requests, whenRequestsChange } from "./invitations.js";
import { dialog, followPage, serverNow, units, whenUnitsChange } from "./page.js";
import { announcementText } from "./session.js";
import { advance, noRun, receive, routes, runView } from "./virtual-run.js";

/** @typedef {NonNullable<ReturnType<typeof runView>>} View */

const main = byID("main");
const { login = "", run: id = "" } = main.dataset;
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
let run = noRun(id);
/** @type {View | undefined} */
let drawn;

/** The end of one's own workout is a command of its session. */
const commands = new Presses(`${login}.run-end`, draw, draw);

followPage(`/virtual-runs/${id}/events`, ["view", "partners", "positions", "announcements", "metrics", "current", "workout", "services", "reply"], (name, data) => {
  if (name === "reply") {
    answers.replied(data);
    return commands.replied(data);
  }
  if (name === "announcements") return spoken(data);
  const before = run;
  run = receive(run, name, data);
  if (run !== before) draw();
});
whenUnitsChange(draw);
whenRequestsChange(draw);
setInterval(() => !document.hidden && draw(), 1000);
setTimeout(() => !run.view && setText(byID("terms"), "There is no such run among yours, or it is over for two days."), 5000);

function draw() {
  run = advance(run, serverNow());
  const next = runView(run, serverNow(), { units: units(), activity: "running" }, zone);
  if (!next) return;
  const before = drawn;
  drawn = next;
  document.title = next.title;
  setText(byID("title"), next.title);
  setText(byID("terms"), [next.terms, next.starts].filter(Boolean).join(" · "));
  setList(byID("notices"), notices(next), ({ text, href }) =>
    make("li", { className: "notice warning" }, make("span", {}, text), ...(href ? [make("a", { className: "button", href }, "Open")] : [])));
  drawReady(next);
  drawLanes(next);
  drawPrompt(next, before);
  drawResults(next);
  drawMap(next);
  show(byID("over"), next.over !== "");
  setText(byID("over"), next.over);
  show(byID("people-box"), !next.isOn && !next.results && next.countdown === undefined);
  setList(byID("people"), next.people, ({ name, text, isHost }) =>
    make("li", {}, make("strong", {}, name), make("span", {}, isHost ? `Host · ${text}` : text)));
  show(byID("countdown"), next.countdown !== undefined);
  setText(byID("countdown").querySelector(".countdown-number"), String(next.countdown ?? ""));
  if (next.countdown !== undefined && before?.countdown === undefined) announce(`Starts in ${next.countdown}`);
  const workout = /** @type {HTMLAnchorElement} */ (byID("workout"));
  show(workout, next.isRunning && next.session !== undefined);
  workout.href = `/live/${login}/${next.session}`;
  show(byID("leave"), next.canLeave);
  show(byID("speak"), !next.isOver);
  drawPress();
}

/** @param {View} next @returns {{ text: string, href?: string }[]} */
function notices(next) {
  return [
    ...(run.services["virtual-run"] === false ? [{ text: "The gaps are not being updated: virtual-run is offline." }] : []),
    ...(next.unfinished ? [{ text: next.unfinished.text, href: `/live/${login}/${next.unfinished.session}` }] : []),
    ...(next.needsDevice ? [{ text: "No data of yours yet. A device of yours starts and measures the workout." }] : []),
  ];
}

/** @param {View} next */
function drawReady({ waiting, unfinished }) {
  show(byID("ready"), waiting !== undefined);
  if (!waiting) return;
  setText(byID("ready-text"), waiting.text);
  setText(byID("ready-left"), waiting.left);
  show(byID("ready-left"), waiting.left !== "");
  const { isPending } = requestLine(id);
  const choices = waiting.choices.map((choice) => ({ choice, isDisabled: isPending || (choice.type === "confirm" && unfinished !== undefined) }));
  setList(byID("ready-choices"), choices, ({ choice, isDisabled }) => choiceButton(id, choice, isDisabled));
}

// MARK: Runners

/** @param {View} next */
function drawLanes(next) {
  show(byID("now"), next.isOn);
  if (!next.isOn) return;
  setText(byID("time"), next.time.number);
  setText(byID("place"), next.place);
  const list = byID("lanes");
  list.classList.toggle("two", next.lanes.length === 2);
  const known = new Map(all(".lane", list).map((lane) => [lane.dataset.key, lane]));
  // Of two, each keeps its side.
  const lanes = next.lanes.length === 2 ? [...next.lanes].sort((a, b) => Number(b.isMine) - Number(a.isMine)) : next.lanes;
  lanes.forEach((lane, index) => {
    const element = known.get(lane.key) ?? laneElement(lane);
    known.delete(lane.key);
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    drawLane(element, lane);
  });
  for (const element of known.values()) element.remove();
}

/** @param {import("./virtual-run.js").Lane} lane */
function laneElement({ key, name, isMine }) {
  const value = (/** @type {string} */ name, /** @type {string} */ label) => make("div", { className: `lane-${name}` }, make("dt", {}, label),
    make("dd", { data: { value: name } }, make("span", { className: "number" }), make("span", { className: "unit" })));
  const track = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  track.setAttribute("class", "track");
  track.setAttribute("aria-hidden", "true");
  const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  bar.setAttribute("height", "100%");
  track.append(bar);
  return make("li", { className: isMine ? "lane mine" : "lane", data: { key } },
    make("div", { className: "lane-head" }, make("strong", {}, name), make("span", { className: "chip signal" })),
    make("p", { className: "lane-gap" }), track,
    make("dl", { className: "lane-values" }, value("distance", "Distance"), value("pace", "Pace"), value("heartRate", "Heart rate")));
}

/** @param {HTMLElement} element @param {import("./virtual-run.js").Lane} lane */
function drawLane(element, { gap, link, isLost, share, ...values }) {
  const chip = /** @type {HTMLElement} */ (element.querySelector(".chip"));
  chip.dataset.signal = link.signal;
  chip.classList.toggle("signal", link.signal !== "none");
  setText(chip, link.text);
  setText(element.querySelector(".lane-gap"), gap);
  element.classList.toggle("lost", isLost);
  element.querySelector("rect")?.setAttribute("width", `${Math.round(share * 1000) / 10}%`);
  for (const cell of all("[data-value]", element)) {
    setNumber(cell, values[/** @type {"distance" | "pace" | "heartRate"} */ (cell.dataset.value)]);
  }
}

/** @param {View} next @param {View | undefined} before */
function drawPrompt({ prompt }, before) {
  show(byID("prompt"), prompt !== undefined);
  if (!prompt) return;
  setText(byID("prompt-text"), prompt.text);
  setText(byID("prompt-detail"), prompt.detail);
  setText(byID("prompt-keep"), prompt.kind === "lost" ? "Keep Waiting" : "Keep Going");
  if (before?.prompt?.id === prompt.id) return;
  announce(prompt.text);
  // Browsers refuse it before the first touch.
  if (/** @type {any} */ (navigator).userActivation?.hasBeenActive) navigator.vibrate?.([300, 100, 300]);
}

byID("prompt-keep").addEventListener("click", () => {
  const { prompt } = drawn ?? {};
  if (prompt?.kind === "lost") request(id, "keepWaiting");
  else if (prompt) run = { ...run, dismissed: [...run.dismissed, prompt.id] };
  draw();
});
byID("prompt-end").addEventListener("click", () => {
  const session = drawn?.session;
  if (session) commands.press("end", session, `/live/${login}/${session}/commands`);
});
byID("leave").addEventListener("click", () => dialog("leave-dialog").showModal());
byID("leave-confirm").addEventListener("click", () => {
  dialog("leave-dialog").close();
  request(id, "leave");
});

function drawPress() {
  const line = requestLine(id);
  const press = byID("press");
  const ended = drawn?.session && commands.refused(drawn.session);
  const isEnding = Boolean(drawn?.session && commands.pending(drawn.session));
  setText(press, isEnding ? "Ending…" : ended ? ended.refusal ?? "" : line.text);
  press.classList.toggle("refused", line.isRefused || Boolean(ended));
  for (const name of ["prompt-keep", "prompt-end", "leave-confirm"]) {
    /** @type {HTMLButtonElement} */ (byID(name)).disabled = line.isPending || isEnding;
  }
}
byID("press").addEventListener("click", () => {
  requests.dismiss(id);
  if (drawn?.session) commands.dismiss(drawn.session);
});

// MARK: Results

/** @param {View} next */
function drawResults({ results, splits }) {
  show(byID("results-box"), results !== undefined);
  show(byID("splits-box"), splits.length > 0);
  setList(byID("splits"), splits, (/** @type {any} */ split) => make("tr", {}, make("th", { scope: "row" }, split.number),
    ...[split.distance, split.time, split.pace, split.heartRate].map((text) => make("td", {}, text))));
  if (!results) return;
  show(byID("provisional"), results.isProvisional);
  setList(byID("results"), results.rows, (/** @type {any} */ row) => make("tr", {},
    make("td", {}, row.place), make("th", { scope: "row" }, row.name, ...(row.notes ? [make("small", {}, row.notes)] : [])),
    ...[row.time, row.behind, row.distance, row.pace, row.heartRate].map((text) => make("td", {}, text))));
}

// MARK: The map

/** @type {import("./map.js").RouteMap | "loading" | undefined} */
let map;
/** The revision of the view whose routes were asked for. */
let askedRevision = -1;
/** @type {{ user: string, polyline: string[] }[]} */
let shared = [];
const answers = ask((reply) => {
  shared = reply.routes ?? [];
  draw();
}, () => {});

/** @param {View} next */
function drawMap({ hasRoutes, places }) {
  if (hasRoutes && askedRevision !== run.view.revision) {
    askedRevision = run.view.revision;
    answers.ask("routes", { run: id });
  }
  const runners = hasRoutes ? routes(run.view, shared) : places;
  show(byID("map-box"), runners.length > 0);
  show(byID("legend"), runners.length > 0);
  setList(byID("legend"), runners.map(({ name, color }) => ({ name, color })), ({ name, color }) =>
    make("li", {}, make("span", { className: `map-mark runner runner-${color}`, ariaHidden: "true" }, name.slice(0, 2)), name));
  if (runners.length === 0) return;
  const key = `${hasRoutes} ${hasRoutes ? JSON.stringify(shared).length : run.positions?.s} ${run.metrics?.s}`;
  if (map === undefined) {
    map = "loading";
    import("./map.js").then(({ RouteMap }) => {
      map = new RouteMap(byID("map-box"), main.dataset.tiles);
      draw();
    });
  } else if (map !== "loading") map.updateRunners(runners, key);
}

// MARK: Speaking

let isSpeaking = true;

/**
 * Nothing older than 10 s is read out.
 *
 * @param {any} announcement
 */
function spoken(announcement) {
  const text = announcementText(announcement, { units: units(), activity: "running" });
  if (!text || serverNow() - announcement.at > 10) return;
  announce(text);
  if (isSpeaking && "speechSynthesis" in window) speechSynthesis.speak(new SpeechSynthesisUtterance(text));
}

byID("speak").addEventListener("click", () => {
  isSpeaking = !isSpeaking;
  byID("speak").setAttribute("aria-pressed", String(isSpeaking));
  if (!isSpeaking && "speechSynthesis" in window) speechSynthesis.cancel();
});
