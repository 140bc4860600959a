// The parts of one file on their way to the importer. A value without a clock, effects and DOM.

/** Bytes of each part but the last. */
export const partSize = 128 * 1024;
/** Bytes a second, so that live items of the same account keep their latency. */
const rate = 0.75 * 1024 * 1024;
/** Parts in flight, and seconds without an acknowledgement until they are sent again. */
const [inFlight, stall] = [20, 10];

/** @param {number} bytes */
export const partsOf = (bytes) => Math.ceil(bytes / partSize);

/**
 * The name of a file as a part carries it: at most 255 bytes without control characters.
 *
 * @param {string} name
 */
export function partName(name) {
  let text = name.replace(/\p{Cc}/gu, " ").trim() || "file";
  while (new TextEncoder().encode(text).length > 255) text = [...text].slice(1).join("");
  return text;
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  // Of more arguments the call would be too large.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/**
 * A part as it is published.
 *
 * @param {Uint8Array} content @param {number} n @param {{ name: string, title?: string, activity?: string }} file
 */
export function partAt(content, n, {name, title, activity}) {
  const part = content.subarray(n * partSize, (n + 1) * partSize);
  const workout = n === 0 && (title || activity) ? {workout: {name: title, activity}} : {};
  return {n, of: partsOf(content.length), name: partName(name), bytes: content.length, ...workout, x: base64(part)};
}

export class FileUpload {
  /** The parts before it are stored. */
  acknowledged = 0;
  #next = 0;
  /** When unacknowledged parts are sent again. */
  #repeatAt = Infinity;

  /** @param {number} of */
  constructor(of) { this.of = of; }

  get isStored() { return this.acknowledged >= this.of; }

  /** What was in flight over the former connection is sent again. */
  connected() { this.#next = this.acknowledged; }

  /** Begins again: the importer has none of it. */
  restart() { [this.acknowledged, this.#next] = [0, 0]; }

  /** @param {number} n the part that the importer expects @param {number} now */
  receive(n, now) {
    // What was lost on its way is sent again after the stall.
    if (n === this.acknowledged) return;
    // With a lower number the importer has lost parts.
    this.#next = n < this.acknowledged ? n : Math.max(this.#next, n);
    this.acknowledged = Math.min(n, this.of);
    this.#repeatAt = now + stall;
  }

  /** @param {number} now @returns {number | undefined} the number of the part to send now */
  take(now) {
    if (now >= this.#repeatAt) this.#next = this.acknowledged;
    if (this.#next >= this.of || this.#next >= this.acknowledged + inFlight) return undefined;
    if (this.#next === this.acknowledged) this.#repeatAt = now + stall;
    this.#next += 1;
    return this.#next - 1;
  }
}

/** When the next part may leave: timers of a hidden page may be a second late, and what they missed leaves at once. */
export class Pace {
  #at = 0;

  /** @param {number} now */
  isDue(now) { return now >= this.#at; }

  /** @param {number} bytes that leave @param {number} now */
  spend(bytes, now) { this.#at = Math.max(this.#at, now - 1) + bytes / rate; }
}
