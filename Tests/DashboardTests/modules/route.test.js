import assert from "node:assert/strict";
import {test} from "node:test";
import {marked, splits} from "../../../Services/Dashboard/Web/modules/kilometres.js";
import {decode, distance, endAt, pieces, scale, sharedLength, spacing} from "../../../Services/Dashboard/Web/modules/route.js";

test("a polyline of the documentation is decoded", () => {
  assert.deepEqual(decode(["_p~iF~ps|U_ulLnnqC_mqNvxq`@"]), [[[38.5, -120.2], [40.7, -120.95], [43.252, -126.453]]]);
});

test("splits lie at whole kilometres along all lines", () => {
  /** @type {[number, number][]} */
  const line = [[52, 13], [52.02, 13]];
  const places = splits([line], 1000);
  assert.equal(places.length, 2);
  assert.ok(Math.abs(distance(line[0], places[1]) - 2000) < 1);
});

test("a route of impossible places ends in points on the earth and few splits", {timeout: 5000}, () => {
  assert.deepEqual(
    decode(["~".repeat(400) + "?_p~iF~ps|U"]).flat().filter((place) => !place.every(Number.isFinite)), []);
  for (const far of [1e3, 1e9, 1e300, Infinity, NaN]) {
    assert.ok(splits([[[0, 0], [far, far], [52, 13], [0, -far]]], 1000).length <= 1000);
  }
});

test("marks of kilometres are 40 pixels apart at each zoom, and zooming in brings more", () => {
  /** @param {number} count @param {number} pixels @param {(k: number) => { x: number, y: number }} [place] */
  const numbers = (count, pixels, place = (k) => ({x: k * pixels, y: 0})) =>
    marked(Array.from({length: count}, (_, k) => place(k))).map((index) => index + 1);
  assert.deepEqual(numbers(6, 40), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(numbers(42, 7), [10, 20, 30, 40]);
  assert.deepEqual(numbers(42, 20).slice(0, 3), [2, 4, 6]);
  assert.deepEqual(numbers(100, 3), [20, 40, 60, 80, 100]);
  assert.deepEqual([numbers(0, 1), numbers(1, 1), numbers(1000, 0.01)], [[], [1], []]);
  // Four laps of five kilometres: the last lap's numbers stay.
  const lap = (/** @type {number} */ k) => ({x: Math.cos(k * Math.PI * 0.4) * 80, y: Math.sin(k * Math.PI * 0.4) * 80});
  assert.deepEqual(numbers(20, 0, lap), [16, 17, 18, 19, 20]);
});

test("pieces cover each line without a gap, and age rises to 1", () => {
  /** @type {[number, number][]} */
  const line = Array.from({length: 50}, (_, k) => [52 + k / 1000, 13]);
  const parts = pieces([line, line.slice(0, 7)], 12);
  assert.ok(parts.length <= 20);
  assert.equal(parts.at(-1)?.age, 1);
  parts.forEach(({points}, k) => {
    assert.ok(points.length >= 2);
    if (k > 0 && parts[k - 1].points.at(-1) !== line.at(-1)) assert.deepEqual(points[0], parts[k - 1].points.at(-1));
  });
});

test("the grid is 1, 2 or 5 times a power of ten, at least 48 pixels wide", () => {
  for (const metresPerPixel of [0.01, 0.3, 1, 1.9, 7, 120, 9000]) {
    const metres = spacing(metresPerPixel);
    assert.ok(metres / metresPerPixel >= 48 && metres / metresPerPixel <= 121, `${metres}`);
    assert.match(metres.toExponential(), /^[125]e/);
  }
});

test("the scale is in the reader's units", () => {
  const texts =
    (/** @type {string} */ units) => [0.3, 3, 7, 30, 1500].map((metresPerPixel) => scale(metresPerPixel, units).text);
  assert.deepEqual(texts("metric"), ["20 m", "200 m", "500 m", "2 km", "100 km"]);
  assert.deepEqual(texts("imperial"), ["50 ft", "500 ft", "0.5 mi", "1 mi", "50 mi"]);
  assert.equal(scale(30, "imperial").metres, 1609.344);
});

test("a line ends at the position, once", () => {
  /** @type {[number, number][]} */
  const line = [[52, 13], [52.001, 13.00001]];
  endAt(line, [52.001003, 13.000013]);
  assert.deepEqual(line, [[52, 13], [52.001003, 13.000013]]);
  endAt(line, [52.002, 13]);
  assert.equal(line.length, 3);
  /** @type {[number, number][]} */
  const none = [];
  endAt(none, [52, 13]);
  assert.deepEqual(none, [[52, 13]]);
});

test("lines share the points up to the first that differs", () => {
  /** @type {[number, number][]} */
  const line = [[52, 13], [52.001, 13], [52.002, 13]];
  assert.equal(sharedLength(line, [...line, [52.003, 13]]), 3);
  assert.equal(sharedLength(line, [[52, 13], [52.001, 13.1]]), 1);
  assert.equal(sharedLength(line, []), 0);
  assert.equal(sharedLength([], line), 0);
});
