// The page of all sessions, for operators. The server renders every text and sends them all every two seconds.

import {all, announce, byID, make, setList, setText, setValue, show} from "./dom.js";
import {followPage, units, whenUnitsChange} from "./page.js";

/**
 * @typedef {{ path: string, user: string, activity: string, status: string, signal: string, age: string, duration: string,
 *   distance: string, heartRate: string }} Row
 */

const form = /** @type {HTMLFormElement} */ (byID("filter-form"));
const rows = byID("rows");
const headline = byID("headline");
/** Whether the next rows are of another filter. */
let isOther = false;

/** The filter, as in the page's address. */
function filter() {
  const values = /** @type {[string, string][]} */ ([...new FormData(form)]);
  return new URLSearchParams(values.filter(([, value]) => value !== ""));
}

function stream() {
  const query = filter();
  query.set("units", units());
  return `/operator/events?${query}`;
}

const move = followPage(stream(), ["overview"], (_, data) => draw(data));

function change() {
  isOther = true;
  const query = `${filter()}`;
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
  move(stream());
}

let timer = 0;
form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(change, 300);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  change();
});
whenUnitsChange(change);

/** @param {any} data */
function draw(data) {
  const wasTrouble = headline.classList.contains("trouble");
  setText(headline, data.headline);
  headline.classList.toggle("trouble", data.isTrouble);
  if (wasTrouble !== data.isTrouble) announce(data.headline);
  setText(byID("as-of"), data.asOf);
  all("#counts li").forEach((item, index) => {
    setText(item.querySelector("strong"), data.counts[index].number);
    item.classList.toggle("trouble", data.counts[index].isTrouble);
  });
  setList(byID("services"), data.services,
    ({name, isOnline, text, replicas}) =>
      make("li", {}, make("strong", {}, name), make("span", {className: isOnline ? "chip" : "chip offline"}, text),
        make("ul", {}, ...replicas.map((/** @type {string} */ replica) => make("li", {}, replica)))));
  setList(
    byID("figures"), data.figures, ({label, text}) => make("div", {}, make("dt", {}, label), make("dd", {}, text)));
  setText(byID("rejected-text"), data.rejectedText);
  setList(byID("rejected"), data.rejected,
    ({time, service, topic, reason}) => make("li", {},
      make("span", {}, make("strong", {}, reason), " ", make("span", {className: "hint"}, `${service}, ${time}`)),
      make("code", {}, topic)));
  setText(byID("shown"), data.shown);
  drawRows(data.rows);
}

/** @param {Row[]} list */
function drawRows(list) {
  const known = new Map(all("tr", rows).map((row) => [row.querySelector("a")?.getAttribute("href"), row]));
  // A row must not move away under a finger, a pointer or the focus.
  const isHeld = !isOther && rows.matches(":hover, :focus-within");
  isOther = false;
  show(byID("held"), isHeld);
  if (isHeld) {
    for (const row of list) {
      fill(known.get(row.path), row);
      known.delete(row.path);
    }
    // Their values are no longer kept up to date.
    for (const row of known.values()) row.className = "gone";
    return;
  }
  list.forEach((row, index) => {
    const element = known.get(row.path) ?? newRow(row);
    known.delete(row.path);
    fill(element, row);
    if (rows.children[index] !== element) rows.insertBefore(element, rows.children[index] ?? null);
  });
  for (const row of known.values()) row.remove();
}

/** @param {Row} row */
const newRow = ({path, user, activity}) =>
  make("tr", {}, make("th", {}, make("a", {href: path}, user), make("small", {}, activity)),
    make("td", {}, make("b"), make("small")), make("td"), make("td"), make("td"));

/** @param {HTMLElement | undefined} element @param {Row} row */
function fill(element, {status, signal, age, duration, distance, heartRate}) {
  if (!element) return;
  const [, second, ...values] = element.children;
  element.dataset.signal = signal;
  element.className = "";
  setText(second.children[0], status);
  setValue(second.children[1], age);
  [duration, distance, heartRate].forEach((text, index) => setValue(values[index], text));
}
