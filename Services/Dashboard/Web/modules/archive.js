// Zip archives as other services hand them out: the directory is read at once, and each entry when it is needed, so that an
// archive may be larger than the memory. No DOM.

import {crc32} from "./zip.js";

/**
 * @typedef {{ path: string, size: number, stream: () => ReadableStream<Uint8Array>, content: () => Promise<Blob> }} Entry
 *   `size`: unpacked, in bytes
 */

/** Entries of an archive, and bytes of its directory. */
const [entryLimit, directoryLimit] = [200_000, 64 << 20];
/** Signatures: the end of the directory, its 64-bit kin with their locator, an entry of the directory, an entry. */
const [endMark, end64Mark, locatorMark, centralMark, localMark] =
  [0x06054b50, 0x06064b50, 0x07064b50, 0x02014b50, 0x04034b50];
/** The upper half of the code page 437, in which old names are. */
const oldCharacters = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
  "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";
const tooMany = `the zip file has more than ${entryLimit} entries: unpack it, and choose the files`;
const damaged = "the zip file is damaged, or its end is missing: download it again";

/** @param {Blob} file @param {number} from @param {number} to @returns {Promise<DataView>} */
async function bytesOf(file, from, to) {
  if (from < 0 || to > file.size || from > to) throw new Error(damaged);
  return new DataView(await file.slice(from, to).arrayBuffer());
}

/** @param {DataView} view @param {number} at @returns a number of 64 bits: an archive has less than 2^53 bytes */
const long = (view, at) => Number(view.getBigUint64(at, true));

/**
 * Whether a file begins as a zip file does.
 *
 * @param {Blob} file
 */
export async function isZip(file) {
  const view = new DataView(await file.slice(0, 4).arrayBuffer());
  return view.byteLength === 4 && [localMark, endMark].includes(view.getUint32(0, true));
}

/**
 * The files of an archive, without folders.
 *
 * @param {Blob} file @returns {Promise<Entry[]>} rejected with a sentence for people
 */
export async function readZip(file) {
  const {count, start, size} = await readEnd(file);
  if (count > entryLimit || size > directoryLimit) throw new Error(tooMany);
  const view = await bytesOf(file, start, start + size);
  /** @type {Entry[]} */
  const entries = [];
  for (let at = 0; at < size;) {
    if (at + 46 > size || view.getUint32(at, true) !== centralMark) throw new Error(damaged);
    const [nameLength, extraLength, noteLength] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const next = at + 46 + nameLength + extraLength + noteLength;
    if (next > size) throw new Error(damaged);
    const entry = readEntry(file, view, at, nameLength, extraLength);
    if (!entry.path.endsWith("/")) entries.push(entry);
    if (entries.length > entryLimit) throw new Error(tooMany);
    at = next;
  }
  return entries;
}

/** @param {Blob} file @returns {Promise<{ count: number, start: number, size: number }>} of the directory */
async function readEnd(file) {
  // A note of at most 65,535 bytes may follow the last 22.
  const from = Math.max(0, file.size - 22 - 65_535);
  const view = await bytesOf(file, from, file.size);
  let at = view.byteLength - 22;
  while (at >= 0 && view.getUint32(at, true) !== endMark) at -= 1;
  if (at < 0) throw new Error(damaged);
  const [count, size, start] =
    [view.getUint16(at + 10, true), view.getUint32(at + 12, true), view.getUint32(at + 16, true)];
  if (count !== 0xffff && size !== 0xffffffff && start !== 0xffffffff) return {count, start, size};
  const locator = await bytesOf(file, from + at - 20, from + at);
  if (locator.getUint32(0, true) !== locatorMark) return {count, start, size};
  const end = await bytesOf(file, long(locator, 8), long(locator, 8) + 56);
  if (end.getUint32(0, true) !== end64Mark) throw new Error(damaged);
  return {count: long(end, 32), size: long(end, 40), start: long(end, 48)};
}

/**
 * The name of an entry. Many programs write UTF-8 without the bit that says so.
 *
 * @param {Uint8Array} bytes
 */
function nameOf(bytes) {
  try {
    return new TextDecoder("utf-8", {fatal: true}).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : oldCharacters[byte - 128])).join("");
  }
}

/**
 * @param {Blob} file @param {DataView} view @param {number} at @param {number} nameLength @param {number} extraLength
 * @returns {Entry}
 */
function readEntry(file, view, at, nameLength, extraLength) {
  const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
  let [packed, size, offset] = [20, 24, 42].map((place) => view.getUint32(at + place, true));
  if (flags & 1) throw new Error("the zip file has a password: unpack it, and choose the files");
  const path = nameOf(new Uint8Array(view.buffer, at + 46, nameLength));
  for (let extra = at + 46 + nameLength, end = extra + extraLength; extra + 4 <= end;) {
    const [id, length] = [view.getUint16(extra, true), view.getUint16(extra + 2, true)];
    if (id === 1) {
      let place = extra + 4;
      const wide = () => {
        if (place + 8 > end) throw new Error(damaged);
        place += 8;
        return long(view, place - 8);
      };
      if (size === 0xffffffff) size = wide();
      if (packed === 0xffffffff) packed = wide();
      if (offset === 0xffffffff) offset = wide();
    }
    extra += 4 + length;
  }
  const crc = view.getUint32(at + 16, true);
  const stream = () => unpack(file, {path, method, packed, size, offset, crc});
  return {path, size, stream, content: () => new Response(stream()).blob()};
}

/**
 * @param {Blob} file
 * @param {{ path: string, method: number, packed: number, size: number, offset: number, crc: number }} entry
 * @returns {ReadableStream<Uint8Array>} fails if the entry is damaged, or larger than it says
 */
function unpack(file, {path, method, packed, size, offset, crc}) {
  /** @type {TransformStream<Uint8Array, Uint8Array>} */
  const {readable, writable} = new TransformStream(checks(path, size, crc));
  const pipe = async () => {
    if (method !== 0 && method !== 8)
      throw new Error(`${path} is packed in a way that browsers do not read: unpack it`);
    const head = await bytesOf(file, offset, offset + 30);
    if (head.getUint32(0, true) !== localMark) throw new Error(damaged);
    const start = offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
    if (start + packed > file.size) throw new Error(damaged);
    const part = file.slice(start, start + packed).stream();
    await (method === 0 ? part : part.pipeThrough(/** @type {any} */ (new DecompressionStream("deflate-raw"))))
      .pipeTo(writable);
  };
  pipe().catch((error) => writable.abort(error instanceof TypeError ? new Error(damaged) : error).catch(() => {}));
  return readable;
}

/** @param {string} path @param {number} size @param {number} crc @returns {Transformer<Uint8Array, Uint8Array>} */
function checks(path, size, crc) {
  let [count, sum] = [0, 0];
  return {
    transform(chunk, controller) {
      count += chunk.length;
      sum = crc32(chunk, sum);
      if (count > size) controller.error(new Error(`${path} is larger than the zip file says`));
      else controller.enqueue(chunk);
    },
    flush(controller) {
      if (count < size || sum !== crc) controller.error(new Error(damaged));
    }
  };
}
