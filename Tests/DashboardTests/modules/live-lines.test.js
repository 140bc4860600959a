import assert from "node:assert/strict";
import {test} from "node:test";
import {add, details, known, stretch} from "../../../Services/Dashboard/Web/modules/live-lines.js";
import {noSession} from "../../../Services/Dashboard/Web/modules/session.js";

/** @typedef {import("../../../Services/Dashboard/Web/modules/live-lines.js").Point} Point */

/** @param {Point[]} points @param {any} metrics @param {any} [route] */
const after = (points, metrics, route, activity = "running") =>
  add(points, {...noSession(), state: {activity}, metrics, route});

test("lines are of pace on foot and of speed on a bicycle", () => {
  assert.equal(after([], {t: 1, c: 100, dp: 250, dv: 3})[0].values.speed, 4);
  assert.equal(after([], {t: 1, c: 100, dp: 250, dv: 3}, undefined, "cycling")[0].values.speed, 3);
  assert.equal(after([], {t: 1, c: 100})[0].values.speed, undefined);
});

test("quantities without values have no chart", () => {
  const points = after([], {t: 1, c: 100, h: 120});
  assert.deepEqual(known(points), ["heartRate"]);
  assert.deepEqual(known(after(points, {t: 2, c: 101}, {al: 30})), ["heartRate", "elevation"]);
});

test("time that stands still or is corrected replaces what came before", () => {
  let points = after(after([], {t: 5, c: 100, h: 120}), {t: 5, c: 101, h: 130});
  assert.deepEqual(points.map(({values}) => values.heartRate), [130]);
  points = after(after(points, {t: 9, c: 102, h: 140}), {t: 7, c: 103, h: 150});
  assert.deepEqual(points.map(({t}) => t), [5, 7]);
});

test("lines begin with what was before the page opened the workout", () => {
  const points = [100, 101, 102, 130].map((t) => ({t, at: 1000 + t, values: {heartRate: t}}));
  /** @param {number[]} t @param {number[]} v */
  const line = (t, v) => ({t: Float64Array.from(t), v: Float64Array.from(v)});
  const before = {
    duration: 101,
    breaks: [{t: 50, seconds: 9}],
    lines: {heartRate: line([0, 101], [60, 70]), elevation: line([0, 80], [5, 6])}
  };
  assert.deepEqual(known(points, before), ["heartRate", "elevation"]);
  const {lines, breaks} = details(points, ["heartRate", "elevation"], before);
  assert.deepEqual([...lines.heartRate.t], [0, 101, 102, 102.001, 130]);
  assert.deepEqual([...lines.heartRate.v], [60, 70, 102, NaN, 130]);
  assert.deepEqual([...lines.elevation.v], [5, 6, NaN, NaN, NaN, NaN, NaN, NaN]);
  assert.deepEqual(breaks, before.breaks);
  assert.deepEqual(stretch(points, Infinity, before), {from: 0, to: 130});
});

test("a silence and an unknown value break a line", () => {
  let points = after([], {t: 1, c: 100, h: 120});
  points = after(points, {t: 20, c: 119, h: 130});
  points = after(points, {t: 21, c: 120});
  const {duration, lines} = details(points, ["heartRate"]);
  assert.equal(duration, 21);
  assert.deepEqual([...lines.heartRate.v], [120, NaN, 130, NaN]);
});

test("the last minutes begin with the first point at the earliest", () => {
  const points = after(after([], {t: 100, c: 100, h: 120}), {t: 600, c: 600, h: 130});
  assert.deepEqual(stretch(points, 300), {from: 300, to: 600});
  assert.deepEqual(stretch(points, Infinity), {from: 100, to: 600});
  assert.deepEqual(stretch([], 300), {from: 0, to: 0});
});
