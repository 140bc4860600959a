import assert from "node:assert/strict";
import {test} from "node:test";
import * as mqtt from "../../../Services/Dashboard/Web/modules/mqtt.js";
import {matches, packet, publication, read} from "./broker.js";

/** @param {string} hex */
const bytes = (hex) => new Uint8Array(hex.replaceAll(" ", "").match(/../g)?.map((pair) => parseInt(pair, 16)) ?? []);
/** @param {Uint8Array} packet */
const hex = (packet) => [...packet].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
const text = new TextDecoder();

/** What a reader finds in frames, and why it stopped. @param {...ArrayLike<number>} frames */
function parse(...frames) {
  const reader = new mqtt.PacketReader();
  const packets = [];
  try {
    for (const frame of frames)
      for (const each of reader.read(Uint8Array.from(frame).buffer)) packets.push(each);
  } catch (error) {
    return {packets, error: /** @type {Error} */ (error).message};
  }
  return {packets, error: undefined};
}

/** @param {...ArrayLike<number>} frames */
const summary = (...frames) => parse(...frames).packets.map(({type, id, codes, topic, payload}) => {
  if (type === "pingresp") return [type];
  return [type, id, ...codes, ...(type === "publish" ? [topic, text.decode(payload)] : [])];
});

test("packets of a client are those of MQTT 3.1.1, section 3", () => {
  assert.equal(hex(mqtt.connect("c1", 60, "anna")), "10 0e 00 04 4d 51 54 54 04 02 00 3c 00 02 63 31");
  assert.equal(hex(mqtt.connect("c1", 60, "anna", "pw")),
    "10 18 00 04 4d 51 54 54 04 c2 00 3c 00 02 63 31 00 04 61 6e 6e 61 00 02 70 77");
  assert.equal(hex(mqtt.subscribe(10, [{name: "a/b", qos: 0}, {name: "c/d", qos: 1}])),
    "82 0e 00 0a 00 03 61 2f 62 00 00 03 63 2f 64 01");
  assert.equal(hex(mqtt.unsubscribe(258, [{name: "a/b"}, {name: "c"}])), "a2 0a 01 02 00 03 61 2f 62 00 01 63");
  assert.equal(hex(mqtt.publish("a/b", "{}", 0)), "30 07 00 03 61 2f 62 7b 7d");
  assert.equal(hex(mqtt.publish("a/b", "{}", 10)), "32 09 00 03 61 2f 62 00 0a 7b 7d");
  assert.equal(hex(mqtt.puback(65_535)), "40 02 ff ff");
  assert.equal(hex(mqtt.pingreq), "c0 00");
  assert.equal(hex(mqtt.disconnect), "e0 00");
});

test("texts are UTF-8, and one of more than 65535 bytes is refused", () => {
  const sent = read(mqtt.connect("c1", 60, "änna", "pä€😀"));
  assert.deepEqual([sent.user, sent.password, sent.rest], ["änna", "pä€😀", 0]);
  assert.equal(read(mqtt.publish("ü", "\"😀\"", 0)).text, "\"😀\"");
  assert.throws(() => mqtt.publish("t".repeat(65_536), "", 0), RangeError);
  assert.equal(read(mqtt.publish("t".repeat(65_535), "", 0)).topic.length, 65_535);
});

test("lengths of a client's packets take 1 to 4 bytes", () => {
  for (const [size, length] of /** @type {[number, string][]} */ ([
         [0x7F, "7f"], [0x80, "80 01"], [16_383, "ff 7f"], [16_384, "80 80 01"], [2_097_151, "ff ff 7f"],
         [2_097_152, "80 80 80 01"]
       ])) {
    const sent = mqtt.publish("t", "x".repeat(size - 3), 0);
    assert.equal(hex(sent.slice(1, sent.length - size)), length);
  }
});

test("packets of a broker", () => {
  assert.deepEqual(summary(bytes("20 02 00 00")), [["connack", 0]]);
  assert.deepEqual(summary(bytes("20 02 00 05")), [["connack", 5]]);
  assert.deepEqual(summary(bytes("90 05 00 0a 00 01 80")), [["suback", 10, 0, 1, 128]]);
  assert.deepEqual(summary(bytes("b0 02 01 02")), [["unsuback", 258]]);
  assert.deepEqual(summary(bytes("40 02 ff ff")), [["puback", 65_535]]);
  assert.deepEqual(summary(bytes("d0 00")), [["pingresp"]]);
  assert.deepEqual(summary(bytes("30 07 00 03 61 2f 62 7b 7d")), [["publish", 0, "a/b", "{}"]]);
  assert.deepEqual(summary(bytes("31 05 00 03 61 2f 62")), [["publish", 0, "a/b", ""]]);
  assert.deepEqual(summary(bytes("3a 09 00 03 61 2f 62 00 0a 7b 7d")), [["publish", 10, "a/b", "{}"]]);
});

test("a topic keeps its byte order mark",
  () => { assert.deepEqual(summary(publication("\uFEFFa", "{}")), [["publish", 0, "\uFEFFa", "{}"]]); });

const stream = [
  packet(0x20, 0, 0),
  packet(0x90, 0, 1, 0, 128),
  publication("a/b", "{\"n\":1}"),
  publication("a/c", "x".repeat(200), 7),
  packet(0xD0),
  publication("a/d", "y".repeat(3_000)),
  packet(0x40, 0, 9),
  packet(0xB0, 0, 3),
];
const whole = summary(stream.flat());

test("several packets in one frame, and one in many", () => {
  assert.deepEqual(whole.map(([type]) => type),
    ["connack", "suback", "publish", "publish", "pingresp", "publish", "puback", "unsuback"]);
  assert.deepEqual(summary(...stream), whole);
  assert.deepEqual(summary(...stream.flat().map((byte) => [byte])), whole);
});

test("random splits into frames change nothing", (context) => {
  let seed = Number(process.env.SEED ?? (Date.now() % 1_000_000) + 1);
  context.diagnostic(`SEED=${seed}`);
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let round = 0; round < 100; round++) {
    const rest = stream.flat();
    const frames = [];
    while (rest.length > 0) frames.push(rest.splice(0, Math.ceil(random() ** 3 * (round % 2 ? 10 : 5_000))));
    assert.deepEqual(summary(...frames), whole);
  }
});

test("a packet of 1 MiB is read, and one with a byte more ends the stream at its length", () => {
  const rest = mqtt.packetLimit - 3;
  const large = publication("t", "z".repeat(rest));
  assert.deepEqual(large.slice(1, 4), [0x80, 0x80, 0x40]);
  assert.equal(parse(large.slice(0, 70_000), large.slice(70_000)).packets[0].payload.length, rest);
  const {packets, error} = parse(packet(0xD0), [0x30, 0x81, 0x80, 0x40]);
  assert.deepEqual([packets.length, error], [1, "malformed packet: 1048577 bytes; at most 1048576 are read"]);
});

test("what is malformed ends the stream, after the packets before it", () => {
  for (const wrong of ["00 00",
         "10 00",
         "f0 00", // No packets of a broker.
         "e0 00",
         "c0 00",
         "82 04 00 01 00 00", // Of a client.
         "50 02 00 01",
         "62 02 00 01",
         "70 02 00 01", // Of QoS 2.
         "34 05 00 01 61 00 01",
         "36 05 00 01 61 00 01", // QoS 2 and 3.
         "21 02 00 00",
         "41 02 00 01",
         "91 03 00 01 00",
         "d1 00",
         "b2 02 00 01",
         "20 01 00",
         "20 03 00 00 00",
         "40 03 00 01 00",
         "40 01 00",
         "b0 00",
         "d0 01 00",
         "90 02 00 01",
         "90 03 00 01 02",
         "90 03 00 01 7f",
         "30 00",
         "30 01 00",
         "30 02 00 01",
         "30 02 00 00",
         "32 03 00 01 61",
         "32 05 00 01 61 00 00",
         "30 03 00 01 ff",
         "30 03 00 01 23",
         "30 03 00 01 2b",
         "30 03 00 01 00",
         "30 ff ff ff ff 01",
         "d0 80 80 80 80 00",
         "30 80 80 c1 00",
  ]) {
    const {packets, error} = parse([...bytes("d0 00"), ...bytes(wrong), ...bytes("d0 00")]);
    assert.equal(packets.length, 1, wrong);
    assert.match(error ?? "", /^malformed packet|encoded data was not valid/, wrong);
  }
});

test("a frame of text is malformed", () => {
  const reader = new mqtt.PacketReader();
  assert.throws(() => [...reader.read(/** @type {any} */ ("\xD0\0"))], /a frame of text/);
});

test("an incomplete packet is none yet", () => {
  for (const part of ["", "d0", "30 80", "30 80 80", "30 80 80 01", "30 07 00 03 61 2f 62 7b"])
    assert.deepEqual(parse(bytes(part)), {packets: [], error: undefined}, part);
});

test("filters match as MQTT says", () => {
  const levels = ["a", "b", "", "$SYS", "a.b", "+x"];
  const topics = [...levels, ...levels.flatMap((one) => levels.flatMap((two) => [`${one}/${two}`, `${one}/${two}/b`]))];
  const filters =
    [...topics, "#", "+", "+/+", "+/#", "a/#", "a/+", "a/+/b", "+/b", "$SYS/#", "$SYS/+", "/#", "+/+/#", "a/b/#"];
  for (const filter of filters) {
    for (const topic of topics.filter((each) => each !== ""))
      assert.equal(mqtt.pattern(filter)?.test(topic) ?? filter === topic, matches(filter, topic), `${filter} ${topic}`);
  }
  assert.equal(mqtt.pattern("a/#")?.test("a"), true);
  assert.equal(mqtt.pattern("a/+")?.test("a"), false);
  assert.equal(mqtt.pattern("#")?.test("$SYS/a"), false);
  assert.equal(mqtt.pattern("a.b"), undefined, "a topic matches itself alone");
  assert.equal(mqtt.pattern("a.b/+")?.test("axb/c"), false);
});
