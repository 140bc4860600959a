import assert from "node:assert/strict";
import {test} from "node:test";
import {activityOf, titleOf} from "../../../Services/Dashboard/Web/modules/definition.js";

const sections = [{items: []}];

test("a plan implies its activity by words, else by clocks", () => {
  for (const [expected, definition] of [["running", {focus: ["Running"]}],
         ["running", {equipment: ["treadmill, incline"]}],
         ["running", {focus: ["bike", "run"]}],
         ["rowing", {equipment: ["row"]}],
         ["traditionalStrength", {equipment: ["seated row machine"]}],
         ["rowing", {equipment: ["Concept2 erg"]}],
         ["rowing", {focus: ["swim"], equipment: ["rower"]}],
         ["cycling", {equipment: ["bike erg"]}],
         ["traditionalStrength", {equipment: ["ski erg"]}],
         ["swimming", {equipment: ["pool buoy"]}],
         ["hiit", {focus: ["metabolic conditioning"], timer: {type: "emom"}}],
         ["hiit", {focus: ["conditioning"], sections: [{timer: {type: "amrap"}, items: []}]}],
         ["traditionalStrength", {focus: ["conditioning"], timer: {type: "stopwatch"}}],
         ["traditionalStrength", {equipment: ["conditioning"], timer: {type: "emom"}}],
         ["traditionalStrength", {timer: {type: "stopwatch"}}],
         ["other", {}],
         ["other", {focus: []}],
  ])
    assert.equal(activityOf({sections, ...definition}), expected, JSON.stringify(definition));
});

test("a plan without a name has a title", () => {
  assert.equal(titleOf({name: "Upper Body A"}), "Upper Body A");
  assert.equal(titleOf({}), "Plan without a name");
});
