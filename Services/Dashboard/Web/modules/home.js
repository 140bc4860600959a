// The page of all whom one may see: a card for each, and the start of one's own workout.

import { Presses, newID, pendingText } from "./commands.js";
import { all, announce, byID, make, setText, show } from "./dom.js";
import { joined } from "./format.js";
import { dialog, followPage, serverNow, units, whenUnitsChange } from "./page.js";
import { freshness, noSession, receive, statusWords, view } from "./session.js";

/**
 * @typedef {object} Card
 * @property {string} user
 * @property {string} session
 * @property {import("./session.js").Session} shown
 */

const main = byID("main");
const login = main.dataset.login ?? "";
const cards = byID("cards");

/**
 * By session.
 *
 * @type {Map<string, Card>}
 */
const known = new Map();
/**
 * The unfinished session of each user.
 *
 * @type {Map<string, any>}
 */
const currents = new Map();
/** @type {string[]} */
let order = all(".card").map((card) => card.dataset.session ?? "");

const presses = byID("start-new") ? new Presses(login, outcome, draw) : undefined;

followPage("/events", ["state", "metrics", "current", "workout", "services", "reply"], (name, data) => {
  if (name === "reply") return presses?.replied(data);
  const { user, session, payload } = data;
  if (name === "current") currents.set(user, payload);
  if (session) {
    const card = known.get(session) ?? { user, session, shown: noSession() };
    known.set(session, { ...card, shown: receive(card.shown, name, payload, serverNow()) });
  }
  draw();
});
whenUnitsChange(draw);
setInterval(() => !document.hidden && draw(), 1000);

/**
 * Silent for over a minute first, then paused, live and finished.
 *
 * @param {Card} card
 */
function rank({ shown }) {
  const status = shown.state?.status;
  if (status === "active") return serverNow() - (shown.heardAt ?? 0) > 60 ? 0 : 2;
  if (status === "paused" || status === "suspended") return 1;
  return status === "preparing" ? 2 : 3;
}

/** Milliseconds. */
const settling = 3000;

/** All cards in their order now. */
function resort() {
  const list = [...known.values()].filter(isShown).sort(compare);
  order = list.map(({ session }) => session);
  return list;
}

/** Cards stay where they are until they are sorted again; new ones follow. */
function sorted() {
  const visible = [...known.values()].filter(isShown);
  // The stream's first seconds bring everyone; the order is made then.
  if (performance.now() < settling) return resort();
  const fresh = visible.filter(({ session }) => !order.includes(session)).sort(compare).map(({ session }) => session);
  order = [...order.filter((session) => visible.some((card) => card.session === session)), ...fresh];
  return order.map((session) => /** @type {Card} */ (known.get(session)));
}

/** @param {Card} a @param {Card} b */
const compare = (a, b) => rank(a) - rank(b) || (a.user < b.user ? -1 : 1);

/** @param {Card} card */
function isShown({ user, session, shown }) {
  const { status } = shown.state ?? {};
  if (!status || status === "deleted" || status === "canceled") return false;
  const isCurrent = currents.get(user)?.session?.toLowerCase() === session;
  const age = serverNow() - (shown.state.endedAt ?? serverNow());
  return isCurrent || (!["preparing", "active", "paused", "suspended"].includes(status) && age < 86400);
}

function draw() {
  drawResume();
  // Until the stream has begun, the server's own cards stay.
  if (known.size === 0) return;
  const wanted = /** @type {HTMLInputElement} */ (byID("filter")).value.trim().toLowerCase();
  const list = sorted();
  for (const card of all(".card")) {
    if (!list.some(({ session }) => session === card.dataset.session)) card.remove();
  }
  list.forEach((card, index) => {
    const element = elementOf(card);
    if (cards.children[index] !== element) cards.insertBefore(element, cards.children[index] ?? null);
    drawCard(element, card);
    show(element, `${card.user} ${card.shown.state.name}`.toLowerCase().includes(wanted));
  });
  show(byID("empty"), list.length === 0);
  show(byID("card-tools"), list.length > 1);
}

/** @param {Card} card */
function elementOf({ user, session }) {
  const found = all(".card").find((card) => card.dataset.session === session);
  if (found) return found;
  const value = (/** @type {string} */ key) => make("span", { className: "value", data: { card: key } });
  return make("li", { className: "card", data: { user, session } },
    make("a", { href: `/live/${user}/${session}` },
      make("span", { className: "card-head" }, make("strong", { className: "card-user" }, user), make("span", { className: "chip", data: { card: "status" } })),
      make("span", { className: "card-name", data: { card: "name" } }),
      make("span", { className: "card-values" }, value("duration"), value("distance"), value("heartRate"))));
}

/** @param {HTMLElement} element @param {Card} card */
function drawCard(element, { user, shown }) {
  const now = serverNow();
  const next = view(shown, now, units());
  const fresh = freshness(shown, now);
  element.dataset.activity = next.activity ?? "";
  element.dataset.status = next.status ?? "";
  element.classList.toggle("silent", fresh.signal === "silent");
  const rate = [...next.main, ...next.more].find(({ key }) => key === "heartRate");
  const texts = {
    status: fresh.text || statusWords[next.status ?? ""], name: next.name ?? "", duration: joined(next.main[0].text),
    distance: joined(next.main[1].text), heartRate: rate && !rate.text.isUnknown ? joined(rate.text) : "-- bpm",
  };
  for (const [key, text] of Object.entries(texts)) setText(element.querySelector(`[data-card='${key}']`), text);
  const chip = /** @type {HTMLElement} */ (element.querySelector("[data-card='status']"));
  chip.classList.toggle("signal", fresh.signal !== "none");
  chip.dataset.signal = fresh.signal;
  const trouble = fresh.signal === "silent" ? "silent" : next.battery?.isLow ? "battery" : "";
  if (trouble && element.dataset.trouble !== trouble) alarm(`${user}: ${trouble === "silent" ? "no signal" : "low battery"}`);
  element.dataset.trouble = trouble;
}

// MARK: One's own workout

function drawResume() {
  if (!presses) return;
  const current = currents.get(login);
  const resume = /** @type {HTMLAnchorElement} */ (byID("resume"));
  if (current) {
    show(resume, current.offersResume === true);
    if (current.session) {
      const session = current.session.toLowerCase();
      const text = known.has(session) ? view(/** @type {Card} */ (known.get(session)).shown, serverNow(), units()).main[1].text : undefined;
      const progress = current.progress ? `${current.progress.done}/${current.progress.total} exercises` : text && !text.isUnknown ? joined(text) : "";
      resume.href = `/live/${login}/${session}`;
      setText(resume.querySelector("span"), ["Resume", progress].filter(Boolean).join(" · "));
    }
    show(byID("replace-warning"), current.session !== null);
  }
  const press = presses.all.find(({ type }) => type === "start");
  const line = byID("press");
  setText(line, press ? press.refusal ?? pendingText(press, Date.now()) : "");
  line.classList.toggle("refused", press?.refusal !== undefined);
}

/** @param {import("./commands.js").Press} press @param {import("./commands.js").Answer} answer */
function outcome(press, answer) {
  if (answer.kind === "login") location.assign("/login?to=%2F");
  if (answer.kind === "done" && press.type === "start") location.assign(`/live/${login}/${press.session}`);
  draw();
}

if (presses) {
  byID("start-new").addEventListener("click", () => dialog("start-dialog").showModal());
  byID("start-form").addEventListener("submit", (event) => {
    const values = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const environment = values.get("environment");
    for (const { session } of presses.all.filter(({ refusal }) => refusal !== undefined)) presses.dismiss(session);
    const session = newID();
    presses.press("start", session, "/commands", {
      session, activity: values.get("activity"), ...(environment ? { environment } : {}),
      countdown: Number(values.get("countdown")), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, units: units(),
      ...(currents.get(login)?.session ? { replace: true } : {}),
    });
  });
  byID("press").addEventListener("click", () => {
    for (const { session } of presses.all.filter(({ refusal }) => refusal !== undefined)) presses.dismiss(session);
  });
  drawResume();
}

// MARK: Cards

byID("filter").addEventListener("input", draw);
byID("sort").addEventListener("click", () => {
  resort();
  draw();
});

/** @type {AudioContext | undefined} */
let audio;
byID("alert").addEventListener("click", () => {
  const isOn = byID("alert").getAttribute("aria-pressed") !== "true";
  byID("alert").setAttribute("aria-pressed", String(isOn));
  audio = isOn ? new AudioContext() : undefined;
});

/** @param {string} text */
function alarm(text) {
  announce(text);
  if (!audio) return;
  const tone = audio.createOscillator();
  tone.frequency.value = 880;
  tone.connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.3);
}
