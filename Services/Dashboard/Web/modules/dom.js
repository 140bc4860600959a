// Small tools for the page. Text goes in by `textContent` alone.

/** @param {string} id */
export const byID = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} selector @param {ParentNode} [within] @returns {HTMLElement[]} */
export const all =
  (selector, within = document) => [...within.querySelectorAll(selector)].map((e) => /** @type {HTMLElement} */ (e));

/**
 * What this browser or, over a reload, this tab keeps.
 *
 * @param {string} key @param {"localStorage" | "sessionStorage"} [area]
 */
export function kept(key, area = "localStorage") {
  try {
    return window[area].getItem(key);
  } catch {
    // Blocked.
    return null;
  }
}

/** @param {string} key @param {string} value @param {"localStorage" | "sessionStorage"} [area] */
export function keep(key, value, area = "localStorage") {
  try {
    window[area].setItem(key, value);
  } catch {
    // Full or blocked: the page continues without.
  }
}

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
  if (!element || element.hidden !== isShown) return;
  if (!isShown && element.contains(focused())) leave(element);
  element.hidden = !isShown;
}

/**
 * Shows or hides what covers the page. Below a cover nothing takes the focus but the bar.
 *
 * @param {HTMLElement} element @param {boolean} isShown
 */
export function cover(element, isShown) {
  if (element.hidden !== isShown) return;
  const isCovered = isShown || all(".cover:not([hidden])").some((other) => other !== element);
  for (const other of all(".top, .invitations, main > :not(.cover, dialog)")) other.inert = isCovered;
  show(element, isShown);
}

/** @type {HTMLElement | undefined} */
let switchedOff;

/** What has the focus, or lost it because it was switched off. */
const focused = () => (document.activeElement === document.body && switchedOff) || document.activeElement;

/**
 * Switches a button on or off. One that had the focus gets it back, unless it has gone elsewhere.
 *
 * @param {HTMLElement} element @param {boolean} isEnabled
 */
export function enable(element, isEnabled) {
  const button = /** @type {HTMLButtonElement} */ (element);
  if (button.disabled !== isEnabled) return;
  const hasFocus = focused() === button;
  if (hasFocus) switchedOff = button;
  button.disabled = !isEnabled;
  if (isEnabled && hasFocus) button.focus({preventScroll: true});
}

const focusable = "a[href], button, input, select, summary";

/** @param {HTMLElement} element */
const canFocus = (element) => !element.matches(":disabled") && element.getClientRects().length > 0;

/**
 * Moves the focus out of an element that disappears: to what follows in its section, else to the heading before it.
 *
 * @param {HTMLElement} element
 */
export function leave(element) {
  /** @param {Node} other */
  const follows = (other) => element.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  const section = element.parentElement?.closest("section, dialog, .controls, .tools");
  const next =
    section && all(focusable, section).find((other) => follows(other) && !element.contains(other) && canFocus(other));
  if (next) return next.focus({preventScroll: true});
  const heading = all("h1, h2").filter((other) => !follows(other) && !element.contains(other) && canFocus(other)).pop();
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({preventScroll: true});
}

/** @param {string} tag @param {Record<string, any>} [properties] @param {...(Node | string)} children */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const {data = {}, ...others} = properties;
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
 * Rebuilds a list only if its items changed. The focus stays at its place in the list, or leaves it.
 *
 * @template Item
 * @param {HTMLElement} list @param {Item[]} items @param {(item: Item) => Node} build
 */
export function setList(list, items, build) {
  const key = JSON.stringify(items);
  if (list.dataset.shown === key) return;
  list.dataset.shown = key;
  const place = list.contains(focused()) ? all(focusable, list).indexOf(/** @type {HTMLElement} */ (focused())) : -1;
  list.replaceChildren(...items.map(build));
  if (place < 0) return;
  const inside = all(focusable, list).filter(canFocus);
  if (inside.length > 0) inside[Math.min(place, inside.length - 1)].focus({preventScroll: true});
  else leave(list);
}

/**
 * Puts elements into a list. Those that stay keep the focus.
 *
 * @param {HTMLElement} list @param {HTMLElement[]} elements
 */
export function arrange(list, elements) {
  if (elements.length === list.children.length && elements.every((element, index) => list.children[index] === element))
    return;
  const held = list.contains(focused()) ? /** @type {HTMLElement} */ (focused()) : undefined;
  list.replaceChildren(...elements);
  if (!held) return;
  if (held.isConnected) held.focus({preventScroll: true});
  else leave(list);
}

/** Notices that the reader hides, for as long as they hold. */
export function hider() {
  /** @type {string[]} */
  let hidden = [];
  return {
    /** @template {{ id: string }} Item @param {Item[]} items */
    rest(items) {
      hidden = hidden.filter((id) => items.some((item) => item.id === id));
      return items.filter(({id}) => !hidden.includes(id));
    },
    /** @param {string} id */
    hide: (id) => void hidden.push(id),
  };
}

/**
 * The line about a press and its button; a refusal stays until it is dismissed.
 *
 * @param {HTMLElement} line @param {string} text @param {boolean} isRefused @param {() => void} act of the button @param {string} [label]
 */
export function drawLine(line, text, isRefused, act, label = isRefused ? "Dismiss" : "") {
  line.classList.toggle("refused", isRefused);
  setList(line, text ? [text, ...(label ? [label] : [])] : [], (part) => {
    if (part === text) return make("span", {}, text);
    const button = make("button", {type: "button"}, part);
    button.addEventListener("click", act);
    return button;
  });
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
 * A value with its unit; the unknown is spoken, and says of what if no label does.
 *
 * @param {string} text `8.31 km`, `-- bpm` @param {string} [name] `heart rate`
 */
export const value = (text, name = "") => (text.startsWith("--")
    ? [make("span", {ariaHidden: "true"}, text), make("span", {className: "hidden-text"}, `${name} unknown`.trim())]
    : [text]);

/** @param {Element | null | undefined} element @param {string} text @param {string} [name] see `value` */
export function setValue(element, text, name) {
  const next = value(text, name);
  const shown = next.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
  if (element && element.textContent !== shown) element.replaceChildren(...next);
}

/** Seconds for which a screen reader finds an announcement. */
const announcedFor = 10;

/**
 * Lets screen readers read a text politely, also one that they have just read.
 *
 * @param {string} text
 */
export function announce(text) {
  if (!text) return;
  const line = make("p", {}, text);
  document.getElementById("announce")?.append(line);
  setTimeout(() => line.remove(), announcedFor * 1000);
}

/** Opens the login, which leads back here. */
export const logIn = () => location.assign(`/login?to=${encodeURIComponent(location.pathname + location.search)}`);
