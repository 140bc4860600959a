// The packets of MQTT 3.1.1 that a client of the bus needs: no QoS 2, no will. No socket, no clock.

/** @typedef {{ type: string, id: number, codes: number[], topic: string, payload: Uint8Array }} Packet `id`: the code of a CONNACK */

/** Bytes of a packet's body; payloads of the bus have at most 256 KiB. */
export const packetLimit = 1_048_576;
const encoder = new TextEncoder();
// A byte order mark is part of a topic.
const decoder = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});

/** @param {ArrayLike<number>[]} parts */
function join(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** @param {number} number */
const short = (number) => [number >> 8, number & 255];

/** @param {string} text */
function string(text) {
  const bytes = encoder.encode(text);
  if (bytes.length > 65_535) throw new RangeError(`a text of ${bytes.length} bytes; MQTT allows 65535`);
  return [...short(bytes.length), ...bytes];
}

/** @param {number} first type and flags @param {...ArrayLike<number>} parts of the body */
function packet(first, ...parts) {
  const body = join(parts);
  const length = [body.length & 127];
  for (let rest = body.length >> 7; rest > 0; rest >>= 7) {
    length[length.length - 1] |= 128;
    length.push(rest & 127);
  }
  return join([[first], length, body]);
}

/** @param {string} client @param {number} keepAlive seconds @param {string} user @param {string} [password] */
export function connect(client, keepAlive, user, password) {
  // Without a password the server puts in what the login cookie holds.
  const [flags, account] = password === undefined ? [2, []] : [0xC2, [...string(user), ...string(password)]];
  return packet(0x10, string("MQTT"), [4, flags], short(keepAlive), string(client), account);
}

/** @param {number} id @param {{ name: string, qos: number }[]} filters */
export const subscribe = (id, filters) =>
  packet(0x82, short(id), ...filters.flatMap(({name, qos}) => [string(name), [qos]]));

/** @param {number} id @param {{ name: string }[]} filters */
export const unsubscribe = (id, filters) => packet(0xA2, short(id), ...filters.map(({name}) => string(name)));

/** @param {string} topic @param {string} payload @param {number} id 0 with QoS 0 */
export const publish = (topic, payload, id) =>
  packet(id ? 0x32 : 0x30, string(topic), id ? short(id) : [], encoder.encode(payload));

/** @param {number} id */
export const puback = (id) => packet(0x40, short(id));
export const pingreq = packet(0xC0);
export const disconnect = packet(0xE0);

/** @param {boolean} isRight @param {string} flaw */
function check(isRight, flaw) {
  if (!isRight) throw new Error(`malformed packet: ${flaw}`);
}

/** @type {Map<number, string>} by first byte */
const types = new Map([[0x20, "connack"], [0x40, "puback"], [0x90, "suback"], [0xB0, "unsuback"], [0xD0, "pingresp"]]);

/** @param {number} first type and flags @param {Uint8Array} body @returns {Packet} */
function parse(first, body) {
  /** @param {number} at */
  const number = (at) => body[at] * 256 + body[at + 1];
  if (first >> 4 === 3) {
    const hasID = (first & 6) === 2;
    const end = 2 + number(0);
    const start = end + (hasID ? 2 : 0);
    check((first & 4) === 0 && start <= body.length && (!hasID || number(end) > 0), "PUBLISH");
    const topic = decoder.decode(body.subarray(2, end));
    check(topic !== "" && !/[+#\0]/.test(topic), "topic of PUBLISH");
    return {type: "publish", id: hasID ? number(end) : 0, codes: [], topic, payload: body.subarray(start)};
  }
  const type = types.get(first) ?? "";
  const codes = [...body.subarray(2)];
  const areCodes = codes.length > 0 && codes.every((code) => code < 2 || code === 128);
  const isRight = type === "suback" ? areCodes : body.length === (type === "pingresp" ? 0 : 2);
  check(type !== "" && isRight, `${body.length} bytes of ${type || first}`);
  return {type, id: number(0) || 0, codes, topic: "", payload: body};
}

/** Finds packets in frames: a frame has a part of a packet, or several. */
export class PacketReader {
  #rest = new Uint8Array();

  /** @param {ArrayBuffer} frame @returns {Generator<Packet, void>} throws after the last packet that is well-formed */
  * read(frame) {
    check(frame instanceof ArrayBuffer, "a frame of text");
    this.#rest = join([this.#rest, new Uint8Array(frame)]);
    for (;;) {
      const last = this.#rest.subarray(0, 5).findIndex((byte, index) => index > 0 && byte < 128);
      check(last > 0 || this.#rest.length < 5, "a length of more than 4 bytes");
      const length = this.#rest.subarray(1, last + 1).reduceRight((sum, byte) => sum * 128 + (byte & 127), 0);
      check(length <= packetLimit, `${length} bytes; at most ${packetLimit} are read`);
      const [first, body] = [this.#rest[0], this.#rest.subarray(last + 1, last + 1 + length)];
      if (last < 0 || body.length < length) return;
      this.#rest = this.#rest.subarray(last + 1 + length);
      yield parse(first, body);
    }
  }
}

/** @param {string} filter @returns what its topics match; nothing for a topic */
export function pattern(filter) {
  if (!/[+#]/.test(filter)) return undefined;
  const levels = filter.replace(/[.*?^${}()|[\]\\]/g, "\\$&").replace(/\+/g, "[^/]*").replace(/(^|\/)#$/, "($1.*)?");
  // A wildcard at the start matches no topic of the broker's own.
  return new RegExp("^" + (filter.search(/[+#]/) === 0 ? "(?!\\$)" : "") + levels + "$", "s");
}
