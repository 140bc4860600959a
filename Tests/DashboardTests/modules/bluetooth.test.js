import assert from "node:assert/strict";
import {test} from "node:test";
import {Reader, Turning, batteryLevel, heartRate, power, runningSpeedAndCadence} from "../../../Services/Dashboard/Web/modules/bluetooth.js";

/** @param {...number} bytes */
const view = (...bytes) => new DataView(Uint8Array.from(bytes).buffer);

test("a heart rate has 8 or 16 bits, and RR intervals of 1/1024 s", () => {
  assert.deepEqual(heartRate(view(0x00, 72)).values, {h: 72});
  assert.deepEqual(heartRate(view(0x01, 0x2C, 0x01)).values, {h: 300});
  // Contact, energy expended, and two intervals of 1 s and 0.5 s.
  assert.deepEqual(heartRate(view(0x1E, 60, 0x10, 0x00, 0x00, 0x04, 0x00, 0x02)).values, {h: 60, rr: [1000, 500]});
});

test("a strap without contact has no heart rate", () => {
  assert.deepEqual(heartRate(view(0x04, 72)).values, {});
  assert.deepEqual(heartRate(view(0x02, 72)).values, {h: 72});
  assert.deepEqual(heartRate(view(0x00, 0)).values, {});
});

test("speed and cadence come from two measurements", () => {
  const reader = new Reader(0x2A5B);
  // 100 turns of the wheel at 1 s, 50 of the crank at 1 s.
  assert.deepEqual(reader.read(view(0x03, 100, 0, 0, 0, 0x00, 0x04, 50, 0, 0x00, 0x04), 1), {});
  // 4 turns of the wheel and 1.5 of the crank a second.
  assert.deepEqual(reader.read(view(0x03, 108, 0, 0, 0, 0x00, 0x0C, 53, 0, 0x00, 0x0C), 3), {v: 8.42, cd: 90});
  // No further turn: unknown, and after 3 s the bicycle stands.
  assert.deepEqual(reader.read(view(0x03, 108, 0, 0, 0, 0x00, 0x0C, 53, 0, 0x00, 0x0C), 4), {});
  assert.deepEqual(reader.read(view(0x03, 108, 0, 0, 0, 0x00, 0x0C, 53, 0, 0x00, 0x0C), 7), {v: 0, cd: 0});
});

test("counters and the sensor's clock wrap", () => {
  const crank = new Turning(16, 1024);
  crank.add({revolutions: 65_535, time: 63.5}, 0);
  assert.equal(crank.add({revolutions: 1, time: 0.5}, 1), 2);
  // Longer than the clock's turn.
  assert.equal(crank.add({revolutions: 9, time: 1.5}, 70), undefined);
});

test("power may come with its balance and a crank", () => {
  assert.deepEqual(power(view(0x00, 0x00, 0xFA, 0x00)).values, {w: 250});
  assert.deepEqual(power(view(0x00, 0x00, 0xFB, 0xFF)).values, {w: 0});
  const {values, crank} = power(view(0x23, 0x00, 0x2C, 0x01, 98, 10, 0, 0x00, 0x04));
  assert.deepEqual([values, crank], [{w: 300, bl: 49}, {revolutions: 10, time: 1}]);
  // Without a reference, the share is of an unknown leg.
  assert.deepEqual(power(view(0x01, 0x00, 0x2C, 0x01, 98)).values, {w: 300});
  // Accumulated torque and a wheel of 1/2048 s before the crank.
  const all = power(view(0x34, 0x00, 0xC8, 0x00, 1, 0, 7, 0, 0, 0, 0x00, 0x08, 9, 0, 0x00, 0x04));
  assert.deepEqual([all.wheel, all.crank], [{revolutions: 7, time: 1}, {revolutions: 9, time: 1}]);
});

test("a running pod has speed, cadence and stride", () => {
  assert.deepEqual(runningSpeedAndCadence(view(0x00, 0x00, 0x03, 172)).values, {v: 3, cd: 172});
  assert.deepEqual(runningSpeedAndCadence(view(0x05, 0x80, 0x03, 170, 0x69, 0x00)).values, {v: 3.5, cd: 170, sl: 1.05});
});

test("a battery is a share", () => { assert.deepEqual(batteryLevel(view(80)).values, {b: 0.8}); });
