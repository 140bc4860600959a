import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import * as f from "../../../Services/Dashboard/Web/modules/format.js";

f.useZone("UTC");
const cases = JSON.parse(readFileSync(new URL("format.json", import.meta.url), "utf8"));

/** @param {any} c */
function text(c) {
  if (c.quantity === "weather") return f.weather(c.value, c.humidity, c);
  if (c.quantity === "date") return f.when(c.value, c.zone, "de");
  return f.joined(f.format(c.quantity, c.value, c));
}

for (const c of cases) {
  const {text: expected, ...input} = c;
  test(`${JSON.stringify(input)} is ${expected}`, () => assert.equal(text(c), expected));
}

test("a value that is no number is unknown", () => {
  for (const value of [NaN, Infinity, undefined]) assert.equal(f.format("pace", value).isUnknown, true);
});

test("a time behind someone has one form, with tenths below 10 s", () => {
  assert.deepEqual([0.04, 0.44, 8.3, 9.94, 9.95, 37.4, 3907].map(f.behind),
    ["+0:00.0", "+0:00.4", "+0:08.3", "+0:09.9", "+0:10", "+0:37", "+1:05:07"]);
});

test("dates and times stand in the reader's zone, and on the clock of the reader's language", () => {
  const time = 1795238100;
  f.useZone("America/Los_Angeles");
  assert.equal(f.when(time, undefined, "en-US"), "Fri 20 Nov 2026, 9:15 pm");
  assert.equal(f.when(time, "Mars/Olympus", "en-US"), "Fri 20 Nov 2026, 9:15 pm");
  assert.equal(f.when(time, "Europe/Berlin", "en-US"), "Sat 21 Nov 2026, 6:15 am");
  assert.equal(f.day(time), "2026-11-20");
  assert.equal(f.timeOfDay(time + 7, {locale: "en-US"}), "9:15:07 pm");
  assert.equal(f.timeOfDay(time, {locale: "de", hasSeconds: false}), "21:15");
  f.useZone(undefined);
  assert.equal(f.ownZone(), Intl.DateTimeFormat().resolvedOptions().timeZone);
});
