import assert from "node:assert/strict";
import {test} from "node:test";

import {detailsOf, endOf, lead, placeOf, rows, similar, valueOf} from "../../../Services/Dashboard/Web/modules/compare-data.js";

/** @param {number} speed metres a second @param {number} seconds @returns {import("../../../Services/Dashboard/Web/modules/workout-data.js").Details} */
function steady(speed, seconds) {
  const t = Float64Array.from({length: seconds + 1}, (_, index) => index);
  return {
    duration: seconds,
    breaks: [],
    lines: {speed: {t, v: t.map(() => speed)}},
    distance: {t, v: t.map((each) => each * speed)},
    places: {t, la: t.map((each) => each * speed * 1e-5), lo: t.map(() => 13)}
  };
}

test("the lead is in seconds at a distance and in metres at a time, until the shorter one ends", () => {
  const [first, fast, slow] = [steady(4, 1000), steady(5, 600), steady(2, 1000)];
  assert.equal(lead(first, first, "distance", 2000), 0);
  assert.equal(lead(first, fast, "distance", 2000), 2000 / 4 - 2000 / 5);
  assert.equal(lead(first, slow, "distance", 1000), 1000 / 4 - 1000 / 2);
  assert.equal(lead(first, slow, "distance", 2001), undefined);
  assert.equal(lead(first, fast, "time", 300), 300);
  assert.equal(lead(first, slow, "time", 300), -600);
  assert.equal(lead(first, fast, "time", 601), undefined);
});

test("rows reach to the end of the longest, with no value beyond the end of another", () => {
  const all = [steady(4, 1000), steady(5, 600)];
  const found = rows(all, "distance", (details, x) => valueOf(details, "distance", "speed", x));
  assert.deepEqual(found[0], [0, 4, 5]);
  assert.deepEqual(found[found.length - 1], [4000, 4, NaN]);
  assert.deepEqual(found.find(([x]) => x > 3000)?.slice(1), [4, NaN]);
  assert.deepEqual(all.map((each) => endOf(each, "time")), [1000, 600]);
});

test("a workout stays on the map where it ended", () => {
  const details = steady(5, 600);
  const latitude = (/** @type {number} */ metres) => placeOf(details, "distance", metres)?.[0].toFixed(6);
  assert.deepEqual([latitude(1500), latitude(9000)], ["0.015000", "0.030000"]);
});

test("splits become times at distances and the mean pace between them", () => {
  const details = detailsOf([300, 620], 1000, {time: 700, distance: 2250});
  assert.equal(lead(detailsOf([310, 600], 1000), details, "distance", 1000), 10);
  assert.equal(lead(detailsOf([310, 600], 1000), details, "distance", 2000), -20);
  assert.equal(endOf(details, "distance"), 2250);
  assert.equal(valueOf(details, "distance", "speed", 500), 1000 / 300);
  assert.equal(valueOf(details, "distance", "speed", 1500), 1000 / 320);
  assert.equal(valueOf(details, "distance", "speed", 2200), 250 / 80);
  // The pace of a few metres says nothing.
  assert.equal(valueOf(detailsOf([300], 1000, {time: 301, distance: 1010}), "distance", "speed", 1005), 1000 / 300);
  // A run that ends at a mark has no rest.
  assert.equal(detailsOf([300, 620], 1000, {time: 620, distance: 2000}).duration, 620);
});

test("to compare with: the same activity, similar distances first, then the newest", () => {
  const workout = (/** @type {string} */ session, /** @type {number} */ distance, startedAt = 0,
    activity = "running") => ({session, distance, activeDuration: 1000, startedAt, activity});
  const all = [
    workout("A", 10_000), workout("b", 5000, 1), workout("c", 9000), workout("d", 5000, 2), workout("e", 10_100),
    workout("f", 10_000, 0, "cycling"), workout("g", 0)
  ];
  assert.deepEqual(similar(workout("a", 10_000), all).map(({session}) => session), ["e", "c", "d", "b"]);
  const lifting = (/** @type {string} */ session, /** @type {number} */ activeDuration) =>
    ({session, activity: "hiit", activeDuration});
  assert.deepEqual(
    similar(lifting("x", 600), [lifting("y", 1800), lifting("z", 700)]).map(({session}) => session), ["z", "y"]);
});
