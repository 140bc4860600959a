// The export of Apple's Health app: one XML file of up to some gigabytes with all records and workouts, and a GPX file for each
// route. Each workout becomes a TCX file, from its route and the heart rate of its time. No DOM.

import {grouped} from "./format.js";
import {activityOf} from "./recorded.js";

/**
 * @typedef {import("./archive.js").Entry} Entry
 * @typedef {import("./archive-kinds.js").Found} Found
 * @typedef {import("./archive-kinds.js").Ignored} Ignored
 * @typedef {{ type: string, start: number, end: number, distance?: number, energy?: number, pauses: number[],
 *   resumes: number[], routes: string[], times: number[], rates: number[] }} Workout times in Unix seconds; `distance` in
 *   metres, `energy` in kcal; `rates`: of the heart, at `times`
 */

/** Heart rates in memory, and bytes of a tag. */
const [rateLimit, tagLimit] = [8_000_000, 1 << 20];
const workoutTags =
  /<(\/?Workout|\/?WorkoutActivity|WorkoutEvent|WorkoutStatistics|FileReference)(?=[\s/>])((?:[^"'>]|"[^"]*"|'[^']*')*)>/g;
const rateTags = /<(Record)\s+type="HKQuantityTypeIdentifierHeartRate"((?:[^"'>]|"[^"]*"|'[^']*')*)>/g;
/** @type {Record<string, number>} */
const metres = {
  km: 1000,
  mi: 1609.344,
  m: 1,
  ft: 0.3048,
  yd: 0.9144
};
/** @type {Record<string, number>} */
const kilocalories = {
  kcal: 1,
  Cal: 1,
  cal: 0.001,
  kJ: 1 / 4.184,
  J: 1 / 4184
};
const distances = /^HKQuantityTypeIdentifierDistance/;

/**
 * The file of records in an archive; its name is of the phone's language.
 *
 * @param {Entry[]} entries @returns {Promise<Entry | undefined>}
 */
export async function isHealthExport(entries) {
  for (const entry of entries) {
    if (!/^([^/]+\/)?[^/]+\.xml$/i.test(entry.path) || /_cda\.xml$/i.test(entry.path)) continue;
    const reader = entry.stream().getReader();
    let head = "";
    const decoder = new TextDecoder();
    // The document type before it takes some kilobytes.
    while (head.length < 65_536 && !head.includes("<HealthData")) {
      const {done, value} = await reader.read();
      if (done) break;
      head += decoder.decode(value, {stream: true});
    }
    reader.cancel().catch(() => {});
    if (head.includes("<HealthData")) return entry;
  }
  return undefined;
}

/**
 * The tags of a stream that a pattern finds, with their attributes.
 *
 * @param {Entry} entry @param {RegExp} pattern @param {(tag: string, attributes: string) => void} onTag
 * @param {{ signal?: AbortSignal, onProgress: (bytes: number) => void }} options
 */
async function readTags(entry, pattern, onTag, {signal, onProgress}) {
  const reader = entry.stream().getReader();
  const decoder = new TextDecoder();
  let [rest, bytes] = ["", 0];
  try {
    for (;;) {
      const {done, value} = await reader.read();
      signal?.throwIfAborted();
      if (done) return;
      onProgress(bytes += value.length);
      const text = rest + decoder.decode(value, {stream: true});
      let end = 0;
      for (const match of text.matchAll(pattern)) {
        onTag(match[1], match[2]);
        end = /** @type {number} */ (match.index) + match[0].length;
      }
      // A tag that is not whole begins at the last bracket: attributes have none.
      const tag = text.lastIndexOf("<");
      rest = text.slice(Math.max(end, tag < 0 ? text.length : tag));
      if (rest.length > tagLimit) throw new Error("export.xml is damaged: export it again");
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} attributes @param {string} name */
const valueOf = (attributes, name) => new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";

/** @param {string} text `2023-11-05 08:00:00 +0100` @returns {number} Unix seconds, or not a number */
const timeOf = (text) => Date.parse(text.replace(/^(\S+) (\S+) ([+-]\d\d)(\d\d)$/, "$1T$2$3:$4")) / 1000;

/** @param {string} attributes @returns {Workout} */
const workoutOf = (attributes) => {
  const scaled = (/** @type {string} */ name, /** @type {Record<string, number>} */ units) => {
    const value = Number(valueOf(attributes, name)) * units[valueOf(attributes, `${name}Unit`)];
    return value > 0 ? value : undefined;
  };
  return {
    type: valueOf(attributes, "workoutActivityType"),
    start: timeOf(valueOf(attributes, "startDate")),
    end: timeOf(valueOf(attributes, "endDate")),
    // Since iOS 16 there are statistics in their place.
    distance: scaled("totalDistance", metres),
    energy: scaled("totalEnergyBurned", kilocalories),
    pauses: [],
    resumes: [],
    routes: [],
    times: [],
    rates: []
  };
};

/** @param {Workout} workout @param {string} attributes of its statistics */
function addStatistics(workout, attributes) {
  const type = valueOf(attributes, "type");
  const [sum, unit] = [Number(valueOf(attributes, "sum")), valueOf(attributes, "unit")];
  if (distances.test(type) && sum * metres[unit] > 0) workout.distance = sum * metres[unit];
  if (type === "HKQuantityTypeIdentifierActiveEnergyBurned" && sum * kilocalories[unit] > 0)
    workout.energy = sum * kilocalories[unit];
}

/**
 * The workouts of an export.
 *
 * @param {Entry} health @param {Entry[]} entries @param {import("./archive-kinds.js").Options} options
 * @returns {Promise<{ found: Found[], ignored: Ignored[], routes: Set<Entry> }>} `routes`: those of workouts
 */
export async function appleWorkouts(health, entries, {onProgress = () => {}, signal}) {
  /** @type {Workout[]} */
  const workouts = [];
  /** @type {Workout | undefined} */
  let open;
  let isInPart = false;
  const show = (/** @type {number} */ before) => ({
    signal,
    onProgress: (/** @type {number} */ bytes) =>
      onProgress(Math.round((before + bytes) / 1e6), Math.round(2 * health.size / 1e6), "Apple Health, MB")
  });
  await readTags(health, workoutTags, (tag, attributes) => {
    if (tag === "Workout") {
      [open, isInPart] = [workoutOf(attributes), false];
      if (open.end > open.start) workouts.push(open);
      if (attributes.endsWith("/")) open = undefined;
    } else if (tag === "/Workout") open = undefined;
    // A part of a workout repeats what the workout has.
    else if (tag === "WorkoutActivity") isInPart = !attributes.endsWith("/");
    else if (tag === "/WorkoutActivity") isInPart = false;
    else if (!open || isInPart) return;
    else if (tag === "WorkoutStatistics") addStatistics(open, attributes);
    else if (tag === "FileReference") open.routes.push(valueOf(attributes, "path"));
    else if (/Pause$/.test(valueOf(attributes, "type"))) open.pauses.push(timeOf(valueOf(attributes, "date")));
    else if (/Resume$/.test(valueOf(attributes, "type"))) open.resumes.push(timeOf(valueOf(attributes, "date")));
  }, show(0));
  workouts.sort((one, other) => one.start - other.start);
  const isWhole = await addRates(workouts, health, show(health.size));
  const files = new Map(entries.map((entry) => [entry.path, entry]));
  const folder = health.path.slice(0, health.path.lastIndexOf("/") + 1);
  /** @type {Set<Entry>} */
  const used = new Set();
  const found = workouts.map((workout) => {
    const routes = workout.routes.flatMap((path) => files.get(folder + path.replace(/^\//, "")) ?? []);
    for (const route of routes) used.add(route);
    return fileOf(workout, routes);
  });
  const why = `more than ${grouped(rateLimit)} of them: some workouts are without`;
  return {found, ignored: isWhole ? [] : [{name: "Heart rates", why}], routes: used};
}

/**
 * @param {Workout[]} workouts sorted by start @param {Entry} health @param {Parameters<typeof readTags>[3]} options
 * @returns whether all were kept
 */
async function addRates(workouts, health, options) {
  // A workout that contains others begins before them: those that may still be open, from each on.
  const firsts = workouts.map((_, index) => index);
  for (let index = 1, first = 0; index < workouts.length; index++) {
    while (first < index && workouts[first].end < workouts[index].start) first += 1;
    firsts[index] = first;
  }
  let count = 0;
  await readTags(health, rateTags, (_, attributes) => {
    const time = timeOf(valueOf(attributes, "startDate"));
    let [low, high] = [0, workouts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (workouts[middle].start <= time) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || count >= rateLimit) return;
    for (let index = firsts[low - 1]; index < low; index++) {
      if (workouts[index].end < time) continue;
      workouts[index].times.push(time);
      workouts[index].rates.push(Number(valueOf(attributes, "value")));
      count += 1;
    }
  }, options);
  return count < rateLimit;
}

/** @param {Workout} workout @param {Entry[]} routes @returns {Found} */
function fileOf(workout, routes) {
  const activity = activityOf(workout.type);
  const date = new Date(workout.start * 1000).toISOString().slice(0, 19).replace(/[T:]/g, "-");
  const content = async () => {
    const texts = await Promise.all(routes.map(async (route) => (await route.content()).text()));
    return new Blob([tcxOf(workout, texts.flatMap(pointsOf))]);
  };
  return {name: `apple-health-${date}.tcx`, activity, at: workout.start, size: 0, content};
}

/** @typedef {{ time: number, latitude?: string, longitude?: string, altitude?: string, rate?: number }} Point */

/** @param {string} text a route in GPX @returns {Point[]} */
function pointsOf(text) {
  return [...text.matchAll(/<trkpt\s([^>]*)>([^]*?)<\/trkpt>/g)].flatMap(([, attributes, body]) => {
    const number = (/** @type {string} */ value) =>
      (Number.isFinite(parseFloat(value)) ? String(parseFloat(value)) : undefined);
    const [latitude, longitude] = [number(valueOf(` ${attributes}`, "lat")), number(valueOf(` ${attributes}`, "lon"))];
    const time = Date.parse(/<time>([^<]*)</.exec(body)?.[1] ?? "") / 1000;
    if (!latitude || !longitude || !Number.isFinite(time)) return [];
    return [{time, latitude, longitude, altitude: number(/<ele>([^<]*)</.exec(body)?.[1] ?? "")}];
  });
}

/** @param {number} time */
const iso = (time) => new Date(time * 1000).toISOString();

/** @param {Point} point */
const pointText = ({time, latitude, longitude, altitude, rate}) => [`<Trackpoint><Time>${iso(time)}</Time>`,
  latitude ? `<Position><LatitudeDegrees>${latitude}</LatitudeDegrees><LongitudeDegrees>${
               longitude}</LongitudeDegrees></Position>`
           : "",
  altitude ? `<AltitudeMeters>${altitude}</AltitudeMeters>` : "",
  rate ? `<HeartRateBpm><Value>${Math.round(rate)}</Value></HeartRateBpm>` : "", "</Trackpoint>"]
                                                                     .join("");

/**
 * @param {Workout} workout @param {Point[]} route
 * @returns {string} a TCX file of one lap, with a track for each stretch between pauses
 */
export function tcxOf({type, start, end, distance, energy, pauses, resumes, times, rates}, route) {
  /** @type {Map<number, Point>} */
  const points = new Map(route.map((point) => [Math.round(point.time), point]));
  for (const [index, time] of times.entries()) {
    const second = Math.round(time);
    points.set(second, {time, ...points.get(second), rate: rates[index]});
  }
  const changes = [...pauses.map((time) => ({time, isPause: true})), ...resumes.map((time) => ({time, isPause: false}))]
                    .filter(({time}) => time >= start && time <= end)
                    .sort((one, other) => one.time - other.time);
  /** @type {[number, number][]} */
  const stretches = [];
  let from = start;
  let isPaused = false;
  for (const {time, isPause} of changes) {
    if (isPause === isPaused) continue;
    if (isPause && time > from) stretches.push([from, time]);
    [from, isPaused] = [time, isPause];
  }
  if (!isPaused && end > from) stretches.push([from, end]);
  const active = stretches.reduce((sum, [begin, stop]) => sum + stop - begin, 0);
  const sorted =
    [...points.values()].filter(({time}) => time >= start && time <= end).sort((one, other) => one.time - other.time);
  const tracks = stretches.map(([begin, stop]) => {
    const own = sorted.filter(({time}) => time >= begin && time <= stop);
    // The importer reads a pause from the end of a track to the beginning of the next.
    if (own[0]?.time !== begin) own.unshift({time: begin});
    if (own[own.length - 1].time !== stop) own.push({time: stop});
    return `<Track>${own.map(pointText).join("")}</Track>`;
  });
  return [
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
    "<TrainingCenterDatabase xmlns=\"http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2\"><Activities>",
    // TCX knows Running, Biking and Other; the importer reads our names too.
    `<Activity Sport="${activityOf(type) ?? "other"}"><Id>${iso(start)}</Id><Lap StartTime="${iso(start)}">`,
    `<TotalTimeSeconds>${active}</TotalTimeSeconds><DistanceMeters>${distance ?? 0}</DistanceMeters>`,
    `<Calories>${Math.round(energy ?? 0)}</Calories><Intensity>Active</Intensity><TriggerMethod>Manual</TriggerMethod>`,
    ...tracks, "</Lap></Activity></Activities></TrainingCenterDatabase>\n"
  ].join("");
}
