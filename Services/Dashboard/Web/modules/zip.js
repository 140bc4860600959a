// A zip file that grows entry by entry and continues after any interruption: libraries write one in one go. No DOM.
// Format: PKWARE's APPNOTE.TXT 6.3; entries are deflated, names are UTF-8, and zip64 is used where numbers need it.

/**
 * @typedef {{ write(bytes: Uint8Array, options: { at: number }): number, truncate(size: number): void, flush(): void,
 *   close(): void }} File as `FileSystemSyncAccessHandle`
 * @typedef {{ key: string, version: string, name: string, time: number, offset: number, packed: number, size: number,
 *   crc: number }} Entry `key` and `version`: what it is, of which age; `time`: Unix seconds; `packed`: compressed bytes
 */

/** Numbers from which on zip64 is used. */
const zip64From = {
  number: 0xffff_ffff,
  count: 0xffff
};
const encoder = new TextEncoder();

const crcTable = Uint32Array.from({length: 256}, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
  return value;
});

/** @param {Uint8Array} bytes @param {number} [crc] of those before */
export function crc32(bytes, crc = 0) {
  let value = ~crc;
  for (let index = 0; index < bytes.length; index++) value = crcTable[(value ^ bytes[index]) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

/**
 * Little-endian numbers, each with its bytes.
 *
 * @param {...[value: number, bytes: 2 | 4 | 8]} fields
 */
function numbers(...fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [value, bytes] of fields) {
    if (bytes === 2) view.setUint16(at, value, true);
    else if (bytes === 4) view.setUint32(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    at += bytes;
  }
  return new Uint8Array(view.buffer);
}

/** @param {...Uint8Array} parts */
function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/**
 * A time of the browser's zone, in steps of 2 s since 1980.
 *
 * @param {number} time Unix seconds @returns {[value: number, bytes: 4]}
 */
function dosTime(time) {
  const date = new Date(time * 1000);
  const year = Math.min(Math.max(date.getFullYear() - 1980, 0), 127);
  const day = (year << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
  const second = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return [day * 65_536 + second, 4];
}

/**
 * The fields that an entry has both before its bytes and in the directory.
 *
 * @param {Entry} entry @returns {[number, 2 | 4 | 8][]}
 */
const commonFields = ({time, crc, packed, size, name}) =>
  // Version 4.5, name in UTF-8, deflated.
  [[45, 2], [0x800, 2], [8, 2], dosTime(time), [crc, 4], [packed, 4], [size, 4], [encoder.encode(name).length, 2]];

/**
 * Bytes before those of an entry.
 *
 * @param {string} name
 */
const headSize = (name) => 30 + encoder.encode(name).length;

/** @param {Entry} entry */
const endOf = ({offset, packed, name}) => offset + headSize(name) + packed;

/**
 * The directory that ends a file.
 *
 * @param {Entry[]} entries @param {number} start its place @param {typeof zip64From} from
 */
function directory(entries, start, from) {
  const heads = entries.map((entry) => {
    const isFar = entry.offset >= from.number;
    return joined(numbers([0x0201_4b50, 4], [45, 2], ...commonFields(entry), [isFar ? 12 : 0, 2], [0, 2], [0, 2],
                    [0, 2], [0, 4], [isFar ? 0xffff_ffff : entry.offset, 4]),
      encoder.encode(entry.name), isFar ? numbers([1, 2], [8, 2], [entry.offset, 8]) : new Uint8Array());
  });
  const size = heads.reduce((sum, {length}) => sum + length, 0);
  const count = entries.length;
  const isLarge = start >= from.number || size >= from.number || count >= from.count;
  const large =
    numbers([0x0606_4b50, 4], [44, 8], [45, 2], [45, 2], [0, 4], [0, 4], [count, 8], [count, 8], [size, 8], [start, 8],
      // Where this begins.
      [0x0706_4b50, 4], [0, 4], [start + size, 8], [1, 4]);
  const end = isLarge
    ? numbers([0x0605_4b50, 4], [0, 2], [0, 2], [0xffff, 2], [0xffff, 2], [0xffff_ffff, 4], [0xffff_ffff, 4], [0, 2])
    : numbers([0x0605_4b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [size, 4], [start, 4], [0, 2]);
  return joined(...heads, ...(isLarge ? [large] : []), end);
}

/**
 * A name that no other entry has, also on disks that do not tell case: `Run.fit`, `Run (2).fit`.
 *
 * @param {string} name @param {Iterable<string>} others
 */
export function freeName(name, others) {
  const used = new Set([...others].map((other) => other.toLowerCase()));
  const [, stem, ending] = /** @type {RegExpMatchArray} */ (name.match(/^(.*?)(\.[^.]*)?$/s));
  for (let number = 1;; number++) {
    const free = number === 1 ? name : `${stem} (${number})${ending ?? ""}`;
    if (!used.has(free.toLowerCase())) return free;
  }
}

export class Zip {
  /** @type {Map<string, Entry>} the newest of each key */
  #entries = new Map();
  /** Where the next entry begins: bytes behind are of a directory, or of an entry that was cut short. */
  #end = 0;

  /** @param {File} file @param {Entry[]} entries that were written @param {typeof zip64From} [from] */
  constructor(file, entries, from = zip64From) {
    this.file = file;
    this.from = from;
    for (const entry of entries) this.#take(entry);
  }

  get entries() { return [...this.#entries.values()]; }
  /** Its bytes without the directory. */
  get size() { return this.#end; }

  /** @param {Entry} entry */
  #take(entry) {
    this.#entries.set(entry.key, entry);
    this.#end = Math.max(this.#end, endOf(entry));
  }

  /**
   * Adds a file, in the place of one with the same key. If it fails, the zip is as before.
   *
   * @param {{ key: string, version: string, name: string, time: number, blob: Blob }} file @returns {Promise<Entry>}
   */
  async add({key, version, name, time, blob}) {
    if (blob.size >= zip64From.number) throw new Error(`${name} has more than 4 GiB`);
    const others = this.entries.filter((entry) => entry.key !== key).map((entry) => entry.name);
    /** @type {Entry} */
    const entry = {key, version, name: freeName(name, others), time, offset: this.#end, packed: 0, size: 0, crc: 0};
    const start = this.#end + headSize(entry.name);
    this.file.truncate(this.#end);
    const counted = new TransformStream({
      transform(/** @type {Uint8Array} */ bytes, controller) {
        entry.crc = crc32(bytes, entry.crc);
        entry.size += bytes.length;
        controller.enqueue(bytes);
      }
    });
    const reader = blob.stream().pipeThrough(counted).pipeThrough(new CompressionStream("deflate-raw")).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      this.#write(value, start + entry.packed);
      entry.packed += value.length;
    }
    const head = joined(numbers([0x0403_4b50, 4], ...commonFields(entry), [0, 2]), encoder.encode(entry.name));
    this.#write(head, entry.offset);
    this.file.flush();
    this.#take(entry);
    return entry;
  }

  /**
   * Writes the directory: the file is then complete, and may still grow.
   *
   * @param {(key: string) => boolean} isWanted whether an entry is listed
   */
  finish(isWanted) {
    const listed = this.entries.filter(({key}) => isWanted(key));
    const end = directory(listed, this.#end, this.from);
    this.file.truncate(this.#end);
    this.#write(end, this.#end);
    this.file.flush();
    return this.#end + end.length;
  }

  /** @param {Uint8Array} bytes @param {number} at */
  #write(bytes, at) {
    const written = this.file.write(bytes, {at});
    if (written !== bytes.length) throw new DOMException("the browser's storage is full", "QuotaExceededError");
  }
}
