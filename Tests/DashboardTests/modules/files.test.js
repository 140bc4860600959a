import assert from "node:assert/strict";
import {beforeEach, test} from "node:test";
import {Bus} from "../../../Services/Dashboard/Web/modules/bus.js";
import {failureText, fetchFile, FileParts, partSize, windowSize} from "../../../Services/Dashboard/Web/modules/files.js";
import {Broker, Clock, Origin, Page, settle} from "./broker.js";

const topic = "pacebus/v1/07/anna/5f0c/request";

/** @type {Clock} */
let clock;
/** @type {Broker} */
let broker;
/** @type {Bus} */
let bus;

beforeEach(() => {
  clock = new Clock();
  broker = new Broker(clock);
  const page = new Page(clock, new Origin());
  bus = new Bus({
    user: "anna",
    openSocket: page.opener(broker),
    now: () => clock.now,
    wall: () => clock.wall,
    random: () => 0.5,
    page: /** @type {any} */ (page)
  });
});

/** Bytes of a file that differ in each part and revision. @param {number} size @param {number} [seed] */
const bytes = (size, seed = 1) =>
  Uint8Array.from({length: size}, (_, index) => (index * seed + Math.floor(index / partSize)) & 255);

/** @param {Uint8Array} file @param {number} n @param {any} [changes] */
const part = (file, n, changes = {}) => ({
  n,
  of: Math.ceil(file.length / partSize),
  name: "run.fit",
  workout: 1,
  x: Buffer.from(file.subarray(n * partSize, (n + 1) * partSize)).toString("base64"),
  ...changes
});

/** What an exporter answers: the parts of the window. @param {any} request @param {Uint8Array} file @param {any} [changes] */
const parts = ({from}, file, changes = {}) =>
  Array.from({length: Math.min(windowSize, Math.ceil(file.length / partSize) - from)},
    (_, index) => part(file, from + index, changes));

/** What became of a download, with its progress. @param {AbortSignal} [signal] */
function download(signal) {
  /** @type {{ file?: any, error?: any, progress: any[] }} */
  const result = {progress: []};
  fetchFile(bus, topic, "fit", {signal, onProgress: (progress) => result.progress.push(progress)})
    .then((file) => result.file = file, (error) => result.error = error);
  return result;
}

/** @param {any} result @param {Uint8Array} file */
const isSame = async ({file}, wanted) =>
  Buffer.compare(Buffer.from(await file.blob.arrayBuffer()), Buffer.from(wanted)) === 0;

test("a file comes in windows, each under an id of its own", async () => {
  const file = bytes(partSize * 34 + 5);
  broker.onPublish = (request) => parts(request, file).forEach((each) => broker.reply(request, {file: each}));
  const result = download();
  await clock.pass(1);
  await settle();
  assert.ok(await isSame(result, file));
  assert.deepEqual([result.file.name, result.file.workout, result.file.isIncomplete], ["run.fit", 1, false]);
  const requests = broker.published.map(({message}) => message);
  assert.deepEqual(requests.map(({type, format, from}) => [type, format, from]),
    [["file", "fit", 0], ["file", "fit", 16], ["file", "fit", 32]]);
  assert.equal(new Set(requests.map(({id}) => id)).size, 3);
  assert.deepEqual([result.progress.at(-1).have, result.progress.at(-1).of], [35, 35]);
});

test("parts come twice, in any order and over several connections", async () => {
  const file = bytes(partSize * 3);
  let count = 0;
  broker.onPublish = (request) => {
    count += 1;
    const [first, second, third] = parts(request, file);
    for (const each of count === 1 ? [third, third] : [second, first, second]) broker.reply(request, {file: each});
  };
  const result = download();
  await clock.pass(1);
  broker.stop();
  await clock.pass(3);
  assert.equal(result.progress.at(-1).wait, "connection");
  broker.start();
  await clock.pass(4);
  await settle();
  assert.ok(await isSame(result, file));
  assert.equal(new Set(broker.published.map(({message}) => message.id)).size, 1);
});

test("while parts come the request is not repeated, then after 5 s without one", async () => {
  const file = bytes(partSize * 4);
  const result = download();
  await settle();
  const [{message}] = broker.published;
  for (const n of [0, 1, 2]) {
    await clock.pass(4);
    broker.reply(message, {file: part(file, n)});
  }
  await clock.pass(4.5);
  assert.equal(broker.published.length, 1);
  await clock.pass(1);
  assert.equal(broker.published.length, 2);
  broker.reply(message, {file: part(file, 3)});
  await settle();
  assert.ok(await isSame(result, file));
});

test("a changed revision, number of parts or name begins again at 0", async () => {
  for (const changes of [{workout: 2}, {name: "walk.fit"}]) {
    broker.published = [];
    const [before, after] = [bytes(partSize * 20), bytes(partSize * 20 + 9, 3)];
    let requests = 0;
    broker.onPublish = (request) => {
      requests += 1;
      const each = requests === 1 ? parts(request, before) : parts(request, after, changes);
      for (const file of each) broker.reply(request, {file});
    };
    const result = download();
    await clock.pass(1);
    await settle();
    assert.ok(await isSame(result, after));
    assert.deepEqual(broker.published.map(({message}) => message.from), [0, 16, 0, 16]);
  }
});

test("a file that has become shorter than what was read begins again at 0", async () => {
  const [before, after] = [bytes(partSize * 20), bytes(partSize * 2, 3)];
  broker.onPublish = (request) => {
    if (broker.published.length === 1)
      for (const file of parts(request, before)) broker.reply(request, {file});
    else if (request.from > 0) broker.reply(request, {error: {code: "invalid_command", message: "from: 2 parts"}});
    else
      for (const file of parts(request, after, {workout: 2})) broker.reply(request, {file});
  };
  const result = download();
  await clock.pass(1);
  await settle();
  assert.ok(await isSame(result, after));
  assert.deepEqual(broker.published.map(({message}) => message.from), [0, 16, 0]);
});

test("a workout that changes all the time is given up", async () => {
  let workout = 0;
  broker.onPublish = (request) =>
    broker.reply(request, {file: part(bytes(partSize * 20), request.from, {workout: workout += 1})});
  const result = download();
  await clock.pass(100);
  assert.equal(result.error?.code, "unsettled");
});

test("too many requests wait, and other refusals end it with words", async () => {
  const file = bytes(9);
  let isBusy = true;
  broker.onPublish = (request) => broker.reply(request,
    isBusy ? {error: {code: "too_many_requests", message: "later", retryAfter: 7}}
           : {file: part(file, 0, {incomplete: true})});
  const result = download();
  await clock.pass(2);
  isBusy = false;
  await clock.pass(4);
  assert.equal(result.file, undefined);
  await clock.pass(2);
  await settle();
  assert.ok(await isSame(result, file) && result.file.isIncomplete);
  for (const [error, text] of /** @type {[any, string][]} */ ([
         [
           {code: "file_failed", message: "no room for the file; try again later"},
           "No room for the file; try again later."
         ],
         [
           {code: "session_not_found", message: "x"},
           "The exporter does not have this workout yet. Try again in a minute."
         ]
       ])) {
    broker.onPublish = (request) => broker.reply(request, {error});
    const refused = download();
    await settle();
    await settle();
    assert.equal(failureText(refused.error), text);
  }
});

test("without an answer it says so after 10 s, and gives up after 90 s with a connection", async () => {
  const result = download();
  await clock.pass(12);
  assert.equal(result.progress.at(-1).wait, "exporter");
  broker.stop();
  await clock.pass(200);
  assert.equal(result.error, undefined);
  broker.start();
  await clock.pass(60);
  assert.equal(result.error, undefined);
  await clock.pass(60);
  assert.equal(failureText(result.error), "The exporter does not answer; try again later.");
  const count = broker.published.length;
  await clock.pass(60);
  assert.deepEqual([broker.published.length, clock.timers.length, bus.senders.size], [count, 1, 0]);
});

test("a canceled one sends nothing more", async () => {
  const controller = new AbortController();
  const result = download(controller.signal);
  await clock.pass(1);
  controller.abort();
  await clock.pass(20);
  assert.deepEqual([result.error?.code, broker.published.length], ["aborted", 1]);
  const other = download(controller.signal);
  await clock.pass(20);
  assert.deepEqual([other.error?.code, broker.published.length], ["aborted", 1]);
});

test("what is no part of the file is refused", () => {
  const file = bytes(partSize * 2);
  const all = [
    {n: 2}, {n: -1}, {n: 0.5}, {of: 0}, {name: "run.gpx"}, {name: "../run.fit"}, {name: "a\nrun.fit"}, {x: ""},
    {x: "AAAA"}
  ];
  for (const changes of all)
    assert.throws(
      () => new FileParts("fit").take(part(file, 0, changes)), {code: "invalid_part"}, JSON.stringify(changes));
});
