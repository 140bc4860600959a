// The planned part of a session as text. The clock follows the timer's `endsAt`; nothing completes by itself.

import {clock, grouped} from "./format.js";

const paced = ["interval", "emom"];

/** @param {any} plan */
const itemsOf = (plan) => plan.blocks.flatMap((/** @type {any} */ block) => block.items);

/** @param {any} item @returns {any[]} */
const setsOf = (item) => item.exercises[item.chosen].sets ?? item.exercises[0].sets ?? [{}];

/**
 * `8 × 62.5 kg`, `12 repetitions`, `24 kg, 00:40`.
 *
 * @param {any} set @param {import("./format.js").Units} units
 */
export function prescription(set, units) {
  const pounds = units === "imperial";
  const weight = set?.weight
    ? `${Math.round((pounds ? set.weight / 0.45359237 : set.weight) * 10) / 10} ${pounds ? "lb" : "kg"}`
    : undefined;
  const load = set?.repetitions === undefined ? weight
    : weight                                  ? `${set.repetitions} × ${weight}`
                                              : `${grouped(set.repetitions)} repetition${set.repetitions === 1 ? "" : "s"}`;
  return [load, set?.time === undefined ? undefined : clock(set.time)].filter(Boolean).join(", ");
}

/**
 * `Bench Press, 8 × 62.5 kg`: the newest completed set, which *Undo* makes open again.
 *
 * @param {any} state @param {import("./format.js").Units} units
 */
function newestSet({plan, progress}, units) {
  const sets =
    itemsOf(plan).flatMap((/** @type {any} */ item) =>
                            (progress.completed[item.id] ?? []).map((/** @type {any} */ done) => ({item, ...done})));
  sets.sort((/** @type {any} */ a, /** @type {any} */ b) =>
              a.at - b.at || a.round - b.round || a.set - b.set || (a.item.id < b.item.id ? -1 : 1));
  const newest = sets.at(-1);
  if (newest === undefined) return undefined;
  const {item, exercise = 0, set} = newest;
  const done = prescription({...setsOf(item)[set], ...newest}, units);
  return [item.exercises[exercise].name, done].filter(Boolean).join(", ");
}

/**
 * The exercise after a rest of a block whose clock makes exercises take turns.
 *
 * @param {any} state
 */
function nextItem({plan, progress, timer}) {
  const block = plan.blocks[timer.block];
  if (!paced.includes(timer.type) || timer.phase !== "rest" || (timer.rounds && timer.round >= timer.rounds))
    return undefined;
  const item = block.items[timer.round % block.items.length];
  return progress.skipped.includes(item.id) ? undefined : item;
}

/**
 * Whether an exercise has a set left.
 *
 * @param {any} item @param {any} block @param {any} progress
 */
function isOpen(item, block, progress) {
  if (progress.skipped.includes(item.id)) return false;
  const {type, rounds = 1} = block.timer;
  const turns = paced.includes(type) ? Math.ceil((rounds - block.items.indexOf(item)) / block.items.length)
    : type === "amrap"               ? Infinity
                                     : rounds * setsOf(item).length;
  return (progress.completed[item.id] ?? []).length < turns;
}

/**
 * The exercise to choose when the current one has nothing left and no clock leads on: of its block, of a later one, or of an
 * earlier one whose time cannot be over.
 *
 * @param {any} state @returns {any}
 */
function openItem({plan, progress, timer}) {
  /** @param {any} block */
  const open = (block) => block.items.find((/** @type {any} */ item) => isOpen(item, block, progress));
  const {blocks} = plan;
  const here = paced.includes(timer.type) ? undefined : open(blocks[timer.block]);
  const later = blocks.slice(timer.block + 1).map(open).find(Boolean);
  const unclocked = blocks.slice(0, timer.block).filter((/** @type {any} */ block) => block.timer.type === "stopwatch");
  return here ?? later ?? unclocked.map(open).find(Boolean);
}

/** @param {any} state of a session with a plan @param {number} now @param {import("./format.js").Units} units */
export function planView(state, now, units) {
  const {plan, progress, timer} = state;
  const block = plan.blocks[timer.block];
  const current = itemsOf(plan).find((/** @type {any} */ item) => item.id === progress.item) ?? block.items[0];
  const shown = nextItem(state) ?? current;
  const exercise = shown.exercises[shown.chosen];
  const sets = setsOf(shown);
  const index = shown === current ? progress.set : 0;
  const isSkipped = progress.skipped.includes(current.id);
  const isRunning = state.status === "active";
  const left = timer.endsAt !== undefined ? Math.max(0, timer.endsAt - now) : timer.remaining;
  const counted = timer.elapsed + (isRunning ? Math.max(0, now - timer.asOf) : 0);
  const rounds = timer.rounds === 1 ? undefined : `Round ${timer.round}${timer.rounds ? ` of ${timer.rounds}` : ""}`;
  const isRest = timer.phase === "rest";
  const isPaced = paced.includes(timer.type);
  const {work, cap} = block.timer;
  const total = timer.type === "countdown" ? work : cap;
  // "Over" is also a set whose time is up.
  const isTimeUp = timer.phase === "over" && (isPaced || counted >= total);
  const isDone = isTimeUp || (!isPaced && (index === undefined || isSkipped));
  const following = isDone && !isTimeUp ? openItem(state) : undefined;
  return {
    block:
      [block.name ?? (plan.blocks.length > 1 ? `Block ${timer.block + 1} of ${plan.blocks.length}` : undefined), rounds]
        .filter(Boolean)
        .join(" · "),
    phase: isRest                  ? "Rest"
      : timer.phase === "over"     ? (index === undefined || isSkipped ? "Done" : "Time is up")
      : paced.includes(timer.type) ? "Work"
                                   : "Time",
    isRest,
    /** A countdown shows the seconds that are left, rounded up; a stopwatch those that have passed. */
    clock: left === undefined ? clock(counted) : clock(Math.ceil(left)),
    left,
    exercise: shown === current ? exercise.name : `Next: ${exercise.name}`,
    set: isSkipped          ? "Skipped"
      : index === undefined ? "All sets done"
      : sets.length > 1     ? `Set ${index + 1} of ${sets.length}`
                            : "",
    prescription: index === undefined ? "" : prescription(sets[index], units),
    planned: index === undefined ? {} : sets[index] ?? {},
    /** The clock of a block that is over leads to the next by itself. */
    next: following && {item: following.id, name: following.exercises[following.chosen].name},
    isComplete: progress.done >= progress.total || (isDone && !following),
    canComplete: index !== undefined && !isSkipped && shown === current,
    undo: newestSet(state, units),
    /** The exercise that *Skip* skips. */
    skip: current.exercises[current.chosen].name,
    hasPain: progress.painFlagged.includes(shown.id),
    alternatives: current.exercises.map((/** @type {any} */ e) => e.name)
      .filter((/** @type {string} */ _, /** @type {number} */ i) => i !== current.chosen),
    progress: `${progress.done}/${progress.total} exercises`,
    isList: progress.presentationMode === "list",
    items: plan.blocks.flatMap((/** @type {any} */ b, /** @type {number} */ number) =>
                                 b.items.map((/** @type {any} */ item) => listed(item, b, number, state))),
    item: current.id,
  };
}

/** @param {any} item @param {any} block @param {number} number @param {any} state */
function listed(item, block, number, {progress, timer}) {
  const done = (progress.completed[item.id] ?? []).length;
  const sets = setsOf(item).length;
  const rounds = block.timer.rounds ?? 1;
  const isPaced = paced.includes(block.timer.type) || block.timer.type === "amrap";
  const marks = [isPaced ? (done ? `${done} done` : "") : `${done}/${sets * rounds}`];
  if (progress.skipped.includes(item.id)) marks.push("skipped");
  if (progress.painFlagged.includes(item.id)) marks.push("pain");
  return {
    id: item.id,
    name: item.exercises[item.chosen].name,
    block: block.name ?? `Block ${number + 1}`,
    text: marks.filter(Boolean).join(", "),
    isCurrent: item.id === progress.item,
    isOther: number !== timer.block,
  };
}
