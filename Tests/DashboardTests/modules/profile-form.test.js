import assert from "node:assert/strict";
import {test} from "node:test";

import {change, fields, formOf, read} from "../../../Services/Dashboard/Web/modules/profile-form.js";

const year = 2026;
const profile = {
  revision: 7,
  units: "metric",
  weight: 62.5,
  birthYear: 1990,
  maximumHeartRate: 187.5,
  zones: [110, 130, 150, 170],
  timeZone: "Europe/Berlin"
};

test("a form that nobody changed saves the profile as it is", () => {
  for (const units of /** @type {const} */ (["metric", "imperial"])) {
    const {profile: next, problems} = change(profile, formOf(profile, units), fields, units, year);
    const {revision, ...rest} = profile;
    assert.deepEqual([next, problems], [rest, {}]);
  }
});

test("only changed fields are replaced, and an empty one is removed", () => {
  const form = {...formOf(profile, "metric"), weight: "140 lb", birthYear: "", thresholdPower: "250 W", sex: "female"};
  const {profile: next} = change({...profile, erasedAt: 5, maximumHeartRate: 190}, form,
    ["weight", "birthYear", "thresholdPower", "sex"], "metric", year);
  assert.deepEqual(next, {
    units: "metric",
    weight: 140 * 0.45359237,
    sex: "female",
    maximumHeartRate: 190,
    thresholdPower: 250,
    zones: [110, 130, 150, 170],
    timeZone: "Europe/Berlin"
  });
});

test("bounds are the engine's", () => {
  for (const [field, low, high] of /** @type {[string, number, number][]} */ ([
         ["weight", 20, 400], ["birthYear", year - 120, year], ["maximumHeartRate", 80, 250],
         ["restingHeartRate", 20, 150], ["thresholdHeartRate", 60, 240], ["thresholdPower", 30, 1000]
       ])) {
    for (const value of [low, high]) assert.equal(read(field, String(value), "metric", year).value, value, field);
    for (const value of [low - 1, high + 1]) {
      const {problem = ""} = read(field, String(value), "metric", year);
      assert.match(problem, new RegExp(`${value}.*${low}.* to ${high}`), field);
    }
    assert.match(read(field, "abc", "metric", year).problem ?? "", /“abc”/);
  }
  assert.match(read("birthYear", "1990.5", "metric", year).problem ?? "", /no year of birth/);
});

test("a resting heart rate is below the maximum", () => {
  const form = {...formOf(profile, "metric"), restingHeartRate: "120", maximumHeartRate: "110"};
  const both = ["restingHeartRate", "maximumHeartRate"];
  assert.deepEqual(Object.keys(change(profile, form, both, "metric", year).problems), ["restingHeartRate"]);
  assert.deepEqual(change({...profile, restingHeartRate: 200}, form, ["weight"], "metric", year).problems, {});
});
