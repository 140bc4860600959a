// A finished workout as text: totals, tables, records, and where its numbers come from. No DOM, no clock.

import {clock, format, grouped, joined, minutes, rowOf, unknown, when} from "./format.js";
import {prescription} from "./plan.js";

/**
 * @typedef {import("./format.js").Units} Units
 * @typedef {import("./format.js").Text} Text
 * @typedef {{ label: string, text: Text }} Figure
 */

/** @type {Record<string, [string, string, (w: any) => number | undefined]>} label, quantity, value */
const figures = {
  distance: ["Distance", "distance", (w) => w.distance],
  time: ["Time", "duration", (w) => w.activeDuration],
  pace: ["Pace", "pace", (w) => (w.distance >= 50 ? w.activeDuration / w.distance * 1000 : undefined)],
  speed: ["Speed", "speed", (w) => w.averageSpeed],
  moving: ["Moving time", "duration", (w) => w.movingDuration],
  elapsed:
    ["With pauses", "duration", (w) => (w.elapsedDuration - w.activeDuration > 5 ? w.elapsedDuration : undefined)],
  heartRate: ["Average heart rate", "heartRate", (w) => w.averageHeartRate],
  maximumHeartRate: ["Maximum heart rate", "heartRate", (w) => w.maximumHeartRate],
  ascent: ["Ascent", "height", (w) => w.ascent],
  descent: ["Descent", "height", (w) => w.descent],
  energy: ["Energy", "energy", (w) => w.activeEnergy],
  power: ["Average power", "power", (w) => w.averagePower],
  normalizedPower: ["Normalized power", "power", (w) => w.load?.normalizedPower],
  maximumPower: ["Maximum power", "power", (w) => w.maximumPower],
  cadence: ["Cadence", "cadence", (w) => w.averageCadence],
  maximumSpeed: ["Maximum speed", "speed", (w) => w.maximumSpeed],
  steps: ["Steps", "count", (w) => w.steps],
  strokes: ["Strokes", "count", (w) => w.sums?.strokes],
  lengths: ["Lengths", "count", (w) => w.sums?.lengths],
  sets: ["Sets", "count", (w) => setsDone(w).length || undefined],
  lifted: ["Lifted", "weight", (w) => lifted(w)],
  load: ["Heart rate load", "count", (w) => w.load?.heartRate],
  stress: ["Training stress", "count", (w) => w.load?.stress],
  intensity: ["Intensity", "share", (w) => w.load?.intensity],
};

/** @param {any} workout @returns {any[]} */
const setsDone = ({progress}) => Object.values(progress?.completed ?? {}).flat();

/**
 * Kilograms of all sets together.
 *
 * @param {any} workout
 */
function lifted(workout) {
  const sum = setsDone(workout).reduce((all, {repetitions = 0, weight = 0}) => all + repetitions * weight, 0);
  return sum > 0 ? sum : undefined;
}

/**
 * One great figure, two smaller ones, and the rest.
 *
 * @param {any} workout @param {Units} units @returns {{ hero: Figure, seconds: Figure[], rest: Figure[] }}
 */
export function totals(workout, units) {
  const {activity, energySource} = workout;
  const options = {units, activity, isEstimated: energySource === "estimate" || energySource === "mixed"};
  const row = rowOf(options);
  const isFar = workout.distance > 0;
  const figure = row.figure ?? (row.swims ? "pace" : undefined);
  const main = isFar ? ["distance", "time", figure ?? "heartRate", "speed", "ascent", "energy"]
                     : ["time", "lifted", "sets", "heartRate", "energy", "maximumHeartRate"];
  /** @param {string} key */
  const known = (key) => figures[key][2](workout) !== undefined;
  /** @param {string} key @returns {Figure} */
  const text = (key) => {
    const [label, quantity, value] = figures[key];
    return {
      label,
      text: quantity === "weight" ? wholeWeight(value(workout), units) : format(quantity, value(workout), options)
    };
  };
  const [hero, ...others] = main.filter((key) => key === "time" || known(key));
  const seconds = others.slice(0, 2);
  const paces = figure === "pace" ? ["speed"] : ["pace"];
  const isShown = (/** @type {string} */ key) => known(key) && ![hero, ...seconds, ...paces].includes(key) &&
    !(key === "speed" && !isFar) &&
    !(key === "moving" && Math.abs(workout.movingDuration - workout.activeDuration) < 2);
  return {hero: text(hero), seconds: seconds.map(text), rest: Object.keys(figures).filter(isShown).map(text)};
}

/** @param {number | undefined} kilograms @param {Units} units @returns {Text} */
function wholeWeight(kilograms, units) {
  if (kilograms === undefined) return unknown;
  return units === "imperial" ? {number: grouped(kilograms / 0.45359237), unit: "lb"}
                              : {number: grouped(kilograms), unit: "kg"};
}

/**
 * `Morning Run · 8.31 km`
 *
 * @param {any} workout @param {Units} units
 */
export const titleOf = (workout, units) => `${workout.name} · ${joined(totals(workout, units).hero.text)}`;

export {when};

// MARK: Tables

/**
 * @typedef {{ columns: { key: string, label: string }[], rows: { label: string, values: string[], share?: number }[] }} Table
 *   `share`: how fast a row is against the fastest, 0 to 1
 */

/** @type {[string, string, string, (part: any) => number | undefined][]} */
const partColumns = [
  ["heartRate", "Heart rate", "heartRate", (p) => p.averageHeartRate],
  ["power", "Power", "power", (p) => p.averagePower],
  ["cadence", "Cadence", "cadence", (p) => p.averageCadence],
  ["ascent", "Ascent", "height", (p) => p.ascent],
];

/** @param {any} part @param {any} options @returns {[string, number | undefined]} quantity and value */
function rate({distance, duration, pace}, options) {
  const isPaced = rowOf(options).figure === "pace" || rowOf(options).swims;
  if (isPaced) return ["pace", pace ?? (distance >= 50 ? duration / distance * 1000 : undefined)];
  return ["speed", distance > 0 && duration > 0 ? distance / duration : undefined];
}

/** @param {any[]} parts @param {any} options */
function shares(parts, options) {
  const speeds = parts.map(({distance, duration}) => (distance > 0 && duration > 0 ? distance / duration : NaN));
  const known = speeds.filter(Number.isFinite);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // The slowest keeps a third of the bar.
  return speeds.map(
    (speed) => Number.isFinite(speed) ? 1 - 0.67 * (high - speed) / Math.max(high - low, high * 0.08) : undefined);
}

/** @param {any[]} parts @param {any} options @param {number} most columns besides the first */
function columnsOf(parts, options, most) {
  return partColumns.filter(([, , , value]) => parts.some((part) => value(part) !== undefined)).slice(0, most);
}

/**
 * @param {any} workout @param {Units} units @returns {Table & { unit: string }}
 */
export function splitsTable({splits, activity}, units) {
  const options = {units, activity};
  const length = splits[0]?.distance ?? 0;
  const isMile = Math.abs(length - 1609.344) < 1;
  const isWhole = (/** @type {any} */ {distance}) => distance >= length - 0.5;
  const others = columnsOf(splits, options, 3);
  const [quantity] = rate(splits[0] ?? {}, options);
  const share = shares(splits, options);
  return {
    unit: isMile                    ? "Mile"
      : Math.abs(length - 1000) < 1 ? "Kilometre"
                                    : "Split",
    columns:
      [{key: "rate", label: quantity === "pace" ? "Pace" : "Speed"}, ...others.map(([key, label]) => ({key, label}))],
    rows: splits.map((/** @type {any} */ split, /** @type {number} */ index) => ({
      label: isWhole(split) || splits.length === 1 ? String(index + 1)
                                                   : joined(format("distance", split.distance, options)),
      values: [
        joined(format(...rate(split, options), options)),
        ...others.map(([, , name, value]) => joined(format(name, value(split), options)))
      ],
      share: share[index],
    })),
  };
}

/** @param {any} workout @param {Units} units @returns {Table} */
export function lapsTable({laps = [], activity}, units) {
  const options = {units, activity};
  const isFar = laps.some((/** @type {any} */ lap) => lap.distance > 0);
  const others = columnsOf(laps, options, 2);
  const share = shares(laps, options);
  const [quantity] = rate(laps[0] ?? {}, options);
  return {
    columns: [
      {key: "time", label: "Time"},
      ...(isFar ? [{key: "distance", label: "Distance"}, {key: "rate", label: quantity === "pace" ? "Pace" : "Speed"}]
                : []),
      ...others.map(([key, label]) => ({key, label}))
    ],
    rows: laps.map((/** @type {any} */ lap, /** @type {number} */ index) => ({
      label: String(index + 1),
      values: [
        clock(lap.duration),
        ...(isFar ? [joined(format("distance", lap.distance, options)), joined(format(...rate(lap, options), options))]
                  : []),
        ...others.map(([, , name, value]) => joined(format(name, value(lap), options)))
      ],
      share: share[index],
    })),
  };
}

/**
 * Seconds and shares of the heart rate zones; their limits if they are known.
 *
 * @param {any} workout @param {number[] | undefined} limits
 */
export function zonesTable({zones}, limits) {
  const all = (zones ?? []).reduce((/** @type {number} */ sum, /** @type {number} */ s) => sum + s, 0);
  if (all <= 0) return [];
  /** @param {number} index */
  const bounds = (index) => {
    if (!limits) return "";
    const [low, high] = [limits[index - 1], limits[index]].map((limit) => limit && Math.round(limit));
    return low === undefined ? `below ${high}` : high === undefined ? `from ${low}` : `${low}–${high - 1}`;
  };
  return zones.map((/** @type {number} */ seconds, /** @type {number} */ index) => ({
    number: index + 1,
    label: `Zone ${index + 1}`,
    bounds: bounds(index),
    share: seconds / all,
    time: clock(seconds),
    percent: joined(format("share", seconds / all)),
  }));
}

/**
 * The limits between the zones that a profile means.
 *
 * @param {any} profile @param {number | undefined} startedAt @returns {number[] | undefined}
 */
export function zoneLimits(profile, startedAt) {
  if (profile?.zones?.length === 4) return profile.zones;
  const threshold = profile?.thresholdHeartRate;
  if (threshold !== undefined) return [0.68, 0.83, 0.94, 1.05].map((part) => part * threshold);
  const year = startedAt === undefined ? undefined : new Date(startedAt * 1000).getUTCFullYear();
  const age =
    profile?.birthYear === undefined || year === undefined ? undefined : Math.max(0, year - profile.birthYear);
  const maximum = profile?.maximumHeartRate ?? (age === undefined ? undefined : 208 - 0.7 * age);
  return maximum === undefined ? undefined : [0.6, 0.7, 0.8, 0.9].map((part) => part * maximum);
}

/**
 * The exercises of a plan with what was done: each set, what was planned where that differs, and marks.
 *
 * @param {any} workout @param {Units} units
 */
export function exercises({plan, progress}, units) {
  if (!plan || !progress) return [];
  return plan.blocks.flatMap(
    (/** @type {any} */ block, /** @type {number} */ number) => block.items.map((/** @type {any} */ item) => {
      const planned = item.exercises[0].sets ?? [{}];
      const done = progress.completed[item.id] ?? [];
      const chosen = item.exercises[item.chosen];
      const marks = [];
      if (progress.skipped?.includes(item.id)) marks.push("Skipped");
      if (progress.painFlagged?.includes(item.id)) marks.push("Pain noted");
      if (item.chosen > 0) marks.push(`Instead of ${item.exercises[0].name}`);
      const rounds = block.timer.rounds ?? 1;
      const expected = (chosen.sets ?? planned).length * rounds;
      return {
        block: block.name ?? (plan.blocks.length > 1 ? `Block ${number + 1}` : ""),
        name: chosen.name,
        marks,
        count: `${done.length} of ${Math.max(expected, done.length)} sets`,
        sets: done.map((/** @type {any} */ set) => {
          const exercise = item.exercises[set.exercise ?? 0] ?? chosen;
          const text = prescription(set, units) || "Done";
          const plan = prescription((exercise.sets ?? planned)[set.set], units);
          const differs = plan !== "" && (set.repetitions !== undefined || set.weight !== undefined) && plan !== text;
          return {
            text,
            planned: differs ? `planned ${plan}` : "",
            exercise: exercise === chosen ? "" : exercise.name,
            round: rounds > 1 ? `Round ${set.round}` : "",
          };
        }),
      };
    }));
}

/** @param {any} workout */
export const roundsTable = ({rounds = [], plan}) =>
  rounds.map((/** @type {any} */ {block, number, startedAt, endedAt}) => ({
    name: plan?.blocks[block]?.name ?? `Block ${block + 1}`,
    number: String(number),
    time: clock(endedAt - startedAt),
  }));

// MARK: Records

/** @type {Record<string, string>} */
const sports = {
  running: "foot",
  walking: "foot",
  hiking: "foot"
};
/** @param {string} activity */
const sportOf = (activity) => sports[activity] ?? activity;

/** @type {[number, string][]} */
const namedDistances = [[1609.344, "1 mile"], [21097.5, "Half marathon"], [42195, "Marathon"]];

/** @param {number} metres */
const distanceName = (metres) => namedDistances.find(([length]) => Math.abs(length - metres) < 1)?.[1] ??
  (metres < 1000 || metres % 1000 !== 0 ? `${grouped(metres)} m` : `${metres / 1000} km`);

/** @param {number} seconds */
const durationName = (seconds) => seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;

/**
 * @typedef {{ label: string, text: string, note: string, isRecord: boolean, best?: { t: number, s: number } }} Best `best`: where
 *   it is in the workout
 */

/**
 * What this workout is best in, and whether no earlier one of this sport was better.
 *
 * @param {any} workout @param {any[] | undefined} earlier overviews of the history; without them nothing is a record
 * @param {Units} units @returns {Best[]}
 */
export function bestsTable(workout, earlier, units) {
  const {bests = {}, activity} = workout;
  const others = (earlier ?? [])
                   .filter((other) => sportOf(other.activity) === sportOf(activity) &&
                       other.session.toLowerCase() !== workout.session.toLowerCase() &&
                       (other.startedAt ?? 0) < (workout.startedAt ?? Infinity));
  /** @param {number | undefined} former @param {number} value @param {boolean} isLess @param {(by: number) => string} by */
  const compare = (former, value, isLess, by) => {
    if (!earlier) return {note: "", isRecord: false};
    if (former === undefined) return {note: "First", isRecord: false};
    const gain = isLess ? former - value : value - former;
    return gain > 0 ? {note: by(gain), isRecord: true} : {note: "", isRecord: false};
  };
  /** @param {(number | undefined)[]} values @param {boolean} isLess */
  const bestOf = (values, isLess) => {
    const known = values.flatMap((value) => value ?? []);
    return known.length > 0 ? (isLess ? Math.min : Math.max)(...known) : undefined;
  };
  /** @type {Best[]} */
  const all = [];
  for (const {m, s, t} of bests.distance ?? []) {
    const former = bestOf(others.map((o) => o.bests?.distance?.find((/** @type {any} */ d) => d.m === m)?.s), true);
    all.push({
      label: distanceName(m),
      text: minutes(s),
      best: {t, s},
      ...compare(former, s, true, (by) => `${by < 10 ? `${Math.max(0.1, by).toFixed(1)} s` : minutes(by)} faster`)
    });
  }
  for (const {s, w, t} of bests.power ?? []) {
    const former = bestOf(others.map((o) => o.bests?.power?.find((/** @type {any} */ p) => p.s === s)?.w), false);
    all.push({
      label: `Power over ${durationName(s)}`,
      text: joined(format("power", w)),
      best: {t, s},
      ...compare(former, w, false, (by) => `${joined(format("power", Math.max(1, by)))} more`)
    });
  }
  for (const {s, bpm, t} of bests.heartRate ?? [])
    all.push({
      label: `Heart rate over ${durationName(s)}`,
      text: joined(format("heartRate", bpm)),
      best: {t, s},
      note: "",
      isRecord: false
    });
  for (const {exercise, weight, repetitions} of bests.sets ?? []) {
    const sets =
      others.flatMap((o) => o.bests?.sets ?? []).filter((/** @type {any} */ set) => set.exercise === exercise);
    const value = weight ?? repetitions ?? 0;
    const former = bestOf(sets.filter((/** @type {any} */ set) => (set.weight === undefined) === (weight === undefined))
                            .map((/** @type {any} */ set) => set.weight ?? set.repetitions),
      false);
    all.push({
      label: exercise,
      text: prescription({weight, repetitions}, units),
      ...compare(former, value, false,
        (by) => (weight === undefined ? `${by} more` : `${joined(format("weight", by, {units}))} more`))
    });
  }
  if (workout.distance > 0) {
    const farthest = bestOf(others.map(({distance}) => distance), false);
    const {note, isRecord} =
      compare(farthest, workout.distance, false, (by) => `${joined(format("distance", by, {units, activity}))} more`);
    if (isRecord)
      all.push({
        label: "Longest distance",
        text: joined(format("distance", workout.distance, {units, activity})),
        note,
        isRecord
      });
  }
  return all;
}

// MARK: Where numbers come from

/** @type {Record<string, string>} */
const deviceWords = {
  watch: "watch",
  strap: "strap",
  pod: "pod",
  phone: "phone"
};

/** @param {string} device `strap-1f` @param {string[]} all of the workout */
function deviceName(device, all) {
  const kind = device.split("-")[0];
  const isAlone = all.filter((other) => other.split("-")[0] === kind).length === 1;
  return isAlone ? deviceWords[kind] ?? kind : device;
}

/** @type {Record<string, string>} */
const quantityWords = {
  heart_rate: "heart rate",
  active_energy: "energy",
  rr: "beat intervals",
};

/**
 * `Heart rate: strap to 32:10, then watch`; quantities with the same sources share a line.
 *
 * @param {any} workout @returns {{ quantities: string, text: string }[]}
 */
export function sourceLines({sources = [], activeDuration}) {
  const devices = [...new Set(sources.map((/** @type {any} */ {device}) => device))];
  /** @type {Map<string, any[]>} */
  const byQuantity = new Map();
  for (const source of sources) byQuantity.set(source.quantity, [...byQuantity.get(source.quantity) ?? [], source]);
  /** @type {Map<string, string[]>} */
  const byText = new Map();
  for (const [quantity, entries] of byQuantity) {
    const sorted = [...entries].sort((a, b) => a.from - b.from);
    const text = sorted
                   .map(({device, from, to}, index) => {
                     const name = deviceName(device, /** @type {string[]} */ (devices));
                     const [isLate, isLast] = [from > 60, index === sorted.length - 1];
                     const start = index === 0 ? (isLate ? `${name} from ${clock(from)}` : name) : `then ${name}`;
                     return !isLast || activeDuration - to > 60 ? `${start} to ${clock(to)}` : start;
                   })
                   .join(", ");
    byText.set(text, [...byText.get(text) ?? [], quantityWords[quantity] ?? quantity.replaceAll("_", " ")]);
  }
  return [...byText].map(([text, names]) => {
    const list = listed(names);
    return {quantities: list[0].toUpperCase() + list.slice(1), text};
  });
}

/** @param {string[]} names */
const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

/**
 * How many items count for nothing, because the workout was not running.
 *
 * @param {any} workout
 */
export function outsideText({outside = {}}) {
  const streams = Object.keys(outside);
  if (streams.length === 0) return "";
  const devices = [...new Set(streams.map((stream) => stream.split("/")[1]))];
  const parts = streams.map((stream) => {
    const [kind, device] = stream.split("/");
    const count = outside[stream];
    const what = kind === "samples" ? "measurement" : "position";
    return `${grouped(count)} ${what}${count === 1 ? "" : "s"} of the ${deviceName(device, devices)}`;
  });
  const isOne = streams.length === 1 && outside[streams[0]] === 1;
  return `${listed(parts)} ${isOne ? "was" : "were"} recorded in pauses, before the start or after the end, and ${
    isOne ? "does" : "do"} not count.`;
}

/**
 * @param {any} status of an export @param {(time: number) => string} time @returns {{ text: string, canRetry: boolean }}
 */
export function exportText({status, attempts, nextAttemptAt, reason}, time) {
  const failures = attempts > 0 ? `${attempts} failed attempt${attempts === 1 ? "" : "s"}` : "";
  const because = reason ? `: ${reason}` : "";
  switch (status) {
    case "done":
      return {text: "Exported", canRetry: false};
    case "exporting":
      return {text: "Exporting…", canRetry: false};
    case "failed":
      return {text: `Not exported after ${failures || "an attempt"}${because}`, canRetry: true};
    default: {
      const next = nextAttemptAt === undefined ? "Waiting" : `Next attempt at ${time(nextAttemptAt)}`;
      return {text: [next, failures && `${failures}${because}`].filter(Boolean).join("; "), canRetry: attempts > 0};
    }
  }
}
