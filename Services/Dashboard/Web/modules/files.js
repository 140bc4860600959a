// A workout as a file: the exporter sends it in parts, of which each request asks for the next ones. No DOM.

import {grouped, sentence} from "./format.js";
import {newID} from "./requests.js";

/**
 * @typedef {{ n: number, of: number, name: string, workout: number, incomplete?: true, x: string }} Part `x`: base64
 * @typedef {{ name: string, workout: number, isIncomplete: boolean, blob: Blob }} WorkoutFile
 * @typedef {{ have: number, of: number, wait: "" | "exporter" | "connection" }} Progress parts; `of` is 0 until the first
 *   one; `wait`: what the page waits for
 */

/** What each format is for. */
export const formats = {
  fit: "for sports apps and watches",
  tcx: "for older sports apps",
  gpx: "the route, for maps",
  csv: "for spreadsheets",
  json: "all data, for programs"
};

/** Bytes of each part but the last, and the parts of one request. */
export const [partSize, windowSize] = [128 * 1024, 16];
/** How often a workout may change while its file is read. */
const changeLimit = 10;
/** Seconds without a part after which the page says so, and gives up. The exporter itself takes a minute at most. */
export const [quietTime, silenceLimit] = [10, 90];

/** @param {string} code @param {string} message */
const failure = (code, message) => Object.assign(new Error(message), {code});

/** @param {string} text base64 @returns {Uint8Array} */
function decode(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** The parts of one file in any order, until it is whole. A value without a clock. */
export class FileParts {
  /** @type {Part | undefined} the first that came of this revision */
  #head;
  #changes = 0;
  #from = 0;
  /** @type {Map<number, Uint8Array>} of the request that is open */
  #window = new Map();
  /** @type {Blob[]} those before; a browser may keep them outside of memory */
  #whole = [];

  /** @param {string} format */
  constructor(format) { this.format = format; }

  /** The first part of the next request. */
  get from() { return this.#from; }
  get of() { return this.#head?.of ?? 0; }
  get have() { return this.#from + this.#window.size; }

  /** @returns {WorkoutFile | undefined} once it is whole */
  get file() {
    if (!this.#head || this.#from < this.#head.of) return undefined;
    const {name, workout, incomplete = false} = this.#head;
    return {name, workout, isIncomplete: incomplete, blob: new Blob(this.#whole)};
  }

  /** The workout has changed, so the parts so far are of no use. @throws if it has changed too often */
  restart() {
    this.#changes += 1;
    if (this.#changes >= changeLimit)
      throw failure("unsettled", "the workout changes while its file is read; try again later");
    [this.#head, this.#from, this.#window, this.#whole] = [undefined, 0, new Map(), []];
  }

  /**
   * @param {Part} part @returns whether the request is answered; `from` is then the next one's
   * @throws if it is no part of such a file
   */
  take(part) {
    const bytes = this.#read(part);
    const head = this.#head;
    if (head && (head.workout !== part.workout || head.of !== part.of || head.name !== part.name)) {
      const isFirst = this.#from === 0 && part.n === 0;
      this.restart();
      if (!isFirst) return true;
    }
    this.#head ??= part;
    const end = Math.min(this.#from + windowSize, part.of);
    if (part.n >= this.#from && part.n < end) this.#window.set(part.n, bytes);
    if (this.#window.size < end - this.#from) return false;
    const numbers = [...this.#window.keys()].sort((a, b) => a - b);
    this.#whole.push(new Blob(numbers.map((number) => /** @type {Uint8Array} */ (this.#window.get(number)))));
    [this.#from, this.#window] = [end, new Map()];
    return true;
  }

  /** @param {Part} part */
  #read({n, of, name, x}) {
    const bytes = decode(x);
    const isLast = n === of - 1;
    const isSized = isLast ? bytes.length > 0 && bytes.length <= partSize : bytes.length === partSize;
    const isNamed = /^[^/\\\p{Cc}]+$/u.test(name) && name.endsWith(`.${this.format}`);
    if (!Number.isInteger(n) || n < 0 || n >= of || !isSized || !isNamed)
      throw failure("invalid_part",
        "the exporter sent what is no part of the file; the server and this page may differ in age: reload it");
    return bytes;
  }
}

/**
 * The file of a finished workout. Without a connection it waits for one.
 *
 * @param {import("./bus.js").Bus} bus @param {string} topic `request` of the session @param {string} format
 * @param {{ signal?: AbortSignal, onProgress?: (progress: Progress) => void }} options
 * @returns {Promise<WorkoutFile>} rejected with a `code`: `aborted`, `no_answer`, `unsettled`, or that of a refusal
 */
export async function fetchFile(bus, topic, format, {signal, onProgress = () => {}}) {
  const {now, page} = bus.options;
  const parts = new FileParts(format);
  let heardAt = now();
  /** @type {any} why no more is asked for */
  let end;
  let id = newID();
  /** @param {any} error */
  const stop = (error) => {
    end ??= error;
    bus.requests.withdraw(id);
  };
  const abort = () => stop(failure("aborted", "canceled"));
  const look = () => {
    const silent = Math.min(now() - heardAt, bus.openFor);
    const wait = bus.state !== "open" ? "connection" : silent >= quietTime ? "exporter" : "";
    if (silent >= silenceLimit) stop(failure("no_answer", "the exporter does not answer; try again later"));
    else onProgress({have: parts.have, of: parts.of, wait});
  };
  /** @param {any} reply */
  const take = ({file}) => {
    heardAt = now();
    try {
      const isAnswered = parts.take(file);
      look();
      return isAnswered;
    } catch (error) {
      end ??= error;
      return true;
    }
  };
  const timer = page.setInterval(look, 1000);
  // A hidden page keeps its connection meanwhile.
  bus.senders.add(parts);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  try {
    while (!parts.file) {
      if (end) throw end;
      id = newID();
      await bus.ask(topic, {type: "file", id, format, from: parts.from}, {take}).catch((error) => {
        // The file has become shorter.
        if (error.code !== "invalid_command" || parts.from === 0) throw error;
        parts.restart();
      });
    }
    if (end) throw end;
    return parts.file;
  } catch (error) {
    throw end ?? error;
  } finally {
    page.clearInterval(timer);
    bus.senders.delete(parts);
    signal?.removeEventListener("abort", abort);
  }
}

/**
 * Why there is no file, and what to do.
 *
 * @param {any} error of `fetchFile`
 */
export function failureText({code, message}) {
  if (code === "session_not_found") return "The exporter does not have this workout yet. Try again in a minute.";
  return sentence(String(message || "the exporter gave no reason; try again later"));
}

/**
 * What a request waits for; nothing while parts come.
 *
 * @param {Progress["wait"]} wait
 */
export const waitText = (wait) => ({
  "": "",
  exporter: "No answer from the exporter yet. This page asks again while it is open.",
  connection: "No connection. The download continues when there is one.",
})[wait];

/**
 * `84 kB`, `12.3 MB`.
 *
 * @param {number} bytes
 */
export function sizeText(bytes) {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1000)} kB`;
  return bytes < 1e8 ? `${(bytes / 1e6).toFixed(1)} MB` : `${grouped(bytes / 1e6)} MB`;
}

/**
 * Hands a file to the browser's downloads.
 *
 * @param {Blob} blob @param {string} name
 */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  // Browsers begin to read it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
