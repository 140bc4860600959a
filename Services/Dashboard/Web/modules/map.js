// The map: the route, its start, kilometres and the position, on tiles or on paper with a grid.
// Leaflet sets styles through the CSSOM, which the policy of the page allows. Its popups, tooltips and attribution write HTML:
// none of them is used.

import {byID, make, setText, show} from "./dom.js";
import L from "./load-leaflet.js";
import {units, whenUnitsChange} from "./page.js";
import {decode, endAt, lengthOf, pieces, scale, sharedLength} from "./route.js";

const metresPerMile = 1609.344;
/** Milliseconds. */
const wholeInterval = 15_000;
/** @param {string} units */
const splitLength = (units) => (units === "imperial" ? metresPerMile : 1000);
/** Pixels. */
const visibleStep = 2;
/** Points of the tail of the first route. */
const tailLength = 16;

export class RouteMap {
  /** @param {HTMLElement} box @param {string | undefined} tiles */
  constructor(box, tiles) {
    this.box = box;
    this.follows = true;
    /** The drawn route: units and revision. */
    this.drawn = "";
    /** @type {[number, number] | undefined} */
    this.anchor = undefined;
    /**
     * What is drawn of the route but for its tail: `kept` is the last line up to there, `toSplit` the length of a tail that
     * reaches the next split.
     *
     * @type {{ units: string, lines: number, kept: [number, number][], at: number, toSplit: number } | undefined}
     */
    this.whole = undefined;
    /** @type {[number, number][]} the last line of the newest route, and all its places */
    this.line = [];
    /** @type {[number, number][]} */
    this.places = [];
    /** @type {number | undefined} the zoom when the reader asked for the whole route */
    this.zoomBefore = undefined;
    /** @type {import("../leaflet/leaflet.js").Marker | undefined} the mark of the position */
    this.here = undefined;
    /** @type {import("../leaflet/leaflet.js").Line[]} the end of the last line, which each route may draw anew: edge and line */
    this.tail = [];
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.isStill = isStill;
    const element = byID("map");
    this.map = L.map(element, {
      attributionControl: false,
      zoomAnimation: !isStill,
      fadeAnimation: false,
      markerZoomAnimation: !isStill,
      inertia: !isStill,
      minZoom: 3,
      maxZoom: 19,
      zoomSnap: 0.5,
    });
    const zoomIn = /** @type {HTMLElement} */ (element.querySelector(".leaflet-control-zoom-in"));
    zoomIn.setAttribute("aria-label", "Zoom in");
    element.querySelector(".leaflet-control-zoom-out")?.setAttribute("aria-label", "Zoom out");
    element.setAttribute("role", "application");
    element.setAttribute("aria-label", "Map. Arrow keys move it, plus and minus zoom.");
    if (tiles) L.tileLayer(tiles, {maxZoom: 19}).addTo(this.map);
    else element.classList.add("paper");
    this.hasTiles = Boolean(tiles);
    this.edges = L.layerGroup().addTo(this.map);
    this.lines = L.layerGroup().addTo(this.map);
    this.kilometres = L.layerGroup().addTo(this.map);
    this.marks = L.layerGroup().addTo(this.map);
    /**
     * Draws the splits of a new route, if a page wants them.
     *
     * @type {(lines: [number, number][][], length: number) => void}
     */
    this.drawSplits = () => {};
    this.map.on("move zoom viewreset resize", () => this.drawPaper());
    // A step too small to be seen may be large now.
    this.map.on("zoomend", () => this.#placeEnd());
    whenUnitsChange(() => this.drawPaper());
    this.map.on("dragstart", () => this.#follow(false));
    element.addEventListener("keydown", (event) => event.key.startsWith("Arrow") && this.#follow(false));
    byID("recenter").addEventListener("click", () => {
      this.#follow(true);
      if (this.place) this.map.setView(this.place, this.zoomBefore ?? this.map.getZoom());
      this.zoomBefore = undefined;
    });
    // Other maps show all that they have.
    document.getElementById("whole")?.addEventListener("click", () => {
      this.zoomBefore ??= this.map.getZoom();
      this.#follow(false);
      this.#showAll();
    });
    // Home's map has none.
    document.getElementById("fold")?.addEventListener("click", () => {
      const isFolded = box.classList.toggle("folded");
      byID("fold").setAttribute("aria-expanded", String(!isFolded));
      this.map.invalidateSize();
    });
  }

  /** @param {boolean} follows */
  #follow(follows) {
    this.follows = follows;
    show(byID("recenter"), !follows);
  }

  #showAll() { this.map.fitBounds(L.latLngBounds(this.places), {padding: [36, 36], maxZoom: 17, animate: false}); }

  /** @param {any} route @param {import("./format.js").Units} units */
  update(route, units) {
    const lines = decode(route.pl ?? []).filter((line) => line.length > 0);
    /** @type {[number, number] | undefined} */
    const here = route.la === undefined ? undefined : [route.la, route.lo];
    const start = lines[0]?.[0] ?? here;
    if (!start || !here) return;
    const key = `${units} ${route.s}`;
    if (this.drawn === key) return;
    this.drawn = key;
    this.place = here;
    const last = lines.at(-1) ?? [];
    endAt(last, here);
    const before = this.line;
    this.line = last;
    this.places = [...lines.flat(), here];
    if (this.anchor && this.#extend(lines, units)) return;
    if (!this.anchor) {
      this.anchor = start;
      this.#showAll();
    } else if (this.follows && !this.#inner(here)) this.map.panTo(here);
    // The newest part of a line is simplified anew with each position: what two routes share is likely to stay.
    const shared = sharedLength(before, last);
    const from = Math.max(0, Math.min(last.length - 2, shared > 0 ? shared - 1 : last.length - tailLength));
    const kept = last.slice(0, from + 1);
    const old = [...lines.slice(0, -1), kept];
    this.#draw(lines, old, start, here, units);
    this.drawPaper();
    const lengths = [old, lines].map((all) => all.reduce((sum, line) => sum + lengthOf(line), 0));
    const split = splitLength(units);
    const toSplit = lengths[1] - lengths[0] + split - lengths[1] % split;
    this.whole = {units, lines: lines.length, kept, at: performance.now(), toSplit};
    this.#placeEnd();
  }

  /**
   * Draws only the tail, if all before it is as drawn a short while ago: drawing costs more than all else on the page.
   *
   * @param {[number, number][][]} lines @param {string} units
   */
  #extend(lines, units) {
    const {whole, line, place} = this;
    if (!whole || !this.here || !place || whole.units !== units || whole.lines !== lines.length) return false;
    const {kept} = whole;
    if (performance.now() - whole.at > wholeInterval || sharedLength(kept, line) < kept.length) return false;
    if (lengthOf(line.slice(kept.length - 1)) >= whole.toSplit) return false;
    this.#pulse();
    const [from, to] = [this.here.getLatLng(), place].map((each) => this.map.latLngToContainerPoint(each));
    if (Math.hypot(to.x - from.x, to.y - from.y) >= visibleStep) this.#placeEnd();
    if (this.follows && !this.#inner(place)) this.map.panTo(place);
    return true;
  }

  /** Draws the tail, and the mark at its end. */
  #placeEnd() {
    if (!this.whole || !this.here || !this.place) return;
    this.here.setLatLng(this.place);
    const points = this.line.slice(this.whole.kept.length - 1);
    for (const line of this.tail) line.setLatLngs(points);
  }

  /** The mark pulses with the positions, in the frames that show them: an animation costs as much as all else on the page. */
  #pulse() {
    if (!this.isStill) this.here?.getElement()?.classList.toggle("pulse");
  }

  /**
   * Draws the routes of several runners, or where they are. The view shows them all until it is dragged.
   *
   * @param {{ name: string, color: number, lines: [number, number][][], kinds?: (string | undefined)[], here?: [number, number] }[]} runners
   *   a kind is the class of its line instead of the runner's
   * @param {string} key of what is drawn
   */
  updateRunners(runners, key) {
    const places = runners.flatMap(({lines, here}) => [...lines.flat(), ...(here ? [here] : [])]);
    if (this.drawn === key || places.length === 0) return;
    this.drawn = key;
    this.anchor ??= places[0];
    this.place = places[0];
    this.map.invalidateSize();
    if (this.follows) this.map.fitBounds(L.latLngBounds(places), {padding: [40, 40], maxZoom: 17, animate: false});
    for (const layer of [this.edges, this.lines, this.marks]) layer.clearLayers();
    for (const {name, color, lines, kinds = [], here} of runners) {
      for (const [index, line] of lines.entries()) {
        L.polyline(line, {className: "route-edge", weight: 8, opacity: 1, interactive: false, smoothFactor: 0})
          .addTo(this.edges);
        L.polyline(line, {
           className: `route-line ${kinds[index] ?? `runner-${color}`}`,
           weight: 4,
           interactive: false,
           smoothFactor: 0
         })
          .addTo(this.lines);
      }
      const end = here ?? lines[lines.length - 1]?.slice(-1)[0];
      if (end) this.mark(end, `runner runner-${color}`, 28, name.slice(0, 2));
    }
    this.drawPaper();
  }

  /**
   * Whether a place is far from the edges; updates leave the view alone then.
   *
   * @param {[number, number]} place
   */
  #inner(place) {
    const {x, y} = this.map.latLngToContainerPoint(place);
    const size = this.map.getSize();
    return x > size.x * 0.2 && x < size.x * 0.8 && y > size.y * 0.2 && y < size.y * 0.8;
  }

  /**
   * @param {[number, number][][]} lines @param {[number, number][][]} old without the tail
   * @param {[number, number]} start @param {[number, number]} here @param {string} units
   */
  #draw(lines, old, start, here, units) {
    for (const layer of [this.edges, this.lines, this.marks]) layer.clearLayers();
    const edge = {className: "route-edge", weight: 9, opacity: 1, interactive: false, smoothFactor: 0};
    const line = {className: "route-line", weight: 5, interactive: false, smoothFactor: 0};
    for (const points of old) L.polyline(points, edge).addTo(this.edges);
    const tailEdge = L.polyline([here], edge).addTo(this.edges);
    for (const {points, age} of pieces(old, 12))
      L.polyline(points, {...line, opacity: 0.4 + 0.5 * age, lineCap: "butt"}).addTo(this.lines);
    this.tail = [tailEdge, L.polyline([here], {...line, opacity: 0.9}).addTo(this.lines)];
    this.mark(start, "start", 18);
    this.drawSplits(lines, splitLength(units));
    this.here = this.mark(here, "here", 20);
    this.#pulse();
  }

  /** @param {[number, number]} place @param {string} kind @param {number} size */
  mark(place, kind, size, text = "", layer = this.marks) {
    const icon = L.divIcon({className: `map-mark ${kind}`, iconSize: [size, size], html: make("span", {}, text)});
    return L.marker(place, {icon, interactive: false, keyboard: false, zIndexOffset: kind === "here" ? 1000 : 0})
      .addTo(layer);
  }

  /** Grid and scale. Lines are counted from the start. */
  drawPaper() {
    if (!this.anchor) return;
    const zoom = this.map.getZoom();
    const metresPerPixel = (40075016.686 * Math.cos((this.anchor[0] * Math.PI) / 180)) / 2 ** (zoom + 8);
    const {metres, text} = scale(metresPerPixel, units());
    const pixels = metres / metresPerPixel;
    const bar = byID("scale");
    bar.style.width = `${pixels}px`;
    setText(bar.firstElementChild, text);
    if (this.hasTiles) return;
    const {x, y} = this.map.latLngToContainerPoint(this.anchor);
    const {style} = this.map.getContainer();
    const [strong, weak] = [`${pixels * 5}px ${pixels * 5}px`, `${pixels}px ${pixels}px`];
    style.backgroundSize = [strong, strong, weak, weak].join(", ");
    style.backgroundPosition = `${Math.round(x)}px ${Math.round(y)}px`;
  }
}
