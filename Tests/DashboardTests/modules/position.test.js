import assert from "node:assert/strict";
import {test} from "node:test";
import {SteadyClock, itemOf, timeOf} from "../../../Services/Dashboard/Web/modules/position.js";

const coords = {
  latitude: 52.123456789,
  longitude: 13.4,
  accuracy: 4.567,
  altitude: null,
  altitudeAccuracy: null
};

test("an item has what the browser knows", () => {
  const position = /** @type {any} */ ({timestamp: 1_800_000_000_123.4, coords: {...coords, heading: NaN, speed: 0}});
  assert.deepEqual(itemOf(position, 0), {c: 1_800_000_000.123, la: 52.1234568, lo: 13.4, ac: 4.57, v: 0});
});

test("times are the server's if this browser's clock is off",
  () => { assert.equal(timeOf(1_800_000_000_000, -3600), 1_799_996_400); });

test("a step of the browser's clock changes no time, unless the device slept", () => {
  const clock = new SteadyClock();
  assert.equal(clock.now(1000, 10, false), 1000);
  // Corrections of a few seconds are followed.
  assert.equal(clock.now(1006, 11, false), 1006);
  assert.equal(clock.now(4607, 12, false), 1007);
  assert.equal(clock.now(4700, 105, false), 1100);
  assert.equal(clock.now(1101, 106, false), 1101);
  assert.equal(clock.now(2000, 107, true), 2000);
});
