// What a recorded file says at its beginning: whether it is a workout, when that began, and its name. No DOM.

/** Bytes that are looked at. */
const headSize = 64 * 1024;
/** FIT counts seconds from 31 December 1989; files of type 4 are workouts. */
const [fitEpoch, activityType] = [631_065_600, 4];
/** Bytes of a workout's name. */
const titleLimit = 200;

/** @typedef {{ isWorkout: boolean, at?: number, title?: string }} Beginning `at`: Unix seconds */

/**
 * The beginning of a stream, which ends there.
 *
 * @param {ReadableStream<Uint8Array>} stream @returns {Promise<Uint8Array>} also of a stream that breaks
 */
async function headOf(stream) {
  const reader = stream.getReader();
  const bytes = new Uint8Array(headSize);
  let count = 0;
  try {
    while (count < headSize) {
      const {done, value} = await reader.read();
      if (done) break;
      const part = value.subarray(0, headSize - count);
      bytes.set(part, count);
      count += part.length;
    }
  } catch {
    // The importer says what is wrong with the rest.
  }
  reader.cancel().catch(() => {});
  return bytes.subarray(0, count);
}

/**
 * @param {string} name @param {() => ReadableStream<Uint8Array>} stream compressed by gzip if the name ends in `.gz`
 * @returns {Promise<Beginning>}
 */
export async function beginningOf(name, stream) {
  const isPacked = /\.gz$/i.test(name);
  const head =
    await headOf(isPacked ? stream().pipeThrough(/** @type {any} */ (new DecompressionStream("gzip"))) : stream());
  return /\.fit(\.gz)?$/i.test(name) ? ofFIT(head) : ofText(new TextDecoder().decode(head));
}

/** @param {Uint8Array} bytes @returns {Beginning} what the message `file_id` says */
function ofFIT(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  /** @type {Map<number, { isLittle: boolean, global: number, fields: [number: number, size: number][], rest: number }>} */
  const definitions = new Map();
  try {
    for (let at = view.getUint8(0);;) {
      const header = view.getUint8(at);
      const local = header & 0x80 ? (header >> 5) & 3 : header & 15;
      at += 1;
      if ((header & 0xc0) === 0x40) {
        const isLittle = view.getUint8(at + 1) === 0;
        const count = view.getUint8(at + 4);
        /** @type {[number, number][]} */
        const fields = Array.from(
          {length: count}, (_, index) => [view.getUint8(at + 5 + index * 3), view.getUint8(at + 6 + index * 3)]);
        const global = view.getUint16(at + 2, isLittle);
        at += 5 + count * 3;
        let rest = 0;
        if (header & 0x20) {
          const developers = view.getUint8(at);
          for (let index = 0; index < developers; index++) rest += view.getUint8(at + 2 + index * 3);
          at += 1 + developers * 3;
        }
        definitions.set(local, {isLittle, global, fields, rest});
        continue;
      }
      const definition = definitions.get(local);
      if (!definition) return {isWorkout: true};
      /** @type {Beginning} */
      const found = {isWorkout: true};
      for (const [number, size] of definition.fields) {
        if (definition.global === 0 && number === 0) found.isWorkout = view.getUint8(at) === activityType;
        const isTime = definition.global === 0 && number === 4 && size === 4;
        const time = isTime ? view.getUint32(at, definition.isLittle) : 0;
        if (time > 0 && time < 0xffff_ffff) found.at = time + fitEpoch;
        at += size;
      }
      at += definition.rest;
      if (definition.global === 0) return found;
    }
  } catch {
    // The importer says what is wrong with it.
    return {isWorkout: true};
  }
}

const entities = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: "\"",
  apos: "'"
};

/** @param {string} text of XML */
const plain = (text) =>
  text.replace(/^<!\[CDATA\[(.*)\]\]>$/s, "$1").replace(/&(#x?)?(\w+);/g, (whole, number, name) => {
    if (!number) return entities[/** @type {keyof entities} */ (name)] ?? whole;
    const code = parseInt(name, number === "#x" ? 16 : 10);
    return code > 0 && code < 0x11_0000 ? String.fromCodePoint(code) : "";
  });

/** @param {string} text @returns {Beginning} of a GPX or TCX file */
function ofText(text) {
  // The time before the first point of a GPX file is that of the export.
  const [, time = ""] =
    /<trkpt[\s>][^]*?<time>([^<]+)</.exec(text) ?? /<Id>\s*(\d[^<]+)</.exec(text) ?? /<Time>([^<]+)</.exec(text) ?? [];
  const at = Date.parse(time) / 1000;
  const [, name = ""] = /<trk>\s*<name>([^]*?)<\/name>/.exec(text) ?? [];
  return {isWorkout: true, ...(at > 0 ? {at} : {}), title: titleOf(plain(name))};
}

/**
 * A text as the name of a workout.
 *
 * @param {string} text @returns {string | undefined}
 */
export function titleOf(text) {
  let title = [...text.replace(/\p{Cc}+/gu, " ").trim()].slice(0, titleLimit).join("").trim();
  while (new TextEncoder().encode(title).length > titleLimit) title = [...title].slice(0, -1).join("").trim();
  return title || undefined;
}

/**
 * The activity of another service's word; unknown words say nothing.
 *
 * @param {string} word as `Trail Run`, `HKWorkoutActivityTypeRunning`, `lap_swimming`
 */
export function activityOf(word) {
  const text = word.toLowerCase().replace(/[^a-z]/g, "");
  /** @type {[RegExp, string][]} in this order: a `swimrun` is no run, `Motorcycling` no ride */
  const words = [
    [/swim.*run|transition|motor|wheelchair|paddl|kayak|canoe|ski|skat|elliptical|stair/, ""], [/swim/, "swimming"],
    [/ride|bik|cycl|velomobile|spinning/, "cycling"], [/hik/, "hiking"], [/run|jog|treadmill/, "running"],
    [/walk/, "walking"], [/rowing|row$/, "rowing"], [/hiit|highintensity|crossfit/, "hiit"],
    [/functionalstrength/, "functionalStrength"], [/weighttraining|strength/, "traditionalStrength"]
  ];
  return words.find(([pattern]) => pattern.test(text))?.[1] || undefined;
}
