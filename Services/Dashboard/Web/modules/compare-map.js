// The routes of workouts on one map, and where each was at the cursor.

import L from "./load-leaflet.js";
import {RouteMap} from "./map.js";

/** @typedef {[number, number]} Place */
/** @typedef {{ name: string, mark: string, color: number, lines: Place[][] }} Route */

export class CompareMap extends RouteMap {
  #cursors = L.layerGroup().addTo(this.map);
  /** @type {(import("../leaflet/leaflet.js").Marker | undefined)[]} */
  #marks = [];
  /** @type {Route[]} */
  #routes = [];

  /** @param {Route[]} routes @param {string} key of what is drawn */
  show(routes, key) {
    this.#routes = routes;
    this.updateRunners(routes, key);
    // Marks are at the cursor, and not at the ends.
    if (this.#marks.length > 0) this.marks.clearLayers();
  }

  /** @param {(Place | undefined)[]} places of the workouts */
  moveCursor(places) {
    this.marks.clearLayers();
    places.forEach((place, index) => {
      const {color, mark} = this.#routes[index] ?? {};
      if (!place || color === undefined) return;
      const shown = this.#marks[index];
      if (shown) shown.setLatLng(place);
      else this.#marks[index] = this.mark(place, `runner runner-${color}`, 28, mark, this.#cursors);
    });
  }
}
