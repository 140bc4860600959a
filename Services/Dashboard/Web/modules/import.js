// The page *Import*: workouts from files, and from the archives of other services.

import {byID, keep, kept, make, setList, setText, show} from "./dom.js";
import {findWorkouts} from "./archive-kinds.js";
import {saveFile} from "./files.js";
import {counted, day, grouped, sentence, when} from "./format.js";
import {ImportJob} from "./import-job.js";
import {ImportStore, isOver} from "./import-store.js";
import {bus, login, ownsWorkouts, settle, whenConnectionChanges} from "./page.js";

/**
 * @typedef {import("./import-store.js").Item} Item
 * @typedef {import("./archive-kinds.js").Findings} Findings
 */

/** @param {Findings} finding */
const titleOf = ({source, name}) =>
  ({strava: "Strava", garmin: "Garmin", apple: "Apple Health", archive: name, files: ""})[source];
/** Rows of each list: the report has all. */
const rowLimit = 100;

/** @type {ImportJob | undefined} */
let job;
/**
 * What was found in archives, until it is imported or not.
 *
 * @type {Findings[]}
 */
let findings = [];
/** What the page shows of it. */
let drawn = findings;
/**
 * The only file that was given: its workout opens.
 *
 * @type {Item | undefined}
 */
let only;
/**
 * Ends the reading of what was given.
 *
 * @type {AbortController | undefined}
 */
let reading;

/** @param {string} session */
const workoutPath = (session) => `/workout/${login}/${session}`;

/** @param {{ name: string, title?: string, at?: number }} file */
const nameOf = ({name, title, at}) => [title || name.split("/").pop(), at ? when(at) : ""].filter(Boolean).join(", ");

async function open() {
  if (!ownsWorkouts) return refuse("This account only watches others: it has no workouts of its own.");
  try {
    const store = await ImportStore.open(login);
    job = new ImportJob(bus, login, store, {onChange: draw, read: kept, keep});
    await job.start();
  } catch {
    return refuse(
      "This browser does not keep files. Open the page over HTTPS, outside a private window, in a current " +
      "browser, or use the command pacebus import.");
  }
  draw();
}

/** @param {string} text */
function refuse(text) {
  show(byID("drop"), false);
  setText(byID("reading-text"), text);
  show(byID("reading-part"), true);
  settle();
}

// MARK: Giving files

const input = /** @type {HTMLInputElement} */ (byID("files"));
input.addEventListener("change", () => {
  const files = [...input.files ?? []];
  input.value = "";
  take(files);
});

for (const type of ["dragenter", "dragover"])
  addEventListener(type, (event) => {
    event.preventDefault();
    byID("drop").classList.add("over");
  });
addEventListener("dragleave", ({relatedTarget}) => relatedTarget || byID("drop").classList.remove("over"));
addEventListener("drop", async (event) => {
  event.preventDefault();
  byID("drop").classList.remove("over");
  const items = event.dataTransfer?.items ?? [];
  // Before the first pause: the browser forgets them then.
  const parts = [...items].filter(({kind}) => kind === "file").map((item) => {
    const entry = item.webkitGetAsEntry();
    return entry?.isDirectory ? filesIn(entry) : [item.getAsFile()];
  });
  take((await Promise.all(parts)).flat().flatMap((file) => file ?? []));
});

/** @param {any} folder of a drop @returns {Promise<File[]>} */
async function filesIn(folder) {
  const reader = folder.createReader();
  /** @type {File[]} */
  const files = [];
  for (;;) {
    /** @type {any[]} */
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return files;
    for (const entry of entries)
      files.push(...entry.isDirectory ? await filesIn(entry)
                                      : [await new Promise((resolve, reject) => entry.file(resolve, reject))]);
  }
}

/** @param {File[]} files */
async function take(files) {
  if (!job || files.length === 0 || reading) return;
  job.failure = "";
  const controller = reading = new AbortController();
  say("Looking for workouts…");
  try {
    const found = await findWorkouts(files,
      {signal: controller.signal, onProgress: (done, of, what) => say(`Looking for workouts: ${what}`, done, of)});
    const isOne =
      files.length === 1 && found.length === 1 && found[0].found.length === 1 && found[0].source === "files";
    const shown = found.map((each) => (each.source === "files" ? {...each, found: []} : each));
    findings = [...findings, ...shown.filter(({source, ignored}) => source !== "files" || ignored.length > 0)];
    for (const each of found.filter(({source}) => source === "files")) await addFiles(each, controller.signal, isOne);
  } catch (error) {
    const {name, message} = /** @type {Error} */ (error);
    if (name !== "AbortError")
      findings =
        [...findings, {source: "files", name: "", found: [], ignored: [{name: fileNames(files), why: message}]}];
  }
  reading = undefined;
  draw();
}

/** @param {File[]} files */
const fileNames = (files) => (files.length === 1 ? files[0].name : `${grouped(files.length)} files`);

/** @param {Findings} finding @param {AbortSignal} signal @param {boolean} [isOne] whether its workout opens */
async function addFiles(finding, signal, isOne = false) {
  const {found} = finding;
  const of = found.length;
  const onProgress = (/** @type {number} */ done) => of > 1 && say("Keeping the files in this browser", done, of);
  const items = await job?.add(found, titleOf(finding), {signal, onProgress});
  only = isOne ? items?.[0] : undefined;
  draw();
}

/** @param {Findings} finding */
async function importAll(finding) {
  findings = findings.filter((each) => each !== finding);
  const controller = reading = new AbortController();
  await addFiles(finding, controller.signal);
  reading = undefined;
  draw();
}

/** @param {string} text @param {number} [done] @param {number} [of] */
function say(text, done = 0, of = 0) {
  setText(byID("reading-text"), of > 1 ? `${text}, ${grouped(done)} of ${grouped(of)}.` : text);
  const progress = /** @type {HTMLProgressElement} */ (byID("reading-progress"));
  show(progress, of > 1);
  if (of > 1) [progress.max, progress.value] = [of, done];
  show(byID("reading-part"), true);
  show(byID("reading-stop"), reading !== undefined);
}

byID("reading-stop").addEventListener("click", () => reading?.abort());

// MARK: What the page shows

let isDue = false;

/** Many changes come at once. */
function draw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    if (job) drawAll(job);
    settle();
  });
}

/** @param {ImportJob} job */
function drawAll(job) {
  if (only && isOver(only)) {
    const {sessions = [], match} = only;
    only = undefined;
    if (sessions.length === 1) return location.assign(workoutPath(sessions[0]));
    if (match) return location.assign(workoutPath(match));
  }
  if (!reading) {
    say(job.failure);
    byID("reading-text").classList.toggle("refused", job.failure !== "");
    show(byID("reading-part"), job.failure !== "");
  }
  drawFindings();
  drawProgress(job);
  drawQuestions(job);
  drawRows("waiting", job, ({status}) => status === "waiting");
  drawRows("refused", job, ({status}) => status === "refused", ({reason}) => {
    if (/give it again|cannot be read|empty/.test(reason ?? "")) return undefined;
    return "Try again";
  });
  drawDone(job);
}

/** @param {number[]} times */
function span(times) {
  if (times.length === 0) return "";
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const text = (/** @type {number} */ time) => when(time).split(",")[0];
  return day(first) === day(last) ? `of ${text(first)}` : `from ${text(first)} to ${text(last)}`;
}

function drawFindings() {
  if (drawn === findings) return;
  drawn = findings;
  byID("findings").replaceChildren(...findings.map((finding) => {
    const {source, found, ignored} = finding;
    const times = found.flatMap(({at = 0}) => (at > 0 ? [at] : []));
    const title = titleOf(finding) || "Not a workout";
    const part = make("section", {className: "finding"}, make("h2", {}, title));
    if (found.length > 0)
      part.append(make("p", {}, `${counted(found.length, "workout")} ${span(times)}`.trim()),
        list(found, "Show them", (file) => make("li", {}, nameOf(file))));
    else if (source !== "files") part.append(make("p", {}, "There is no workout in it."));
    if (ignored.length > 0)
      part.append(list(ignored, `${counted(ignored.length, "file")} left out`,
        ({name, why}) => make("li", {}, make("strong", {}, name), ` ${sentence(why)}`), source === "files"));
    const isImported = found.length > 0 && source !== "files";
    const buttons = make("div", {className: "import-buttons"});
    if (isImported)
      buttons.append(button(`Import ${counted(found.length, "workout")}`, () => importAll(finding), "primary"));
    buttons.append(button(isImported ? "Do not import" : "OK", () => {
      findings = findings.filter((each) => each !== finding);
      draw();
    }));
    part.append(buttons);
    return make("li", {}, part);
  }));
}

/**
 * @template Each
 * @param {Each[]} items @param {string} summary @param {(item: Each) => Node} row @param {boolean} [isOpen]
 */
function list(items, summary, row, isOpen = false) {
  const more = items.length > rowLimit ? [make("li", {}, `and ${grouped(items.length - rowLimit)} more`)] : [];
  return make("details", {open: isOpen}, make("summary", {}, summary),
    make("ul", {}, ...items.slice(0, rowLimit).map(row), ...more));
}

/** @param {string} label @param {() => void} act @param {string} [className] */
function button(label, act, className = "") {
  const element = make("button", {type: "button", className}, label);
  element.addEventListener("click", act);
  return element;
}

const waits = {
  "": "",
  connection: "No connection. It continues when there is one.",
  importer: "No answer from importer yet. This page tries again while it is open.",
  answers: "It continues once some of the questions below are answered."
};

/** @param {ImportJob} job */
function drawProgress(job) {
  const {items, open, isPaused, isElsewhere, limit, wait, queued} = job;
  const done = items.length - open.length;
  const isBusy = open.length > 0;
  show(byID("progress-part"), isBusy);
  if (!isBusy) return;
  const state = isPaused && queued.length > 0 ? "Paused" : "Importing";
  setText(byID("progress-title"), `${state}: ${grouped(done)} of ${counted(items.length, "file")}`);
  const progress = /** @type {HTMLProgressElement} */ (byID("progress"));
  [progress.max, progress.value] = [items.length, done];
  const now = open.find(({status}) => status === "logging") ?? open.find(({status}) => /queued|reading/.test(status));
  /** @type {Record<string, string>} */
  const texts = {
    queued: job.sent > 0 ? `sent to ${Math.floor(job.sent * 100)} %` : "",
    reading: "is read",
    logging: `${Math.floor((now?.progress ?? 0) * 100)} % logged`
  };
  const elsewhere = isElsewhere && queued.length > 0 ? "Another tab sends them." : "";
  const working = now ? [nameOf(now), texts[now.status]].filter(Boolean).join(": ")
                      : "It continues with your answers, or later by itself.";
  setText(byID("progress-now"),
    isPaused && queued.length > 0 ? "" : elsewhere || waits[wait] || (limit && sentence(limit)) || working);
  setText(byID("progress-status"), waits[wait]);
  const buttons = queued.length > 0 ? [isPaused ? "Continue" : "Pause"] : [];
  /** @type {Record<string, () => void>} */
  const acts = {"Continue": () => job.resume(), "Pause": () => job.pause(), "Cancel the rest": () => job.cancel()};
  setList(byID("progress-buttons"), [...buttons, "Cancel the rest"], (label) => button(label, acts[label]));
}

/** @param {ImportJob} job */
function drawQuestions(job) {
  const asking = job.items.filter(({status}) => status === "asking");
  show(byID("questions-part"), asking.length > 0);
  setText(byID("questions-title"), counted(asking.length, "question"));
  show(byID("for-all-field"), asking.length > 1 || job.queued.length > 0);
  const forAll = /** @type {HTMLInputElement} */ (byID("for-all"));
  setList(byID("questions"), asking.slice(0, rowLimit), (item) => {
    const error = make("p", {className: "refused", role: "status"});
    /** @param {"import" | "skip"} type */
    const answer = (type) =>
      job.answer(item, type, forAll.checked).catch(({message}) => setText(error, sentence(message)));
    const row = make("li", {}, make("strong", {}, nameOf(item)), make("p", {}, sentence(item.reason ?? "")), error);
    if (item.match) row.append(make("a", {href: workoutPath(item.match)}, "See that workout"));
    row.append(make("div", {className: "import-buttons"}, button("Skip this file", () => answer("skip")),
      button("Import it too", () => answer("import"))));
    return row;
  });
  const answered = {
    import: "Files that look like workouts that are there are imported too.",
    skip: "Files that look like workouts that are there are skipped."
  };
  const standing = job.answerToAll;
  show(byID("standing"), standing !== "" && job.open.length > 0);
  setText(byID("standing-text"), answered[/** @type {"import" | "skip"} */ (standing)] ?? "");
}
byID("ask-again").addEventListener("click", () => job?.askAgain());

/**
 * @param {string} name of the part @param {ImportJob} job @param {(item: Item) => boolean} isShown
 * @param {(item: Item) => string | undefined} [label] of its button
 */
function drawRows(name, job, isShown, label = () => undefined) {
  const items = job.items.filter(isShown);
  show(byID(`${name}-part`), items.length > 0);
  setText(byID(`${name}-title`), `${counted(items.length, "file")} ${name === "waiting" ? "waiting" : "refused"}`);
  setList(byID(name), items.slice(0, rowLimit), (item) => {
    const reason = make("p", {}, sentence(item.reason ?? ""));
    const row = make("li", {}, make("strong", {}, nameOf(item)), reason);
    const act = label(item);
    if (act) row.append(button(act, () => job.retry(item).catch(({message}) => setText(reason, sentence(message)))));
    return row;
  });
}

/** @param {ImportJob} job */
function drawDone(job) {
  const over = job.items.filter(isOver);
  const done = over.filter(({status}) => status === "done").reverse();
  show(byID("done-part"), over.length > 0);
  const skipped = done.filter(({sessions = []}) => sessions.length === 0).length;
  setText(byID("done-title"),
    `${counted(done.length - skipped, "file")} imported${skipped > 0 ? `, ${grouped(skipped)} skipped` : ""}`);
  setList(byID("done"), done.slice(0, rowLimit), (item) => {
    const {sessions = [], match, remarks = []} = item;
    const row = make("li", {});
    const several = sessions.length > 1;
    for (const [number, session] of sessions.entries())
      row.append(
        make("a", {href: workoutPath(session)}, several ? `${nameOf(item)}, workout ${number + 1}` : nameOf(item)));
    if (sessions.length === 0) {
      row.append(make("strong", {}, nameOf(item)), make("span", {}, "Skipped."));
      if (match) row.append(make("a", {href: workoutPath(match)}, "See the workout that was there"));
    }
    for (const remark of remarks) row.append(make("span", {className: "hint"}, sentence(remark)));
    return row;
  });
}

byID("clear").addEventListener("click", () => job?.clear());
byID("report").addEventListener("click", () => {
  const rows = (job?.items ?? [])
                 .map(({name, source, title, at, status, sessions, reason}) => [name, source, title,
                        at ? new Date(at * 1000).toISOString() : "", status, sessions?.join(" "), reason]);
  const cells = [["file", "from", "name", "start", "status", "sessions", "reason"], ...rows];
  // A program of tables would run a text that begins as a formula.
  const quoted = (/** @type {any} */ text = "") =>
    `"${String(text).replace(/^[=+@-]/, "'$&").replaceAll("\"", "\"\"")}"`;
  const text = cells.map((row) => row.map(quoted).join(",")).join("\r\n");
  saveFile(new Blob([text], {type: "text/csv"}), `pacebus-import-${day(bus.serverNow())}.csv`);
});

whenConnectionChanges(draw);
open();
