// The page of a finished workout: its record, its details from the chunks, one cursor over charts, map and tables.

import {chartKeys, chartKind} from "./chart-kinds.js";
import {similar} from "./compare-data.js";
import {all, announce, byID, drawLine, make, setList, setText, show, value} from "./dom.js";
import {clock, format, joined, minutes, rowOf, timeOfDay} from "./format.js";
import {findWorkout, history} from "./history.js";
import {busOf, dialog, isSettled, login, ownsWorkouts, reader, serverNow, settle, units, whenSettled, whenUnitsChange} from "./page.js";
import {isOlder, sessionTopic, userTopic} from "./topics.js";
import {bestStretch, distanceAt, lapStretches, lastMovement, momentAt, splitStretches, valueAt} from "./workout-data.js";
import {DetailsLoader} from "./workout-load.js";
import {offerFiles} from "./workout-files.js";
import {bestsTable, exercises, exportText, lapsTable, outsideText, roundsTable, sourceLines, splitsTable, titleOf, totals, when, zoneLimits, zonesTable} from "./workout-view.js";

/** @typedef {import("./workout-data.js").Details} Details */
/** @typedef {import("./workout-data.js").Stretch} Stretch */

const main = byID("main");
const [user = "", id = ""] = location.pathname.split("/").slice(2);
const session = id.toLowerCase();
const isOwner = user === login && ownsWorkouts;
const bus = busOf(user);

if (!isOwner)
  for (const element of all("[data-own]")) element.remove();

/** @type {any} the record; of an old workout the overview of the history, until the bus brings it again */
let workout;
/** @type {any} */
let state;
/** @type {any} of the user, and that of the session, which has its edit */
let profile;
/** @type {any} */
let sessionProfile;
/** @type {any} the entry of the history */
let overview;
/** @type {any[] | undefined} the history before this workout */
let earlier;
/** @type {Map<string, any>} by target */
const exports = new Map();
/** @type {Details | undefined} */
let details;
let isMissing = false;
let isWhole = false;

/** In two columns if there is room: what is wide, and what is narrow. Else in their own order. */
const parts = all("#body > section")
                .map((element) => ({element, isWide: /^(charts|zones|laps|sets|rounds)-part$/.test(element.id)}));
const isRoomy = matchMedia("screen and (min-width: 900px)");
function arrangeParts() {
  for (const {element, isWide} of parts) {
    if (isRoomy.matches) byID(isWide ? "column-wide" : "column-side").append(element);
    else byID("body").insertBefore(element, document.getElementById("end-part"));
  }
}
isRoomy.addEventListener("change", arrangeParts);
arrangeParts();

// MARK: The bus

const names = ["state", "workout", "export/+", ...(isOwner ? ["profile"] : [])];
bus.subscribe(names.map((name) => sessionTopic(user, session, name)), {
  onMessage(topic, message) {
    const [name, target] = topic.split("/").slice(5);
    if (name === "export") {
      if (!target || topic.endsWith("/result")) return;
      message ? exports.set(target, message) : exports.delete(target);
      return drawSoon();
    }
    if (message === undefined) return;
    if (name === "state" && !isOlder(state, message)) state = message;
    if (name === "profile" && !isOlder(sessionProfile, message)) sessionProfile = message;
    if (name === "workout") return takeRecord(message);
    drawSoon();
  },
  onReady() {
    if (workout?.segments) return;
    loader.request();
    findPast();
  },
});
if (isOwner)
  bus.subscribe(userTopic(login, "profile"), {
    onMessage(_, message) {
      profile = message;
      drawSoon();
    }
  });

/** @param {any} record */
function takeRecord(record) {
  if (workout?.segments && isOlder(workout, record)) return;
  const isFirst = !workout?.segments;
  workout = record;
  isMissing = false;
  if (isFirst || loader.summaries !== JSON.stringify(record.summaries)) loader.load(record);
  if (isFirst) findEarlier();
  drawSoon();
}

/** The totals of a workout whose topics the broker has no more; the owners bring the record again when asked. */
async function findPast() {
  const found = await findWorkout(user, session).catch(() => undefined);
  overview = found;
  if (workout) return drawSoon();
  workout = found && {splits: [], laps: [], ...found};
  isMissing = found === undefined;
  if (found) loader.wait();
  draw();
}

/** Seconds after the end in which a record is news. */
const freshFor = 120;

/** Earlier workouts, to say what is a record, as many as the history gives at ease. */
async function findEarlier() {
  /** @type {any[]} */
  const found = [];
  try {
    for await (const each of history(user, 100)) {
      found.push(each);
      if (each.session.toLowerCase() === session) overview = each;
      if (found.length >= 1000) break;
    }
    earlier = found;
    if (dialog("compare-dialog").open) drawOthers();
  } catch {
    // Without the history nothing is called a record.
  }
  drawSoon();
}

// MARK: Details

const loader = new DetailsLoader(user, session, () => {
  details = loader.details;
  draw();
});

byID("try-again").addEventListener("click", () => {
  if (workout?.segments) loader.load(workout);
  else {
    loader.request();
    loader.wait();
  }
  draw();
});

// MARK: Drawing

let isDue = false;

/** Once for all that came. */
function drawSoon() {
  if (isDue) return;
  isDue = true;
  queueMicrotask(() => {
    isDue = false;
    draw();
  });
}
whenUnitsChange(() => {
  shownCharts = "";
  mapPart?.route.drawPaper();
  draw();
  colorMap();
});
whenSettled(draw);

function draw() {
  if (state?.status === "deleted") isMissing = true;
  if (isMissing) return drawMissing();
  if (!workout) return;
  for (const name of ["top", "body"]) show(byID(name), true);
  drawHead();
  drawFigures();
  drawTables();
  drawSources();
  drawExports();
  drawMap();
  drawCharts();
  settle();
}

/** Why there is no record: the heading, and what follows it. */
function absence() {
  const {status, name = "Workout"} = state ?? {};
  if (status === undefined)
    return ["Workout not found", "This workout does not exist, or this account may not see it."];
  if (status === "deleted") return ["Workout deleted", "This workout was deleted."];
  if (status === "saving") return [name, "This workout is being saved."];
  if (status === "completed") return [name, "This workout is not available now."];
  return [name, status === "canceled" ? "This workout was discarded." : "This workout has not ended."];
}

function drawMissing() {
  const [heading, text] = absence();
  setText(byID("name"), heading);
  setText(byID("date"), text);
  document.title = heading;
  for (const name of ["edit", "top", "body"]) show(document.getElementById(name), false);
  const hasLive = state !== undefined && !["deleted", "completed"].includes(state.status);
  setList(byID("notices"), hasLive ? ["live"] : [],
    () => make("li", {}, make("a", {className: "button", href: `/live/${user}/${session}`}, "Show it live")));
  settle();
}

function drawHead() {
  const {startedAt, timeZone, activity, environment, name, incomplete} = workout;
  main.dataset.activity = activity;
  setText(byID("name"), name);
  const parts = [
    isOwner ? "" : user, startedAt === undefined ? "" : when(startedAt, timeZone),
    [environment === "indoor" ? "Indoor" : "", rowOf({activity}).title ?? ""].filter(Boolean).join(" ").toLowerCase()
  ];
  setText(byID("date"), parts.filter(Boolean).join(" · "));
  document.title = titleOf(workout, units());
  const {edit = {}} = sessionProfile ?? {};
  const {note = overview?.note, exertion = overview?.exertion} = edit;
  if (isOwner) {
    setText(byID("note"), [exertion ? `Exertion ${exertion} of 10.` : "", note ?? ""].filter(Boolean).join("\n"));
    show(byID("note-part"), Boolean(note || exertion));
    show(byID("edit"), Boolean(workout.segments) && !incomplete);
    show(byID("end-part"), true);
  }
  show(byID("compare"), workout.segments !== undefined);
  /** @type {string[]} */
  const notices = [];
  if (incomplete) notices.push("Incomplete: still waiting for devices. The totals will grow when the rest arrives.");
  if (workout.edited) notices.push("Edited: trimmed, or of another activity or place than recorded.");
  setList(byID("notices"), notices, (text) => make("li", {className: "notice"}, make("span", {}, text)));
}

/** @param {import("./workout-view.js").Figure} figure */
const figureCell = ({label, text}) => make("div", {className: "total"}, make("dt", {}, label),
  make("dd", {}, make("span", {className: "number"}, ...value(text.number)),
    ...(text.unit ? [make("span", {className: "unit"}, ` ${text.unit}`)] : [])));

function drawFigures() {
  const {hero, seconds, rest} = totals(workout, units());
  setList(byID("hero"), [hero], figureCell);
  setList(byID("seconds"), seconds, figureCell);
  setList(byID("rest"), rest, figureCell);
  show(byID("figures"), true);
}

/** @param {string} part @param {string} text @param {boolean} isShown */
function title(part, text, isShown) {
  setText(byID(`${part}-title`), text);
  show(byID(`${part}-part`), isShown);
}

/**
 * @param {string} part @param {import("./workout-view.js").Table} table @param {string} first its first column @param {Stretch[]} stretches
 */
function drawParts(part, {columns, rows}, first, stretches) {
  setList(byID(`${part}-head`), [{columns, first}],
    () => make("tr", {}, make("th", {scope: "col"}, first),
      ...columns.map(({key, label}) => make("th", {scope: "col", className: `part-${key}`}, label))));
  setList(byID(part),
    rows.map((row, index) => ({...row, index, stretch: stretches[index], isThere: details !== undefined})), (row) => {
      const {label, values, share, stretch, isThere, index} = row;
      const head = make("th", {scope: "row"});
      if (stretch && isThere) head.append(stretchButton(label, `${first} ${label}`, `${part}-${index}`, stretch));
      else head.append(label);
      const line = make("tr", {data: {stretch: `${part}-${index}`}}, head, ...values.map((text, column) => {
        const cell = make("td", {className: `part-${columns[column].key}`}, make("span", {}, ...value(text)));
        if (columns[column].key === "rate" && share !== undefined) cell.prepend(bar(share));
        return cell;
      }));
      return line;
    });
}

/** @param {number} share */
function bar(share) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "share");
  rect.setAttribute("height", "100%");
  rect.setAttribute("width", `${share * 100}%`);
  svg.append(rect);
  return svg;
}

/** What is shown on charts and map. */
let marked = "";

/** @param {string} text @param {string} name @param {string} key @param {Stretch} stretch */
function stretchButton(text, name, key, stretch) {
  const button = make("button", {className: "stretch", type: "button"}, text);
  button.setAttribute("aria-label", `${name}: show on charts and map`);
  button.setAttribute("aria-pressed", String(marked === key));
  button.addEventListener("click", () => markStretch(marked === key ? "" : key, stretch));
  return button;
}

/** @param {string} key @param {Stretch} stretch */
function markStretch(key, stretch) {
  marked = key;
  const shown = key === "" ? undefined : stretch;
  charts?.mark(shown);
  mapPart?.mark(shown);
  for (const row of all("[data-stretch]"))
    row.querySelector(".stretch")?.setAttribute("aria-pressed", String(row.dataset.stretch === key));
  if (shown) moveCursor(shown.from, true);
}

function drawTables() {
  const splits = splitsTable(workout, units());
  const isOne = workout.splits.length < 2;
  drawParts("splits", splits, splits.unit, isOne || !workout.segments ? [] : splitStretches(workout));
  show(byID("splits-part"), !isOne);
  drawParts("laps", lapsTable(workout, units()), "Lap", workout.segments ? lapStretches(workout) : []);
  show(byID("laps-part"), (workout.laps ?? []).length > 0);

  const zones = zonesTable(workout, limits());
  show(byID("zones-part"), zones.length > 0);
  setList(byID("zones"), zones, ({number, label, bounds, share, time, percent}) => {
    const row = make("li", {},
      make("span", {className: "zone-name"}, label, ...(bounds ? [make("small", {}, ` ${bounds}`)] : [])), bar(share),
      make("span", {className: "zone-time"}, `${time} · ${percent}`));
    row.className = `zone-${number}`;
    return row;
  });

  const done = exercises(workout, units());
  show(byID("sets-part"), done.length > 0);
  setList(byID("sets"), done,
    ({name, block, count, marks, sets}) => make("li", {className: "exercise"},
      make("p", {className: "exercise-head"}, make("strong", {}, name), make("span", {}, count)),
      ...(block || marks.length > 0 ? [make("p", {className: "hint"}, [block, ...marks].filter(Boolean).join(" · "))]
                                    : []),
      make("ol", {className: "set-list"},
        ...sets.map(
          (/** @type {any} */ set) => make("li", {}, make("strong", {}, set.text),
            ...[set.planned, set.exercise, set.round].filter(Boolean).map((text) => make("small", {}, text)))))));
  const rounds = roundsTable(workout);
  show(byID("rounds-part"), rounds.length > 0);
  setList(byID("rounds"), rounds,
    ({name, number, time}) =>
      make("tr", {}, make("th", {scope: "row"}, name), make("td", {}, number), make("td", {}, time)));

  const bests = bestsTable(workout, earlier, units());
  const count = bests.filter(({isRecord}) => isRecord).length;
  // News only right after the workout.
  byID("bests").classList.toggle("fresh", details !== undefined && serverNow() - workout.endedAt < freshFor);
  title("bests", count > 0 ? "Records made today" : "Best efforts", bests.length > 0);
  setList(byID("bests"),
    [...bests]
      .sort((a, b) => Number(b.isRecord) - Number(a.isRecord))
      .map((best) => ({...best, isThere: details !== undefined})),
    ({label, text, note, isRecord, best, isThere}) => {
      const key = `best-${label}`;
      const name = best && isThere && workout.segments ? stretchButton(label, label, key, bestStretch(workout, best))
                                                       : make("span", {className: "best-name"}, label);
      return make("li", {className: isRecord ? "best record" : "best", data: {stretch: key}}, name,
        make("strong", {}, text), make("span", {className: "best-note"}, isRecord ? `Record · ${note}` : note));
    });
}

/** The limits of the zones; a viewer may not read them. */
const limits = () => zoneLimits(sessionProfile ?? profile, workout.startedAt);

function drawSources() {
  const lines = sourceLines(workout);
  setList(
    byID("sources"), lines, ({quantities, text}) => make("div", {}, make("dt", {}, quantities), make("dd", {}, text)));
  const outside = outsideText(workout);
  setText(byID("outside"), outside);
  show(byID("sources-part"), lines.length > 0 || outside !== "");
}

/** Targets that were asked to export again. */
/** @type {Map<string, string>} */
const retried = new Map();

/** @type {Record<string, string>} */
const targetWords = {
  folder: "Files on the server",
  healthkit: "Apple Health"
};

function drawExports() {
  if (!isOwner) return;
  show(byID("exports-part"), true);
  show(byID("exports"), exports.size > 0);
  const rows = [...exports].sort(([a], [b]) => (a < b ? -1 : 1)).map(([target, status]) => ({
    target,
    name: targetWords[target] ?? target,
    answer: retried.get(target) ?? "",
    ...exportText(status, (time) => timeOfDay(time, {zone: workout.timeZone, hasSeconds: false}))
  }));
  setList(byID("exports"), rows, ({target, name, text, canRetry, answer}) => {
    const line = make("li", {}, make("span", {className: "export-name"}, name), make("span", {}, answer || text));
    if (!canRetry || answer) return line;
    const button = make("button", {type: "button"}, "Try again");
    button.setAttribute("aria-label", `${name}: try again`);
    button.addEventListener("click", () => exportAgain(target));
    line.append(button);
    return line;
  });
}

if (isOwner) offerFiles(bus, sessionTopic(user, session, "request"));

/** @param {string} target */
async function exportAgain(target) {
  retried.set(target, "Trying again…");
  drawExports();
  await bus.ask(sessionTopic(user, session, "request"), {type: "export", target})
    .catch((error) => announce(error.message));
  retried.delete(target);
  drawExports();
}

// MARK: Map

/** @type {import("./workout-map.js").WorkoutMap | undefined} */
let mapPart;
let isMapAsked = false;
/** @type {Details | undefined} */
let mapDetails;
let hasPolyline = false;

function drawMap() {
  const isPlaced = (workout.polyline ?? []).length > 0;
  if (!isSettled()) {
    main.classList.toggle("mapped", isPlaced);
    show(byID("map-part"), isPlaced);
  }
  if (!main.classList.contains("mapped") && details?.places) {
    main.classList.add("mapped");
    show(byID("map-part"), true);
  }
  if (!main.classList.contains("mapped")) return;
  if (!isMapAsked) {
    isMapAsked = true;
    import("./workout-map.js").then(({WorkoutMap}) => {mapPart = new WorkoutMap(byID("map-box"), reader.tiles?.url, (t) => moveCursor(t)); drawMap();}, () => isMapAsked = false);
  }
  if (!mapPart) return;
  if (details?.places && details !== mapDetails) {
    mapDetails = details;
    mapPart.showDetails(details);
    colorMap();
    mapPart.draw();
  } else if (!details && !hasPolyline) {
    hasPolyline = true;
    mapPart.showRecord(workout.polyline);
    // The pace of the replay is that of the details: they mostly come at once.
    if (loader.state !== "waiting") mapPart.draw();
    else setTimeout(() => mapPart && !mapDetails && mapPart.draw(), 1500);
  }
}

/** Values that a route's colour may show: label, its chart, the words of the ends. */
/** @type {[string, [string, string]][]} */
const colorings = [["speed", ["slow", "fast"]], ["heartRate", ["", ""]], ["elevation", ["", ""]], ["power", ["", ""]]];
let coloring = "speed";

function colorMap() {
  if (!mapPart || !details) return;
  const lines = details.lines;
  const offered = colorings.filter(([key]) => lines[key]);
  if (offered.length === 0) return;
  if (!lines[coloring]) coloring = offered[0][0];
  setList(byID("color-choice"), offered.map(([key]) => ({key, label: kindOf(key).label})), ({key, label}) => {
    const input = make("input", {type: "radio", name: "color", value: key, checked: key === coloring});
    input.addEventListener("change", () => {
      coloring = key;
      colorMap();
    });
    return make("label", {}, input, make("span", {}, label));
  });
  const words = /** @type {[string, string]} */ (offered.find(([key]) => key === coloring)?.[1]);
  mapPart.color(coloring, kindOf(coloring), words);
}

// MARK: Charts

/** @type {import("./chart.js").Charts | undefined} */
let charts;
let isChartAsked = false;
let shownCharts = "";
/** @type {import("./chart-data.js").Mode} */
let mode = "time";

/** @param {string} key */
const kindOf = (key) => chartKind(key, {units: units(), activity: workout.activity}, limits());

/** The charts that a record promises, before the details are there. */
function expected() {
  const {averageHeartRate, distance, ascent, averagePower, averageCadence, polyline = []} = workout;
  const values = [
    averageHeartRate, distance > 0 ? distance : undefined, ascent ?? (polyline.length > 0 ? 0 : undefined),
    averagePower, averageCadence
  ];
  return chartKeys.filter((_, index) => values[index] !== undefined);
}

function drawCharts() {
  const part = byID("charts-part");
  const box = byID("charts");
  const status = byID("details-state");
  const keys = details ? chartKeys.filter((key) => details?.lines[key]) : expected();
  const isThere = details !== undefined;
  const hasCharts = keys.length > 0;
  show(part, hasCharts || loader.state === "failed" || loader.state === "waiting");
  const text = loader.state === "failed"     ? "Details are not available now."
    : loader.state === "waiting" && !isThere ? "Loading details…"
                                             : "";
  setText(status.firstElementChild, text);
  show(byID("try-again"), loader.state === "failed");
  show(status, text !== "");
  for (const element of all(".charts-head, #readout, #charts", part))
    show(element, hasCharts && loader.state !== "failed");
  // Room for what comes, so that it moves nothing.
  box.style.minHeight = `${keys.length * chartHeight + 26}px`;
  part.classList.toggle("waiting", !isThere);
  if (!isThere || !details || !hasCharts) return;
  if (!isChartAsked) {
    isChartAsked = true;
    import("./chart.js").then(({Charts}) => {charts = new Charts(box, {onPoint: (t) => moveCursor(t), onZoom(whole) {
          isWhole = whole;
          show(byID("zoom-all"), !isWhole);}, axisText: (value, mode) => (mode === "time" ? minutes(value) : String(Math.round(value * 100) / 100)), unit: () => (rowOf({activity: workout.activity}).swims ? (units() === "imperial" ? 0.9144 : 1) : units() === "imperial" ? 1609.344 : 1000),}); drawCharts();}, () => isChartAsked = false);
  }
  const key = JSON.stringify([workout.revision, units(), mode, keys, limits()]);
  if (!charts || key === shownCharts) return;
  shownCharts = key;
  show(byID("axis-choice"), details.distance !== undefined);
  charts.show(details, keys.map(kindOf), details.distance ? mode : "time");
  box.setAttribute("aria-valuemax", String(Math.round(details.duration)));
  moveCursor(cursor);
}
/** Pixels of a chart; the style sheet has the same. */
const chartHeight = 132;

for (const input of all("#axis-choice input").map((e) => /** @type {HTMLInputElement} */ (e))) {
  input.addEventListener("change", () => {
    mode = input.value === "distance" ? "distance" : "time";
    drawCharts();
  });
}
byID("zoom-in").addEventListener("click", () => charts?.zoomBy(0.5));
byID("zoom-out").addEventListener("click", () => charts?.zoomBy(2));
byID("zoom-all").addEventListener("click", () => {
  charts?.zoom();
  byID("charts").focus({preventScroll: true});
});

// MARK: The cursor

/** @type {number | undefined} active seconds */
let cursor;

/** @param {number | undefined} t @param {boolean} [isForced] also if a key holds it */
function moveCursor(t, isForced = false) {
  if (!details || (t === undefined && cursor === undefined && !isForced)) return;
  cursor = t;
  const now = details;
  const keys = chartKeys.filter((key) => now.lines[key]);
  /** @type {Record<string, string>} */
  const values = {};
  if (t !== undefined)
    for (const key of keys) values[key] = kindOf(key).format(valueAt(now.lines[key], t) ?? NaN);
  charts?.moveCursor(t, values);
  mapPart?.moveCursor(t);
  const distance = t === undefined ? undefined : distanceAt(now, t);
  const text = t === undefined ? "Point at a chart, or use the arrow keys, to read its values." : [
    clock(t),
    ...(distance === undefined ? []
                               : [joined(format("distance", distance, {units: units(), activity: workout.activity}))]),
    ...keys.map((key) => values[key])
  ].join(" · ");
  setText(byID("readout"), text);
  const box = byID("charts");
  box.setAttribute("aria-valuenow", String(Math.round(t ?? 0)));
  box.setAttribute("aria-valuetext", t === undefined ? "No position" : [
    clock(t), ...(distance === undefined ? [] : [joined(format("distance", distance,
                                                  {units: units(), activity: workout.activity}))]),
    ...keys.map((key) => `${kindOf(key).label} ${values[key]}`)
  ].join(", "));
  moveRows(t);
}

/** The rows in which the cursor is. */
/** @type {Map<string, Element>} */
const current = new Map();

/** @param {number | undefined} t */
function moveRows(t) {
  for (const [part, stretches] of /** @type {[string, Stretch[]][]} */ (
         [["splits", splitStretches(workout)], ["laps", lapStretches(workout)]])) {
    const index = t === undefined ? -1 : stretches.findIndex(({from, to}) => t >= from && t < to);
    const row = byID(part).children[index];
    const before = current.get(part);
    if (row === before) continue;
    before?.classList.remove("current");
    row?.classList.add("current");
    row ? current.set(part, row) : current.delete(part);
  }
}

byID("charts").addEventListener("keydown", (event) => {
  if (!details || !charts || event.ctrlKey || event.metaKey || event.altKey) return;
  const {from, to} = charts.window;
  const small = Math.max(1, (to - from) / 200);
  const at = cursor ?? from;
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowRight: () => step(at + small),
    ArrowUp: () => step(at + small),
    ArrowLeft: () => step(at - small),
    ArrowDown: () => step(at - small),
    PageUp: () => step(at + small * 20),
    PageDown: () => step(at - small * 20),
    Home: () => step(0),
    End: () => step(details?.duration ?? 0),
    "+": () => charts?.zoomBy(0.5),
    "-": () => charts?.zoomBy(2),
    Escape() {
      charts?.zoom();
      markStretch("", {from: 0, to: 0});
      moveCursor(undefined);
    },
  };
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

/** @param {number} t to which a key moves the cursor, in sight */
function step(t) {
  if (!details || !charts) return;
  const at = Math.min(details.duration, Math.max(0, t));
  const {from, to} = charts.window;
  if (at < from || at > to) charts.zoom({from: at - (to - from) / 2, to: at + (to - from) / 2});
  moveCursor(at);
}

// MARK: Compare

/** Workouts that are offered. */
const otherLimit = 30;

function drawOthers() {
  const others = earlier && similar(workout, earlier).slice(0, otherLimit);
  const title = (rowOf({activity: workout.activity}).title ?? "").toLowerCase();
  setText(byID("compare-none"),
    others === undefined    ? "Looking through the history…"
      : others.length === 0 ? `The history has no other ${title} workout.`
                            : "");
  setList(byID("others"), others ?? [], (other) => {
    const {hero, seconds} = totals(other, units());
    const figures = [hero, ...seconds].map(({text}) => joined(text)).join(" · ");
    return make("li", {},
      make("a", {className: "button", href: `/compare?a=${user}/${session}&b=${user}/${other.session.toLowerCase()}`},
        make("strong", {}, other.name), make("span", {}, figures),
        make("small", {}, when(other.startedAt ?? other.endedAt, other.timeZone))));
  });
}
byID("compare").addEventListener("click", () => {
  drawOthers();
  dialog("compare-dialog").showModal();
});

// MARK: Delete and edit

/** @type {(text: string, isRefused?: boolean) => void} */
const say = (text, isRefused = false) => drawLine(byID("press"), text, isRefused, () => say(""));

if (isOwner) {
  byID("delete").addEventListener("click", () => {
    setText(byID("delete-name"), titleOf(workout, units()));
    setText(byID("delete-date"), workout.startedAt === undefined ? "" : when(workout.startedAt, workout.timeZone));
    dialog("delete-dialog").showModal();
  });
  byID("delete-confirm").addEventListener("click", async () => {
    dialog("delete-dialog").close();
    say("Deleting…");
    try {
      await bus.ask(userTopic(login, "request"), {type: "deleteWorkout", session});
      location.replace("/");
    } catch (error) {
      say(/** @type {Error} */ (error).message, true);
    }
  });
  byID("edit").addEventListener("click", async () => {
    const {openEdit, sendEdit} = await import("./workout-edit.js");
    const last = details && lastMovement(details);
    openEdit({
      workout,
      profile: sessionProfile,
      lastMovement: last === undefined ? undefined : momentAt(workout.segments, last),
      async onSent(fields) {
        say("Saving…");
        try {
          await sendEdit(session, fields);
          say("");
          announce("Saved");
        } catch (error) {
          say(/** @type {Error} */ (error).message, true);
        }
      }
    });
  });
}

matchMedia("print").addEventListener("change", () => mapPart?.resize());
