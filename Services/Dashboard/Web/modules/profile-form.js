// The form of a profile: the texts of its fields as a person typed them, and what they say. No DOM.

import {readWeight, weightText} from "./plan-text.js";

/** @typedef {import("./format.js").Units} Units */
/** @typedef {Record<string, string>} Form the texts of fields; unknown is empty */

/**
 * The bounds of whole numbers, as session-engine has them.
 *
 * @type {Record<string, { from: number, to: number, name: string, unit: string }>}
 */
const numbers = {
  maximumHeartRate: {from: 80, to: 250, name: "maximum heart rate", unit: " bpm"},
  restingHeartRate: {from: 20, to: 150, name: "resting heart rate", unit: " bpm"},
  thresholdHeartRate: {from: 60, to: 240, name: "threshold heart rate", unit: " bpm"},
  thresholdPower: {from: 30, to: 1000, name: "threshold power", unit: " W"}
};
const choices = ["units", "sex"];
/** Kilograms. */
const [lightest, heaviest] = [20, 400];
const ages = 120;

export const fields = [...choices, "birthYear", "weight", ...Object.keys(numbers)];

/**
 * @param {any} profile @param {Units} units @returns {Form}
 */
export const formOf = (profile, units) => Object.fromEntries(
  fields.map((field) => [field, profile?.[field] === undefined ? "" : textOf(field, profile[field], units)]));

/** @param {string} field @param {any} value @param {Units} units */
const textOf = (field, value, units) => (field === "weight" ? weightText(value, units) : String(value));

/**
 * The value of a field, or what is wrong with its text. An empty one has neither.
 *
 * @param {string} field @param {string} text @param {Units} units @param {number} year this year
 * @returns {{ value?: string | number, problem?: string }}
 */
export function read(field, text, units, year) {
  const typed = text.trim();
  if (typed === "") return {};
  if (choices.includes(field)) return {value: typed};
  if (field === "weight") {
    const value = readWeight(typed, units);
    if (value === undefined) return {problem: `“${typed}” is no weight. Write for example 62.5 kg or 138 lb.`};
    if (value >= lightest && value <= heaviest) return {value};
    const [low, high] = [lightest, heaviest].map((limit) => weightText(limit, "metric"));
    return {problem: `The weight is ${typed}. Allowed are ${low} to ${high}.`};
  }
  const {from, to, name, unit} = numbers[field] ?? {from: year - ages, to: year, name: "year of birth", unit: ""};
  const digits = typed.replace(/\s*(bpm|w)$/i, "");
  const value = Number(digits);
  // What was saved by another client may have a fraction.
  const isNumber = field === "birthYear" ? /^\d+$/.test(digits) : /^\d+(\.\d+)?$/.test(digits);
  if (!isNumber) return {problem: `“${typed}” is no ${name}. Write a number from ${from} to ${to}.`};
  if (value >= from && value <= to) return {value};
  return {problem: `The ${name} is ${digits}${unit}. Allowed are ${from} to ${to}${unit}.`};
}

/**
 * The profile to save: that of the engine with the fields that a person changed, or the problems of these. `setProfile` replaces all,
 * so what the form does not show stays as it is.
 *
 * @param {any} profile the newest @param {Form} form @param {string[]} changed @param {Units} units @param {number} year
 * @returns {{ profile: any, problems: Record<string, string> }}
 */
export function change(profile, form, changed, units, year) {
  const {revision, erasedAt, ...next} = profile ?? {};
  /** @type {Record<string, string>} */
  const problems = {};
  for (const field of changed) {
    const {value, problem} = read(field, form[field], units, year);
    if (problem) problems[field] = problem;
    next[field] = value;
  }
  const {restingHeartRate: resting, maximumHeartRate: maximum} = next;
  if (resting >= maximum && changed.some((field) => field.endsWith("HeartRate") && !problems[field]))
    problems[changed.includes("restingHeartRate") ? "restingHeartRate" : "maximumHeartRate"] ??=
      `The resting heart rate, ${resting} bpm, is not below the maximum, ${maximum} bpm.`;
  // JSON has no undefined fields.
  return {profile: JSON.parse(JSON.stringify(next)), problems};
}
