import assert from "node:assert/strict";
import test from "node:test";

import {ChunkCollector, surplus} from "../../../Services/Dashboard/Web/modules/chunks.js";
import {merge} from "../../../Services/Dashboard/Web/modules/workout-data.js";

/** @param {number} revision @param {number} n @param {number} of */
const chunk = (revision, n, of) => ({revision, n, of, columns: {c: [n * 2, n * 2 + 1], h: [100 + n, null]}});

test("chunks are complete when all carry the revision of their summary", () => {
  const chunks = new ChunkCollector({metrics: 7, route: 9});
  chunks.take("series", chunk(7, 1, 2));
  chunks.take("series", chunk(6, 0, 2));
  chunks.take("track", chunk(9, 0, 1));
  assert.equal(chunks.isComplete, false);
  chunks.take("series", chunk(7, 0, 2));
  assert.equal(chunks.isComplete, true);
  assert.deepEqual(chunks.parts.series.map(({n}) => n), [0, 1]);
  assert.equal(chunks.revision, "7:9");
});

test("a newer summary drops the chunks of the older one, an older summary changes nothing", () => {
  const chunks = new ChunkCollector({metrics: 7});
  chunks.take("series", chunk(7, 0, 1));
  chunks.expect("series", {revision: 6, chunks: 5});
  assert.equal(chunks.isComplete, true);
  chunks.expect("series", {revision: 8, chunks: 1});
  assert.equal(chunks.isComplete, false);
  chunks.take("series", chunk(7, 0, 1));
  assert.equal(chunks.isComplete, false);
  chunks.take("series", chunk(8, 0, 1));
  assert.equal(chunks.isComplete, true);
});

test("a workout without summaries, and a summary without chunks, wait for nothing", () => {
  assert.equal(new ChunkCollector({}).isComplete, true);
  assert.equal(new ChunkCollector(undefined).isComplete, true);
  const chunks = new ChunkCollector({metrics: 7, route: 9});
  chunks.take("series", chunk(7, 0, 1));
  chunks.expect("track", {revision: 9, chunks: 0});
  assert.equal(chunks.isComplete, true);
  assert.deepEqual(chunks.parts.track, []);
});

test("columns are joined; what a chunk lacks is unknown, and lists are left out", () => {
  const columns = merge([
    {revision: 1, n: 0, of: 2, columns: {c: [0, 1], h: [90, null]}},
    {revision: 1, n: 1, of: 2, columns: {c: [2], w: [250], rr: [[800, 810]]}},
  ]);
  assert.deepEqual([...columns.c], [0, 1, 2]);
  assert.deepEqual([...columns.h], [90, NaN, NaN]);
  assert.deepEqual([...columns.w], [NaN, NaN, 250]);
  assert.equal(columns.rr, undefined);
});

test("the oldest go until the rest fits", () => {
  const entries = [{key: "b", bytes: 40, at: 2}, {key: "a", bytes: 50, at: 1}, {key: "c", bytes: 60, at: 3}];
  assert.deepEqual(surplus(entries, 150), []);
  assert.deepEqual(surplus(entries, 149), ["a"]);
  assert.deepEqual(surplus(entries, 60), ["a", "b"]);
});
