// The page that compares: two workouts, or all runners of a finished virtual run, by distance or time, with one cursor.

import {chartKind} from "./chart-kinds.js";
import {detailsOf, endOf, lead, leadChart, placeOf, rows, secondsAt, valueOf} from "./compare-data.js";
import {all, byID, make, setList, setText, show, value} from "./dom.js";
import {clock, format, joined, minutes, rowOf} from "./format.js";
import {findWorkout} from "./history.js";
import {bus, busOf, login, reader, settle, units, whenUnitsChange} from "./page.js";
import {decode} from "./route.js";
import {routes, runnersOf} from "./run-map.js";
import {isOlder, sessionTopic, userTopic} from "./topics.js";
import {distanceAt} from "./workout-data.js";
import {DetailsLoader} from "./workout-load.js";
import {totals, when} from "./workout-view.js";

/** @typedef {import("./workout-data.js").Details} Details */
/** @typedef {[number, number]} Place */
/**
 * @typedef {{ mark: string, color: number, name: string, note: string, href?: string, activity: string, details?: Details, workout?: any,
 *   lines: Place[][], isPlaced: boolean }} Runner `mark`: on the map; `isPlaced`: whether it is known where the runner was when
 */

const query = new URLSearchParams(location.search);
const metresPerMile = 1609.344;

/** @type {Runner[]} the first is the one that all others are compared with */
let runners = [];
/** Why there is nothing to show, or not yet. */
let text = "Loading…";
let isReady = false;
/** @type {(() => void) | undefined} */
let tryAgain;

// MARK: Two workouts

/** @param {[string, string][]} sessions users and sessions */
function compareWorkouts(sessions) {
  const sides = sessions.map(([user, session]) => {
    const side = {
      user,
      session,
      loader: new DetailsLoader(user, session, update),
      isMissing: false,
      workout: /** @type {any} */ (undefined)
    };
    busOf(user).subscribe(sessionTopic(user, session, "workout"), {
      onMessage(_, record) {
        if (!record || (side.workout && isOlder(side.workout, record))) return;
        [side.workout, side.isMissing] = [record, false];
        if (side.loader.summaries !== JSON.stringify(record.summaries)) side.loader.load(record);
        update();
      },
      async onReady() {
        if (side.workout) return;
        // The broker has its topics no more: the owners bring them again.
        side.loader.wait();
        side.loader.request();
        const found = await findWorkout(user, session).catch(() => undefined);
        side.isMissing = !found && !side.workout;
        update();
      }
    });
    return side;
  });
  tryAgain = () => {
    for (const {loader, workout} of sides) {
      if (loader.state !== "failed") continue;
      if (workout) loader.load(workout);
      else {
        loader.wait();
        loader.request();
      }
    }
    update();
  };

  function update() {
    const states = sides.map(({loader}) => loader.state);
    const names = sides.map(({workout}, index) => workout?.name ?? `Workout ${"AB"[index]}`);
    const failed = names.filter((_, index) => states[index] === "failed");
    const bare = names.filter((_, index) => states[index] === "missing");
    const missing = sides.findIndex(({isMissing}) => isMissing);
    runners = sides.flatMap(({user, session, loader, workout}, index) => workout ? [{
      mark: "AB"[index],
      color: index,
      name: workout.name,
      note:
        [user === login ? "" : user, when(workout.startedAt ?? workout.endedAt, workout.timeZone)].filter(Boolean).join(
          " · "),
      href: `/workout/${user}/${session}`,
      activity: workout.activity,
      details: loader.state === "there" ? loader.details : undefined,
      workout,
      lines: decode(workout.polyline ?? []).filter((line) => line.length > 1),
      isPlaced: loader.details?.places !== undefined
    }]
                                                                                 : []);
    text = missing >= 0 ? `Workout ${"AB"[missing]} does not exist, or this account may not see it.`
      : failed.length > 0 ? `The details of ${failed.join(" and ")} are not available now.`
      : bare.length > 0 ? `${bare.join(" and ")}: nothing was measured that could be compared.`
      : runners.length < 2 || states.some((state) => state !== "there") ? "Loading…"
                                                                        : "";
    show(byID("try-again"), missing < 0 && failed.length > 0);
    isReady = text !== "Loading…";
    if (missing >= 0) runners = [];
    draw();
  }
}

// MARK: A virtual run

/** @param {string} id */
function compareRun(id) {
  /** @type {any} */
  let view;
  /** @type {any} */
  let reply;
  const request = userTopic(login, "run-request");
  bus.subscribe(userTopic(login, `runs/${id}`), {
    onMessage(_, next) {
      if (!next || (view && isOlder(view, next))) return;
      view = next;
      load();
    },
    // The broker keeps a view for two days.
    onReady: () =>
      view ?? bus.ask(request, {type: "show", run: id}).catch(() => fail("There is no such run among yours."))
  });

  /** @param {string} why */
  function fail(why) {
    [text, isReady] = [why, true];
    draw();
  }

  async function load() {
    if (!view.results) return fail("This run has no results yet.");
    const {revision} = view;
    const next = await bus.ask(request, {type: "routes", run: id}).catch((error) => ({error}));
    if (view.revision !== revision) return;
    if (next.error) return fail(next.error.message);
    reply = next;
    update();
  }

  function update() {
    const drawn = routes(view, reply.routes ?? []);
    runners = runnersOf(view, reply.splits ?? []).map(({user, ghost, km, name, color, result}) => ({
      mark: name.slice(0, 2),
      color,
      name,
      note: result?.place === undefined ? "" : `place ${result.place}`,
      activity: "running",
      details: detailsOf(km, 1000, result),
      lines: ghost === undefined ? drawn.find((route) => route.name === user)?.lines ?? [] : [],
      // A route is cut at both ends, so a distance has no place on it.
      isPlaced: false
    }));
    setText(byID("title"), view.name ?? "Virtual run");
    text = runners.length < 2 ? "Fewer than two runners have splits of a kilometre." : "";
    isReady = true;
    draw();
  }
}

// MARK: Drawing

/** @type {import("./chart-data.js").Mode} */
let mode = "distance";
/** @type {import("./compare-chart.js").CompareCharts | undefined} */
let charts;
/** @type {import("./compare-map.js").CompareMap | undefined} */
let map;
let isAsked = false;
let shown = "";
/** @type {number | undefined} metres or active seconds, as the axis has them */
let cursor;

const options = () => ({units: units(), activity: runners[0].activity});
const details = () => runners.flatMap((runner) => runner.details ?? []);
const hasCharts = () => runners.length > 1 && details().length === runners.length;
const end = () => Math.max(...details().map((each) => endOf(each, mode)));
/** Where the shorter one ends: there all have a value. */
const commonEnd = () => Math.min(...details().map((each) => endOf(each, mode)));
const kindKeys =
  () => ["speed", "heartRate", "elevation", "power"].filter((key) => details().some(({lines}) => lines[key]));
const unit = () => {
  if (rowOf(options()).swims) return units() === "imperial" ? 0.9144 : 1;
  return units() === "imperial" ? metresPerMile : 1000;
};
/** @param {number} x */
const placeText = (x) => (mode === "time" ? clock(x) : joined(format("distance", x, options())));

function draw() {
  setText(byID("state").querySelector("span"), text);
  show(byID("state"), text !== "");
  show(byID("body"), runners.length > 1);
  if (runners.length > 1) {
    show(byID("totals-part"), runners.every(({workout}) => workout));
    if (!byID("totals-part").hidden) drawTotals();
    for (const part of all(".compare-now, #charts-part")) show(part, hasCharts());
    show(byID("map-box"), runners.some(({lines}) => lines.length > 0));
    if (hasCharts()) drawCharts();
    drawMap();
  }
  if (isReady) settle();
}

/** @param {Runner} runner */
const badge = ({mark, color}) => make("span", {className: `map-mark runner runner-${color}`, ariaHidden: "true"}, mark);

/** @param {Runner} runner */
function nameOf(runner) {
  const {name, note, href} = runner;
  const parts = [badge(runner), make("span", {}, name, ...(note ? [make("br"), make("small", {}, note)] : []))];
  return href ? make("a", {className: "runner-name", href}, ...parts)
              : make("span", {className: "runner-name"}, ...parts);
}

/** @param {Runner} runner how sentences name it */
const shortName = ({mark, name, workout}) => (workout ? mark : name);

async function load() {
  if (isAsked) return;
  isAsked = true;
  const [{CompareCharts}, {CompareMap}] = await Promise.all(
    [import("./compare-chart.js"), byID("map-box").hidden ? {CompareMap: undefined} : import("./compare-map.js")]);
  charts = new CompareCharts(byID("charts"), moveCursor);
  if (CompareMap) map = new CompareMap(byID("map-box"), reader.tiles?.url);
  draw();
}

function drawCharts() {
  const keys = kindKeys();
  // Room for what comes, so that it moves nothing.
  byID("charts").style.minHeight = `${(keys.length + 1) * 132 + 26}px`;
  const hasDistance = details().every(({distance}) => distance);
  if (!hasDistance) mode = "time";
  show(byID("axis-choice"), hasDistance);
  setText(byID("about"),
    runners[0].workout ? "Times are of active time: pauses do not count."
                       : "Between two kilometres the pace is the mean of that kilometre.");
  moveCursor(cursor ?? commonEnd());
  load();
  const key = JSON.stringify([units(), mode, keys, runners.map(({name, workout}) => [name, workout?.revision])]);
  if (!charts || shown === key) return;
  shown = key;
  const first = runners[0];
  const kinds = keys.map((key) => chartKind(key, options()));
  charts.show(
    [
      leadChart(details(), mode, units(), shortName(first)), ...kinds.map((kind) => ({
        ...kind,
        rows: rows(details(), mode,
          (each, x) => {
            const found = valueOf(each, mode, kind.key, x);
            return found === undefined || !kind.value ? found : kind.value(found);
          })
      }))
    ],
    {
      mode,
      end: end(),
      unit: unit(),
      text: (value) => (mode === "time" ? minutes(value) : String(Math.round(value * 100) / 100))
    },
    runners.map(({color}) => color));
  charts.moveCursor(cursor ?? 0);
}

function drawMap() {
  if (!map) return;
  map.show(runners.map(({name, mark, color, lines}) => ({name, mark, color, lines})),
    JSON.stringify(runners.map(({name, lines}) => [name, lines.length])));
  moveCursor(cursor);
}

/** @param {number} ahead seconds or metres @returns {string[]} `0:12 ahead`, and the word between it and a name */
function leadWords(ahead) {
  if (Math.abs(ahead) < 0.5) return ["level", "with"];
  const amount = mode === "distance" ? minutes(Math.abs(ahead)) : joined(format("height", Math.abs(ahead), options()));
  return ahead > 0 ? [`${amount} ahead`, "of"] : [`${amount} behind`];
}

/** @param {number | undefined} x */
function moveCursor(x) {
  if (x === undefined || !hasCharts()) return;
  const at = Math.min(end(), Math.max(0, x));
  cursor = at;
  const all = details();
  const kinds = kindKeys().map((key) => chartKind(key, options()));
  const found = all.map((each, index) => {
    const t = secondsAt(each, mode, at);
    const other = mode === "distance"
      ? format("duration", t)
      : format("distance", t === undefined ? undefined : distanceAt(each, t), options());
    return {
      index,
      ahead: lead(all[0], each, mode, at),
      other: joined(other),
      values: kinds.map(({key, format}) => format(valueOf(each, mode, key, at) ?? NaN))
    };
  });
  const first = shortName(runners[0]);
  const labels =
    ["Workout", mode === "distance" ? "Time" : "Distance", `Ahead of ${first}`, ...kinds.map(({label}) => label)];
  setList(
    byID("now-head"), [labels], () => make("tr", {}, ...labels.map((label) => make("th", {scope: "col"}, label))));
  setList(byID("now-rows"), found, ({index, ahead, other, values}) => {
    const text = index === 0 ? "" : ahead === undefined ? "--" : leadWords(ahead)[0];
    return make("tr", {}, make("th", {scope: "row"}, nameOf(runners[index])), make("td", {}, ...value(other)),
      make("td", {data: {lead: ahead?.toFixed(3) ?? ""}}, ...value(text)),
      ...values.map((each) => make("td", {}, ...value(each))));
  });
  const {ahead} = found[1];
  const sentence = ahead === undefined || runners.length > 2
    ? ""
    : `: ${shortName(runners[1])} is ${[...leadWords(ahead), first].join(" ")}`;
  setText(byID("readout"), `At ${placeText(at)}${sentence}`);
  const box = byID("charts");
  box.setAttribute("aria-valuemax", String(Math.round(end())));
  box.setAttribute("aria-valuenow", String(Math.round(at)));
  box.setAttribute("aria-valuetext", byID("readout").textContent ?? "");
  charts?.moveCursor(at);
  map?.moveCursor(runners.map(({isPlaced}, index) => (isPlaced ? placeOf(all[index], mode, at) : undefined)));
}

function drawTotals() {
  const found = runners.map(({workout}) => {
    const {hero, seconds, rest} = totals(workout, units());
    return new Map([hero, ...seconds, ...rest].map(({label, text}) => [label, joined(text)]));
  });
  const labels = [...new Set(found.flatMap((figures) => [...figures.keys()]))];
  setList(byID("totals-head"), [runners.map(({mark}) => mark)],
    () => make("tr", {}, make("th", {scope: "col"}, "Total"),
      ...runners.map((runner) => make("th", {scope: "col"}, badge(runner),
                       make("span", {className: "hidden-text"}, `${runner.mark}, ${runner.name}`)))));
  setList(byID("totals"), labels.map((label) => ({label, texts: found.map((figures) => figures.get(label) ?? "--")})),
    ({label, texts}) =>
      make("tr", {}, make("th", {scope: "row"}, label), ...texts.map((text) => make("td", {}, ...value(text)))));
}

// MARK: Controls

for (const input of all("#axis-choice input").map((e) => /** @type {HTMLInputElement} */ (e))) {
  input.addEventListener("change", () => {
    mode = input.value === "time" ? "time" : "distance";
    cursor = undefined;
    draw();
  });
}
byID("charts").addEventListener("keydown", (event) => {
  if (!hasCharts() || event.ctrlKey || event.metaKey || event.altKey) return;
  const small = end() / 200;
  const at = cursor ?? 0;
  /** @type {Record<string, number>} */
  const places = {
    ArrowRight: at + small,
    ArrowUp: at + small,
    ArrowLeft: at - small,
    ArrowDown: at - small,
    PageUp: at + small * 20,
    PageDown: at - small * 20,
    Home: 0,
    End: end()
  };
  if (!(event.key in places)) return;
  event.preventDefault();
  moveCursor(places[event.key]);
});
byID("try-again").addEventListener("click", () => tryAgain?.());
whenUnitsChange(draw);

const run = query.get("run")?.toLowerCase();
const sessions = ["a", "b"].flatMap((name) => {
  const [user, session] = (query.get(name) ?? "").split("/");
  return user && session ? [/** @type {[string, string]} */ ([user, session.toLowerCase()])] : [];
});
if (run) compareRun(run);
else if (sessions.length === 2) compareWorkouts(sessions);
else {
  [text, isReady] = ["Open a workout from the history, and choose there what to compare it with.", true];
  draw();
}
