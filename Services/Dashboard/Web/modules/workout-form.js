// The fields of an edit: what a person changed, in the units of the bus. No DOM.

import {timeText, readTime, readWeight, weightText, readWhole} from "./plan-text.js";

/** @typedef {import("./format.js").Units} Units */
/** @typedef {Record<string, string>} Values of the form's fields */

/**
 * @param {any} workout the record @param {any} profile the session's: `edit` and `recorded`, if it was edited @param {Units} units
 * @returns {Values}
 */
export function formValues(workout, profile, units) {
  const edit = profile?.edit ?? {};
  const {start} = recordedSpan(workout, profile);
  return {
    name: workout.name,
    activity: workout.activity,
    environment: workout.environment,
    note: edit.note ?? "",
    exertion: edit.exertion === undefined ? "" : String(edit.exertion),
    trimStart: edit.trimStart === undefined ? "" : timeText(Math.round(edit.trimStart - start)),
    trimEnd: edit.trimEnd === undefined ? "" : timeText(Math.round(edit.trimEnd - start)),
    weight: edit.weight === undefined ? "" : weightText(edit.weight, units),
    maximumHeartRate: edit.maximumHeartRate === undefined ? "" : String(edit.maximumHeartRate),
  };
}

/**
 * The workout as it was recorded: trims count from its start.
 *
 * @param {any} workout @param {any} profile
 */
export function recordedSpan(workout, profile) {
  const {startedAt = workout.startedAt, endedAt = workout.endedAt} = profile?.recorded ?? {};
  return {start: startedAt, end: endedAt};
}

/**
 * What an edit sends: the changed fields alone; an emptied one as `null`, which makes it as recorded.
 *
 * @param {Values} before @param {Values} after @param {{ start: number, end: number }} span of the recording @param {Units} units
 * @returns {{ fields: Record<string, unknown>, wrong?: { field: string, text: string } }}
 */
export function editFields(before, after, {start, end}, units) {
  /** @type {Record<string, unknown>} */
  const fields = {};
  /** @type {{ field: string, text: string } | undefined} */
  let wrong;
  /** @param {string} field @param {string} text @returns {undefined} */
  const refuse = (field, text) => void (wrong ??= {field, text});
  /** @type {Record<string, (text: string) => unknown>} */
  const read = {
    name: (text) => (new TextEncoder().encode(text).length > 200 ? refuse("name", "The name is too long.") : text),
    activity: (text) => text,
    environment: (text) => text,
    note: (text) => ([...text].length > 4000 ? refuse("note", "The note has more than 4,000 characters.") : text),
    exertion: (text) => Number(text),
    trimStart: (text) => trim("trimStart", text),
    trimEnd: (text) => trim("trimEnd", text),
    weight(text) {
      const weight = readWeight(text, units);
      return weight !== undefined && weight >= 20 && weight <= 400 ? weight
                                                                   : refuse("weight", "A weight is 20 to 400 kg.");
    },
    maximumHeartRate(text) {
      const rate = readWhole(text);
      return rate !== undefined && rate >= 80 && rate <= 250
        ? rate
        : refuse("maximumHeartRate", "A maximum heart rate is 80 to 250 bpm.");
    },
  };
  /** @param {string} field @param {string} text */
  function trim(field, text) {
    // `12:30` are minutes, and so is `90`: seconds are too few to trim.
    const seconds = /^\d+$/.test(text) ? Number(text) * 60 : readTime(text);
    return seconds !== undefined && seconds >= 0 && seconds <= Math.ceil(end - start)
      ? Math.min(end, start + seconds)
      : refuse(field, `A time is at most ${timeText(Math.floor(end - start))}, since the start.`);
  }
  for (const [field, value] of Object.entries(after)) {
    const text = value.trim();
    if (text === before[field]?.trim()) continue;
    fields[field] = text === "" ? null : read[field](text);
  }
  const [from, to] = ["trimStart", "trimEnd"].map((field) => {
    const text = after[field]?.trim();
    return text ? trim(field, text) : undefined;
  });
  if ((from ?? start) >= (to ?? end)) refuse("trimEnd", "The workout ends after it starts.");
  return wrong ? {fields: {}, wrong} : {fields};
}
