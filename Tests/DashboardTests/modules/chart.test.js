import assert from "node:assert/strict";
import test from "node:test";

import {axis, bucketLimit, buckets, classes, marks, range} from "../../../Services/Dashboard/Web/modules/chart-data.js";

/** @param {number} count @param {(i: number) => number} value */
const line = (count, value) =>
  ({t: Float64Array.from({length: count}, (_, i) => i), v: Float64Array.from({length: count}, (_, i) => value(i))});

test("few values are drawn as they are, many as the means of at most 1,000 buckets", () => {
  const few = buckets(line(900, (i) => i), 0, 899);
  assert.equal(few.length, 900);
  const many = buckets(line(86_400, (i) => i % 100), 0, 86_399);
  assert.ok(many.length <= bucketLimit && many.length > 900, `${many.length}`);
  for (const [, value] of many.slice(1, -1)) assert.ok(Math.abs(value - 49.5) < 8, `${value}`);
  // The mean of all is kept.
  const mean = many.reduce((sum, [, value]) => sum + value, 0) / many.length;
  assert.ok(Math.abs(mean - 49.5) < 0.5, `${mean}`);
});

test("a zoom shows each value, with one more on both sides", () => {
  const points = buckets(line(86_400, (i) => i), 1000, 1100);
  assert.deepEqual([points[0][0], points.at(-1)?.[0], points.length], [1000, 1101, 102]);
});

test("what breaks a line breaks its buckets", () => {
  const points = buckets(line(20_000, (i) => (i === 10_000 ? NaN : 5)), 0, 19_999);
  assert.equal(points.filter(([, value]) => Number.isNaN(value)).length, 1);
  assert.ok(points.every(([, value]) => Number.isNaN(value) || value === 5));
});

const details = {
  duration: 3600,
  breaks: [{t: 1000, seconds: 30}, {t: 2000, seconds: 40_000}],
  lines: {},
  distance: {t: Float64Array.of(0, 1800, 3600), v: Float64Array.of(0, 4000, 10_000)}
};

test("over time a pause is a gap of its length, and a long one takes little room", () => {
  const {x, t, end} = axis(details, "time");
  assert.ok(Math.abs(x(1500) - 1530) < 0.01);
  assert.ok(Math.abs(x(3000) - (3000 + 30 + 72)) < 0.01);
  assert.ok(Math.abs(end - 3702) < 0.01);
  for (const time of [0, 700, 1700, 3599]) assert.ok(Math.abs(t(x(time)) - time) < 0.01, `${time}`);
});

test("over distance the axis is that of metres", () => {
  const {x, t, end} = axis(details, "distance");
  assert.deepEqual([x(1800), t(4000), x(2700), end], [4000, 1800, 7000, 10_000]);
  assert.equal(axis({...details, distance: undefined}, "distance").mode, "time");
});

test("marks are at round times and distances", () => {
  const time = marks(axis(details, "time"), 0, 3600, 6);
  assert.deepEqual(time.map(({value}) => value), [0, 600, 1200, 1800, 2400, 3000, 3600]);
  const metres = marks(axis(details, "distance"), 0, 3600, 6, 1000);
  assert.deepEqual(metres.map(({value}) => value), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(metres.map(({x}) => x), [0, 2000, 4000, 6000, 8000, 10_000]);
});

test("the range of values leaves out a few that are far from all others", () => {
  const values = Array.from({length: 500}, (_, i) => 140 + i % 20);
  const {low, high, marks} = range([...values, 3000, NaN], 20, 4);
  assert.ok(low < 140 && low > 120 && high > 159 && high < 180, `${low} ${high}`);
  assert.ok(marks.length >= 2 && marks.every((mark) => mark >= low && mark <= high));
  assert.deepEqual(range([], 20, 4).marks, []);
  const flat = range([100, 100], 20, 4);
  assert.ok(flat.high - flat.low >= 20);
});

test("classes go from low to high", () => {
  const found = classes([1, 2, 3, 4, 5, 6, NaN], 6);
  assert.deepEqual([1, 6, 99, -5].map((value) => found.of(value)), [0, 5, 5, 0]);
  assert.equal(found.of(NaN), undefined);
  assert.equal(found.of(undefined), undefined);
  assert.equal(classes([5, 5], 6).of(5), 3);
});
