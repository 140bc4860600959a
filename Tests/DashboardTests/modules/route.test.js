import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, distance, pieces, spacing, splits } from "../../../Services/Dashboard/Web/modules/route.js";

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

test("pieces cover each line without a gap, and age rises to 1", () => {
  /** @type {[number, number][]} */
  const line = Array.from({ length: 50 }, (_, k) => [52 + k / 1000, 13]);
  const parts = pieces([line, line.slice(0, 7)], 12);
  assert.ok(parts.length <= 20);
  assert.equal(parts.at(-1)?.age, 1);
  parts.forEach(({ points }, k) => {
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
