// The page of a session: takes the stream's events, draws the view once a second, sends presses.

import { announce, all, byID, icon, make, setList, setNumber, setText, show } from "./dom.js";
import { Presses, pendingText } from "./commands.js";
import { format, joined } from "./format.js";
import { dialog, followPage, serverNow, units, whenUnitsChange } from "./page.js";
import { planView } from "./plan.js";
import { announcementText, moment, noSession, receive, view } from "./session.js";

/** @typedef {ReturnType<typeof view>} View */

const main = byID("main");
const { user = "", session = "", login = "" } = main.dataset;
const isOwner = main.dataset.owner !== undefined;
const path = `/live/${user}/${session}`;

let shown = noSession();
/** @type {View | undefined} */
let drawn;
/** @type {import("./map.js").RouteMap | "loading" | undefined} */
let map;

const presses = isOwner ? new Presses(login, outcome, draw) : undefined;

/** @param {import("./commands.js").Press} press @param {import("./commands.js").Answer} answer */
function outcome(press, answer) {
  if (answer.kind === "login") location.assign(`/login?to=${encodeURIComponent(location.pathname)}`);
  else if (press.session === session) draw();
}

/** @param {string} type @param {Record<string, unknown>} [fields] */
const press = (type, fields) => presses?.press(type, session, `${path}/commands`, fields);

followPage(`${path}/events`, ["state", "metrics", "route", "weather", "announcements", "workout", "profile", "services", "reply"], (name, data) => {
  if (name === "reply") return presses?.replied(data);
  const before = shown;
  shown = receive(shown, name, data, serverNow());
  if (shown === before) return;
  if (name === "announcements") spoken(data);
  if (name === "profile" && data.units) main.dataset.units = data.units;
  draw();
});
whenUnitsChange(draw);
setInterval(() => {
  // No clock runs while the page is hidden or the session stands still.
  if (!document.hidden) draw();
}, 1000);

// MARK: Drawing

function draw() {
  if (!shown.state && !shown.metrics) return drawPress();
  const next = view(shown, serverNow(), units());
  const before = drawn;
  drawn = next;
  document.title = next.title;
  main.dataset.status = next.status ?? "";
  main.dataset.activity = next.activity ?? "";
  setText(main.querySelector("[data-text='name']"), next.name ?? "");
  setText(byID("status"), next.statusText);
  // "Live" or "No signal" says that it is active.
  show(byID("status"), next.fresh.signal === "none");
  if (before && before.status !== next.status) announce(next.statusText);

  const signal = byID("signal");
  signal.dataset.signal = next.fresh.signal;
  setText(signal, next.fresh.text);
  show(signal, next.fresh.text !== "");
  if (before?.fresh.signal !== "silent" && next.fresh.signal === "silent") announce("No signal");

  const weather = byID("weather");
  setText(weather, next.weather ? [next.weather.condition, next.weather.text, next.weather.isStale ? "old" : ""].filter(Boolean).join(" · ") : "");
  show(weather, next.weather !== undefined);
  drawAttribution(next);
  const battery = byID("battery");
  setText(battery, next.battery ? `Battery ${next.battery.text}${next.battery.isLow ? ", low" : ""}` : "");
  battery.classList.toggle("low", next.battery?.isLow ?? false);
  show(battery, next.battery !== undefined);

  drawNumbers(next);
  drawMore(next);
  setList(byID("notices"), next.notices, notice);
  drawPlan();
  drawCovers(next);
  drawPress();
  drawMap();
}

/** @param {View} next */
function drawNumbers(next) {
  all(".cell").forEach((cell, index) => {
    const field = next.main[index];
    setText(cell.querySelector("dt"), field.label);
    setNumber(/** @type {HTMLElement} */ (cell.querySelector("dd")), field.text);
    cell.classList.toggle("dimmed", field.isDimmed ?? false);
    cell.classList.toggle("long", field.text.number.length + field.text.unit.length / 2.5 > 5.5);
  });
}

/** @param {View} next */
function drawMore(next) {
  const more = /** @type {HTMLDetailsElement} */ (byID("more"));
  if (!more.open) return;
  setList(byID("rows"), next.more, ({ label, text, isDimmed }) =>
    make("div", { className: isDimmed ? "row dimmed" : "row" }, make("dt", {}, label), make("dd", {}, joined(text))));
  show(byID("zones-box"), next.zones.length > 0);
  setList(byID("zones"), next.zones, ({ label, share, text }) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    bar.setAttribute("aria-hidden", "true");
    rect.setAttribute("height", "100%");
    rect.setAttribute("width", `${share * 100}%`);
    bar.append(rect);
    return make("li", {}, make("span", {}, label), bar, make("span", {}, text));
  });
  show(byID("laps-box"), next.laps.length > 0);
  setList(byID("laps"), next.laps, ({ number, time, distance }) =>
    make("tr", {}, make("th", { scope: "row" }, String(number)), make("td", {}, time), make("td", {}, distance)));
  show(byID("devices-box"), next.devices.length > 0);
  setList(byID("devices"), next.devices, ({ name, text }) => make("li", {}, make("span", {}, name), make("span", {}, text)));
}
byID("more").addEventListener("toggle", draw);
if (matchMedia("(min-width: 900px)").matches) byID("more").setAttribute("open", "");

/** @param {View} next */
function drawAttribution(next) {
  const attribution = byID("attribution");
  show(attribution, next.weather !== undefined);
  if (!next.weather) return;
  const { text, url } = next.weather.attribution;
  setList(attribution, [`${text} ${url}`], () =>
    /^https?:\/\//.test(url) ? make("a", { href: url, rel: "noreferrer" }, `Weather: ${text}`) : make("span", {}, `Weather: ${text}`));
}

/** @param {import("./session.js").Notice} n */
function notice({ id, text, kind, isDismissable }) {
  const line = make("li", { className: `notice ${kind}` }, make("span", {}, text));
  if (isDismissable) {
    const close = make("button", {}, "Dismiss");
    close.addEventListener("click", () => {
      shown = { ...shown, dismissed: [...shown.dismissed, id] };
      draw();
    });
    line.append(close);
  }
  return line;
}

/** @param {View} next */
function drawCovers(next) {
  const countdown = byID("countdown");
  show(countdown, next.countdown !== undefined);
  setText(countdown.querySelector(".countdown-number"), String(next.countdown ?? ""));
  const saving = byID("saving");
  show(saving, next.saving !== undefined);
  setText(saving.querySelector("p"), next.saving === "long" ? "Still saving; you may leave" : "Saving workout");
  const ended = byID("ended");
  show(ended, next.ended !== undefined);
  setText(ended.querySelector("p"), next.ended?.text ?? "");
  for (const element of all("[data-text='totals']")) setText(element, next.title);
}

/** Milliseconds that room for a map is kept without a position. */
const mapWait = 5000;

function drawMap() {
  const { route } = shown;
  if (route?.la === undefined) {
    if (map !== undefined || performance.now() < mapWait) return;
    show(byID("map-box"), false);
    main.classList.remove("mapped");
    return;
  }
  if (map === undefined) {
    map = "loading";
    show(byID("map-box"), true);
    main.classList.add("mapped");
    import("./map.js").then(({ RouteMap }) => {
      map = new RouteMap(byID("map-box"), main.dataset.tiles);
      map.update(shown.route, units());
    });
  } else if (map !== "loading") map.update(route, units());
}

// MARK: Presses

function drawPress() {
  if (!presses) return;
  const pending = presses.pending(session);
  const refused = presses.refused(session);
  const line = byID("press");
  setText(line, pending ? pendingText(pending, Date.now()) : refused?.refusal ?? "");
  line.classList.toggle("refused", !pending && refused !== undefined);
  const status = drawn?.status ?? main.dataset.status;
  const isActive = status === "active";
  const isStopped = status === "paused" || status === "suspended";
  const isBusy = pending !== undefined;
  const set = (/** @type {string} */ id, /** @type {boolean} */ isEnabled) => {
    const button = /** @type {HTMLButtonElement} */ (byID(id));
    if (button.disabled === isEnabled) button.disabled = !isEnabled;
  };
  show(byID("controls"), isActive || isStopped || status === "preparing");
  set("toggle", (isActive || isStopped) && !isBusy);
  set("lap", isActive && !isBusy);
  set("end", isStopped && !isBusy);
  set("suspend", (isActive || status === "paused") && !isBusy);
  set("discard", !isBusy);
  set("cancel-start", !isBusy);
  const toggle = byID("toggle");
  if (toggle.dataset.shown !== String(isStopped)) {
    toggle.dataset.shown = String(isStopped);
    toggle.replaceChildren(icon(isStopped ? "play-fill" : "pause-fill"), make("span", {}, isStopped ? "Resume" : "Pause"));
  }
  const recover = byID("recover");
  show(recover, status === "canceled");
  set("recover", !isBusy);
  for (const button of all("#plan button")) {
    if (button.dataset.off !== undefined) continue;
    /** @type {HTMLButtonElement} */ (button).disabled = isBusy;
  }
}

if (presses) {
  byID("toggle").addEventListener("click", () => press(drawn?.status === "active" ? "pause" : "resume"));
  byID("lap").addEventListener("click", () => press("lap"));
  for (const id of ["end", "finish"]) byID(id).addEventListener("click", () => dialog("end-dialog").showModal());
  byID("end-confirm").addEventListener("click", () => {
    dialog("end-dialog").close();
    press("end");
  });
  byID("discard").addEventListener("click", () => dialog("discard-dialog").showModal());
  byID("discard-confirm").addEventListener("click", () => {
    dialog("discard-dialog").close();
    press("discard");
  });
  byID("cancel-start").addEventListener("click", () => press("discard"));
  byID("suspend").addEventListener("click", () => press("suspend"));
  byID("recover").addEventListener("click", () => press("recover"));
  byID("press").addEventListener("click", () => presses.dismiss(session));
  lock();
  planControls();
  drawPress();
}

/** Touches do nothing until the padlock is held for a second. */
function lock() {
  const locked = dialog("lock-dialog");
  const padlock = byID("unlock");
  let timer = 0;
  const hold = () => {
    if (timer) return;
    padlock.classList.add("held");
    timer = setTimeout(() => {
      release();
      locked.close();
    }, 1000);
  };
  const release = () => {
    clearTimeout(timer);
    timer = 0;
    padlock.classList.remove("held");
  };
  byID("lock").addEventListener("click", () => locked.showModal());
  locked.addEventListener("cancel", (event) => event.preventDefault());
  padlock.addEventListener("pointerdown", hold);
  for (const end of ["pointerup", "pointerleave", "pointercancel", "keyup", "blur"]) padlock.addEventListener(end, release);
  padlock.addEventListener("keydown", (event) => {
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      hold();
    }
  });
  padlock.addEventListener("contextmenu", (event) => event.preventDefault());
}

// MARK: The plan

/** @type {{ key: string, repetitions?: number, weight?: number }} */
let entered = { key: "" };
/** @type {{ left: number | undefined, isRest: boolean } | undefined} */
let clockBefore;

function drawPlan() {
  const { state } = shown;
  const section = byID("plan");
  show(section, Boolean(state?.plan) && ["active", "paused", "suspended", "preparing"].includes(state.status));
  if (!state?.plan) return;
  const plan = planView(state, moment(shown, serverNow()), units());
  section.classList.toggle("rest", plan.isRest);
  for (const [key, text] of Object.entries({
    block: plan.block, phase: plan.phase, clock: plan.clock, exercise: plan.exercise, set: plan.set,
    prescription: plan.prescription, progress: plan.progress,
  })) setText(section.querySelector(`[data-plan='${key}']`), text);
  show(section.querySelector("[data-plan='set']"), plan.set !== "");
  if (clockBefore?.isRest && (clockBefore.left ?? 0) > 0 && (!plan.isRest || plan.left === 0)) restIsOver();
  clockBefore = plan;
  drawItems(plan);
  if (isOwner) drawPlanControls(plan);
}

/** @param {ReturnType<typeof planView>} plan */
function drawItems(plan) {
  const list = byID("plan-items");
  show(list, plan.isList);
  setList(list, plan.isList ? plan.items : [], (item) => {
    const line = [make("span", {}, item.name), make("span", {}, item.text)];
    const inner = isOwner ? make("button", { type: "button", data: { item: item.id } }, ...line) : make("div", { className: "still" }, ...line);
    const entry = make("li", { className: item.isCurrent ? "current" : "" }, inner);
    if (item.isCurrent) entry.setAttribute("aria-current", "step");
    return entry;
  });
}

/** @param {ReturnType<typeof planView>} plan */
function drawPlanControls(plan) {
  const key = `${plan.item} ${plan.set} ${JSON.stringify(plan.planned)}`;
  if (entered.key !== key) entered = { key, repetitions: plan.planned.repetitions, weight: plan.planned.weight };
  for (const stepper of all(".stepper")) {
    const kind = /** @type {"repetitions" | "weight"} */ (stepper.dataset.step);
    const value = entered[kind];
    show(stepper, value !== undefined && plan.canComplete);
    if (value === undefined) continue;
    const load = format("weight", value, { units: units() });
    setText(stepper.querySelector("output"), kind === "weight" ? load.number : String(value));
    if (kind === "weight") setText(byID("load-unit"), load.unit);
  }
  show(byID("complete-set"), plan.canComplete);
  show(byID("finish"), plan.isComplete);
  const undo = /** @type {HTMLElement} */ (document.querySelector("[data-plan-command='uncompleteSet']"));
  show(undo, plan.canUndo);
  setText(byID("presentation"), plan.isList ? "Show one exercise" : "Show all exercises");
}

function planControls() {
  for (const stepper of all(".stepper")) {
    const kind = /** @type {"repetitions" | "weight"} */ (stepper.dataset.step);
    all("button", stepper).forEach((button, index) => {
      button.addEventListener("click", () => {
        const pound = 0.45359237;
        const step = kind === "repetitions" ? 1 : units() === "imperial" ? 5 * pound : 2.5;
        const least = kind === "repetitions" ? 1 : 0;
        entered[kind] = Math.max(least, (entered[kind] ?? 0) + (index === 0 ? -step : step));
        drawPlan();
      });
    });
  }
  byID("steppers").addEventListener("submit", (event) => {
    event.preventDefault();
    const { planned } = planView(shown.state, serverNow(), units());
    /** @type {Record<string, unknown>} */
    const fields = {};
    if (entered.repetitions !== planned.repetitions) fields.repetitions = entered.repetitions;
    if (entered.weight !== planned.weight) fields.weight = entered.weight;
    press("completeSet", fields);
  });
  for (const button of all("[data-plan-command]")) {
    const { planCommand = "" } = button.dataset;
    const isDifficulty = planCommand === "easier" || planCommand === "harder";
    button.addEventListener("click", () => (isDifficulty ? press("adjustDifficulty", { difficulty: planCommand }) : press(planCommand)));
  }
  byID("presentation").addEventListener("click", () => {
    const isList = shown.state?.progress.presentationMode === "list";
    press("setPresentationMode", { presentationMode: isList ? "single" : "list" });
  });
  byID("plan-items").addEventListener("click", (event) => {
    const item = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.item;
    if (item) press("goTo", { item });
  });
  byID("swap").addEventListener("click", () => {
    const { alternatives } = planView(shown.state, serverNow(), units());
    setList(byID("alternatives"), alternatives, (/** @type {string} */ name) => {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", () => {
        dialog("swap-dialog").close();
        press("swapExercise", { alternative: name });
      });
      return make("li", {}, button);
    });
    dialog("swap-dialog").showModal();
  });
  byID("swap-any").addEventListener("click", () => {
    dialog("swap-dialog").close();
    press("swapExercise");
  });
}

function restIsOver() {
  announce("The rest is over");
  navigator.vibrate?.([300, 100, 300]);
  if (isSpeaking) speak("The rest is over");
}

// MARK: Speaking, and the screen

let isSpeaking = false;

/** @param {string} text */
function speak(text) {
  if ("speechSynthesis" in window) speechSynthesis.speak(new SpeechSynthesisUtterance(text));
}

/**
 * Nothing older than 10 s is read out.
 *
 * @param {any} announcement
 */
function spoken(announcement) {
  const text = announcementText(announcement, { units: units(), activity: shown.state?.activity });
  if (!text || serverNow() - announcement.at > 10) return;
  announce(text);
  if (isSpeaking) speak(text);
}

byID("speak").addEventListener("click", () => {
  isSpeaking = !isSpeaking;
  byID("speak").setAttribute("aria-pressed", String(isSpeaking));
  // The first words must follow a press, or browsers stay silent.
  if (isSpeaking) speak("Announcements are on");
});

/** @type {any} TypeScript 4.8 has no types of wake locks */
let wakeLock;
let wantsAwake = false;

/** @param {boolean} isWanted */
async function keepAwake(isWanted) {
  wantsAwake = isWanted;
  await wakeLock?.release();
  wakeLock = undefined;
  try {
    if (isWanted) wakeLock = await /** @type {any} */ (navigator).wakeLock.request("screen");
  } catch {
    // A hidden page may not; it asks again when it is visible.
    if (!document.hidden) wantsAwake = false;
  }
  byID("awake").setAttribute("aria-pressed", String(wantsAwake));
}
show(byID("awake"), "wakeLock" in navigator);
byID("awake").addEventListener("click", () => keepAwake(!wantsAwake));
document.addEventListener("visibilitychange", () => !document.hidden && wantsAwake && keepAwake(true));
