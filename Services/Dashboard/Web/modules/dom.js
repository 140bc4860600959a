// Small tools for the page. Text goes in by `textContent` alone.

/** @param {string} id */
export const byID = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} selector @param {ParentNode} [within] @returns {HTMLElement[]} */
export const all = (selector, within = document) => [...within.querySelectorAll(selector)].map((e) => /** @type {HTMLElement} */ (e));

/**
 * Writes only what changed, so that an idle page costs nothing.
 *
 * @param {Element | null | undefined} element @param {string} text
 */
export function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** @param {HTMLElement | null} element @param {boolean} isShown */
export function show(element, isShown) {
  if (element && element.hidden === isShown) element.hidden = !isShown;
}

/** @param {string} tag @param {Record<string, any>} [properties] @param {...(Node | string)} children */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const { data = {}, ...others } = properties;
  Object.assign(element, others);
  Object.assign(element.dataset, data);
  element.append(...children);
  return element;
}

/** @param {string} name */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `${new URL("../icons.svg", import.meta.url).pathname}#${name}`);
  svg.append(use);
  return svg;
}

/**
 * Rebuilds a list only if its items changed.
 *
 * @template Item
 * @param {HTMLElement} list @param {Item[]} items @param {(item: Item) => Node} build
 */
export function setList(list, items, build) {
  const key = JSON.stringify(items);
  if (list.dataset.shown === key) return;
  list.dataset.shown = key;
  list.replaceChildren(...items.map(build));
}

/**
 * A number, its unit, and for the unknown what a screen reader says.
 *
 * @param {HTMLElement} cell @param {import("./format.js").Text} text
 */
export function setNumber(cell, text) {
  const [number, unit] = [...cell.children];
  setText(number, text.number);
  setText(unit, text.isUnknown ? "unknown" : text.unit);
  unit.className = text.isUnknown ? "hidden-text" : "unit";
  if (text.isUnknown) number.setAttribute("aria-hidden", "true");
  else number.removeAttribute("aria-hidden");
}

/**
 * Read out politely, once.
 *
 * @param {string} text
 */
export function announce(text) {
  setText(document.getElementById("announce"), text);
}
