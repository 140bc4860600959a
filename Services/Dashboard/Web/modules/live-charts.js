// The charts of a workout in progress. What draws them is loaded when they are opened.

import {chartKind} from "./chart-kinds.js";
import {byID, setText} from "./dom.js";
import {minutes, timeOfDay} from "./format.js";
import {add, details, known, stretch} from "./live-lines.js";
import {serverNow, units, whenUnitsChange} from "./page.js";

/** Pixels of a chart, and of the last one's axis; the style sheet has the same. */
const [chartHeight, axisHeight] = [132, 26];
/** Seconds of a workout that began before the page was opened. */
const beginning = 10;

/** @type {import("./live-lines.js").Point[]} */
let points = [];
/** @type {import("./workout-data.js").Details | undefined} what was before them */
let before;
/** Whether values may be missing, before them or between them. */
let misses = true;
/** @type {(() => Promise<void>) | undefined} */
let ask;
let activity = "";
/** @type {import("./chart.js").Charts | "loading" | undefined} */
let charts;
let shown = "";
const part = /** @type {HTMLDetailsElement} */ (byID("charts-part"));

/** @param {import("./session.js").Session} session whose metrics are new @param {string} user @param {string} id of it */
export function addToCharts(session, user, id) {
  points = add(points, session);
  activity = session.state?.activity ?? activity;
  ask = async () => {
    const {decode, loadUntilNow} = await import("./workout-load.js");
    loadUntilNow(user, id, async (parts) => {
      const now = serverNow();
      /** @param {[number, number | null]} segment */
      const closed = ([start, end]) => [start, end ?? now];
      const segments = (session.state?.segments ?? []).map(closed);
      before = await decode({segments}, parts).catch(() => before);
      drawCharts();
    });
  };
}

/** Values may have been missed: the connection is a new one. */
export function noteMissed() {
  misses = true;
  drawCharts();
}

export async function drawCharts() {
  if (!part.open) return;
  if (misses && ask && points.length > 0) {
    misses = false;
    // Without them, the charts say when their lines begin.
    if (points.length > 1 || points[0].t > beginning) ask().catch(() => {});
  }
  const keys = known(points, before);
  setText(byID("charts-since"), keys.length === 0 ? "No data yet" : sinceText());
  if (keys.length === 0) return;
  const box = byID("charts");
  box.style.minHeight = `${keys.length * chartHeight + axisHeight}px`;
  if (charts === "loading") return;
  if (!charts) {
    charts = "loading";
    try {
      const {Charts} = await import("./chart.js");
      charts = new Charts(box, {onPoint() {}, onZoom() {}, axisText: minutes, unit: () => 1});
    } catch {
      // Not on the server any more, after a new release: the next metrics try again.
      charts = undefined;
      return;
    }
  }
  const options = {units: units(), activity};
  const kinds = keys.map((key) => chartKind(key, options));
  const next = details(points, keys, before);
  const seen = seenStretch();
  const key = JSON.stringify([keys, options]);
  if (key === shown) charts.update(next, seen);
  else {
    charts.show(next, kinds, "time");
    charts.zoom(seen);
  }
  shown = key;
  const last = points[points.length - 1].values;
  const texts = Object.fromEntries(kinds.map(({key, format}) => [key, format(last[key] ?? NaN)]));
  charts.moveCursor(undefined, texts);
  const names = kinds.map(({key, label}) => `${label} ${texts[key]}`).join(", ");
  box.setAttribute("aria-label", `Charts. Now: ${names}.`);
}

function seenStretch() {
  const {value} = /** @type {HTMLInputElement} */ (part.querySelector("input:checked"));
  return stretch(points, value === "all" ? Infinity : Number(value), before);
}

/** Says where lines begin that do not begin with the workout. */
function sinceText() {
  const [first] = points;
  return !before && first.t > beginning && seenStretch().from <= first.t
    ? `These lines begin at ${timeOfDay(first.at)}, when this page was opened.`
    : "";
}

part.addEventListener("toggle", drawCharts);
byID("charts-stretch").addEventListener("change", drawCharts);
whenUnitsChange(drawCharts);
