// Loads and times as people write them: `62.5 kg`, `135 lb`, `1:30`, `45 s`, `1 h 15 min`. What is written is read as exactly the
// same number, so that a form changes nothing that a person did not touch. No DOM.

const kilogramsPerPound = 0.45359237;

/** @typedef {import("./format.js").Units} Units */

/**
 * In the reader's units, unless they would change the number.
 *
 * @param {number} kilograms @param {Units} units
 */
export function weightText(kilograms, units) {
  const text = `${Math.round(kilograms / kilogramsPerPound * 10) / 10} lb`;
  return units === "imperial" && readWeight(text, units) === kilograms ? text : `${kilograms} kg`;
}

/**
 * Kilograms; a number without a unit counts in the reader's.
 *
 * @param {string} text @param {Units} units
 */
export function readWeight(text, units) {
  const [part, ...others] = quantities(text) ?? [];
  if (!part || others.length > 0) return undefined;
  const {number, unit} = part;
  if (["lb", "lbs"].includes(unit) || (unit === "" && units === "imperial")) return number * kilogramsPerPound;
  return ["kg", "kgs", ""].includes(unit) ? number : undefined;
}

/**
 * `1:30`, from an hour `1:05:00`; with fractions `12.5 s`.
 *
 * @param {number} seconds
 */
export function timeText(seconds) {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds >= 1e6) return `${seconds} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const digits = (/** @type {number} */ value) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${digits(minutes)}:${digits(seconds % 60)}` : `${minutes}:${digits(seconds % 60)}`;
}

/** @type {Record<string, number>} */
const seconds = {
  h: 3600,
  hour: 3600,
  hours: 3600,
  min: 60,
  m: 60,
  minute: 60,
  minutes: 60,
  s: 1,
  sec: 1,
  second: 1,
  seconds: 1
};

/**
 * Seconds; a number without a unit counts as seconds.
 *
 * @param {string} text
 */
export function readTime(text) {
  const clock = text.trim().match(/^(?:(\d{1,6}):)?(\d{1,6}):(\d{1,6})$/);
  if (clock) {
    const [hours, minutes, rest] = clock.slice(1).map((digits) => Number(digits ?? 0));
    return rest < 60 && (clock[1] === undefined || minutes < 60) ? hours * 3600 + minutes * 60 + rest : undefined;
  }
  const parts = quantities(text);
  const values =
    parts?.map(({number, unit}) => number * (unit === "" && parts.length === 1 ? 1 : seconds[unit] ?? NaN));
  const sum = values?.reduce((all, value) => all + value, 0);
  return Number.isNaN(sum) ? undefined : sum;
}

/** @param {string} text */
export const readWhole = (text) => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined);

/**
 * Numbers with their units, such as `1 h 15 min`; `undefined` for anything else. A comma is a decimal point.
 *
 * @param {string} text
 */
function quantities(text) {
  const rest = text.toLowerCase().replaceAll(",", ".").trim();
  if (!/^(\d[\d.]*(e[+-]?\d+)?\s*[a-z]*\s*)+$/.test(rest)) return undefined;
  const parts = [...rest.matchAll(/(\d[\d.]*(?:e[+-]?\d+)?)\s*([a-z]*)/g)].map(
    ([, number, unit]) => ({number: Number(number), unit}));
  return parts.every(({number}) => Number.isFinite(number)) ? parts : undefined;
}
