// Which workouts there are in files and archives that people have of other services. No DOM.

import {appleWorkouts, isHealthExport} from "./apple-health.js";
import {isZip, readZip} from "./archive.js";
import {grouped} from "./format.js";
import {activityOf, beginningOf, titleOf} from "./recorded.js";

/**
 * @typedef {import("./archive.js").Entry} Entry
 * @typedef {{ name: string, title?: string, activity?: string, at?: number, size: number, content: () => Promise<Blob> }} Found
 *   `name`: of the file; `title`: of the workout, if the file or the archive has one; `at`: its start in Unix seconds
 * @typedef {{ name: string, why: string }} Ignored
 * @typedef {{ source: "strava" | "garmin" | "apple" | "archive" | "files", name: string, found: Found[],
 *   ignored: Ignored[] }} Findings of an archive, whose `name` it has, or of all single files
 * @typedef {{ onProgress?: (done: number, of: number, what: string) => void, signal?: AbortSignal }} Options
 */

/** Bytes of a file that the importer takes; bytes of all zip files in an archive, and entries of all of them. */
const [sizeLimit, nestedLimit, entryLimit] = [32 << 20, 8 * 2 ** 30, 200_000];
/** Seconds between a start in Garmin's list and that in the file. */
const startOffsets = [0, 1, -1, 2, -2];
/** @param {string} path */
const isRecorded = (path) => /\.(fit|tcx|gpx)(\.gz)?$/i.test(path);
/**
 * Whether macOS has added it to the archive.
 *
 * @param {string} path
 */
const isExtra = (path) => /(^|\/)(__MACOSX\/|\._)/.test(path);
/** @param {string} path */
const lastOf = (path) => /** @type {string} */ (path.split("/").pop());
const tooLarge = `it has more than ${sizeLimit >> 20} MiB: split it, or export it without developer data`;
const tooMuch = "there is too much in the archive: unpack it, and choose this file";
const noWorkout = "no workout: sleep, steps, settings and the like";

/**
 * The workouts in files that someone chose.
 *
 * @param {File[]} files @param {Options} options @returns {Promise<Findings[]>}
 */
export async function findWorkouts(files, options = {}) {
  /** @type {Findings} */
  const single = {source: "files", name: "", found: [], ignored: []};
  const findings = [single];
  for (const [done, file] of files.entries()) {
    options.signal?.throwIfAborted();
    if (files.length > 1) options.onProgress?.(done, files.length, file.name);
    if (isRecorded(file.name)) {
      const content = async () => file;
      const seen = await look({path: file.name, size: file.size, stream: () => file.stream(), content});
      if ("why" in seen) single.ignored.push(seen);
      else single.found.push(seen);
    } else if (await isZip(file).catch(() => false)) findings.push(await ofArchive(file, options));
    else single.ignored.push({name: file.name, why: whyNot(file)});
  }
  return findings.filter(({source, found, ignored}) => source !== "files" || found.length + ignored.length > 0);
}

/** @param {File} file that is no workout */
function whyNot(file) {
  if (/\.xml$/i.test(file.name)) return "choose the whole zip file that the Health app made";
  if (/\.(zip|rar|7z|tar|tgz)$/i.test(file.name)) return "it is no zip file, or it is damaged: download it again";
  return "it is no FIT, TCX or GPX file, and no archive of them";
}

/**
 * Looks at the beginning of a file.
 *
 * @param {Entry} entry @returns {Promise<Found | Ignored>}
 */
async function look({path, size, stream, content}) {
  const name = lastOf(path);
  if (size > sizeLimit) return {name, why: tooLarge};
  const {isWorkout, at, title} = await beginningOf(name, stream);
  return isWorkout ? {name, title, at, size, content} : {name, why: noWorkout};
}

/** @param {File} file @param {Options} options @returns {Promise<Findings>} */
async function ofArchive(file, {onProgress = () => {}, signal}) {
  /** @type {Findings} */
  const findings = {source: "archive", name: file.name, found: [], ignored: []};
  try {
    const entries = await withNested(await readZip(file), findings, signal);
    let recorded = entries.filter(({path}) => isRecorded(path));
    const health = await isHealthExport(entries);
    if (health) {
      const {found, ignored, routes} = await appleWorkouts(health, entries, {onProgress, signal});
      findings.source = "apple";
      findings.found = found;
      findings.ignored.push(...ignored);
      recorded = recorded.filter((entry) => !routes.has(entry));
    }
    const table = entries.find(({path}) => /(^|\/)activities\.csv$/.test(path));
    const rows = table ? stravaRows(await (await table.content()).text()) : new Map();
    if (table) findings.source = "strava";
    else if (entries.some(({path}) => /DI[_-]CONNECT/i.test(path))) findings.source = "garmin";
    const names = findings.source === "garmin" ? await garminNames(entries) : new Map();
    let others = 0;
    for (const [done, entry] of recorded.entries()) {
      signal?.throwIfAborted();
      onProgress(done, recorded.length, file.name);
      const path = stravaPath(entry.path);
      const row = rows.get(path);
      rows.delete(path);
      // A route of Strava's is a plan.
      if (table && /(^|\/)routes\//.test(entry.path)) continue;
      const seen = await look(entry);
      if (!("why" in seen)) {
        const {at = 0} = seen;
        const known = row ?? startOffsets.map((offset) => names.get(Math.round(at) + offset)).find(Boolean);
        findings.found.push({...seen, title: known?.title ?? seen.title, activity: known?.activity});
      } else if (seen.why === noWorkout) others += 1;
      else findings.ignored.push(seen);
    }
    if (others > 0) findings.ignored.push({name: others === 1 ? "1 file" : `${grouped(others)} files`, why: noWorkout});
    for (const {file: path, title} of rows.values())
      findings.ignored.push({
        name: title ?? "a workout",
        why: path ? `the archive lacks its file ${path}: ask for the archive again`
                  : "the archive has no file of it: it was typed in"
      });
  } catch (error) {
    signal?.throwIfAborted();
    findings.ignored.push({name: file.name, why: /** @type {Error} */ (error).message});
  }
  return findings;
}

/**
 * The entries, and those of zip files among them, which Garmin's archives have.
 *
 * @param {Entry[]} entries @param {Findings} findings @param {AbortSignal} [signal] @returns {Promise<Entry[]>}
 */
async function withNested(entries, findings, signal) {
  /** @type {Entry[]} */
  const all = [];
  let bytes = 0;
  for (const entry of entries) {
    if (isExtra(entry.path)) continue;
    all.push(entry);
    if (!/\.zip$/i.test(entry.path)) continue;
    signal?.throwIfAborted();
    try {
      if (bytes + entry.size > nestedLimit) throw new Error(tooMuch);
      bytes += entry.size;
      const inner = await readZip(await entry.content());
      if (all.length + inner.length > entryLimit) throw new Error(tooMuch);
      for (const each of inner)
        if (!isExtra(each.path)) all.push({...each, path: `${entry.path}/${each.path}`});
    } catch (error) {
      findings.ignored.push({name: lastOf(entry.path), why: /** @type {Error} */ (error).message});
    }
  }
  return all;
}

// MARK: Strava

/** @param {string} text of comma-separated values (RFC 4180) @returns {string[][]} */
export function readTable(text) {
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  cell.lastIndex = text.startsWith("\ufeff") ? 1 : 0;
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text);
    if (!match) throw new Error("activities.csv is damaged: ask Strava for the archive again");
    row.push(match[1]?.replaceAll("\"\"", "\"") ?? match[2]);
    if (match[3] !== ",") {
      rows.push(row);
      row = [];
    }
  }
  if (row.length > 0) rows.push([...row, ""]);
  return rows;
}

/**
 * The path of a file as Strava's table has it.
 *
 * @param {string} path
 */
const stravaPath = (path) => path.split("/").slice(-2).join("/");

/**
 * What Strava's table says of each file, by the file's path. Its columns are named in the language of the account: the file
 * is found by its folder, and what follows the id are date, name and type.
 *
 * @param {string} text @returns {Map<string, { file: string, title?: string, activity?: string }>}
 */
export function stravaRows(text) {
  const [head = [], ...rows] = readTable(text);
  const isFile = (/** @type {string} */ cell) => /^activities\/\S+$/.test(cell);
  const count = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const fileAt =
    Array.from({length: count}, (_, index) => index).find((index) => rows.some((row) => isFile(row[index] ?? "")));
  const columnOf = (/** @type {string} */ name, /** @type {number} */ usual) => {
    const index = head.indexOf(name);
    return index < 0 ? usual : index;
  };
  const [titleAt, typeAt] = [columnOf("Activity Name", 2), columnOf("Activity Type", 3)];
  /** @type {Map<string, { file: string, title?: string, activity?: string }>} */
  const found = new Map();
  for (const [number, row] of rows.entries()) {
    if (row.length < 4) continue;
    const file = fileAt === undefined ? "" : row[fileAt] ?? "";
    const values = {file, title: titleOf(row[titleAt] ?? ""), activity: activityOf(row[typeAt] ?? "")};
    found.set(isFile(file) ? file : `row ${number}`, isFile(file) ? values : {...values, file: ""});
  }
  return found;
}

// MARK: Garmin

/**
 * Names and types of Garmin's list of workouts, by their start in whole seconds.
 *
 * @param {Entry[]} entries
 */
async function garminNames(entries) {
  /** @type {Map<number, { title?: string, activity?: string }>} */
  const names = new Map();
  for (const {path, content} of entries) {
    if (!/summarizedActivities[^/]*\.json$/i.test(path)) continue;
    try {
      /** @type {any[]} */
      const list = [JSON.parse(await (await content()).text())].flat()[0]?.summarizedActivitiesExport ?? [];
      for (const {beginTimestamp, name, activityType} of list)
        names.set(Math.round(beginTimestamp / 1000),
          {title: titleOf(String(name ?? "")), activity: activityOf(String(activityType ?? ""))});
    } catch {
      // Only the names are lost.
    }
  }
  return names;
}
