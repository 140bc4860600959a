import assert from "node:assert/strict";
import {readFileSync, readdirSync} from "node:fs";
import {test} from "node:test";
import {planView, prescription} from "../../../Services/Dashboard/Web/modules/plan.js";

const now = 1_800_000_000;
const bench = {
  id: "1-1",
  chosen: 0,
  exercises:
    [{name: "Bench Press", sets: [{repetitions: 8, weight: 60}, {repetitions: 6, weight: 62.5}]}, {name: "Dips"}]
};
const row = {
  id: "1-2",
  chosen: 0,
  exercises: [{name: "Row"}]
};
const plan = {
  blocks: [
    {name: "Main", timer: {type: "stopwatch"}, items: [bench, row]},
    {timer: {type: "emom", rounds: 4}, items: [{...bench, id: "2-1"}, {...row, id: "2-2"}]}
  ]
};
const progress = {
  item: "1-1",
  set: 1,
  done: 0,
  total: 4,
  completed: {"1-1": [{round: 1, set: 0}]},
  skipped: [],
  painFlagged: ["1-1"],
  presentationMode: "workout"
};
const timer = {
  block: 0,
  type: "stopwatch",
  phase: "work",
  round: 1,
  rounds: 1,
  elapsed: 60,
  asOf: now
};
const state = {
  status: "active",
  plan,
  progress,
  timer
};

test("the current set shows number, prescription and what one may do", () => {
  const shown = planView(state, now + 5, "metric");
  assert.deepEqual(
    [
      shown.block, shown.exercise, shown.set, shown.prescription, shown.clock, shown.canComplete, shown.skip,
      shown.hasPain
    ],
    ["Main", "Bench Press", "Set 2 of 2", "6 × 62.5 kg", "01:05", true, "Bench Press", true]);
  assert.deepEqual(shown.alternatives, ["Dips"]);
});

test("the newest set can be undone, whatever exercise follows", () => {
  const undo = (/** @type {any} */ completed) =>
    planView({...state, progress: {...progress, item: "1-2", set: 0, completed}}, now, "metric").undo;
  assert.deepEqual([undo({}), undo({"1-1": []})], [undefined, undefined]);
  const first = {round: 1, set: 0, at: now - 60};
  const later = {round: 1, set: 1, at: now - 30, repetitions: 5};
  assert.equal(undo({"1-1": [first]}), "Bench Press, 8 × 60 kg");
  assert.equal(undo({"1-1": [first, later], "1-2": [{round: 1, set: 0, at: now - 40}]}), "Bench Press, 5 × 62.5 kg");
  assert.equal(undo({"1-1": [first, later], "1-2": [{round: 1, set: 0, at: now - 20}]}), "Row");
  // At the same time the later set of the plan, as the engine has it.
  assert.equal(undo({"1-1": [{...later, at: first.at}, {...first, exercise: 1}]}), "Bench Press, 5 × 62.5 kg");
  assert.equal(undo({"1-1": [{...first, exercise: 1, weight: 0}]}), "Dips, 8 repetitions");
});

test("a rest counts down to its end and stops at zero", () => {
  const rest = {...state, timer: {...timer, phase: "rest", endsAt: now + 41.2}};
  assert.deepEqual([planView(rest, now, "metric").clock, planView(rest, now + 60, "metric").clock], ["00:42", "00:00"]);
  assert.equal(planView(rest, now, "metric").isRest, true);
});

test("a paused clock stands", () => {
  const paused = {...state, status: "paused"};
  assert.equal(planView(paused, now + 500, "metric").clock, "01:00");
  assert.equal(planView({...paused, timer: {...timer, remaining: 30}}, now + 500, "metric").clock, "00:30");
});

test("a rest before another exercise names the next one", () => {
  const emom = {
    ...state,
    progress: {...progress, item: "2-1", set: undefined},
    timer: {block: 1, type: "emom", phase: "rest", round: 1, rounds: 4, elapsed: 40, asOf: now, endsAt: now + 20}
  };
  const shown = planView(emom, now, "metric");
  assert.deepEqual(
    [shown.exercise, shown.block, shown.canComplete], ["Next: Row", "Block 2 of 2 · Round 1 of 4", false]);
});

test("all sets done completes nothing by itself", () => {
  const shown = planView({...state, progress: {...progress, set: undefined}}, now, "metric");
  assert.deepEqual([shown.set, shown.canComplete, shown.isComplete], ["All sets done", false, false]);
});

test("a prescription names what is prescribed", () => {
  assert.equal(prescription({repetitions: 1}, "metric"), "1 repetition");
  assert.equal(prescription({weight: 24, time: 40}, "metric"), "24 kg, 00:40");
  assert.equal(prescription({repetitions: 5, weight: 100}, "imperial"), "5 × 220.5 lb");
  assert.equal(prescription({}, "metric"), "");
});

const folder = new URL("../../../Services/Pacebus/Plans/", import.meta.url);

/** A plan of the examples as a session has it: without times of its own, and each exercise with its alternatives. @param {string} file */
function example(file) {
  const {sections} = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
  return {
    blocks: sections.map((/** @type {any} */ {name, timer = {type: "stopwatch"}, items}) => ({
      name,
      timer,
      items: items.map((/** @type {any} */ {id, name, sets, alternatives = []}) =>
                         ({id, chosen: 0, exercises: [{name, sets}, ...alternatives]}))
    }))
  };
}

test(
  "each section of the example plans leads to the next, done, skipped or swapped, and the last one to the end", () => {
    for (const file of readdirSync(folder)) {
      for (const way of ["done", "skipped", "swapped"]) {
        const plan = example(file);
        /** @type {any} */
        const progress = {done: 0, total: 99, completed: {}, skipped: [], painFlagged: [], presentationMode: "workout"};
        for (const [block, {timer, items}] of plan.blocks.entries()) {
          for (const item of items) {
            if (way === "swapped" && item.exercises.length > 1) item.chosen = 1;
            if (way === "skipped") progress.skipped.push(item.id);
            else progress.completed[item.id] = Array.from({length: 20}, (_, set) => ({round: 1, set}));
          }
          const isLast = block === plan.blocks.length - 1;
          const isClocked = !["stopwatch", "countdown"].includes(timer.type);
          progress.item = items[items.length - 1].id;
          const over =
            {block, type: timer.type, phase: "over", round: 1, rounds: timer.rounds, elapsed: 1e5, asOf: now};
          // An early end of a countdown, and a block without a clock.
          const early = {...over, elapsed: 1};
          const view = planView({status: "active", plan, progress, timer: early}, now, "metric");
          if (!isClocked) {
            assert.equal(view.next?.item, plan.blocks[block + 1]?.items[0].id, `${file}, ${way}, ${block}`);
            assert.equal(view.isComplete, isLast, `${file}, ${way}, ${block}`);
          }
          if (!isLast) continue;
          assert.equal(planView({status: "active", plan, progress, timer: over}, now, "metric").isComplete, true);
        }
      }
    }
  });

test("an exercise that was left for another of its section comes before the next section", () => {
  const view = (/** @type {any} */ completed, /** @type {string[]} */ skipped = []) =>
    planView({...state, progress: {...progress, item: "1-2", set: undefined, completed, skipped}}, now, "metric").next;
  const row = [{round: 1, set: 0}];
  assert.deepEqual(view({"1-2": row}), {item: "1-1", name: "Bench Press"});
  assert.deepEqual(view({"1-2": row}, ["1-1"]), {item: "2-1", name: "Bench Press"});
});

test("an open set, a set whose time is up and a clock that runs offer nothing else", () => {
  const over = {...state, timer: {...timer, phase: "over"}};
  const emom = {
    ...state,
    timer: {...timer, block: 1, type: "emom", phase: "rest", rounds: 4},
    progress: {...progress, item: "2-1", set: undefined}
  };
  for (const each of [state, over, emom]) {
    const {next, isComplete} = planView(each, now, "metric");
    assert.deepEqual([next, isComplete], [undefined, false]);
  }
});
