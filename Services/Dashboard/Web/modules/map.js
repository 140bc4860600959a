// The map: the route, its start, kilometres and the position, on tiles or on paper with a metric grid.
// Leaflet sets styles through the CSSOM, which the policy of the page allows. Its popups, tooltips and attribution write HTML:
// none of them is used.

import * as L from "../leaflet/leaflet.js";
import { byID, make, setText, show } from "./dom.js";
import { decode, pieces, spacing, splits } from "./route.js";

const metresPerMile = 1609.344;

export class RouteMap {
  /** @param {HTMLElement} box @param {string | undefined} tiles */
  constructor(box, tiles) {
    this.box = box;
    this.follows = true;
    /** The drawn route: units and revision. */
    this.drawn = "";
    /** @type {[number, number] | undefined} */
    this.anchor = undefined;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const element = byID("map");
    this.map = L.map(element, {
      attributionControl: false, zoomAnimation: !isStill, fadeAnimation: false, markerZoomAnimation: !isStill, inertia: !isStill,
      minZoom: 3, maxZoom: 19, zoomSnap: 0.5,
    });
    const zoomIn = /** @type {HTMLElement} */ (element.querySelector(".leaflet-control-zoom-in"));
    zoomIn.setAttribute("aria-label", "Zoom in");
    element.querySelector(".leaflet-control-zoom-out")?.setAttribute("aria-label", "Zoom out");
    element.setAttribute("role", "application");
    element.setAttribute("aria-label", "Map. Arrow keys move it, plus and minus zoom.");
    if (tiles) L.tileLayer(tiles, { maxZoom: 19 }).addTo(this.map);
    else element.classList.add("paper");
    this.hasTiles = Boolean(tiles);
    this.edges = L.layerGroup().addTo(this.map);
    this.lines = L.layerGroup().addTo(this.map);
    this.marks = L.layerGroup().addTo(this.map);
    this.map.on("move zoom viewreset resize", () => this.#paper());
    this.map.on("dragstart", () => this.#follow(false));
    element.addEventListener("keydown", (event) => event.key.startsWith("Arrow") && this.#follow(false));
    byID("recenter").addEventListener("click", () => {
      this.#follow(true);
      if (this.place) this.map.panTo(this.place);
    });
    byID("fold").addEventListener("click", () => {
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
    if (!this.anchor) {
      this.anchor = start;
      this.map.fitBounds(L.latLngBounds([...lines.flat(), here]), { padding: [36, 36], maxZoom: 17, animate: false });
    } else if (this.follows && !this.#inner(here)) this.map.panTo(here);
    this.#draw(lines, start, here, units);
    this.#paper();
  }

  /**
   * Draws the routes of several runners, or where they are. The view shows them all until it is dragged.
   *
   * @param {{ name: string, color: number, lines: [number, number][][], here?: [number, number] }[]} runners
   * @param {string} key of what is drawn
   */
  updateRunners(runners, key) {
    const places = runners.flatMap(({ lines, here }) => [...lines.flat(), ...(here ? [here] : [])]);
    if (this.drawn === key || places.length === 0) return;
    this.drawn = key;
    this.anchor ??= places[0];
    this.place = places[0];
    this.map.invalidateSize();
    if (this.follows) this.map.fitBounds(L.latLngBounds(places), { padding: [40, 40], maxZoom: 17, animate: false });
    for (const layer of [this.edges, this.lines, this.marks]) layer.clearLayers();
    for (const { name, color, lines, here } of runners) {
      for (const line of lines) {
        L.polyline(line, { className: "route-edge", weight: 8, opacity: 1, interactive: false, smoothFactor: 0 }).addTo(this.edges);
        L.polyline(line, { className: `route-line runner-${color}`, weight: 4, interactive: false, smoothFactor: 0 }).addTo(this.lines);
      }
      const end = here ?? lines[lines.length - 1]?.slice(-1)[0];
      if (end) this.#mark(end, `runner runner-${color}`, 28, name.slice(0, 2));
    }
    this.#paper();
  }

  /**
   * Whether a place is far from the edges; updates leave the view alone then.
   *
   * @param {[number, number]} place
   */
  #inner(place) {
    const { x, y } = this.map.latLngToContainerPoint(place);
    const size = this.map.getSize();
    return x > size.x * 0.2 && x < size.x * 0.8 && y > size.y * 0.2 && y < size.y * 0.8;
  }

  /** @param {[number, number][][]} lines @param {[number, number]} start @param {[number, number]} here @param {string} units */
  #draw(lines, start, here, units) {
    for (const layer of [this.edges, this.lines, this.marks]) layer.clearLayers();
    for (const line of lines) {
      L.polyline(line, { className: "route-edge", weight: 9, opacity: 1, interactive: false, smoothFactor: 0 }).addTo(this.edges);
    }
    for (const { points, age } of pieces(lines, 12)) {
      L.polyline(points, { className: "route-line", weight: 5, opacity: 0.4 + 0.5 * age, interactive: false, lineCap: "butt", smoothFactor: 0 }).addTo(this.lines);
    }
    this.#mark(start, "start", 18);
    const length = units === "imperial" ? metresPerMile : 1000;
    splits(lines, length).forEach((place, index) => this.#mark(place, "kilometre", 22, String(index + 1)));
    this.#mark(here, "here", 20);
  }

  /** @param {[number, number]} place @param {string} kind @param {number} size @param {string} [text] */
  #mark(place, kind, size, text = "") {
    const icon = L.divIcon({ className: `map-mark ${kind}`, iconSize: [size, size], html: make("span", {}, text) });
    L.marker(place, { icon, interactive: false, keyboard: false, zIndexOffset: kind === "here" ? 1000 : 0 }).addTo(this.marks);
  }

  /** Grid and scale. Lines are counted from the start, in metres. */
  #paper() {
    if (!this.anchor) return;
    const zoom = this.map.getZoom();
    const metresPerPixel = (40075016.686 * Math.cos((this.anchor[0] * Math.PI) / 180)) / 2 ** (zoom + 8);
    const metres = spacing(metresPerPixel);
    const pixels = metres / metresPerPixel;
    const scale = byID("scale");
    scale.style.width = `${pixels}px`;
    setText(scale.firstElementChild, metres >= 1000 ? `${metres / 1000} km` : `${metres} m`);
    if (this.hasTiles) return;
    const { x, y } = this.map.latLngToContainerPoint(this.anchor);
    const { style } = this.map.getContainer();
    const [strong, weak] = [`${pixels * 5}px ${pixels * 5}px`, `${pixels}px ${pixels}px`];
    style.backgroundSize = [strong, strong, weak, weak].join(", ");
    style.backgroundPosition = `${Math.round(x)}px ${Math.round(y)}px`;
  }
}
