// The map of a finished workout: the route draws itself once, at the pace of the workout; then it has a colour for each value.

import {byID, setText, show} from "./dom.js";
import L from "./load-leaflet.js";
import {showKilometres} from "./kilometres.js";
import {RouteMap} from "./map.js";
import {units} from "./page.js";
import {decode, lengthOf} from "./route.js";
import {classes} from "./chart-data.js";
import {indexAt, placeAt, valueAt} from "./workout-data.js";

/** @typedef {import("./workout-data.js").Details} Details */
/** @typedef {[number, number]} Place */
/** @typedef {{ points: Place[], from: number, to: number, color?: number }} Piece */

export const colorCount = 6;
/** The route in at most as many pieces: each has one colour. */
const pieceCount = 300;
/** Milliseconds in which the route draws itself. */
const replay = 2600;
/** Seconds of no position that part a line in two. */
const silence = 30;

export class WorkoutMap {
  /** @type {Piece[]} */
  #pieces = [];
  /** @type {(import("../leaflet/leaflet.js").Line)[]} */
  #lines = [];
  /** @type {Details | undefined} */
  #details;
  /** @type {string | undefined} */
  #colored;
  #mayReplay = true;
  #frame = 0;

  /** @param {HTMLElement} box @param {string | undefined} tiles @param {(t: number | undefined) => void} onPoint */
  constructor(box, tiles, onPoint) {
    this.route = new RouteMap(box, tiles);
    const {map} = this.route;
    this.stretch = L.layerGroup().addTo(map);
    this.cursorLayer = L.layerGroup().addTo(map);
    map.on("mousemove", (/** @type {any} */ event) => onPoint(this.#near(event.containerPoint)));
    map.on("mouseout", () => onPoint(undefined));
    byID("recenter").addEventListener("click", () => this.#fit());
    showKilometres(this.route);
  }

  /** @param {{ x: number, y: number }} point @returns {number | undefined} active seconds of the nearest position */
  #near(point) {
    const places = this.#details?.places;
    if (!places) return undefined;
    let [best, least] = [-1, 32 ** 2];
    const stride = Math.max(1, Math.floor(places.t.length / 1500));
    for (let i = 0; i < places.t.length; i += stride) {
      const {x, y} = this.route.map.latLngToContainerPoint([places.la[i], places.lo[i]]);
      const distance = (x - point.x) ** 2 + (y - point.y) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best < 0 ? undefined : places.t[best];
  }

  /** @type {Place[]} */
  #all = [];

  #fit() {
    if (this.#all.length === 0) return;
    this.route.map.fitBounds(L.latLngBounds(this.#all),
      {padding: this.route.map.getSize().y < 200 ? [12, 12] : [32, 32], maxZoom: 17, animate: false});
    this.route.drawPaper();
  }

  /**
   * The route of the record, before its positions in time are known.
   *
   * @param {string[]} polyline
   */
  showRecord(polyline) {
    const lines = decode(polyline).filter((line) => line.length > 1);
    const whole = lines.reduce((sum, line) => sum + lengthOf(line), 0);
    let sum = 0;
    this.#show(lines, lines.flatMap((line) => cut(line, Math.max(2, Math.ceil(line.length / 60))).map((points) => {
      const from = sum;
      sum += lengthOf(points);
      return {points, from: from / whole, to: sum / whole};
    })));
  }

  /** @param {Details} details */
  showDetails(details) {
    const {places} = details;
    if (!places) return;
    this.#details = details;
    /** @type {number[][]} indices */
    const lines = [];
    let [next, last] = [0, -Infinity];
    for (let i = 0; i < places.t.length; i++) {
      if (!Number.isFinite(places.la[i]) || !Number.isFinite(places.lo[i])) continue;
      let isBroken = places.t[i] - last > silence;
      while (next < details.breaks.length && places.t[i] > details.breaks[next].t) {
        isBroken = true;
        next += 1;
      }
      if (isBroken) lines.push([]);
      lines[lines.length - 1].push(i);
      last = places.t[i];
    }
    const size = Math.max(2, Math.ceil(places.t.length / pieceCount) + 1);
    const place = (/** @type {number} */ i) => /** @type {Place} */ ([places.la[i], places.lo[i]]);
    const pieces =
      lines.flatMap((line) => cut(line, size))
        .map((part) => ({points: part.map(place), from: places.t[part[0]], to: places.t[part[part.length - 1]]}));
    this.#show(lines.map((line) => line.map(place)).filter((line) => line.length > 1), pieces);
  }

  /** @param {Place[][]} lines @param {Piece[]} pieces */
  #show(lines, pieces) {
    if (lines.length === 0) return;
    const {route} = this;
    const isFirst = !route.anchor;
    this.#pieces = pieces;
    this.#all = lines.flat();
    route.anchor ??= lines[0][0];
    route.place = lines[0][0];
    if (isFirst) this.#fit();
    for (const layer of [route.edges, route.marks]) layer.clearLayers();
    for (const line of lines) {
      L.polyline(line, {className: "route-edge", weight: 9, opacity: 1, interactive: false, smoothFactor: 0})
        .addTo(route.edges);
      L.polyline(line, {className: "route-ghost", weight: 3, opacity: 0.5, interactive: false, smoothFactor: 0})
        .addTo(route.edges);
    }
    route.mark(lines[0][0], "start", 18);
    route.mark(this.#all[this.#all.length - 1], "finish", 18);
    this.#paint();
    route.drawSplits(lines, units() === "imperial" ? 1609.344 : 1000);
    route.drawPaper();
  }

  #paint() {
    this.route.lines.clearLayers();
    this.#lines = this.#pieces.map(({points, color}) =>
                                     L.polyline(points, {
                                        className: color === undefined ? "route-line" : `route-line ramp-${color}`,
                                        weight: 5,
                                        opacity: 1,
                                        interactive: false,
                                        smoothFactor: 0
                                      })
                                       .addTo(this.route.lines));
  }

  /**
   * Each piece in the colour of its value.
   *
   * @param {string} key of a line @param {import("./chart.js").Kind} kind @param {[string, string]} words of the ends
   */
  color(key, {format, value: shown = Number}, words) {
    const line = this.#details?.lines[key];
    if (!line) return;
    // A pace that is too slow has no colour, as it has no place in its chart.
    const values = this.#pieces.map(({from, to}) => mean(line, from, to) ?? NaN)
                     .map((value) => (Number.isFinite(shown(value)) ? value : NaN));
    const found = classes(values, colorCount);
    this.#pieces.forEach((piece, index) => piece.color = found.of(values[index]));
    if (this.#colored !== undefined || this.#lines.length > 0) this.#paint();
    this.#colored = key;
    const ramp = byID("ramp");
    const [low, high] = /** @type {HTMLElement[]} */ ([...ramp.querySelectorAll("span")]);
    setText(low, `${words[0]} ${format(found.low)}`);
    setText(high, `${format(found.high)} ${words[1]}`);
    show(ramp, true);
    if (!ramp.querySelector("rect")) {
      for (let i = 0; i < colorCount; i++) {
        const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        for (const [name, value] of Object.entries({x: i * 10, y: 0, width: 10.2, height: 8, class: `ramp-${i}`}))
          rect.setAttribute(name, String(value));
        ramp.querySelector("svg")?.append(rect);
      }
    }
  }

  /** Once: as fast as the workout was, in parts of seconds. At once for those who want no motion. */
  draw() {
    if (!this.#mayReplay || this.route.isStill || this.#lines.length === 0) return;
    this.#mayReplay = false;
    const lines = this.#lines.map((line) => line.getElement());
    const pieces = this.#pieces;
    const end = pieces[pieces.length - 1].to;
    const element = this.route.map.getContainer();
    element.dataset.replay = "running";
    for (const line of lines) line?.classList.add("undrawn");
    const mark = this.route.mark(pieces[0].points[0], "here", 20);
    const began = performance.now();
    let shown = 0;
    const step = () => {
      // Another colour was chosen: it is there at once.
      const isStopped = lines[0] !== this.#lines[0]?.getElement();
      const t = isStopped ? Infinity : (performance.now() - began) / replay * end;
      while (shown < lines.length && pieces[shown].to <= t) lines[shown++]?.classList.remove("undrawn");
      const {points} = pieces[Math.min(shown, pieces.length - 1)];
      mark.setLatLng(points[points.length - 1]);
      if (shown < lines.length) return void (this.#frame = requestAnimationFrame(step));
      mark.remove();
      element.dataset.replay = "done";
    };
    cancelAnimationFrame(this.#frame);
    step();
  }

  /** @param {number | undefined} t */
  moveCursor(t) {
    const place = t === undefined || !this.#details ? undefined : placeAt(this.#details, t);
    if (!place) {
      this.cursorLayer.clearLayers();
      this.cursor = undefined;
      return;
    }
    if (this.cursor) this.cursor.setLatLng(place);
    else this.cursor = this.route.mark(place, "cursor", 20, "", this.cursorLayer);
  }

  /** @param {import("./workout-data.js").Stretch | undefined} stretch drawn above the route */
  mark(stretch) {
    this.stretch.clearLayers();
    const places = this.#details?.places;
    if (!stretch || !places || !this.#details) return;
    const [first, last] = [indexAt(places.t, stretch.from) + 1, indexAt(places.t, stretch.to)];
    const inner = Array
                    .from({length: Math.max(0, last - first + 1)},
                      (_, i) => /** @type {Place} */ ([places.la[first + i], places.lo[first + i]]))
                    .filter(([latitude]) => Number.isFinite(latitude));
    const ends = [stretch.from, stretch.to].map((t) => placeAt(/** @type {Details} */ (this.#details), t));
    const points = [ends[0], ...inner, ends[1]].flatMap((place) => (place ? [place] : []));
    if (points.length < 2) return;
    for (const [className, weight] of /** @type {[string, number][]} */ (
           [["route-stretch-edge", 12], ["route-stretch", 7]]))
      L.polyline(points, {className, weight, opacity: 1, interactive: false, smoothFactor: 0}).addTo(this.stretch);
  }

  /** After its box has another size. */
  resize() {
    this.route.map.invalidateSize();
    this.#fit();
  }
}

/**
 * Parts that share their ends.
 *
 * @template Item
 * @param {Item[]} line @param {number} size
 */
function cut(line, size) {
  /** @type {Item[][]} */
  const parts = [];
  for (let start = 0; start < line.length - 1; start += size - 1) parts.push(line.slice(start, start + size));
  return parts;
}

/** @param {import("./workout-data.js").Line} line @param {number} from @param {number} to */
function mean(line, from, to) {
  let [sum, count] = [0, 0];
  for (let i = Math.max(0, indexAt(line.t, from)); i < line.t.length && line.t[i] <= to; i++) {
    if (!Number.isFinite(line.v[i])) continue;
    sum += line.v[i];
    count += 1;
  }
  return count > 0 ? sum / count : valueAt(line, (from + to) / 2);
}
