import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {test} from "node:test";
import {freeName, Zip} from "../../../Services/Dashboard/Web/modules/zip.js";

/** A file of the private file system, in memory. */
class File {
  bytes = new Uint8Array();
  room = Infinity;

  /** @param {Uint8Array} part @param {{ at: number }} place */
  write(part, {at}) {
    if (at + part.length > this.room) return 0;
    const all = new Uint8Array(Math.max(this.bytes.length, at + part.length));
    all.set(this.bytes);
    all.set(part, at);
    this.bytes = all;
    return part.length;
  }

  /** @param {number} size */
  truncate(size) {
    const all = new Uint8Array(size);
    all.set(this.bytes.subarray(0, size));
    this.bytes = all;
  }
  flush() {}
  close() {}
}

const script = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    assert file.testzip() is None
    print(json.dumps([[each.filename, file.read(each).decode(), each.date_time[0]] for each in file.infolist()]))
`;

/** What Python reads: names, texts and years. @param {File} file */
function read(file) {
  const folder = mkdtempSync(join(tmpdir(), "pacebus-"));
  try {
    writeFileSync(join(folder, "all.zip"), file.bytes);
    return JSON.parse(
      execFileSync(process.env.PYTHON || "python3", ["-c", script, join(folder, "all.zip")]).toString());
  } finally {
    rmSync(folder, {recursive: true});
  }
}

/** @param {Zip} zip @param {string} key @param {string} text @param {any} [changes] */
const add = (zip, key, text, changes = {}) =>
  zip.add({key, version: "1", name: `${key}.json`, time: 1.7955e9, blob: new Blob([text]), ...changes});
const all = () => true;

test("a zip has the files with their names and times", async () => {
  const file = new File();
  const zip = new Zip(file, []);
  await add(zip, "first", "x".repeat(100_000));
  await add(zip, "second", "", {name: "Grünau.json"});
  await add(zip, "third", "{}", {name: "first.JSON", time: 0});
  assert.equal(zip.finish(all), file.bytes.length);
  assert.deepEqual(
    read(file), [["first.json", "x".repeat(100_000), 2026], ["Grünau.json", "", 2026], ["first (2).JSON", "{}", 1980]]);
  assert.ok(file.bytes.length < 1000);
});

test("an empty one is a zip too", () => {
  const file = new File();
  new Zip(file, []).finish(all);
  assert.deepEqual(read(file), []);
});

test("it continues behind the entries that are known, whatever follows them", async () => {
  const file = new File();
  const zip = new Zip(file, []);
  const known = [await add(zip, "first", "one"), await add(zip, "second", "two")];
  for (const rest of ["cut", "directory", "longer"]) {
    if (rest === "directory") zip.finish(all);
    else file.write(new TextEncoder().encode("half an entry".repeat(rest === "cut" ? 1 : 100)), {at: zip.size});
    const next = new Zip(file, JSON.parse(JSON.stringify(known)));
    await add(next, "third", rest);
    assert.equal(next.finish(all), file.bytes.length);
    assert.deepEqual(read(file).map((/** @type {any} */[name, text]) => [name, text]),
      [["first.json", "one"], ["second.json", "two"], ["third.json", rest]]);
  }
});

test("a newer entry replaces one with its key, and what is not wanted is not listed", async () => {
  const file = new File();
  const zip = new Zip(file, []);
  for (const [key, text] of [["a", "old"], ["b", "deleted"], ["a", "new"]]) await add(zip, key, text);
  assert.deepEqual(zip.entries.map(({key}) => key), ["a", "b"]);
  zip.finish((key) => key !== "b");
  assert.deepEqual(read(file).map((/** @type {any} */[name, text]) => [name, text]), [["a.json", "new"]]);
});

test("beyond the limits of numbers it is zip64", async () => {
  for (const limits of [{number: 40, count: 0xffff}, {number: 0xffff_ffff, count: 2}, {number: 0, count: 0}]) {
    const file = new File();
    const zip = new Zip(file, [], limits);
    for (const key of ["a", "b", "c"]) await add(zip, key, `text of ${key}`);
    zip.finish(all);
    assert.deepEqual(read(file).map((/** @type {any} */[, text]) => text), ["text of a", "text of b", "text of c"]);
  }
});

test("a full disk leaves the zip as it was", async () => {
  const file = new File();
  const zip = new Zip(file, []);
  await add(zip, "first", "one");
  file.room = file.bytes.length + 10;
  await assert.rejects(add(zip, "second", "two"), {name: "QuotaExceededError"});
  file.room = Infinity;
  zip.finish(all);
  assert.deepEqual(read(file).map((/** @type {any} */[name]) => name), ["first.json"]);
});

test("names are free on disks that do not tell case", () => {
  assert.deepEqual([freeName("a.fit", []), freeName("A.fit", ["a.FIT", "a (2).fit"]), freeName("a", ["a"])],
    ["a.fit", "A (3).fit", "a (2)"]);
});
