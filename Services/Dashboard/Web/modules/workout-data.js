// What happened when in a workout: lines of values over its active time, where it was, and the stretches that can be shown.
// No DOM, no clock.

/**
 * @typedef {Record<string, Float64Array>} Columns equally long; `NaN` where a value is unknown
 * @typedef {{ t: Float64Array, v: Float64Array }} Line values at active seconds; `NaN` breaks it
 * @typedef {{ duration: number, breaks: { t: number, seconds: number }[], lines: Record<string, Line>, distance?: Line,
 *   places?: { t: Float64Array, la: Float64Array, lo: Float64Array } }} Details `breaks`: pauses
 * @typedef {{ from: number, to: number }} Stretch active seconds
 */

/**
 * The columns of all chunks, one behind the other. Columns of lists are left out.
 *
 * @param {import("./chunks.js").Chunk[]} chunks in order @returns {Columns}
 */
export function merge(chunks) {
  const count = chunks.reduce((sum, {columns}) => sum + columns.c.length, 0);
  /** @type {Columns} */
  const merged = {};
  let start = 0;
  for (const {columns} of chunks) {
    for (const [key, values] of Object.entries(columns)) {
      if (values.some(Array.isArray)) continue;
      merged[key] ??= new Float64Array(count).fill(NaN);
      values.forEach((value, index) => merged[key][start + index] = value ?? NaN);
    }
    start += columns.c.length;
  }
  return merged;
}

/** A value lasts until the next, but not across a longer silence. */
const silence = 15;
/**
 * Seconds by which a pause moves what follows it, so that the two values at a pause differ in time.
 */
const step = 0.001;

/** @param {[number, number | null][]} segments */
const closed = (segments) => segments.map(([start, end]) => [start, end ?? start]);

/**
 * Active seconds at a moment.
 *
 * @param {[number, number | null][]} segments @param {number} time Unix seconds
 */
export function activeAt(segments, time) {
  let sum = 0;
  for (const [index, [start, end]] of closed(segments).entries()) {
    if (time <= end || index === segments.length - 1) return sum + Math.min(Math.max(time, start), end) - start;
    sum += end - start + step;
  }
  return 0;
}

/**
 * The moment at which a number of active seconds had passed.
 *
 * @param {[number, number | null][]} segments @param {number} seconds
 */
export function momentAt(segments, seconds) {
  let [rest, last] = [seconds, 0];
  for (const [start, end] of closed(segments)) {
    if (rest <= end - start) return start + Math.max(0, rest);
    rest -= end - start + step;
    last = end;
  }
  return last;
}

/** @param {[number, number | null][]} segments */
export function breaksOf(segments) {
  let sum = 0;
  return closed(segments).slice(0, -1).map(([start, end], index) => {
    sum += end - start + step;
    return {t: sum - step / 2, seconds: Math.max(0, segments[index + 1][0] - end)};
  });
}

/**
 * Active seconds of sorted moments.
 *
 * @param {[number, number | null][]} segments @param {Float64Array} times
 */
function positions(segments, times) {
  const all = closed(segments);
  let [index, sum] = [0, 0];
  return times.map((time) => {
    while (index < all.length - 1 && time > all[index][1]) {
      sum += all[index][1] - all[index][0] + step;
      index += 1;
    }
    const [start, end] = all[index] ?? [time, time];
    return sum + Math.min(Math.max(time, start), end) - start;
  });
}

/**
 * The longest time between two values of one line: some devices give one each length of a pool.
 *
 * @param {ArrayLike<number>} t @param {ArrayLike<number>} values
 */
function longestOf(t, values) {
  /** @type {number[]} */
  const waits = [];
  let last = NaN;
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    if (t[i] > last) waits.push(t[i] - last);
    last = t[i];
  }
  const usual = waits.sort((a, b) => a - b)[waits.length >> 1] ?? 0;
  return Math.min(120, Math.max(silence, 2.5 * usual));
}

/**
 * A line of the known values, broken by pauses and long silences.
 *
 * @param {ArrayLike<number>} t @param {ArrayLike<number>} values @param {{ t: number }[]} breaks
 * @param {number} [longest] seconds between two values of one line
 * @returns {Line | undefined} `undefined` without two values
 */
export function lineOf(t, values, breaks, longest = longestOf(t, values)) {
  /** @type {number[][]} */
  const [times, known] = [[], []];
  let [next, last] = [0, -Infinity];
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    let isBroken = t[i] - last > longest && last > -Infinity;
    while (next < breaks.length && t[i] > breaks[next].t) {
      isBroken ||= last > -Infinity;
      next += 1;
    }
    if (isBroken) {
      times.push((last + t[i]) / 2);
      known.push(NaN);
    }
    times.push(t[i]);
    known.push(values[i]);
    last = t[i];
  }
  return times.length < 2 ? undefined : {t: Float64Array.from(times), v: Float64Array.from(known)};
}

/**
 * Sums that rise to a total.
 *
 * @param {Float64Array} t @param {Float64Array} deltas @param {number | undefined} total
 */
function sums(t, deltas, total) {
  let sum = 0;
  const v = Float64Array.from(deltas, (delta) => sum += Number.isFinite(delta) ? delta : 0);
  // Lengths of a pool count as metres.
  const scale = total !== undefined && sum > 0 ? total / sum : 1;
  return sum > 0 ? {t, v: v.map((value) => value * scale)} : undefined;
}

/** @param {Columns} columns @param {string} key */
const has = (columns, key) => columns[key]?.some((value) => Number.isFinite(value)) ?? false;

/**
 * The distance over time: that which samples measure, else the route's, else that of lengths or speeds.
 *
 * @param {Columns} series @param {Float64Array} t of it @param {Columns} track @param {Float64Array} at of it @param {any} workout
 * @returns {Line | undefined}
 */
function distanceOf(series, t, track, at, workout) {
  if (has(series, "d")) return sums(t, series.d, undefined);
  if (has(track, "d")) {
    let last = 0;
    return {t: at, v: track.d.map((value) => last = Number.isFinite(value) ? Math.max(last, value) : last)};
  }
  if (has(series, "ln")) return sums(t, series.ln, workout.distance);
  if (!has(series, "v")) return undefined;
  const metres = series.v.map((speed, i) => speed * (i > 0 ? Math.min(t[i] - t[i - 1], silence) : 0));
  return sums(t, metres, workout.distance);
}

/** Seconds over which a speed is measured from distances. */
const speedWindow = 12;

/**
 * Metres per second between points that are some seconds apart, never across a pause.
 *
 * @param {Line} distance @param {{ t: number }[]} breaks @returns {Line | undefined}
 */
export function speedOf({t, v}, breaks) {
  // Only what moves: a pool's metres come a length at a time.
  const moved = [...t.keys()].filter((i) => i === 0 || v[i] > v[i - 1]);
  /** @type {number[][]} */
  const [times, speeds] = [[], []];
  let [first, next] = [0, 0];
  let longest = silence;
  for (let k = 1; k < moved.length; k++) {
    const i = moved[k];
    while (next < breaks.length && t[i] > breaks[next].t) {
      first = k;
      next += 1;
    }
    while (first + 1 < k && t[i] - t[moved[first + 1]] >= speedWindow) first += 1;
    const from = moved[first];
    if (t[i] - t[from] < Math.min(speedWindow, 4)) continue;
    times.push((t[i] + t[from]) / 2);
    speeds.push((v[i] - v[from]) / (t[i] - t[from]));
    longest = Math.max(longest, Math.min(90, (t[i] - t[from]) * 2));
  }
  return lineOf(times, speeds, breaks, longest);
}

/**
 * @param {any} workout the record @param {Columns} series @param {Columns} track @returns {Details}
 */
export function details(workout, series, track) {
  const {segments} = workout;
  const breaks = breaksOf(segments);
  const none = new Float64Array();
  const t = positions(segments, series.c ?? none);
  const at = positions(segments, track.c ?? none);
  const distance = distanceOf(series, t, track, at, workout);
  /** @type {Record<string, Line>} */
  const lines = {};
  /** @param {string} name @param {Line | undefined} line */
  const add = (name, line) => {
    if (line) lines[name] = line;
  };
  add("heartRate", lineOf(t, series.h ?? [], breaks));
  add("speed", (distance && speedOf(distance, breaks)) ?? lineOf(t, series.v ?? [], breaks));
  add("elevation", has(series, "al") ? lineOf(t, series.al, breaks) : lineOf(at, track.al ?? [], breaks));
  add("power", lineOf(t, series.w ?? [], breaks));
  add("cadence", lineOf(t, series.cd ?? [], breaks));
  const isPlaced = has(track, "la") && has(track, "lo");
  return {
    duration: workout.activeDuration + step * breaks.length,
    breaks,
    lines,
    ...(distance && {distance}),
    ...(isPlaced && {places: {t: at, la: track.la, lo: track.lo}})
  };
}

/**
 * The index of the last entry that is not above a value; -1 if all are.
 *
 * @param {ArrayLike<number>} rising @param {number} value
 */
export function indexAt(rising, value) {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Between two entries, the value between them; beyond the first and the last, theirs.
 *
 * @param {ArrayLike<number>} x rising @param {ArrayLike<number>} y @param {number} value
 */
export function between(x, y, value) {
  const index = indexAt(x, value);
  if (index < 0) return y[0];
  if (index >= x.length - 1) return y[x.length - 1];
  const width = x[index + 1] - x[index];
  return width > 0 ? y[index] + (y[index + 1] - y[index]) * (value - x[index]) / width : y[index];
}

/** @param {Details} details @param {number} t @returns {number | undefined} metres */
export const distanceAt = ({distance}, t) => distance && (t < distance.t[0] ? 0 : between(distance.t, distance.v, t));

/** @param {Details} details @param {number} metres */
export const timeAt = ({distance}, metres) => (distance ? between(distance.v, distance.t, metres) : 0);

/**
 * The value that a line shows at a time: the nearest one, if none is broken off in between.
 *
 * @param {Line | undefined} line @param {number} t
 */
export function valueAt(line, t) {
  if (!line) return undefined;
  const index = indexAt(line.t, t);
  const near = [index, index + 1]
                 .filter((i) => i >= 0 && i < line.t.length && Number.isFinite(line.v[i]))
                 .sort((a, b) => Math.abs(line.t[a] - t) - Math.abs(line.t[b] - t))[0];
  return near === undefined || Math.abs(line.t[near] - t) > 2 * silence ? undefined : line.v[near];
}

/**
 * @param {Details} details @param {number} t @returns {[number, number] | undefined}
 */
export function placeAt({places}, t) {
  if (!places || places.t.length === 0) return undefined;
  return [between(places.t, places.la, t), between(places.t, places.lo, t)];
}

// MARK: Stretches

/**
 * Of the splits, one behind the other.
 *
 * @param {any} workout @returns {Stretch[]}
 */
export function splitStretches({splits, segments}) {
  let sum = 0;
  return splits.map((/** @type {any} */ {duration}) => {
    const from = sum;
    sum += duration;
    return {from: shifted(segments, from), to: shifted(segments, sum)};
  });
}

/**
 * Active seconds of the record on the time of the details, where each pause counts a millisecond.
 *
 * @param {[number, number | null][]} segments @param {number} seconds
 */
function shifted(segments, seconds) {
  let [sum, count] = [0, 0];
  for (const [start, end] of closed(segments).slice(0, -1)) {
    sum += end - start;
    if (seconds <= sum) break;
    count += 1;
  }
  return seconds + count * step;
}

/** @param {any} workout @returns {Stretch[]} */
export const lapStretches = ({laps, segments}) => (laps ??
  []).map((/** @type {any} */ lap) => ({from: activeAt(segments, lap.startedAt), to: activeAt(segments, lap.endedAt)}));

/**
 * Of a best, whose seconds count through pauses.
 *
 * @param {any} workout @param {{ t: number, s: number }} best @returns {Stretch}
 */
export function bestStretch({segments}, {t, s}) {
  const from = shifted(segments, t);
  return {from, to: activeAt(segments, momentAt(segments, from) + s)};
}

/**
 * Where the workout seems to have ended: the last movement, if minutes without any follow.
 *
 * @param {Details} details @returns {number | undefined} active seconds
 */
export function lastMovement({duration, distance}) {
  if (!distance || distance.t.length < 2) return undefined;
  const {t, v} = distance;
  const total = v[v.length - 1];
  // The last metres may be those of a walk to the door, or of a position that jumps.
  const index = v.findIndex((metres) => metres >= total - 5);
  return total > 50 && duration - t[index] >= 240 ? t[index] : undefined;
}

// MARK: Beside the page

// The page also runs this module as a worker, so that a long workout does not stop it.
if ("WorkerGlobalScope" in globalThis)
  addEventListener(
    "message", ({data: {parts, workout}}) => postMessage(details(workout, merge(parts.series), merge(parts.track))));
