// Numbers, dates and times as text. Tests/DashboardTests/modules/format.json has the cases.

import {activities} from "./activities.js";

/**
 * @typedef {"metric" | "imperial"} Units
 * @typedef {{ number: string, unit: string, isUnknown?: true }} Text a number and its unit, which may be empty
 * @typedef {{ units?: Units, activity?: string, isEstimated?: boolean }} Options
 */

const metresPerMile = 1609.344;
export const metresPerYard = 0.9144;

/** @type {Text} */
export const unknown = {
  number: "--",
  unit: "",
  isUnknown: true
};

/**
 * Half rounds up. Swift rounds alike.
 *
 * @param {number} value
 */
const whole = (value) => Math.floor(value + 0.5);

/**
 * `12,345`, `−3`.
 *
 * @param {number} value
 */
export function grouped(value) {
  const digits = String(Math.abs(whole(value))).replace(/\B(?=(\d{3})+$)/g, ",");
  return whole(value) < 0 ? `\u2212${digits}` : digits;
}

/**
 * A text with a capital at its beginning and a full stop at its end, unless it has an end.
 *
 * @param {string} text
 */
export function sentence(text) {
  const end = /[.!?]$/.test(text) ? "" : ".";
  return text.charAt(0).toUpperCase() + text.slice(1) + end;
}

/**
 * `1 workout`, `12 workouts`.
 *
 * @param {number} count @param {string} one
 */
export const counted = (count, one) => `${grouped(count)} ${one}${count === 1 ? "" : "s"}`;

/** @param {number} value @param {number} digits */
function decimal(value, digits) {
  const scale = 10 ** digits;
  const scaled = whole(value * scale);
  return `${Math.floor(scaled / scale)}.${String(scaled % scale).padStart(digits, "0")}`;
}

/** @param {number} value */
const twoDigits = (value) => String(value).padStart(2, "0");

/**
 * `05:07`, from an hour on `1:05:07`; rounded down, because a clock shows what has passed.
 *
 * @param {number} seconds
 */
export function clock(seconds) {
  const all = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  return (hours > 0 ? `${hours}:` : "") + `${twoDigits(minutes)}:${twoDigits(all % 60)}`;
}

/**
 * `26:03.4`, for times that are close.
 *
 * @param {number} seconds
 */
export const tenths = (seconds) => `${clock(seconds)}.${Math.max(0, Math.floor(seconds * 10)) % 10}`;

/**
 * `5:45`, `0:42`, from an hour on `1:05:07`.
 *
 * @param {number} seconds
 */
export function minutes(seconds) {
  const all = whole(Math.max(0, seconds));
  return all < 3600 ? `${Math.floor(all / 60)}:${twoDigits(all % 60)}` : clock(all);
}

/**
 * How far behind someone is: `+0:37`, below 10 s `+0:08.3`.
 *
 * @param {number} seconds
 */
export const behind = (seconds) =>
  (whole(seconds * 10) < 100 ? `+0:0${decimal(Math.max(0, seconds), 1)}` : `+${minutes(seconds)}`);

/**
 * What pages show of an activity; nothing of an unknown one.
 *
 * @param {Options} options
 * @returns {Partial<import("./activities.js").Row>}
 */
export const rowOf = ({activity = ""}) => activities[activity] ?? {};

/** @type {Record<string, (value: number, options: Options) => Text>} */
const quantities = {
  /** For a glance: `5.2 km`. */
  roughDistance(value, options) {
    if (rowOf(options).swims) return quantities.distance(value, options);
    const isImperial = options.units === "imperial";
    return {number: decimal(value / (isImperial ? metresPerMile : 1000), 1), unit: isImperial ? "mi" : "km"};
  },
  duration: (value) => ({number: clock(value), unit: ""}),
  distance(value, options) {
    const isImperial = options.units === "imperial";
    if (rowOf(options).swims) {
      return isImperial ? {number: grouped(value / metresPerYard), unit: "yd"} : {number: grouped(value), unit: "m"};
    }
    const length = value / (isImperial ? metresPerMile : 1000);
    return {number: decimal(length, whole(length * 100) < 10000 ? 2 : 1), unit: isImperial ? "mi" : "km"};
  },
  pace(value, options) {
    const isImperial = options.units === "imperial";
    if (rowOf(options).swims) {
      return isImperial ? {number: minutes((value * metresPerYard) / 10), unit: "/100 yd"}
                        : {number: minutes(value / 10), unit: "/100 m"};
    }
    return isImperial ? {number: minutes((value * metresPerMile) / 1000), unit: "/mi"}
                      : {number: minutes(value), unit: "/km"};
  },
  speed: (value, {units}) => units === "imperial" ? {number: decimal((value * 3600) / metresPerMile, 1), unit: "mph"}
                                                  : {number: decimal(value * 3.6, 1), unit: "km/h"},
  heartRate: (value) => ({number: grouped(value), unit: "bpm"}),
  power: (value) => ({number: grouped(value), unit: "W"}),
  energy: (value, {isEstimated}) => ({number: (isEstimated ? "~" : "") + grouped(value), unit: "kcal"}),
  cadence: (value, options) => ({number: grouped(value), unit: rowOf(options).cadence ?? "/min"}),
  height: (value, {units}) =>
    units === "imperial" ? {number: grouped(value / 0.3048), unit: "ft"} : {number: grouped(value), unit: "m"},
  weight(value, {units}) {
    const isImperial = units === "imperial";
    const number = decimal(isImperial ? value / 0.45359237 : value, 1).replace(/\.0$/, "");
    return {number, unit: isImperial ? "lb" : "kg"};
  },
  temperature: (value, {units}) =>
    units === "imperial" ? {number: grouped(value * 1.8 + 32), unit: "°F"} : {number: grouped(value), unit: "°C"},
  share: (value) => ({number: grouped(value * 100), unit: "%"}),
  count: (value) => ({number: grouped(value), unit: ""}),
};

/**
 * A value in SI units as a number and its unit; unknown is `--` and never 0.
 *
 * @param {string} quantity
 * @param {number | null | undefined} value
 * @param {Options} [options]
 * @returns {Text}
 */
export function format(quantity, value, options = {}) {
  const write = quantities[quantity];
  return value === undefined || value === null || !Number.isFinite(value) || !write ? unknown : write(value, options);
}

/**
 * `5:45 /km`, `--`.
 *
 * @param {Text} text
 */
export const joined = ({number, unit}) => (unit ? `${number} ${unit}` : number);

/**
 * `8 °C · 76 %`.
 *
 * @param {number} temperature @param {number | undefined} humidity @param {Options} [options]
 */
export function weather(temperature, humidity, options = {}) {
  const parts = [format("temperature", temperature, options)];
  if (humidity !== undefined) parts.push(format("share", humidity));
  return parts.map(joined).join(" · ");
}

/** Where this browser is: a workout that it starts has this zone. */
export const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
let readerZone = browserZone;

/** The reader's zone: the profile's, else the browser's. */
export const ownZone = () => readerZone;

/** @param {string | undefined} zone the profile's */
export const useZone = (zone) => void (readerZone = zone ?? browserZone);

/** @param {number} time @param {string | undefined} zone @param {Intl.DateTimeFormatOptions} options */
function parts(time, zone, options) {
  let written;
  // A device may know a zone that the browser does not.
  for (const timeZone of [zone, readerZone, browserZone]) {
    try {
      written ??= new Intl.DateTimeFormat("en-GB", {...options, timeZone, hourCycle: "h23"}).formatToParts(time * 1000);
    } catch {
    }
  }
  return Object.fromEntries((written ?? []).map(({type, value}) => [type, value]));
}

/**
 * `06:15`, or `6:15 am` where people write so.
 *
 * @param {Record<string, string | undefined>} parts @param {string} [locale]
 */
function hours(parts, locale) {
  const {hour, minute, second} = parts;
  const is12 = new Intl.DateTimeFormat(locale, {hour: "numeric"}).resolvedOptions().hour12;
  const rest = second === undefined ? minute : `${minute}:${second}`;
  return is12 ? `${Number(hour) % 12 || 12}:${rest} ${Number(hour) < 12 ? "am" : "pm"}` : `${hour}:${rest}`;
}

/**
 * `Sat 21 Nov 2026, 06:15`, or with `6:15 am` where people write so.
 *
 * @param {number} time Unix seconds @param {string} [zone] the workout's; by default the reader's @param {string} [locale]
 */
export function when(time, zone = readerZone, locale) {
  const p = parts(time, zone, {
    weekday: "short",
    day: "numeric",
    month: "numeric",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  return `${p.weekday} ${Number(p.day)} ${months[Number(p.month) - 1]} ${p.year}, ${hours(p, locale)}`;
}

/**
 * The calendar's day in a zone, for comparison.
 *
 * @param {number} time Unix seconds @param {string} [zone] by default the reader's
 */
export function day(time, zone = readerZone) {
  const p = parts(time, zone, {day: "numeric", month: "numeric", year: "numeric"});
  return `${p.year}-${p.month}-${p.day}`;
}

/**
 * `12:01:07` or `12:01:07 pm`.
 *
 * @param {number} time Unix seconds
 * @param {{ zone?: string, locale?: string, hasSeconds?: boolean }} [options] `zone`: by default the reader's
 */
export function timeOfDay(time, options = {}) {
  const {zone = readerZone, locale, hasSeconds = true} = options;
  const second = hasSeconds ? {second: "2-digit"} : {};
  return hours(parts(time, zone, /** @type {any} */ ({hour: "2-digit", minute: "2-digit", ...second})), locale);
}
