import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {test} from "node:test";
import * as f from "../../../Services/Dashboard/Web/modules/format.js";

const cases = JSON.parse(readFileSync(new URL("format.json", import.meta.url), "utf8"));

/** @param {any} c */
function text(c) {
  if (c.quantity === "weather") return f.weather(c.value, c.humidity, c);
  if (c.quantity === "date") return f.date(c.value, c.zone);
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
