// The page of a virtual run: takes its topics, draws the runners once a second, sends requests.

import {pendingText} from "./commands.js";
import {minutes} from "./format.js";
import {all, announce, byID, cover, drawLine, enable, hider, keep, kept, make, setList, setNumber, setText, show, value} from "./dom.js";
import {ask, choiceButton, noRunner, request, requestLine} from "./invitations.js";
import {contactButtons, names} from "./people.js";
import {bus, closeFor, dialog, isSettled, login, ownsWorkouts, presses, reader, serverNow, settle, units, whenUnitsChange} from "./page.js";
import {offline} from "./notices.js";
import {read, startSpeech} from "./speech.js";
import {advance} from "./run-lanes.js";
import {rematch} from "./run-form.js";
import {routes, runnersOf} from "./run-map.js";
import {routesText, splitTable} from "./run-results.js";
import {list} from "./run-status.js";
import {onlineServices, receivePresence} from "./services.js";
import {presences, sessionTopic, userTopic} from "./topics.js";
import {noRun, receive, runView} from "./virtual-run.js";

/** @typedef {NonNullable<ReturnType<typeof runView>>} View */

const main = byID("main");
const id = (location.pathname.split("/")[2] ?? "").toLowerCase();
/** The gaps over time, which no message repeats; of this tab, over a reload. */
const key = `pacebus.gaps.${id}`;
/** The prompts that the reader closed, likewise. */
const dismissedKey = `pacebus.dismissed.${id}`;
let run = {
  ...noRun(id),
  gaps: JSON.parse(kept(key, "sessionStorage") ?? "{}"),
  dismissed: JSON.parse(kept(dismissedKey, "sessionStorage") ?? "[]"),
};
/** @type {View | undefined} */
let drawn;

/** @type {string[]} */
let contacts = [];

/** @param {string} name @param {any} data */
function take(name, data) {
  if (data === undefined) return;
  const before = run;
  run = receive(run, name, data);
  if (run !== before) draw();
}

/** @type {import("./services.js").Services} */
let processes = {};
function drawServices() {
  const services = onlineServices(processes, serverNow());
  if (JSON.stringify(services) !== JSON.stringify(run.services)) take("services", services);
}

/** What ends the subscriptions of one's own session. */
let session = "";
let leaveSession = () => {};

/** @param {string | undefined} next one's own session in the run, in any case */
function watchSession(next) {
  if (!next || next.toLowerCase() === session) return;
  leaveSession();
  session = next.toLowerCase();
  const names = ["state", "metrics", "workout"];
  leaveSession = bus.subscribe(names.map((name) => sessionTopic(login, session, name)), {
    onMessage(topic, data) {
      const name = /** @type {string} */ (topic.split("/").at(-1));
      if (data) take(name, name === "workout" ? {session, ...data} : data);
    },
    onReady: settle
  });
}

if (ownsWorkouts) {
  startSpeech(true);
  bus.subscribe(
    ["", "/partners", "/positions", "/announcements"].map((level) => userTopic(login, `runs/${id}${level}`)), {
      onMessage(topic, data) {
        const name = topic.split("/")[6] ?? "view";
        if (name === "announcements") return data && read(data, "running");
        take(name, data);
        if (name === "view") watchSession(data?.participants.find((/** @type {any} */ p) => p.user === login)?.session);
      },
      onReady() {
        if (!run.view) findView();
        if (!session) settle();
      }
    });
  bus.subscribe(userTopic(login, "run-people"), {onMessage: (_, people) => void (contacts = people?.contacts ?? [])});
  bus.subscribe(userTopic(login, "current"), {onMessage: (_, data) => take("current", data)});
  bus.subscribe(presences, {
    onMessage(topic, presence) {
      processes = receivePresence(processes, topic, presence, serverNow());
      drawServices();
    }
  });
  setInterval(drawServices, 10_000);
} else {
  setText(byID("terms"), noRunner);
  settle();
}
whenUnitsChange(draw);
presses.whenChanged(draw);
setInterval(() => !document.hidden && draw(), 1000);
addEventListener("pagehide", () => keep(key, JSON.stringify(run.gaps), "sessionStorage"));

let isFinding = false;

/** The broker keeps a view for two days after the run; virtual-run publishes an older one again. */
async function findView() {
  if (isFinding) return;
  isFinding = true;
  const {error} = await ask({type: "show", run: id}, (text) => !run.view && setText(byID("terms"), text));
  isFinding = false;
  if (!run.view && error) setText(byID("terms"), "There is no such run among yours.");
}

function draw() {
  run = advance(run, serverNow());
  const next = runView(run, serverNow(), {units: units(), activity: "running"});
  if (!next) return;
  const before = drawn;
  drawn = next;
  document.title = next.title;
  setText(byID("title"), next.title);
  setText(byID("terms"), [next.terms, next.starts].filter(Boolean).join(" · "));
  setList(byID("notices"), hidden.rest(notices(next)), notice);
  drawReady(next);
  drawLanes(next);
  drawPrompt(next, before);
  drawWinner(next, before);
  drawResults(next);
  drawMap(next);
  show(byID("over"), next.over !== "");
  setText(byID("over"), next.over);
  show(byID("people-box"),
    !next.results && next.countdown === undefined && (!next.isOn || next.canInvite || next.hasOthers));
  show(byID("invite"), next.canInvite);
  const {isPending} = requestLine(id);
  setList(byID("people"), next.people.map((person) => ({...person, isPending})), personLine);
  cover(byID("countdown"), next.countdown !== undefined);
  setText(byID("countdown").querySelector(".countdown-number"), String(next.countdown ?? ""));
  if (next.countdown !== undefined && before?.countdown === undefined) announce(`Starts in ${next.countdown}`);
  const workout = /** @type {HTMLAnchorElement} */ (byID("workout"));
  show(workout, next.isRunning && next.session !== undefined);
  workout.href = `/live/${login}/${next.session}`;
  const record = /** @type {HTMLAnchorElement} */ (byID("record"));
  show(record, next.canRecord && navigator.geolocation !== undefined);
  record.href = `/record?run=${id}`;
  show(byID("leave"), next.canLeave);
  show(byID("leave-early"), next.canLeave);
  show(byID("share"), next.sharing !== undefined);
  show(byID("speak"), !next.isOver && next.over === "");
  show(byID("tools"), true);
  if (next.isOver) main.dataset.over = "";
  drawPress();
}

/** @typedef {{ id: string, text: string, href?: string }} Notice */

/** @param {View} next @returns {Notice[]} */
function notices(next) {
  return [
    ...offline(run.services, "route-builder", "weather-fetcher", "exporter").map(({id, text}) => ({id, text})),
    ...(next.unfinished
        ? [{id: "unfinished", text: next.unfinished.text, href: `/live/${login}/${next.unfinished.session}`}]
        : []),
    ...(next.needsDevice
        ? [{id: "device", text: "No data of yours yet. A device of yours starts and measures the workout."}]
        : []),
  ];
}

const hidden = hider();

/** @param {Notice} n */
function notice({id, text, href}) {
  const hide = make("button", {type: "button"}, "Hide");
  hide.addEventListener("click", () => {
    hidden.hide(id);
    draw();
  });
  return make("li", {className: "notice warning"}, make("span", {}, text),
    ...(href ? [make("a", {className: "button", href}, "Open")] : []), hide);
}

/** @param {View} next */
function drawReady({waiting, unfinished}) {
  show(byID("ready"), waiting !== undefined);
  if (!waiting) return;
  setText(byID("ready-text"), waiting.text);
  setText(byID("ready-left"), waiting.left);
  show(byID("ready-left"), waiting.left !== "");
  const {isPending} = requestLine(id);
  const choices = waiting.choices.map(
    (choice) => ({choice, isDisabled: isPending || (choice.type === "confirm" && unfinished !== undefined)}));
  setList(byID("ready-choices"), choices, ({choice, isDisabled}) => choiceButton(id, choice, isDisabled));
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
  next.lanes.forEach((lane, index) => {
    const element = known.get(lane.key) ?? laneElement(lane);
    known.delete(lane.key);
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    drawLane(element, lane);
  });
  for (const element of known.values()) element.remove();
}

/** @param {string} tag @param {Record<string, string>} attributes */
function drawing(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** @param {import("./run-lanes.js").Lane} lane */
function laneElement({key, name, isMine}) {
  const value = (/** @type {string} */ name, /** @type {string} */ label) =>
    make("div", {className: `lane-${name}`}, make("dt", {}, label),
      make("dd", {data: {value: name}}, make("span", {className: "number"}), make("span", {className: "unit"})));
  const track = drawing("svg", {class: "track", "aria-hidden": "true"});
  track.append(drawing("rect", {height: "100%"}));
  const line = drawing("svg", {viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img"});
  line.append(drawing("path", {d: "M0 20H100"}), drawing("polyline", {}));
  return make("li", {className: isMine ? "lane mine" : "lane", data: {key}},
    make("div", {className: "lane-head"}, make("strong", {}, make("span", {className: "lane-place"}), name),
      make("span", {className: "chip signal"})),
    make("p", {className: "lane-gap"}), make("figure", {className: "lane-line"}, line, make("figcaption")), track,
    make("dl", {className: "lane-values"}, value("distance", "Distance"), value("pace", "Pace"),
      value("heartRate", "Heart rate")));
}

/** @param {HTMLElement} element @param {import("./run-lanes.js").Lane} lane */
function drawLane(element, {gap, link, isLost, place, share, line, ...values}) {
  const chip = /** @type {HTMLElement} */ (element.querySelector(".chip"));
  chip.dataset.signal = link.signal;
  chip.classList.toggle("signal", link.signal !== "none");
  setText(chip, link.text);
  setText(element.querySelector(".lane-place"), place && `${place}. `);
  setText(element.querySelector(".lane-gap"), gap);
  element.classList.toggle("lost", isLost);
  element.querySelector("figure")?.classList.toggle("empty", line === undefined);
  element.querySelector("polyline")?.setAttribute("points", line?.points ?? "");
  element.querySelector("[role='img']")?.setAttribute("aria-label", line?.label ?? "Gap over time");
  setText(element.querySelector("figcaption"), line?.text ?? "");
  element.querySelector("rect")?.setAttribute("width", `${Math.round(share * 1000) / 10}%`);
  for (const cell of all("[data-value]", element)) {
    setNumber(cell, values[/** @type {"distance" | "pace" | "heartRate"} */ (cell.dataset.value)]);
  }
}

/** @param {View} next @param {View | undefined} before */
function drawPrompt({prompt}, before) {
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
  const {prompt} = drawn ?? {};
  if (prompt?.kind === "lost") request(id, "keepWaiting");
  else if (prompt) {
    run = {...run, dismissed: [...run.dismissed, prompt.id]};
    keep(dismissedKey, JSON.stringify(run.dismissed), "sessionStorage");
  }
  draw();
});
byID("prompt-end").addEventListener("click", () => dialog("end-dialog").showModal());
byID("end-confirm").addEventListener("click", () => {
  const session = drawn?.session;
  closeFor("end-dialog", () => !session || presses.press(sessionTopic(login, session, "command"), "end"));
});
for (const name of ["leave", "leave-early"])
  byID(name).addEventListener("click", () => dialog("leave-dialog").showModal());
byID("leave-confirm").addEventListener("click", () => closeFor("leave-dialog", () => request(id, "leave")));

function drawPress() {
  const line = requestLine(id);
  const session = drawn?.session?.toLowerCase();
  const refused = session ? presses.refused(session) : undefined;
  const ending = session ? presses.pending(session) : undefined;
  const isRefused = !ending && (line.isRefused || refused !== undefined);
  drawLine(byID("press"),
    ending ? pendingText(ending, serverNow(), bus.state === "open") : refused?.refusal ?? line.text, isRefused,
    dismiss);
  setText(byID("totals"), drawn?.totals ?? "");
  for (const name of ["prompt-keep", "leave-confirm", "share-confirm", "invite-confirm"])
    enable(byID(name), !line.isPending);
  for (const name of ["prompt-end", "end-confirm"]) enable(byID(name), !ending);
}

function dismiss() {
  presses.dismiss(id);
  if (drawn?.session) presses.dismiss(drawn.session.toLowerCase());
}

// MARK: People and sharing

/** @param {{ user: string, name: string, text: string, canRemove: boolean, isPending: boolean }} person */
function personLine({user, name, text, canRemove, isPending}) {
  const line = make("li", {}, make("p", {}, make("strong", {}, name), make("span", {}, text)));
  if (!canRemove) return line;
  const button = make("button", {type: "button", disabled: isPending, ariaLabel: `Remove ${user}`}, "Remove");
  button.addEventListener("click", () => request(id, "remove", {user}));
  line.append(button);
  return line;
}

const inviteForm = /** @type {HTMLFormElement} */ (byID("invite-form"));
const invited = /** @type {HTMLInputElement} */ (inviteForm.elements.namedItem("people"));
byID("invite").addEventListener("click", () => {
  // Who declined in person is not asked again.
  const inside = new Set(run.view.participants.filter((/** @type {any} */ p) => p.status !== "declined" || !p.reason)
      .map((/** @type {any} */ p) => p.user));
  contactButtons(byID("contacts"), contacts.filter((contact) => !inside.has(contact)), invited);
  dialog("invite-dialog").showModal();
});
inviteForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const users = names(invited.value);
  show(byID("invite-error"), users.length === 0);
  setText(byID("invite-error"), users.length === 0 ? "Name at least one person." : "");
  if (users.length === 0) return;
  if (!request(id, "invite", {users})) return;
  inviteForm.reset();
  dialog("invite-dialog").close();
});

const shareForm = /** @type {HTMLFormElement} */ (byID("share-form"));
const shared = ["position", "heartRate", "route", "ghost"];
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (shareForm.elements.namedItem(name));
byID("share").addEventListener("click", () => {
  if (!drawn?.sharing) return;
  for (const name of shared) field(name).checked = drawn.sharing[name] === true;
  field("hideNear").value = String(drawn.sharing.hideNear ?? 200);
  setText(byID("share-confirm"), drawn.isInvited ? "Accept" : "Save");
  dialog("share-dialog").showModal();
});
shareForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const sharing = {
    ...Object.fromEntries(shared.map((name) => [name, field(name).checked])),
    hideNear: field("hideNear").valueAsNumber
  };
  if (request(id, drawn?.isInvited ? "accept" : "share", {sharing})) dialog("share-dialog").close();
});

// MARK: Results

/** The answer to `routes`: routes and splits, and the revision of the view that it was asked for. */
/** @type {{ routes: any[], splits: any[] }} */
let details = {routes: [], splits: []};
let askedRevision = -1;
/** Whether what follows the answer on the page may be shown, because it came or virtual-run is silent. */
let isAnswered = false;
/** Whether the answer has routes; `undefined` without an answer. */
/** @type {boolean | undefined} */
let hasRoutes;

async function askForDetails() {
  if (askedRevision === run.view.revision) return;
  askedRevision = run.view.revision;
  const asked = askedRevision;
  const answered = () => {
    isAnswered = true;
    draw();
  };
  const {routes = [], splits = [], error} = await ask({type: "routes", run: id}, answered);
  if (asked !== askedRevision) return;
  isAnswered = true;
  details = {routes, splits};
  hasRoutes = error ? undefined : routes.length > 0;
  draw();
}

/** @param {View} next */
function drawResults({results, splits, hasDetails}) {
  show(byID("results-box"), results !== undefined);
  show(byID("my-splits-box"), splits.length > 0 && (isAnswered || !hasDetails));
  setList(byID("my-splits"), splits,
    (/** @type {any} */ split) => make("tr", {}, make("th", {scope: "row"}, split.number),
      ...[split.distance, split.time, split.pace, split.heartRate].map((text) => make("td", {}, ...value(text)))));
  if (!results) return;
  const again = /** @type {HTMLAnchorElement} */ (byID("rematch"));
  show(again, run.view.status === "finished");
  again.href = `/virtual-runs?${new URLSearchParams(rematch(run.view, units()))}`;
  if (hasDetails) askForDetails();
  show(byID("provisional"), results.isProvisional);
  setList(byID("results"), results.rows,
    (/** @type {any} */ row) => make("tr", {}, make("td", {}, row.place),
      make("th", {scope: "row"}, row.name, ...(row.notes ? [make("small", {}, row.notes)] : [])),
      ...[row.time, row.behind, row.distance, row.pace, row.heartRate].map((text) => make("td", {}, ...value(text)))));
  const table = splitTable(run.view, details.splits, {units: units()});
  show(byID("splits-box"), table.rows.length > 0);
  /** @type {HTMLAnchorElement} */ (byID("compare")).href = `/compare?run=${id}`;
  drawGap();
  setList(byID("splits-head"), [table],
    ({unit, names}) => make("tr", {}, ...[unit, ...names].map((text) => make("th", {scope: "col"}, text))));
  setList(byID("splits"), table.rows,
    ({mark, cells}) => make("tr", {}, make("th", {scope: "row"}, mark),
      ...cells.map(({time, gap}) => make("td", {}, time, ...(gap ? [make("small", {}, gap)] : [])))));
}

/** @type {{ charts: import("./compare-chart.js").CompareCharts, data: typeof import("./compare-data.js") } | "loading" | undefined} */
let gap;
let gapKey = "";

/** Everyone's time ahead of the first, at each place of the way. What draws it comes with it. */
function drawGap() {
  const runners = runnersOf(run.view, details.splits);
  show(byID("gap-box"), runners.length > 1);
  if (runners.length < 2) return;
  setList(byID("gap-legend"), runners.map(({name, color}) => ({name, color})),
    ({name, color}) => make("li", {},
      make("span", {className: `map-mark runner runner-${color}`, ariaHidden: "true"}, name.slice(0, 2)), name));
  if (gap === undefined) {
    gap = "loading";
    Promise.all([import("./compare-chart.js"), import("./compare-data.js")]).then(([{CompareCharts}, data]) => {
      gap = {charts: new CompareCharts(byID("gap"), () => {}), data};
      draw();
    });
  }
  const key = JSON.stringify([askedRevision, units()]);
  if (gap === "loading" || gapKey === key) return;
  gapKey = key;
  const {detailsOf, endOf, lead, leadChart} = gap.data;
  const all = runners.map(({km, result}) => detailsOf(km, 1000, result));
  const ends = all.map((each) => endOf(each, "distance"));
  gap.charts.show([leadChart(all, "distance", units(), runners[0].name)], {
    mode: "distance",
    end: Math.max(...ends),
    unit: units() === "imperial" ? 1609.344 : 1000,
    text: (value) => String(Math.round(value * 100) / 100)
  },
    runners.map(({color}) => color));
  const last = runners.slice(1).map(({name}, index) => {
    const ahead = lead(all[0], all[index + 1], "distance", Math.min(ends[0], ends[index + 1])) ?? 0;
    return `${name} ${minutes(Math.abs(ahead))} ${ahead > 0 ? "ahead" : "behind"}`;
  });
  byID("gap").setAttribute(
    "aria-label", `Time ahead of ${runners[0].name} over the distance. At the end: ${list(last)}`);
}

// MARK: The winner

/** @param {View} next @param {View | undefined} before */
function drawWinner({winner}, before) {
  show(byID("winner"), winner !== undefined);
  if (!winner) return;
  setText(byID("winner-title"), winner.title);
  setText(byID("winner-detail"), winner.detail);
  byID("winner").classList.toggle("mine", winner.isMine);
  // Those who were there see and hear it happen; later it is a result among others.
  if (!before || before.winner?.title === winner.title) return;
  byID("winner").classList.add("now");
  announce(`${winner.title}. ${winner.detail}`);
  if (/** @type {any} */ (navigator).userActivation?.hasBeenActive) navigator.vibrate?.([100, 60, 100, 60, 400]);
}

// MARK: The map

/** @type {import("./map.js").RouteMap | "loading" | undefined} */
let map;
let byHeartRate = false;

/** @param {View} next */
function drawMap({hasDetails, places}) {
  const runners = hasDetails ? routes(run.view, details.routes, byHeartRate) : places;
  // Positions come when the runners are away from the start: their map then moves nothing.
  if (!hasDetails && isSettled() && byID("map-box").hidden) main.classList.add("late-map");
  show(byID("map-box"), runners.length > 0);
  show(byID("legend-box"), runners.length > 0);
  show(byID("no-routes"), hasDetails && hasRoutes === false);
  if (hasDetails) setText(byID("no-routes"), routesText(run.view));
  show(byID("by-heart-rate"), hasDetails && details.routes.some(({h}) => h));
  const zones = byHeartRate
    ? [1, 2, 3, 4, 5].map((zone) => ({name: `Zone ${zone}`, mark: `zone-mark zone-${zone}`, text: ""}))
    : [];
  setList(byID("legend"),
    [
      ...runners.map(({name, color}) => ({name, mark: `map-mark runner runner-${color}`, text: name.slice(0, 2)})),
      ...zones
    ],
    ({name, mark, text}) => make("li", {}, make("span", {className: mark, ariaHidden: "true"}, text), name));
  if (runners.length === 0) return;
  const key = hasDetails ? `${askedRevision} ${byHeartRate} ${JSON.stringify(details.routes).length}`
                         : `${run.positions?.s} ${run.metrics?.s}`;
  if (map === undefined) {
    map = "loading";
    import("./map.js").then(({RouteMap}) => {map = new RouteMap(byID("map-box"), reader.tiles?.url); draw();});
  } else if (map !== "loading") map.updateRunners(runners, key);
}
byID("by-heart-rate").addEventListener("click", () => {
  byHeartRate = !byHeartRate;
  byID("by-heart-rate").setAttribute("aria-pressed", String(byHeartRate));
  draw();
});
