// Zip files for tests.

import {Buffer} from "node:buffer";
import {deflateRawSync} from "node:zlib";
import {crc32} from "../../../Services/Dashboard/Web/modules/zip.js";

/** @param {...[value: number, bytes: number]} fields */
const numbers = (...fields) => Buffer.concat(fields.map(([value, bytes]) => {
  const part = Buffer.alloc(8);
  part.writeBigUInt64LE(BigInt(value));
  return part.subarray(0, bytes);
}));

/**
 * A zip file of entries by path; texts are UTF-8.
 *
 * @param {Record<string, string | Uint8Array>} entries
 * @param {{ isWide?: boolean, isStored?: boolean, flags?: number, note?: string, said?: number }} options `isWide`: zip64;
 *   `said`: the unpacked size that the directory has of each entry
 */
export function zipOf(entries, {isWide = false, isStored = false, flags = 0x800, note = "", said} = {}) {
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [path, content] of Object.entries(entries)) {
    const [name, bytes] = [Buffer.from(path), Buffer.from(content)];
    const packed = isStored ? bytes : deflateRawSync(bytes);
    const size = said ?? bytes.length;
    const wide = isWide ? numbers([1, 2], [24, 2], [size, 8], [packed.length, 8], [offset, 8]) : Buffer.alloc(0);
    const narrow = (value) => (isWide ? 0xffffffff : value);
    const common = [[flags, 2], [isStored ? 0 : 8, 2], [0, 4], [crc32(bytes), 4]];
    const local = Buffer.concat([
      numbers([0x04034b50, 4], [45, 2], ...common, [packed.length, 4], [size, 4], [name.length, 2], [0, 2]), name,
      packed
    ]);
    directory.push(numbers([0x02014b50, 4], [45, 2], [45, 2], ...common, [narrow(packed.length), 4], [narrow(size), 4],
                     [name.length, 2], [wide.length, 2], [0, 2], [0, 2], [0, 2], [0, 4], [narrow(offset), 4]),
      name, wide);
    parts.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const count = Object.keys(entries).length;
  const end64 = isWide ? [
    numbers([0x06064b50, 4], [44, 8], [45, 2], [45, 2], [0, 4], [0, 4], [count, 8], [count, 8], [list.length, 8], [offset, 8]),
    numbers([0x07064b50, 4], [0, 4], [offset + list.length, 8], [1, 4])
  ] : [];
  const [few, small] = isWide ? [0xffff, 0xffffffff] : [count, 0];
  const end = numbers(
    [0x06054b50, 4], [0, 4], [few, 2], [few, 2], [small || list.length, 4], [small || offset, 4], [note.length, 2]);
  return Buffer.concat([...parts, list, ...end64, end, Buffer.from(note)]);
}
