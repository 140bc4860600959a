// The numbered marks of whole kilometres or miles on a route.

import {distance} from "./route.js";

/** More kilometres than a person covers in a day: of more, the route is impossible. */
const mostSplits = 1000;

/**
 * The places where each whole split ends, at most 1,000.
 *
 * @param {[number, number][][]} lines @param {number} length metres
 */
export function splits(lines, length) {
  /** @type {[number, number][]} */
  const places = [];
  let sum = 0;
  for (const line of lines) {
    for (let i = 1; i < line.length; i++) {
      const step = distance(line[i - 1], line[i]);
      while (step > 0 && places.length < mostSplits && sum + step >= (places.length + 1) * length) {
        const part = ((places.length + 1) * length - sum) / step;
        const [[latitude, longitude], [north, east]] = [line[i - 1], line[i]];
        places.push([latitude + part * (north - latitude), longitude + part * (east - longitude)]);
      }
      sum += step;
    }
  }
  return places;
}

/** Each how many splits have a mark, and the pixels between two marks. */
const markSteps = [1, 2, 5, 10, 20, 50, 100];
const markDistance = 40;

/**
 * The splits that have a mark, as indices: every one, or every 2nd, 5th … so that those that follow one another are 40 pixels
 * apart on average. Where a route comes back to a place, the later mark stays.
 *
 * @param {{ x: number, y: number }[]} points the splits on the screen
 */
export function marked(points) {
  /** @param {number} a @param {number} b */
  const apart = (a, b) => Math.hypot(points[a].x - points[b].x, points[a].y - points[b].y);
  const every = markSteps.map((step) => points.map((_, index) => index).filter((index) => (index + 1) % step === 0));
  const all = every.find((indices) => indices.slice(1).reduce((sum, index, i) => sum + apart(index, indices[i]), 0) >=
                  markDistance * (indices.length - 1)) ??
    [];
  /** @type {number[]} */
  const shown = [];
  for (const index of all.reverse())
    if (shown.every((other) => apart(other, index) >= markDistance)) shown.push(index);
  return shown.reverse();
}

/**
 * Lets a map show them, as many as its zoom has room for.
 *
 * @param {import("./map.js").RouteMap} route
 */
export function showKilometres(route) {
  const {map, kilometres} = route;
  /** @type {[number, number][]} */
  let places = [];
  const draw = () => {
    kilometres.clearLayers();
    for (const index of marked(places.map((place) => map.latLngToContainerPoint(place)))) {
      route.mark(places[index], "kilometre", 22, String(index + 1), kilometres);
    }
  };
  map.on("zoomend", draw);
  route.drawSplits = (lines, length) => {
    places = splits(lines, length);
    draw();
  };
}
