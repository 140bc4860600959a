// The runners of a virtual run on its map: where they are now, and their routes afterwards. No DOM.

import {decode} from "./route.js";
import {runnerName} from "./run-results.js";

/** Colors of runners on the map. */
const colors = 6;

/**
 * The same color for a runner in all maps.
 *
 * @param {any} view @param {string} user
 */
export const colorOf = (view, user) =>
  Math.max(0, view.participants.findIndex((/** @type {any} */ p) => p.user === user)) % colors;

/**
 * Where those who share it are now, and the reader.
 *
 * @param {import("./virtual-run.js").Run} run
 */
export function places({view, metrics, positions}) {
  const shared = (positions?.x ?? []).map((/** @type {any} */ {u, la, lo}) => ({user: u, la, lo}));
  const mine =
    metrics?.la === undefined || shared.length === 0 ? [] : [{user: view.user, la: metrics.la, lo: metrics.lo}];
  return [...mine, ...shared].map(({user, la, lo}) => ({
    name: user,
    color: colorOf(view, user),
    lines: [],
    here: /** @type {[number, number]} */ ([la, lo]),
  }));
}

/**
 * The routes of a reply, for the map; colored by heart rate on request.
 *
 * @param {any} view @param {{ user: string, polyline: string[], h?: (number | null)[][] }[]} all @param {boolean} [byHeartRate]
 */
export const routes = (view, all, byHeartRate = false) =>
  all
    .map(({user, polyline, h}) => {
      const lines = decode(polyline);
      const maximum = view.participants.find((/** @type {any} */ p) => p.user === user)?.maximumHeartRate ??
        Math.max(...(h ?? []).flat().map((rate) => rate ?? 0), 1);
      const pieces = byHeartRate ? lines.flatMap((line, index) => zonePieces(line, h?.[index] ?? [], maximum))
                                 : lines.map((points) => ({points, kind: undefined}));
      const drawn = pieces.filter(({points}) => points.length > 0);
      return {
        name: user,
        color: colorOf(view, user),
        lines: drawn.map(({points}) => points),
        kinds: drawn.map(({kind}) => kind)
      };
    })
    // All of a route may lie in hidden circles.
    .filter(({lines}) => lines.length > 0);

/**
 * A line cut where the heart rate's zone changes: zone 1 below 60 % of the maximum, zone 5 from 90 %.
 *
 * @param {[number, number][]} line @param {(number | null)[]} rates @param {number} maximum
 */
export function zonePieces(line, rates, maximum) {
  const kind = (/** @type {number | null | undefined} */ rate) =>
    (rate === undefined || rate === null ? "zone-0"
                                         : `zone-${Math.min(5, Math.max(1, Math.floor((rate / maximum) * 10) - 4))}`);
  /** @type {{ points: [number, number][], kind: string | undefined }[]} */
  const pieces = [];
  for (let i = 1; i < line.length; i++) {
    const next = kind(rates[i]);
    const last = pieces[pieces.length - 1];
    if (last?.kind === next) last.points.push(line[i]);
    else pieces.push({points: [line[i - 1], line[i]], kind: next});
  }
  return pieces;
}

/**
 * The runners of a finished run whose splits are known, in the order of the results.
 *
 * @param {any} view @param {{ user?: string, ghost?: number, km: number[] }[]} splits
 */
export const runnersOf = (view, splits) => splits.filter(({km}) => km.length > 0).map(({user, ghost, km}, index) => ({
  user,
  ghost,
  km,
  name: runnerName({user, ghost}, view),
  color: ghost === undefined ? colorOf(view, user ?? "") : (view.participants.length + index) % 6,
  result: view.results.rows.find((/** @type {any} */ row) => row.user === user && row.ghost === ghost)
}));
