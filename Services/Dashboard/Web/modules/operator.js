// The page of all sessions, for operators: reads their state and when their items came, and the values of those that it shows.

import {all, announce, byID, make, setList, setText, setValue, show} from "./dom.js";
import {countsOf, figureTopics, figuresText, headline as headlineOf, printable, receive, rowText, servicesText, shownText, sums, table, utc} from "./operator-table.js";
import {allBuses, bus, busOf, isOperator, isSettled, serverNow, settle, units, whenUnitsChange} from "./page.js";
import {receivePresence} from "./services.js";
import {statusWords} from "./session.js";
import {presences, sessionTopic} from "./topics.js";

/** @typedef {ReturnType<typeof rowText>} Row */

const form = /** @type {HTMLFormElement} */ (byID("filter-form"));
const rows = byID("rows");
const headline = byID("headline");
/** Whether the next rows are of another filter. */
let isOther = false;
/** Milliseconds between two drawings. */
const interval = 2000;
/** Rejected messages that are kept, the newest first. */
const rejectedLimit = 20;

/** @type {import("./operator-table.js").Sessions} */
const sessions = new Map();
/** @type {import("./services.js").Services} */
let services = {};
/**
 * By broker.
 *
 * @type {Record<string, number>[]}
 */
const figures = [];
/** @type {{ at: number, service: string, topic: string, reason: string }[]} */
let rejected = [];
let rejectedCount = 0;
/** Since when rejected messages are read. */
let since = 0;
/**
 * What ends the subscriptions of the rows that are shown, by session.
 *
 * @type {Map<string, () => void>}
 */
const watched = new Map();

const query = new URLSearchParams(location.search);
for (const [value, label] of [["", "Unfinished"], ["silent", "Silent"],
       ...["preparing", "active", "paused", "suspended", "saving", "completed", "canceled"].map(
         (status) => [status, statusWords[status]])])
  byID("status").append(make("option", {value, selected: value === (query.get("status") ?? "")}, label));
const input = (/** @type {string} */ name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
input("name").value = query.get("name") ?? "";

if (isOperator) listen();
else {
  setText(headline, "This page is for operators. Log in as _operator.");
  for (const section of all("main > section:not(.operator-head), main > .operator-side")) show(section, false);
  settle();
}

function listen() {
  const take = (/** @type {string} */ topic, /** @type {any} */ payload) => receive(sessions, topic, payload);
  let unready = allBuses().length;
  for (const [index, each] of allBuses().entries()) {
    each.subscribe(["pacebus/v1/+/+/+/state", "pacebus/v1/+/+/+/heard/+"], {
      onMessage: take,
      onReady() {
        unready -= 1;
        draw();
        // Else the values of its rows come next.
        if (unready <= 0 && watched.size === 0) settle();
      }
    },
      0, false);
    each.subscribe(figureTopics.map((topic) => `$SYS/broker/${topic}`), {
      onMessage: (topic, value) =>
        void ((figures[index] ??= {})[topic.slice("$SYS/broker/".length)] = parseFloat(value))
    });
  }
  bus.subscribe(presences,
    {onMessage: (topic, presence) => void (services = receivePresence(services, topic, presence, serverNow()))});
  bus.subscribe("pacebus/v1/rejected/+", {
    onMessage(topic, {at, reason, topic: about}) {
      rejectedCount += 1;
      const service = topic.split("/")[3].replace(/^_/, "");
      rejected =
        [{at, service, topic: printable(about), reason: printable(reason)}, ...rejected].slice(0, rejectedLimit);
    },
    onReady: () => void (since ||= serverNow())
  },
    1, false);
  // All sessions of a large installation are too much for a page that nobody sees.
  document.addEventListener("visibilitychange", () => {
    for (const each of allBuses()) document.hidden ? each.close() : each.open();
  });
  setInterval(() => !document.hidden && draw(), interval);
  whenUnitsChange(draw);
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
}

const filter = () => ({name: input("name").value, status: input("status").value});

function change() {
  isOther = true;
  const query = new URLSearchParams(Object.entries(filter()).filter(([, value]) => value !== ""));
  history.replaceState(null, "", `${query}` ? `?${query}` : location.pathname);
  draw();
}

function draw() {
  const now = serverNow();
  const next = table(sessions, filter(), now);
  const {text, isTrouble} = headlineOf(next, services, now);
  const wasTrouble = headline.classList.contains("trouble");
  setText(headline, text);
  headline.classList.toggle("trouble", isTrouble);
  if (wasTrouble !== isTrouble) announce(text);
  setText(byID("as-of"), utc(bus.state === "open" ? now : bus.heardAt));
  setList(byID("counts"), countsOf(next),
    ({label, status, number, isTrouble}) => make("li", {className: isTrouble ? "trouble" : ""},
      make("a", {href: `/operator?status=${status}`}, make("strong", {}, number), " ", make("span", {}, label))));
  setList(byID("services"), servicesText(services, now),
    ({name, isOnline, text, replicas}) =>
      make("li", {}, make("strong", {}, name), make("span", {className: isOnline ? "chip" : "chip offline"}, text),
        make("ul", {}, ...replicas.map((/** @type {string} */ replica) => make("li", {}, replica)))));
  setList(byID("figures"), figuresText(bus.state === "open" ? sums(figures) : {}),
    ([label, text]) => make("div", {}, make("dt", {}, label), make("dd", {}, text)));
  setText(byID("rejected-text"), since ? `${rejectedCount || "None"} since ${utc(since)}.` : "");
  setList(byID("rejected"), rejected,
    ({at, service, topic, reason}) => make("li", {},
      make("span", {}, make("strong", {}, reason), " ", make("span", {className: "hint"}, `${service}, ${utc(at)}`)),
      make("code", {}, topic)));
  setText(byID("shown"), shownText(next.matches, next.rows.length));
  watch(next.rows.map(({facts}) => facts));
  drawRows(next.rows.map((row) => rowText(row, units(), now)));
}

/** @param {import("./operator-table.js").Facts[]} shown whose live values are read */
function watch(shown) {
  const ids = new Set(shown.map(({session}) => session));
  for (const [session, end] of watched) {
    if (ids.has(session)) continue;
    end();
    watched.delete(session);
    const facts = sessions.get(session);
    // It would become old.
    if (facts) facts.metrics = undefined;
  }
  for (const {user, session} of shown) {
    if (watched.has(session)) continue;
    watched.set(session,
      busOf(user).subscribe(sessionTopic(user, session, "metrics"), {
        onMessage: (topic, payload) => receive(sessions, topic, payload),
        onReady() {
          if (isSettled()) return;
          draw();
          settle();
        }
      },
        0, false));
  }
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
