// Notices and announcements of a session as text. No DOM, no clock.

import {format, grouped, joined, minutes} from "./format.js";

/** @typedef {{ id: string, text: string, kind: "info" | "warning", isDismissable?: boolean }} Notice */

/** @type {Record<string, string>} */
const serviceWords = {
  "session-engine": "Presses wait and are kept",
  "metrics-aggregator": "Totals are not being updated",
  "route-builder": "The map is not being updated",
  "weather-fetcher": "The weather is not being updated",
  "virtual-run": "The gaps are not being updated",
  "exporter": "Finished workouts are not being exported",
};

/**
 * What does not work, because a service is offline.
 *
 * @param {Record<string, boolean>} services @param {...string} names those that the page does not need
 * @returns {Notice[]}
 */
export const offline = (services, ...names) =>
  Object.entries(serviceWords).filter(([name]) => services[name] === false && !names.includes(name)).map(([
    name, text
  ]) => ({id: name, text: `${text} at the moment.`, kind: "warning"}));

/** @param {import("./session.js").Session} session @param {import("./format.js").Options} options @returns {Notice[]} */
export function notices({state, workout, services, announcements, dismissed}, options) {
  const all = offline(
    services, ...(state?.run ? [] : ["virtual-run"]), ...(state?.environment === "indoor" ? ["weather-fetcher"] : []));
  if (state?.banner === "liveMetricsUnavailable") {
    const {heartRate = true, workouts = true} = state.permissions ?? {};
    const denied =
      [heartRate ? "" : " The phone may not read heart rate.", workouts ? "" : " The phone may not save workouts."];
    all.push({id: "banner", kind: "info", text: `No live metrics. Use a watch for live heart rate.${denied.join("")}`});
  }
  if (workout?.notSynced) {
    all.push({
      id: "notSynced",
      kind: "warning",
      text: "Workout saved locally but couldn’t sync to server.",
      isDismissable: true
    });
  }
  for (const announcement of announcements) {
    if (!["warning", "clock_skew"].includes(announcement.kind)) continue;
    const id = `${announcement.kind}-${announcement.at}`;
    const text = announcementText(announcement, options);
    if (text) all.push({id, text, kind: "warning", isDismissable: true});
  }
  return all.filter(({id}) => !dismissed.includes(id));
}

/**
 * What an announcement says: `Kilometre 3 in 4:31, 148 bpm`.
 *
 * @param {any} a @param {import("./format.js").Options} [options] @returns {string | undefined}
 */
export function announcementText(a, options = {}) {
  /** @param {string} quantity @param {number | undefined} value */
  const text = (quantity, value) => (value === undefined ? undefined : joined(format(quantity, value, options)));
  const time = a.duration === undefined ? "" : ` in ${minutes(a.duration)}`;
  const rate = text("heartRate", a.averageHeartRate);
  const number = a.number === undefined ? "" : ` ${a.number}`;
  /** @param {any} runner */
  const name = (runner) => runner.user ?? (runner.ghost === undefined ? "a partner" : `ghost ${runner.ghost}`);
  /** @param {any} runner @param {string} side */
  const gap = (runner, side) =>
    `${name(runner)}${runner.seconds === undefined ? "" : ` ${grouped(runner.seconds)} s`} ${side}`;
  switch (a.kind) {
    case "split":
      return [`${a.unit === "mi" ? "Mile" : "Kilometre"}${number}${time}`, rate].filter(Boolean).join(", ");
    case "lap": {
      const length = text("distance", a.distance);
      return [`Lap${number}${length ? `: ${length}` : ""}${time}`, text("pace", a.pace), rate].filter(Boolean).join(
        ", ");
    }
    case "clock_skew":
      return a.device && `The clock of ${a.device} is ${grouped(Math.abs(a.seconds))} s off.`;
    case "gap": {
      const parts =
        [a.place && `place ${a.place}`, a.ahead && gap(a.ahead, "ahead"), a.behind && gap(a.behind, "behind")];
      return `${a.unit === "mi" ? "Mile" : "Kilometre"}${number}: ${parts.filter(Boolean).join(", ")}`;
    }
    case "lead":
      return a.taken ? `You are ahead of ${name(a)}` : `${name(a)} is ahead of you`;
    case "finished":
      return `${name(a)} finished ${[text("distance", a.distance), text("pace", a.pace)].filter(Boolean).join(", ")}`
        .trim();
    case "lost":
      return "No data from your partners";
    case "left":
      return `${name(a)} left the run`;
    default:
      return a.text;
  }
}
