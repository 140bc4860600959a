// This week's totals and the latest workouts.

import {titleOf} from "./cards.js";
import {all, byID, make, setList, setNumber, setText, show, value} from "./dom.js";
import {format, joined, when} from "./format.js";
import {login, serverNow, units} from "./page.js";
import {recent as recentOf, weekTitle} from "./recent.js";

/**
 * @param {import("./recent.js").Workout[] | undefined} workouts of all; nothing before all are known @param {string[]} people
 */
export function drawWeek(workouts, people) {
  setText(byID("recent-title"), weekTitle(login, people));
  if (!workouts) return;
  const options = {units: units()};
  const recent = recentOf(workouts, serverNow());
  for (const cell of all(".cell", byID("week"))) {
    const key = /** @type {"count" | "duration" | "distance"} */ (cell.dataset.key);
    setNumber(/** @type {HTMLElement} */ (cell.querySelector("dd")), format(key, recent[key], options));
  }
  show(byID("latest-box"), recent.latest.length > 0);
  setList(
    byID("latest"), recent.latest.map((workout) => ({...workout, ...options, isNamed: people.length > 1})), latestRow);
}

/** @param {any} workout */
function latestRow({user, session, units: shown, isNamed, ...totals}) {
  const options = {units: shown, activity: totals.activity};
  const name = titleOf(totals.activity, totals.name);
  const link = make("a", {href: `/workout/${user}/${session}`}, isNamed ? `${user} · ${name}` : name);
  const head =
    make("th", {}, link, " ", make("small", {}, when(totals.startedAt ?? totals.endedAt ?? 0, totals.timeZone)));
  head.setAttribute("scope", "row");
  return make("tr", {data: {activity: totals.activity}}, head,
    make("td", {}, ...value(joined(format("duration", totals.activeDuration)))),
    make("td", {}, ...value(joined(format("distance", totals.distance, options)))));
}
