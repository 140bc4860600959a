// A worker that writes the account's files into one zip file in the browser's private file system. A second file has a
// line for each entry that is whole, so that a later page continues behind it.

import {Zip} from "./zip.js";

const worker = /** @type {any} */ (globalThis);
/** @type {Zip} */
let zip;
/** @type {any} */
let lines;
let linesEnd = 0;

/** Milliseconds between attempts to open a file that an earlier page still closes, and their number. */
const [pause, attempts] = [100, 50];

/** @param {any} handle of a file that one worker writes at a time */
async function openAlone(handle) {
  for (let attempt = 1;; attempt++) {
    try {
      return await handle.createSyncAccessHandle();
    } catch (error) {
      if (attempt === attempts) throw error;
      await new Promise((resume) => setTimeout(resume, pause));
    }
  }
}

/** @param {any} handle @returns {any[]} the lines that were written to the end */
function readLines(handle) {
  const bytes = new Uint8Array(handle.getSize());
  handle.read(bytes, {at: 0});
  const end = bytes.lastIndexOf(10) + 1;
  linesEnd = end;
  return new TextDecoder().decode(bytes.subarray(0, end)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** @param {any} line */
function writeLine(line) {
  const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  if (lines.write(bytes, {at: linesEnd}) !== bytes.length)
    throw new DOMException("the browser's storage is full", "QuotaExceededError");
  lines.flush();
  linesEnd += bytes.length;
}

/** @type {Record<string, (fields: any) => any>} */
const calls = {
  /** Opens or creates the files, and returns what the zip has. */
  async open({folder, isNew}) {
    const root = await /** @type {any} */ (navigator.storage).getDirectory();
    if (isNew) await root.removeEntry(folder, {recursive: true}).catch(() => {});
    const directory = await root.getDirectoryHandle(folder, {create: true});
    /** @param {string} name */
    const open = async (name) => openAlone(await directory.getFileHandle(name, {create: true}));
    const file = await open("zip");
    lines = await open("entries");
    // A line is written after its entry.
    zip = new Zip(file, readLines(lines));
    return {entries: zip.entries.map(({key, version}) => ({key, version})), size: zip.size};
  },
  async add(fields) {
    writeLine(await zip.add(fields));
    return {size: zip.size};
  },
  /** Ends the zip and closes it. */
  finish({keys}) {
    const size = zip.finish((key) => keys.has(key));
    zip.file.close();
    lines.close();
    return {size};
  }
};

worker.onmessage = async (/** @type {any} */ {data: {id, call, fields}}) => {
  try {
    worker.postMessage({id, result: await calls[call](fields)});
  } catch (error) {
    const {name, message} = /** @type {Error} */ (error);
    worker.postMessage({id, error: {name, message}});
  }
};
