// The recorder: a phone's browser as a device. Before the start it asks for what the workout needs; then it gives the page of the
// session what only this phone knows.

import {activities} from "./activities.js";
import {activityOf, titleOf} from "./definition.js";
import {byID, make, setList, setText, show} from "./dom.js";
import {browserZone, format, joined, timeOfDay} from "./format.js";
import {bus, busOf, dialog, isSettled, login, ownsWorkouts, presses, settle, units} from "./page.js";
import {SteadyClock, clockTolerance, itemOf, timeOf} from "./position.js";
import {runStart, withPhone} from "./recorder-state.js";
import {RecorderLogin} from "./recorder-login.js";
import {Waiting} from "./recorder-waiting.js";
import {Recording, isDropped, keptRecording, savedRecordings, takeTurn, whenKeptChanges} from "./recording.js";
import {isAwakeRefused, keepAwake} from "./screen.js";
import {Sensors} from "./sensors.js";
import {isEnded} from "./session.js";
import {userTopic} from "./topics.js";

/** Seconds without a position after which the page warns. */
const positionLimit = 10;
/** Seconds without a touch after which touches are locked. */
const lockAfter = 10;

const main = byID("main");
/** @type {Recorder | undefined} which takes the sensors' values once the workout has started */
let current;
/** @type {Sensors} */
let sensors;
/** @type {Waiting} */
let waiting;

/**
 * Shows the form until a workout starts, or goes on with the one that this browser records.
 *
 * @returns {Promise<{ session: string, recorder?: Recorder }>} `recorder`: unless another tab records
 */
export async function begin() {
  if (!ownsWorkouts) {
    setUpPage();
    show(byID("setup-form"), false);
    say("This account only watches others, so it records nothing.");
    return new Promise(() => {});
  }
  sensors = new Sensors((sensor, values) => current?.takeValues(sensor, values));
  const {kept, waiting: ended} = await savedRecordings(login);
  const isFirst = !kept || await takeTurn(login);
  waiting = new Waiting(busOf(login), login, isFirst ? ended : []);
  if (!kept) return setUp();
  if (isFirst) {
    const recording = new Recording(busOf(login), login, kept);
    recording.before = waiting.answered;
    await recording.resume();
    if (!recording.hasEnd) sensors.restore(kept.sensors);
    return go(recording);
  }
  return watchOther(kept.session);
}

/** @param {string} session that another tab records */
function watchOther(session) {
  whenKeptChanges(login, () => location.reload());
  // If the other tab ends before the workout does, this one goes on.
  navigator.locks.request(`pacebus.recorder.${login}`, () => keptRecording(login) && location.reload());
  setText(byID("recorder-lines"), "Another tab of this browser records this workout.");
  show(byID("recorder"), true);
  return {session};
}

// MARK: Before the start

function setUpPage() {
  main.classList.add("setting-up");
  main.classList.remove("mapped");
  show(byID("setup"), true);
  setText(main.querySelector("h1 [data-text='name']"), "Record");
  document.title = "Record";
  settle();
}

/** @param {string} text @param {boolean} [isShown] */
function say(text, isShown = true) {
  setText(byID("setup-trouble"), text);
  show(byID("setup-trouble"), isShown);
}

/** @returns {Promise<{ session: string, recorder?: Recorder }>} */
async function setUp() {
  const form = /** @type {HTMLFormElement} */ (byID("setup-form"));
  byID("setup-activities")
    .append(...Object.entries(activities)
        .map(([value, {title}]) =>
               make("label", {}, make("input", {type: "radio", name: "activity", value, checked: value === "running"}),
                 make("span", {}, title))));
  setUpPage();
  const run = takePart(new URLSearchParams(location.search).get("run"));
  if (!isSecureContext)
    say("A browser gives the position to pages over HTTPS alone. Open this page by its https address.");
  askForPosition();
  /** @type {any[]} */
  let plans = [];
  bus.subscribe(userTopic(login, "plans"), {
    onMessage(_, saved) {
      plans = saved?.plans ?? [];
      const list = /** @type {HTMLSelectElement} */ (byID("setup-plan"));
      const chosen = list.value;
      list.replaceChildren(make("option", {value: ""}, "None"),
        ...plans.map(({plan, definition}) => make("option", {value: plan}, titleOf(definition))));
      list.value = plans.some(({plan}) => plan === chosen) ? chosen : "";
      show(byID("setup-plan-field"), plans.length > 0);
    }
  });
  byID("setup-plan").addEventListener("change", () => {
    const chosen = plans.find(({plan}) => plan === /** @type {HTMLSelectElement} */ (byID("setup-plan")).value);
    if (!chosen) return;
    const implied = `[name="activity"][value="${activityOf(chosen.definition)}"]`;
    /** @type {HTMLInputElement} */ (form.querySelector(implied)).checked = true;
  });
  byID("discard-waiting").addEventListener("click", askToDiscard);
  waiting.onChange = sayWaiting;
  sayWaiting();
  let replaces = false;
  bus.subscribe(userTopic(login, "current"), {
    onMessage(_, current) {
      // One that waits ends before the next one begins.
      replaces = Boolean(current?.session) && !waiting.sessions.has(current.session.toLowerCase());
    }
  });
  whenKeptChanges(login, () => location.reload());
  await new Promise((resolve) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      replaces ? dialog("replace-dialog").showModal() : resolve(undefined);
    });
    byID("replace-confirm").addEventListener("click", () => {
      dialog("replace-dialog").close();
      resolve(undefined);
    });
  });
  // Another tab may have begun at the same moment.
  const isFirst = await takeTurn(login);
  if (keptRecording(login) || !isFirst) {
    location.reload();
    return new Promise(() => {});
  }
  const ticket = await run?.();
  const values = new FormData(form);
  const plan = plans.find(({plan}) => plan === values.get("plan"));
  const environment = values.get("environment");
  const recording = Recording.start(busOf(login), login, {
    ...ticket,
    activity: values.get("activity"),
    ...(environment ? {environment} : {}),
    ...(plan ? {definition: plan.definition} : {}),
    ...(ticket ? {} : {countdown: Number(values.get("countdown"))}),
    mode: "phone",
    timeZone: browserZone,
    units: units(),
    ...(replaces ? {replace: true} : {}),
  },
    waiting.answered);
  navigator.storage?.persist?.().catch(() => {});
  return go(recording);
}

function sayWaiting() {
  const {sessions: {size}, since, refusal} = waiting;
  // What is shown stays: what lies below does not move under a finger.
  if (since === undefined) return;
  const it = size === 1 ? "it" : "them";
  const what = size === 1 ? `The workout of ${timeOfDay(since)} is` : `${size} workouts are`;
  const [first] = waiting.refused;
  const way = `End that one and open this page again, or discard ${it}.`;
  const why = first?.commands[0].code === "session_in_progress"
    ? `The server refuses ${it} while another workout is unfinished. ${way}`
    : refusal ? `The server refused ${it}: ${refusal}.`
              : "This page sends it before the next workout starts, once there is a connection.";
  const over =
    waiting.discarded.size > 0 ? "The saved workout is discarded." : "What was saved in this browser is on the server.";
  setText(byID("setup-waiting"), size > 0 ? `${what} saved in this browser. ${why}` : over);
  show(byID("setup-waiting"), true);
  show(byID("discard-waiting"), first !== undefined && size > 0);
  setText(byID("discard-waiting"), waiting.refused.size === 1 ? "Discard it…" : "Discard them…");
}

function askToDiscard() {
  // Not those that the server refuses later.
  const refused = [...waiting.refused];
  const what = refused.length === 1 ? `the workout of ${timeOfDay(refused[0].commands[0].at)}`
                                    : `${refused.length} saved workouts`;
  setText(byID("waiting-title"), `Discard ${what}?`);
  byID("waiting-discard").onclick = () => {
    dialog("waiting-dialog").close();
    waiting.discard(refused);
  };
  dialog("waiting-dialog").showModal();
}

/**
 * The start of a virtual run, once its host and this person have pressed Go: every device of a person begins the same session.
 *
 * @param {string | null} run @returns {(() => Promise<Record<string, any>>) | undefined} waits for the fields of `start`
 */
function takePart(run) {
  if (!run) return undefined;
  setText(main.querySelector("h1 [data-text='name']"), "Record a virtual run");
  /** @type {any} */
  let newest;
  let look = () => {};
  bus.subscribe(userTopic(login, `runs/${run.toLowerCase()}`), {
    onMessage(_, view) {
      newest = view;
      const isSet = view && runStart(view, bus.serverNow());
      say("This recording starts when the run does. Press Go on the run’s page first.", !isSet);
      look();
    }
  });
  return () => new Promise((resolve) => {
    look = () => {
      const ticket = newest && runStart(newest, bus.serverNow());
      if (ticket) resolve(ticket);
    };
    look();
  });
}

/** Asks for the position only after its reason, and shows how exact it is. */
async function askForPosition() {
  const button = byID("allow-position");
  const line = byID("position-state");
  if (!navigator.geolocation) {
    show(button, false);
    return setText(line, "This browser gives no position. Distance then needs a sensor.");
  }
  const look = () => {
    show(button, false);
    setText(line, "Looking for the position…");
    const watch = navigator.geolocation.watchPosition(
      ({coords}) => setText(line, `The position is known to ${accuracyText(coords.accuracy)}.`), ({code}) => {
        if (code !== 1) return;
        navigator.geolocation.clearWatch(watch);
        setText(line, deniedText);
      }, {enableHighAccuracy: true});
    byID("setup-form").addEventListener("submit", () => navigator.geolocation.clearWatch(watch));
  };
  button.addEventListener("click", look);
  const permission = await navigator.permissions?.query({name: "geolocation"}).catch(() => undefined);
  if (permission?.state === "granted") look();
  if (permission?.state === "denied") {
    show(button, false);
    setText(line, deniedText);
  }
}

const deniedText = "This page may not use the position. Allow it in the browser’s settings for this site.";

/** @param {number} metres */
const accuracyText = (metres) => `±${joined(format("height", metres, {units: units()}))}`;

// MARK: While it records

/** @param {Recording} recording */
function go(recording) {
  main.classList.remove("setting-up");
  main.classList.add("mapped");
  show(byID("setup"), false);
  show(byID("recorder"), true);
  byID("recorder").append(byID("sensors"));
  current = new Recorder(recording);
  return {session: recording.session, recorder: current};
}

/** What the page of the session gets from this phone, in place of `presses`. */
class Recorder {
  /** @type {any} the state that the page shows */
  #state;
  #isEstimated = false;
  #clock = new SteadyClock();
  #wasHidden = false;
  #hasStopped = false;
  /** @type {Promise<void> | undefined} */
  #removal;
  /** @type {number | undefined} */
  #watch;
  /** @type {GeolocationPositionError["code"] | undefined} */
  #failure;
  #lastTimestamp = 0;
  /** @type {string | undefined} the person's unfinished workout, by the server */
  #unfinished;
  /** Whether this browser's clock is off: once it is, each time of the recording is corrected. */
  #isOff = false;
  #battery = /** @type {number | undefined} */ (undefined);
  /** @type {(() => void)[]} */
  #listeners = [];

  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    recording.onChange = waiting.onChange = () => {
      for (const listener of this.#listeners) listener();
    };
    recording.onSucceed = () => {
      removeEventListener("beforeunload", this.#askToStay);
      location.reload();
    };
    bus.subscribe(userTopic(login, "current"), {
      onMessage: (_, unfinished) => {
        this.#unfinished = unfinished?.session?.toLowerCase();
        recording.onChange();
      }
    });
    this.login = new RecorderLogin(bus, login);
    this.login.onChange = () => recording.onChange();
    this.phone = recording.device("phone");
    document.addEventListener("visibilitychange", () => void (this.#wasHidden = true));
    /** Unix seconds of the server */
    this.since = this.now();
    if (recording.hasEnd) {
      this.#hasStopped = true;
      this.login.release();
    } else this.#start();
  }

  #start() {
    this.#watch = navigator.geolocation?.watchPosition((position) => this.#receive(position), ({code}) => {
      this.#failure = code;
      this.recording.onChange();
    }, {enableHighAccuracy: true, maximumAge: 0});
    this.#readBattery();
    keepAwake(true);
    this.#lockTouches();
    addEventListener("beforeunload", this.#askToStay);
  }

  #stop() {
    if (this.#hasStopped) return;
    this.#hasStopped = true;
    if (this.#watch !== undefined) navigator.geolocation.clearWatch(this.#watch);
    removeEventListener("beforeunload", this.#askToStay);
    keepAwake(false);
    sensors.stop();
    show(byID("sensors"), false);
  }

  /** @param {BeforeUnloadEvent} event */
  #askToStay = (event) => event.preventDefault();

  /** @param {GeolocationPosition} position */
  #receive(position) {
    this.#failure = undefined;
    // Browsers repeat a position.
    if (position.timestamp === this.#lastTimestamp) return;
    this.#lastTimestamp = position.timestamp;
    this.recording.append("locations", this.phone, itemOf(position, this.#ahead()), this.#state);
  }

  /**
   * Each sensor is a device of its own.
   *
   * @param {import("./sensors.js").Sensor} sensor @param {Record<string, any>} values
   */
  takeValues({id, name, isStrap}, values) {
    if (this.#hasStopped) return;
    const device = this.recording.device(isStrap ? "strap" : "pod", id);
    this.recording.addSensor({id, name, device});
    this.recording.append("samples", device, {c: timeOf(Date.now(), this.#ahead()), ...values}, this.#state);
  }

  /** The server's clock in Unix seconds. */
  now() {
    const mayHaveSlept = this.#wasHidden;
    this.#wasHidden = false;
    return this.#clock.now(bus.serverNow(), performance.now() / 1000, mayHaveSlept);
  }

  /** How far the server's clock is ahead of this browser's. */
  #ahead() {
    const ahead = this.now() - Date.now() / 1000;
    this.#isOff ||= Math.abs(ahead) >= clockTolerance;
    return this.#isOff ? ahead : 0;
  }

  async #readBattery() {
    const battery = await /** @type {any} */ (navigator).getBattery?.().catch(() => undefined);
    if (!battery) return;
    const read = () => {
      this.#battery = battery.level;
      const c = timeOf(Date.now(), this.#ahead());
      this.recording.append("samples", this.phone, {c, b: battery.level}, this.#state);
    };
    battery.addEventListener("levelchange", () => this.#hasStopped || read());
    read();
  }

  /** In a pocket and in rain a screen touches itself. */
  #lockTouches() {
    if (!matchMedia("(pointer: coarse)").matches) return;
    let timer = 0;
    const begin = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const canLock = this.#state?.status === "active" && !document.querySelector("dialog[open]");
        canLock ? byID("lock").click() : begin();
      }, lockAfter * 1000);
    };
    for (const event of ["pointerdown", "keydown"]) addEventListener(event, begin, {capture: true});
    begin();
  }

  // MARK: In place of `presses`

  /** @param {() => void} listener */
  whenChanged(listener) { this.#listeners.push(listener); }

  /** What the page cannot show before the server has it: a command of a plan. */
  pending() {
    const {commands} = this.recording;
    const found = commands.find(
      ({type, revision, refusal}) => revision === undefined && refusal === undefined && !ownTypes.includes(type));
    return found && {...found, key: this.recording.session, topic: "", fields: found};
  }

  refused() { return this.recording.refused; }

  dismiss() { this.recording.dismiss(); }

  /** @param {string} _ @param {string} type @param {Record<string, unknown>} [fields] */
  press(_, type, fields) {
    // What this browser had is removed: the server has the workout.
    if (this.#removal) return presses.press(_, type, fields);
    if (type === "end") {
      this.#stop();
      // Its page may leave once the end is kept.
      this.recording.end(this.now()).then(() => this.login.release());
    } else this.recording.command(type, fields, this.now());
    if (type === "discard") {
      this.#stop();
      this.login.release();
    }
    return true;
  }

  // MARK: What the page shows

  /** Whether the server takes nothing, because another workout is unfinished. */
  get #waitsForOther() { return this.recording.commands[0].code === "session_in_progress"; }

  /** Without a connection, nothing is missing but the server. */
  get savingText() {
    if (this.#waitsForOther)
      return "Saved in this browser. Another workout is unfinished: end it, then open this page again.";
    const [{refusal}] = this.recording.commands;
    if (refusal !== undefined) return `Saved in this browser. The server refuses this workout: ${refusal}.`;
    return bus.state === "open" ? undefined
                                : "Saved in this browser. This page sends the workout when there is a connection.";
  }

  /**
   * The session with what this phone knows.
   *
   * @param {import("./session.js").Session} session of the server @param {number} now
   */
  over(session, now) {
    const {figures, commands, hasEnd} = this.recording;
    figures.follow(session.metrics, session.route);
    const {isEstimated, ...shown} = withPhone(session, commands, figures, now);
    [this.#state, this.#isEstimated] = [shown.state, isEstimated];
    // Another device ended the workout, which needs the items of this one.
    if (isEnded(session.state) && !hasEnd) this.press("", "end");
    if (isDropped(session.state)) this.#stop();
    return shown;
  }

  /** @returns {import("./notices.js").Notice[]} */
  notices() {
    if (this.#hasStopped) return [];
    const {isFull, isBlocked} = this.recording;
    const all = /** @type {import("./notices.js").Notice[]} */ ([]);
    /** @param {string} id @param {string} text */
    const warn = (id, text) => all.push({id, text, kind: "warning"});
    const at = this.recording.figures.fix?.c ?? this.since;
    if (this.#failure === 1) warn("position", deniedText);
    else if (navigator.geolocation && this.#state?.status === "active" && this.#state.environment !== "indoor" &&
      this.now() - Math.max(at, this.since) > positionLimit)
      warn("position",
        `No position since ${timeOfDay(Math.max(at, this.since))}. Keep this page on the screen, under open sky.`);
    if (this.login.hasEnded)
      warn(
        "login", "Your login has ended. This page still records and keeps everything. Log in again below to send it.");
    // Only the server leads through a plan.
    if (this.recording.commands[0].definition && !this.#state?.plan && isSettled() && bus.state !== "open")
      all.push({
        id: "plan",
        kind: "info",
        text: "The plan appears when there is a connection. Until then this page records time, positions and sensors."
      });
    if (isBlocked)
      warn("blocked",
        "This browser cannot store data, so nothing is recorded. Open the page in a normal window, not in a private one.");
    else if (isFull)
      warn("full",
        "This browser’s storage is full. Sensor values and one position every 5 s are in this page’s memory alone: do not close it. Free some space.");
    if (!("wakeLock" in navigator) || isAwakeRefused) {
      const why = isAwakeRefused ? "The browser does not keep the screen on now, for example to save the battery."
                                 : "This browser cannot keep the screen on.";
      all.push({id: "awake", kind: "info", text: `${why} Set the phone’s own screen timeout.`});
    }
    if (this.#waitsForOther)
      warn("replace",
        "The server refuses this workout while another one is unfinished. Discard the other one below, or end it there.");
    return all;
  }

  /** The section of this phone. */
  draw() {
    const {figures: {fix}, waiting: unsent, count} = this.recording;
    const unanswered =
      this.recording.commands.filter(({revision, refusal}) => revision === undefined && !refusal).length;
    const lines = [
      this.#hasStopped ? "" : `Position: ${fix?.ac === undefined ? "not known yet" : accuracyText(fix.ac)}`,
      unsent > 0 ? `${unsent} of ${plural(count, "item")} to send`
        : count > 0 ? `The server has ${count === 1 ? "the only item" : `all ${count} items`}`
                    : "",
      unanswered > 0 ? `${plural(unanswered, "press", "presses")} to send` : "",
      waiting.sessions.size > 0 ? `${plural(waiting.sessions.size, "earlier workout")} to send` : "",
      this.#battery === undefined ? "" : `Battery of this device: ${joined(format("share", this.#battery))}`,
      this.#isEstimated ? "Distance and pace are this device’s estimate, until the server answers" : "",
    ];
    setText(
      byID("no-position"), this.#isEstimated ? "The route is drawn when there is a connection" : "No position yet");
    setList(byID("recorder-lines"), lines.filter(Boolean), (line) => make("li", {}, line));
    const other = this.#unfinished === this.recording.session ? undefined : this.#unfinished;
    show(byID("replace-other"), this.#waitsForOther && other !== undefined);
    byID("replace-other").onclick = () => other && this.recording.replaceOther(other);
    show(byID("another"), this.recording.canWait && this.savingText !== undefined);
    byID("another").onclick = () => this.#recordAnother();
  }

  async #recordAnother() {
    if (await this.recording.setAside()) location.assign("/record");
  }

  // MARK: The end

  /**
   * Whether the server has everything. Then nothing of the recording stays in this browser.
   *
   * @param {import("./session.js").Session} session
   */
  async finish({state, workout}) {
    if (!this.#removal && !this.recording.isOver(state, workout)) return false;
    this.#stop();
    await (this.#removal ??= this.recording.remove());
    // The next page sends nothing.
    return waiting.isOver;
  }
}

/** Commands whose effect the page shows at once. */
const ownTypes = ["start", "pause", "resume", "lap", "suspend", "end", "discard"];

/** @param {number} count @param {string} one @param {string} [many] */
const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
