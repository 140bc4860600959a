// The map: the route, its start, kilometres and the position, on tiles or on paper with a grid.
// Leaflet sets styles through the CSSOM, which the policy of the page allows. Its popups, tooltips and attribution write HTML:
// none of them is used.

import {byID, make, setText, show} from "./dom.js";
import {units, whenUnitsChange} from "./page.js";
import {decode, lengthOf, pieces, scale} from "./route.js";

// The bundle of a page has this module; Leaflet is loaded with its first map.
const L = await import("../leaflet/leaflet.js");

const metresPerMile = 1609.344;
/** Milliseconds. */
const wholeInterval = 15_000;
/** @param {string} units */
const splitLength = (units) => (units === "imperial" ? metresPerMile : 1000);
/** Pixels. */
const visibleStep = 2;

export class RouteMap {
  /** @param {HTMLElement} box @param {string | undefined} tiles */
  constructor(box, tiles) {
    this.box = box;
    this.follows = true;
    /** The drawn route: units and revision. */
    this.drawn = "";
    /** @type {[number, number] | undefined} */
    this.anchor = undefined;
    /** @type {{ units: string, lines: number, from: number, at: number, toSplit: number } | undefined} */
    this.whole = undefined;
    /** @type {import("../leaflet/leaflet.js").Marker | undefined} the mark of the position */
    this.here = undefined;
    /** @type {import("../leaflet/leaflet.js").Line | undefined} the line since the whole route was drawn */
    this.tail = undefined;
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
    whenUnitsChange(() => this.drawPaper());
    this.map.on("dragstart", () => this.#follow(false));
    element.addEventListener("keydown", (event) => event.key.startsWith("Arrow") && this.#follow(false));
    byID("recenter").addEventListener("click", () => {
      this.#follow(true);
      if (this.place) this.map.panTo(this.place);
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

  /** @param {any} route @param {import("./format.js").Units} units */
  update(route, units) {
    const lines = decode(route.pl ?? []).filter((line) => line.length > 0);
    /** @type {[number, number] | undefined} */
    const here = route.la === undefined ? undefined : [route.la, route.lo];
    if (here && lines.length > 0) lines[lines.length - 1].push(here);
    const start = lines[0]?.[0] ?? here;
    if (!start || !here) return;
    const key = `${units} ${route.s}`;
    if (this.drawn === key) return;
    this.drawn = key;
    this.place = here;
    if (this.anchor && this.#extend(lines, here, units)) return;
    if (!this.anchor) {
      this.anchor = start;
      this.map.fitBounds(L.latLngBounds([...lines.flat(), here]), {padding: [36, 36], maxZoom: 17, animate: false});
    } else if (this.follows && !this.#inner(here)) this.map.panTo(here);
    this.#draw(lines, start, here, units);
    this.drawPaper();
    const last = lines[lines.length - 1] ?? [];
    const from = Math.max(0, last.length - 2);
    const drawn = [...lines.slice(0, -1), last.slice(0, from + 1)].reduce((sum, line) => sum + lengthOf(line), 0);
    const split = splitLength(units);
    this.whole = {units, lines: lines.length, from, at: performance.now(), toSplit: split - (drawn % split)};
  }

  /**
   * Draws only what is new since the whole route was drawn, a short while ago: drawing costs more than all else on the page.
   *
   * @param {[number, number][][]} lines @param {[number, number]} here @param {string} units
   */
  #extend(lines, here, units) {
    const {whole} = this;
    const line = lines[lines.length - 1];
    if (!whole || !this.here || !line || whole.units !== units || whole.lines !== lines.length) return false;
    const end = line.slice(whole.from);
    if (performance.now() - whole.at > wholeInterval || end.length < 2 || lengthOf(end) >= whole.toSplit) return false;
    this.#pulse();
    const [from, to] = [this.here.getLatLng(), here].map((place) => this.map.latLngToContainerPoint(place));
    if (Math.hypot(to.x - from.x, to.y - from.y) < visibleStep) return true;
    this.here.setLatLng(here);
    if (this.tail) this.tail.setLatLngs(end);
    else
      this.tail =
        L.polyline(end, {className: "route-line", weight: 5, opacity: 0.9, interactive: false, smoothFactor: 0})
          .addTo(this.lines);
    if (this.follows && !this.#inner(here)) this.map.panTo(here);
    return true;
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

  /** @param {[number, number][][]} lines @param {[number, number]} start @param {[number, number]} here @param {string} units */
  #draw(lines, start, here, units) {
    for (const layer of [this.edges, this.lines, this.marks]) layer.clearLayers();
    for (const line of lines) {
      L.polyline(line, {className: "route-edge", weight: 9, opacity: 1, interactive: false, smoothFactor: 0})
        .addTo(this.edges);
    }
    for (const {points, age} of pieces(lines, 12)) {
      L.polyline(points, {
         className: "route-line",
         weight: 5,
         opacity: 0.4 + 0.5 * age,
         interactive: false,
         lineCap: "butt",
         smoothFactor: 0
       })
        .addTo(this.lines);
    }
    this.mark(start, "start", 18);
    this.drawSplits(lines, splitLength(units));
    this.here = this.mark(here, "here", 20);
    this.tail = undefined;
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
