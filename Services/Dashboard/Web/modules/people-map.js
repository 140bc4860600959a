// The map of all people of Home. A name is a link to the person's page, the mark of several people a button that zooms
// in on them; Leaflet's popups and tooltips write HTML.

import {byID, make, show as setVisible} from "./dom.js";
import L from "./load-leaflet.js";
import {RouteMap} from "./map.js";
import {groupText, labelText, layout} from "./places.js";

/** @typedef {{ user: string, href: string, activity: string, isSilent: boolean, place: [number, number] }} Person */

export class PeopleMap extends RouteMap {
  /** @param {HTMLElement} box @param {string | undefined} tiles */
  constructor(box, tiles) {
    super(box, tiles);
    this.key = "";
    /** @type {Person[]} */
    this.people = [];
    /**
     * By names.
     *
     * @type {Map<string, { marker: ReturnType<typeof L.marker>, dot: HTMLElement, name: HTMLElement }>}
     */
    this.shown = new Map();
    const context = document.createElement("canvas").getContext("2d");
    if (context) context.font = `700 14px ${getComputedStyle(box).fontFamily}`;
    this.width = (/** @type {string} */ text) => Math.ceil(context?.measureText(text).width ?? text.length * 9) + 18;
    // All fill the view.
    this.map.options.zoomSnap = 0.1;
    this.map.on("zoomend moveend resize", () => this.#draw());
  }

  /**
   * Shows where all are, those with precedence first. The view moves only when someone leaves it, and never after a drag.
   *
   * @param {Person[]} people
   */
  show(people) {
    const key = JSON.stringify(people);
    if (this.key === key) return;
    this.key = key;
    this.people = people;
    if (people.length === 0) return this.#draw();
    const places = people.map(({place}) => place);
    this.place = places[0];
    const isFirst = !this.anchor;
    this.anchor ??= places[0];
    if (isFirst || (this.follows && !this.#holds(places))) this.fit(places);
    this.#draw();
    this.drawPaper();
  }

  /** The button Recenter shows all again. */
  recenter() {
    if (this.people.length > 0) this.fit(this.people.map(({place}) => place));
  }

  /** @param {[number, number][]} places */
  fit(places) {
    this.map.invalidateSize();
    this.map.fitBounds(L.latLngBounds(places), {padding: [48, 48], maxZoom: 16, animate: false});
  }

  /** @param {[number, number][]} places */
  #holds(places) {
    const {x: width, y: height} = this.map.getSize();
    return places.every((place) => {
      const {x, y} = this.map.latLngToContainerPoint(place);
      return x > 12 && y > 12 && x < width - 12 && y < height - 12;
    });
  }

  /**
   * Zooms in on people who share a mark.
   *
   * @param {string[]} users
   */
  #part(users) {
    this.follows = false;
    setVisible(byID("recenter"), true);
    const places = this.people.filter(({user}) => users.includes(user)).map(({place}) => place);
    this.map.fitBounds(L.latLngBounds(places), {padding: [80, 80], animate: false});
  }

  /** Marks keep their elements, so that a press or the focus outlasts an update. */
  #draw() {
    if (!this.anchor) return;
    const points = this.people.map(({user, place}) => ({user, ...this.map.latLngToContainerPoint(place)}));
    const marks = new Map(layout(points, this.width, this.map.getSize()).map((mark) => [mark.users.join(" "), mark]));
    for (const [key, {marker}] of this.shown) {
      if (marks.has(key)) continue;
      if (marker.getElement()?.contains(document.activeElement)) this.map.getContainer().focus({preventScroll: true});
      marker.remove();
      this.shown.delete(key);
    }
    for (const [key, mark] of marks) {
      const people = mark.users.map((name) => /** @type {Person} */ (this.people.find(({user}) => user === name)));
      const shown = this.shown.get(key) ?? this.#mark(people);
      this.shown.set(key, shown);
      const {marker, dot, name} = shown;
      const {label} = mark;
      marker.setLatLng(people[0].place);
      for (const part of [dot, name]) part.classList.toggle("silent", people.some(({isSilent}) => isSilent));
      dot.dataset.activity = people[0].activity;
      if (dot instanceof HTMLButtonElement) {
        dot.title = groupText(people);
        dot.setAttribute("aria-label", dot.title);
      }
      setVisible(name, label !== undefined);
      if (!label) continue;
      if (name instanceof HTMLAnchorElement) name.href = people[0].href;
      name.style.left = `${Math.round(label.x - mark.x)}px`;
      name.style.top = `${Math.round(label.y - mark.y)}px`;
      name.style.width = `${label.width}px`;
    }
  }

  /** @param {Person[]} people */
  #mark(people) {
    const isOne = people.length === 1;
    const users = people.map(({user}) => user);
    const dot = make(isOne ? "span" : "button", {className: "person-dot"}, isOne ? "" : String(people.length));
    const name = make(isOne ? "a" : "span", {className: "person-name"}, make("span", {}, labelText(users)));
    if (!isOne) {
      name.setAttribute("aria-hidden", "true");
      for (const part of [dot, name]) part.addEventListener("click", () => this.#part(users));
    }
    const icon = L.divIcon({className: "person", iconSize: [0, 0], html: make("div", {}, dot, name)});
    const marker = L.marker(people[0].place, {icon, interactive: false, keyboard: false}).addTo(this.marks);
    return {marker, dot, name};
  }
}
