import assert from "node:assert/strict";
import {readFileSync, readdirSync} from "node:fs";
import {test} from "node:test";

import {edit, fileName, formOf, isSame, itemSummary, newForm, problemOf, read, readJSON, rowCount, rowWords, summaryOf, write} from "../../../Services/Dashboard/Web/modules/plan-form.js";
import {readTime, readWeight, readWhole, timeText, weightText} from "../../../Services/Dashboard/Web/modules/plan-text.js";

const folder = new URL("../../../Services/Pacebus/Plans/", import.meta.url);
const examples = readdirSync(
  folder).filter((name) => name.endsWith(".json"))
                   .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")));

/** Random numbers whose seed is printed. */
function random() {
  let seed = Number(process.env.SEED) || Math.floor(Math.random() * 2 ** 31);
  console.log(`SEED=${seed}`);
  return (/** @type {number} */ limit) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return Math.floor(seed / 2 ** 31 * limit);
  };
}

test("what is written is read as the same number", () => {
  const draw = random();
  for (let round = 0; round < 2000; round++) {
    const seconds = draw(2) ? draw(20_000) : draw(20_000) / 8;
    assert.equal(readTime(timeText(seconds)), seconds, timeText(seconds));
    const kilograms = draw(2) ? draw(4000) / 10 : draw(4000) * 0.45359237 / 2;
    for (const units of /** @type {const} */ (["metric", "imperial"]))
      assert.equal(readWeight(weightText(kilograms, units), units), kilograms, weightText(kilograms, units));
  }
});

test("loads and times are read as people write them", () => {
  /** @type {[string, number | undefined][]} */
  const times = [
    ["90", 90], ["1:30", 90], [" 1:05:00 ", 3900], ["5 min", 300], ["1 h 15 min", 4500], ["1,5 min", 90], ["45s", 45],
    ["1:60", undefined], ["1:2:3:4", undefined], ["soon", undefined], ["5 kg", undefined], ["1 2", undefined],
    ["-5", undefined], ["61:00", 3660], ["1:61:00", undefined]
  ];
  for (const [text, seconds] of times) assert.equal(readTime(text), seconds, text);
  assert.equal(readWeight("62,5", "metric"), 62.5);
  assert.equal(readWeight("62.5 kg", "imperial"), 62.5);
  assert.equal(readWeight("10", "imperial"), 10 * 0.45359237);
  assert.equal(readWeight("135 lbs", "metric"), 135 * 0.45359237);
  for (const text of ["heavy", "5 stone", "1 kg 2 kg", "", "1e999"])
    assert.equal(readWeight(text, "metric"), undefined, text);
  assert.deepEqual(
    ["8", "08", "-1", "1.5", "", "9999999999"].map(readWhole), [8, 8, undefined, undefined, undefined, undefined]);
});

test("a form of a definition reads as the same definition, in both units", () => {
  assert.ok(examples.length > 2);
  for (const definition of examples) {
    for (const units of /** @type {const} */ (["metric", "imperial"])) {
      const {definition: again, problems} = read(formOf(definition, units), units);
      assert.deepEqual(problems, []);
      assert.deepEqual(again, definition);
    }
    assert.deepEqual(readJSON(JSON.stringify(definition)), {definition});
  }
});

test("the engine's order of keys makes no other definition", () => {
  const set = {repetitions: 8, weight: 60, time: 5, rest: 90};
  const definition = {name: "a", sections: [{items: [{id: "x", name: "b", exercise: "squat", sets: [set]}]}]};
  const written = JSON.parse(
    `{"name":"a","sections":[{"items":[{"exercise":"squat","id":"x","name":"b","sets":[{"repetitions":8,"rest":90,
      "time":5,"weight":60}]}]}]}`);
  assert.ok(isSame(definition, written));
  written.sections[0].items[0].sets[0].rest = 91;
  assert.ok(!isSame(definition, written));
  assert.ok(!isSame(undefined, written));
  assert.ok(!isSame({focus: ["a", "b"]}, {focus: ["b", "a"]}));
});

test("what cannot be read is named by its field, and the rest is kept", () => {
  const form = newForm();
  write(form, "s0i0x0.weight", "heavy");
  write(form, "s0i0x0.rest", "1:30");
  write(form, "s0.timer.type", "interval");
  write(form, "s0.timer.rounds", "many");
  const {definition, problems} = read(form, "imperial");
  assert.deepEqual(problems, [
    {field: "s0.timer.rounds", text: "'many' is not a whole number such as 8"},
    {field: "s0i0.name", text: "enter a name"}, {field: "s0i0x0.weight", text: "'heavy' is not a load such as 135 lb"}
  ]);
  assert.deepEqual(definition, {sections: [{timer: {type: "interval"}, items: [{name: "", sets: [{rest: 90}]}]}]});
});

test("an unknown field of a text is most likely a typing mistake", () => {
  for (const [text, problem] of [["{", /^this is not JSON: /], ["[]", /^the plan: expected an object/],
         ["{}", /^sections: missing/], ['{"sections":[{}]}', /^sections\[0\]\.items: missing/],
         ['{"sections":[],"title":"x"}', /^title: unknown field/],
         [
           '{"sections":[{"items":[{"name":"a","sets":[{"reps":5}]}]}]}',
           /^sections\[0\]\.items\[0\]\.sets\[0\]\.reps: unknown field/
         ],
         ['{"sections":[{"items":[],"timer":{"kind":"emom"}}]}', /^sections\[0\]\.timer\.kind: unknown field/],
         ['{"sections":{}}', /^sections: expected a list/],
         ['{"sections":[{"items":[{}]}]}', /^sections\[0\]\.items\[0\]\.name: missing/],
         ['{"sections":[{"items":[{"name":5}]}]}', /^sections\[0\]\.items\[0\]\.name: expected a text/],
         ['{"sections":[],"focus":"strength"}', /^focus: expected a list/],
         ['{"sections":[],"focus":[null]}', /^focus\[0\]: expected a text/],
         ['{"sections":[],"timer":{"work":60}}', /^timer\.type: missing/],
         ['{"sections":[],"timer":{"type":"amrap","cap":"60"}}', /^timer\.cap: expected a number/]])
    assert.match(readJSON(/** @type {string} */ (text)).problem ?? "", /** @type {RegExp} */ (problem));
});

test("the engine's refusal marks a field", () => {
  assert.deepEqual(problemOf("definition.sections[0].items[1].sets[2].weight: 0 to 1000"),
    {field: "s0i1x2.weight", text: "0 to 1000"});
  assert.deepEqual(
    problemOf("invalid: definition.sections[3].timer.work: 1 to 36000"), {field: "s3.timer.work", text: "1 to 36000"});
  assert.deepEqual(problemOf("definition.sections[0].items[0].alternatives[1].name: 1 to 100 bytes"),
    {field: "s0i0a1.name", text: "at most 100 bytes"});
  assert.deepEqual(problemOf("definition.focus[2]: 1 to 100 bytes")?.field, "focus");
  assert.deepEqual(problemOf("definition.timer.cap: required")?.field, "timer.cap");
  assert.equal(problemOf("at most 100 saved plans"), undefined);
});

test("rows move, and an exercise at the edge of its section into the next one", () => {
  const form = newForm();
  assert.equal(edit(form, "add", "", "s"), "s1");
  write(form, "s0i0.name", "a");
  assert.equal(edit(form, "add", "s0", "i"), "s0i1");
  write(form, "s0i1.name", "b");
  assert.equal(edit(form, "up", "s0i1"), "s0i0");
  assert.equal(edit(form, "down", "s0i1"), "s1i0");
  assert.deepEqual(form.sections.map(({items}) => items.map(({name}) => name)), [["b"], ["a", ""]]);
  assert.equal(edit(form, "up", "s1i0"), "s0i1");
  assert.equal(edit(form, "add", "s0i1", "a"), "s0i1a0");
  assert.equal(edit(form, "add", "s0i1a0", "x"), "s0i1a0x0");
  write(form, "s0i1a0x0.repetitions", "8");
  assert.equal(edit(form, "add", "s0i1a0", "x"), "s0i1a0x1");
  assert.equal(form.sections[0].items[1].alternatives[0].sets[1].repetitions, "8", "most sets are like the one before");
  assert.equal(edit(form, "remove", "s0i1a0x1"), "s0i1a0x0");
  assert.equal(edit(form, "remove", "s0i1a0x0"), "s0i1a0");
  assert.equal(edit(form, "remove", "s0"), "s0");
  assert.equal(edit(form, "remove", "s0"), "");
});

test("no order of changes breaks a form", () => {
  const draw = random();
  const form = formOf(examples[0], "metric");
  for (let round = 0; round < 3000; round++) {
    const s = draw(form.sections.length);
    const items = form.sections[s]?.items ?? [];
    const i = draw(items.length);
    const rows = ["", `s${s}`, ...(items[i] ? [`s${s}i${i}`, ...items[i].alternatives.map((_, a) => `s${s}i${i}a${a}`),
      ...items[i].sets.map((_, x) => `s${s}i${i}x${x}`)] : [])].filter((row) => row === "" || form.sections[s]);
    const row = rows[draw(rows.length)];
    const verb = /** @type {const} */ (["add", "up", "down", "remove"])[draw(4)];
    if (verb === "add") {
      const list = /x/.test(row) ? undefined : /a/.test(row) ? "x" : /i/.test(row) ? "ax"[draw(2)] : row ? "i" : "s";
      if (list) edit(form, verb, row, list);
    } else if (row) edit(form, verb, row);
    assert.ok(rowCount(form) <= 1000);
    read(form, "metric");
  }
});

test("words", () => {
  assert.equal(summaryOf(examples[0]).split(" · ").length, 3);
  assert.equal(rowWords("s0i1a2x3.weight"), "Section 1, exercise 2, alternative 3, set 4");
  assert.equal(rowWords("timer.work"), "");
  assert.equal(fileName({name: "Upper Body A!"}), "upper-body-a");
  assert.equal(fileName({}), "plan");
  const set = {repetitions: "8", weight: "40 kg", time: "", rest: ""};
  assert.equal(
    itemSummary(
      {name: "a", category: "", id: "", sets: [set, set], alternatives: [{name: "Press", category: "", sets: []}]}),
    "2 sets: 8 × 40 kg · or Press");
});
