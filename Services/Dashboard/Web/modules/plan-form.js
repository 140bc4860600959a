// The editor's form of a plan: the texts of its fields as a person typed them, valid or not. No DOM.
//
// A row has a name such as `s0i1a2x3`: section, exercise, alternative and set, from 0. A field has that of its row and its own:
// `s0i1x2.weight`, `timer.work`.

import {readTime, readWeight, readWhole, timeText, weightText} from "./plan-text.js";

/**
 * @typedef {import("./format.js").Units} Units
 * @typedef {{ type: string, work: string, rest: string, rounds: string, cap: string }} Clock
 * @typedef {{ repetitions: string, weight: string, time: string, rest: string }} Row
 * @typedef {{ name: string, category: string, sets: Row[] }} Exercise
 * @typedef {Exercise & { id: string, alternatives: Exercise[] }} Item
 * @typedef {{ name: string, timer: Clock, items: Item[] }} Section
 * @typedef {{ name: string, focus: string, equipment: string, timer: Clock, sections: Section[] }} Form
 * @typedef {{ field: string, text: string }} Problem
 */

/** Rows that a form can show; a larger plan is edited as JSON. */
export const rowLimit = 1000;

export const clocks = {
  stopwatch: "Stopwatch",
  countdown: "Countdown",
  interval: "Intervals",
  emom: "EMOM: every minute on the minute",
  amrap: "AMRAP: as many rounds as possible",
  forTime: "For time"
};
/**
 * The fields of a clock's kind.
 *
 * @type {Record<string, string[]>}
 */
export const clockFields = {
  countdown: ["work"],
  interval: ["rounds", "work", "rest"],
  emom: ["rounds", "work"],
  amrap: ["cap"],
  forTime: ["rounds", "cap"]
};
export const categories = {
  benchPress: "Bench press",
  core: "Core",
  curl: "Curl",
  deadlift: "Deadlift",
  lunge: "Lunge",
  plank: "Plank",
  pullUp: "Pull-up",
  pushUp: "Push-up",
  row: "Row",
  shoulderPress: "Shoulder press",
  sitUp: "Sit-up",
  squat: "Squat"
};

/** @returns {Row} */
const newRow = () => ({repetitions: "", weight: "", time: "", rest: ""});
/** @returns {Clock} */
const newClock = () => ({type: "", work: "", rest: "", rounds: "", cap: ""});
/** @returns {Item} */
const newItem = () => ({name: "", category: "", id: "", sets: [newRow()], alternatives: []});
/** @returns {Section} */
const newSection = () => ({name: "", timer: newClock(), items: [newItem()]});

/**
 * A new plan: one exercise with one set.
 *
 * @returns {Form}
 */
export const newForm = () => ({name: "", focus: "", equipment: "", timer: newClock(), sections: [newSection()]});

// MARK: A definition's form

/**
 * @param {any} definition @param {Units} units
 * @returns {Form}
 */
export function formOf(definition, units) {
  const time = (/** @type {number | undefined} */ value) => (value === undefined ? "" : timeText(value));
  const number = (/** @type {number | undefined} */ value) => (value === undefined ? "" : String(value));
  const clock = ({type = "", work, rest, rounds, cap} = /** @type {any} */ ({})) =>
    ({type, work: time(work), rest: time(rest), rounds: number(rounds), cap: time(cap)});
  const exercise = (/** @type {any} */ {name, exercise = "", sets = []}) => ({
    name,
    category: exercise,
    sets: sets.map((/** @type {any} */ {repetitions, weight, time: seconds, rest}) => ({
      repetitions: number(repetitions),
      weight: weight === undefined ? "" : weightText(weight, units),
      time: time(seconds),
      rest: time(rest)
    }))
  });
  const words = (/** @type {string[]} */ list = []) => list.join(list.some((word) => word.includes(",")) ? "; " : ", ");
  return {
    name: definition.name ?? "",
    focus: words(definition.focus),
    equipment: words(definition.equipment),
    timer: clock(definition.timer),
    sections: definition.sections.map((/** @type {any} */ {name = "", timer, items}) => ({
      name,
      timer: clock(timer),
      items: items.map((/** @type {any} */ item) => (
                         {...exercise(item), id: item.id ?? "", alternatives: (item.alternatives ?? []).map(exercise)}))
    }))
  };
}

/**
 * Whether two definitions are the same; the engine writes its keys in another order.
 *
 * @param {any} one @param {any} other
 */
export function isSame(one, other) {
  const [text, otherText] =
    [one, other].map((definition) => JSON.stringify(definition,
                       (_, value) => Object.prototype.toString.call(value) === "[object Object]"
                         ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, value[key]]))
                         : value));
  return text === otherText;
}

/** @param {{ sections: { items: { sets?: any[], alternatives?: { sets?: any[] }[] }[] }[] }} plan a form or a definition */
export const rowCount = ({sections}) => sections.reduce(
  (count, {items}) => items.reduce(
    (sum, item) => [item, ...(item.alternatives ?? [])].reduce((rows, {sets = []}) => rows + 1 + sets.length, sum),
    count + 1),
  0);

// MARK: The definition of a form

/**
 * @param {Form} form @param {Units} units
 * @returns {{ definition: any, problems: Problem[] }} the definition has what can be read
 */
export function read(form, units) {
  /** @type {Problem[]} */
  const problems = [];
  /** @param {string} text @param {string} field @param {string} expected @param {(text: string) => any} parse */
  const value = (text, field, expected, parse) => {
    if (text.trim() === "") return undefined;
    const found = parse(text);
    if (found === undefined) problems.push({field, text: `'${text.trim().slice(0, 40)}' is not ${expected}`});
    return found;
  };
  const whole = (/** @type {string} */ text, /** @type {string} */ field) =>
    value(text, field, "a whole number such as 8", readWhole);
  const time = (/** @type {string} */ text, /** @type {string} */ field) =>
    value(text, field, "a time such as 1:30 or 45 s", readTime);
  const weight = (/** @type {string} */ text, /** @type {string} */ field) => value(text, field,
    `a load such as ${units === "imperial" ? "135 lb" : "62.5 kg"}`, (written) => readWeight(written, units));
  const words = (/** @type {string} */ text) => {
    const list = text.split(text.includes(";") ? ";" : ",").map((word) => word.trim()).filter(Boolean);
    return list.length > 0 ? list : undefined;
  };
  const plain = (/** @type {string} */ text) => text.trim() || undefined;
  /**
   * Without the values that the kind does not have: the form hides them.
   *
   * @param {Clock} clock @param {string} path
   */
  const timer = ({type, ...clock}, path) => type === "" ? undefined : {
    type,
    ...Object.fromEntries((clockFields[type] ?? [])
        .map((name) => [name, (name === "rounds" ? whole : time)(/** @type {any} */ (clock)[name], `${path}.${name}`)]))
  };
  /** @param {Exercise} exercise @param {string} path */
  const exercise = ({name, category, sets}, path) => {
    if (name.trim() === "") problems.push({field: `${path}.name`, text: "enter a name"});
    const read = sets.map((set, number) => ({
      repetitions: whole(set.repetitions, `${path}x${number}.repetitions`),
      weight: weight(set.weight, `${path}x${number}.weight`),
      time: time(set.time, `${path}x${number}.time`),
      rest: time(set.rest, `${path}x${number}.rest`)
    }));
    return {name: name.trim(), exercise: plain(category), sets: read.length > 0 ? read : undefined};
  };
  const sections = form.sections.map((section, s) => ({
    name: plain(section.name),
    timer: timer(section.timer, `s${s}.timer`),
    items: section.items.map((item, i) => ({
      id: plain(item.id),
      ...exercise(item, `s${s}i${i}`),
      alternatives: item.alternatives.length === 0
        ? undefined
        : item.alternatives.map((alternative, a) => exercise(alternative, `s${s}i${i}a${a}`))
    }))
  }));
  form.sections.forEach(({items}, s) => {
    if (items.length === 0) problems.push({field: `s${s}.items`, text: "add an exercise"});
  });
  if (sections.length === 0) problems.push({field: "sections", text: "add a section"});
  const definition = {
    name: plain(form.name),
    focus: words(form.focus),
    equipment: words(form.equipment),
    timer: timer(form.timer, "timer"),
    sections
  };
  // Without the keys that have no value.
  return {definition: JSON.parse(JSON.stringify(definition)), problems};
}

/**
 * The fields of each part of a definition and what they are: a `list` is one of the part of that name.
 *
 * @type {Record<string, Record<string, string>>}
 */
const known = {
  definition: {name: "text", focus: "texts", equipment: "texts", timer: "timer", sections: "list"},
  sections: {name: "text", timer: "timer", items: "list"},
  items: {id: "text", name: "text", exercise: "text", sets: "list", alternatives: "list"},
  alternatives: {name: "text", exercise: "text", sets: "list"},
  sets: {repetitions: "number", weight: "number", time: "number", rest: "number"},
  timer: {type: "text", work: "number", rest: "number", rounds: "number", cap: "number"}
};
/** The fields that a part must have. */
const needed = {
  definition: "sections",
  sections: "items",
  items: "name",
  alternatives: "name",
  timer: "type"
};

/**
 * The definition in a text. Unknown fields are errors, because they are most likely typing mistakes.
 *
 * @param {string} text @returns {{ definition?: any, problem?: string }}
 */
export function readJSON(text) {
  let definition;
  try {
    definition = JSON.parse(text);
  } catch (error) {
    return {problem: `this is not JSON: ${/** @type {Error} */ (error).message}`};
  }
  /** @param {any} value @param {string} part @param {string} path @returns {string | undefined} */
  const flaw = (value, part, path) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return `${path || "the plan"}: expected an object`;
    const inside = path ? `${path}.` : "";
    for (const [name, inner] of Object.entries(value)) {
      const kind = known[part][name];
      const found = kind ? flawOf(inner, kind, name, inside + name) : `${inside}${name}: unknown field`;
      if (found) return found;
    }
    const field = /** @type {Record<string, string>} */ (needed)[part];
    return field && value[field] === undefined ? `${inside}${field}: missing` : undefined;
  };
  /** @param {any} value @param {string} kind @param {string} name @param {string} path @returns {string | undefined} */
  const flawOf = (value, kind, name, path) => {
    if (kind === "timer") return flaw(value, "timer", path);
    if (kind === "text") return typeof value === "string" ? undefined : `${path}: expected a text`;
    if (kind === "number") return typeof value === "number" ? undefined : `${path}: expected a number`;
    if (!Array.isArray(value)) return `${path}: expected a list`;
    for (const [index, each] of value.entries()) {
      const place = `${path}[${index}]`;
      const found = kind === "list" ? flaw(each, name, place) : flawOf(each, "text", name, place);
      if (found) return found;
    }
    return undefined;
  };
  const problem = flaw(definition, "definition", "");
  return problem ? {problem} : {definition};
}

/**
 * The form's field of a path in the engine's refusal: `s0i1x2.weight` of `definition.sections[0].items[1].sets[2].weight`.
 *
 * @param {string} message @returns {Problem | undefined}
 */
export function problemOf(message) {
  const [, path, text] = message.match(/definition\.([\w.[\]]+): (.*)$/s) ?? [];
  if (!path) return undefined;
  const list = path.match(/^(focus|equipment)\[/)?.[1];
  if (list) return {field: list, text};
  const steps = path.split(".");
  let row = "";
  while (steps.length > 0) {
    const [, name, index] = steps[0].match(/^(sections|items|alternatives|sets)\[(\d+)\]$/) ?? [];
    if (!name) break;
    row += {sections: "s", items: "i", alternatives: "a", sets: "x"}[name] + index;
    steps.shift();
  }
  const leaf = steps.join(".") === "exercise" ? "category" : steps.join(".");
  return {field: [row, leaf].filter(Boolean).join("."), text: text.replace(/^1 to (\d+ bytes)/, "at most $1")};
}

// MARK: Rows

/**
 * The numbers of a row: `{s: 0, i: 1}` of `s0i1`.
 *
 * @param {string} row @returns {Record<string, number>}
 */
const place = (row) =>
  Object.fromEntries([...row.matchAll(/([siax])(\d+)/g)].map(([, letter, digits]) => [letter, Number(digits)]));

/**
 * The list of a row, and the row that has it.
 *
 * @param {Form} form @param {string} row
 */
function listOf(form, row) {
  const {s, i, a, x} = place(row);
  const parent = row.replace(/[siax]\d+$/, "");
  if (x !== undefined) return {list: exerciseOf(form, parent).sets, index: x, parent};
  if (a !== undefined) return {list: form.sections[s].items[i].alternatives, index: a, parent};
  if (i !== undefined) return {list: form.sections[s].items, index: i, parent};
  return {list: form.sections, index: s, parent};
}

/** @param {Form} form @param {string} row of an exercise or alternative @returns {Exercise} */
function exerciseOf(form, row) {
  const {s, i, a} = place(row);
  const item = form.sections[s].items[i];
  return a === undefined ? item : item.alternatives[a];
}

/**
 * Changes the rows of a form and returns the row to show next.
 *
 * @param {Form} form @param {"add" | "up" | "down" | "remove"} verb
 * @param {string} row that is moved or removed, or gets another one @param {string} [list] what is added: `s`, `i`, `a` or `x`
 */
export function edit(form, verb, row, list = "s") {
  if (verb === "add") {
    if (rowCount(form) >= rowLimit) return row;
    const {s, i} = place(row);
    /** @type {any[]} */
    let to = form.sections;
    if (list === "s") to.push(newSection());
    if (list === "i") (to = form.sections[s].items).push(newItem());
    if (list === "a") (to = form.sections[s].items[i].alternatives).push({name: "", category: "", sets: []});
    // Most sets are like the one before.
    if (list === "x") (to = exerciseOf(form, row).sets).push({...(to.at(-1) ?? newRow())});
    return `${row}${list}${to.length - 1}`;
  }
  const {list: rows, index, parent} = listOf(form, row);
  const letter = row.match(/([siax])\d+$/)?.[1];
  if (verb === "remove") {
    rows.splice(index, 1);
    return rows.length > 0 ? `${parent}${letter}${Math.min(index, rows.length - 1)}` : parent;
  }
  const other = index + (verb === "up" ? -1 : 1);
  if (rows[other]) {
    const [moved] = rows.splice(index, 1);
    rows.splice(other, 0, /** @type {any} */ (moved));
    return `${parent}${letter}${other}`;
  }
  // An exercise at the edge of its section moves into the next one.
  const section = place(row).s + (verb === "up" ? -1 : 1);
  if (letter !== "i" || !form.sections[section]) return row;
  const [moved] = /** @type {Item[]} */ (rows).splice(index, 1);
  const to = form.sections[section].items;
  to.splice(verb === "up" ? to.length : 0, 0, moved);
  return `s${section}i${verb === "up" ? to.length - 1 : 0}`;
}

/**
 * Writes a field.
 *
 * @param {Form} form @param {string} field @param {string} value
 */
export function write(form, field, value) {
  const [, row, leaf] = field.match(/^((?:[siax]\d+)*)\.?(.*)$/) ?? [];
  const {s, x} = place(row);
  /** @type {any} */
  let target = row === "" ? form : /i/.test(row) ? exerciseOf(form, row) : form.sections[s];
  if (x !== undefined) target = exerciseOf(form, row.replace(/x\d+$/, "")).sets[x];
  const names = leaf.split(".");
  for (const name of names.slice(0, -1)) target = target[name];
  target[names[names.length - 1]] = value;
}

// MARK: Words

export {titleOf} from "./definition.js";

/**
 * `2 sections · 5 exercises · 18 sets`.
 *
 * @param {any} definition
 */
export function summaryOf(definition) {
  const items = definition.sections.flatMap((/** @type {any} */ {items}) => items);
  const sets = items.reduce((/** @type {number} */ sum, /** @type {any} */ item) => sum + (item.sets?.length ?? 1), 0);
  const count = (/** @type {number} */ number, /** @type {string} */ word) =>
    `${number} ${word}${number === 1 ? "" : "s"}`;
  return [count(definition.sections.length, "section"), count(items.length, "exercise"), count(sets, "set")].join(
    " · ");
}

/**
 * `4 sets: 8 × 40 kg · or Leg press`.
 *
 * @param {Item} item
 */
export function itemSummary({sets, alternatives}) {
  const [first] = sets;
  const load = first ? [first.repetitions, first.weight].filter(Boolean).join(" × ") : "";
  const text = first ? [load, first.time].filter(Boolean).join(", ") : "";
  const count = sets.length === 0 ? "" : sets.length === 1 ? "1 set" : `${sets.length} sets`;
  const others = alternatives.length > 0 ? `or ${alternatives.map(({name}) => name).join(", ")}` : "";
  return [[count, text].filter(Boolean).join(": "), others].filter(Boolean).join(" · ");
}

/**
 * `Section 1, exercise 2, set 3`; empty for the workout.
 *
 * @param {string} field
 */
export function rowWords(field) {
  const {s, i, a, x} = place(field.match(/^(?:[siax]\d+)*/)?.[0] ?? "");
  const names = [["section", s], ["exercise", i], ["alternative", a], ["set", x]];
  const text = names.filter(([, number]) => number !== undefined)
                 .map(([name, number]) => `${name} ${Number(number) + 1}`)
                 .join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The name with letters and digits of ASCII alone.
 *
 * @param {any} definition
 */
export const fileName = ({name = ""}) => name.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean).join("-") || "plan";
