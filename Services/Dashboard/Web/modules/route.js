// The geometry of a route. No DOM.

/**
 * Lines of a route, oldest first, without points that are not on the earth. Longitudes of a line continue beyond ±180°.
 *
 * @param {string[]} polylines precision 5 @returns {[number, number][][]}
 */
export function decode(polylines) {
  return polylines.map((text) => {
    /** @type {[number, number][]} */
    const points = [];
    let [index, latitude, longitude] = [0, 0, 0];
    const number = () => {
      let [result, shift, byte] = [0, 0, 0];
      do {
        byte = text.charCodeAt(index++) - 63;
        result += (byte & 31) * 2 ** shift;
        shift += 5;
      } while (byte >= 32);
      return result % 2 === 1 ? -(result + 1) / 2 : result / 2;
    };
    while (index < text.length) {
      latitude += number();
      longitude += number();
      if (Math.abs(latitude) <= 90e5 && Math.abs(longitude) <= 720e5) points.push([latitude / 1e5, longitude / 1e5]);
    }
    return points;
  });
}

/**
 * Metres.
 *
 * @param {[number, number]} a @param {[number, number]} b
 */
export function distance(a, b) {
  const radians = Math.PI / 180;
  const x = (b[1] - a[1]) * radians * Math.cos(((a[0] + b[0]) / 2) * radians);
  return Math.hypot(x, (b[0] - a[0]) * radians) * 6371008.8;
}

/**
 * Metres.
 *
 * @param {[number, number][]} line
 */
export const lengthOf = (line) => line.slice(1).reduce((sum, place, index) => sum + distance(line[index], place), 0);

/** Metres between a position and the same with five digits, and a little more. */
const rounding = 2;

/**
 * Lets a line end at the position. Its last point is the same position, rounded: both would turn the line back by a metre.
 *
 * @param {[number, number][]} line @param {[number, number]} here
 */
export function endAt(line, here) {
  const last = line.at(-1);
  if (last && distance(last, here) < rounding) line.pop();
  line.push(here);
}

/**
 * How many points two lines have in common at their beginning.
 *
 * @param {[number, number][]} a @param {[number, number][]} b
 */
export function sharedLength(a, b) {
  const index = a.findIndex((place, i) => place[0] !== b[i]?.[0] || place[1] !== b[i]?.[1]);
  return index < 0 ? a.length : index;
}

/**
 * Lines cut into at most `count` pieces of like length, oldest first.
 *
 * @param {[number, number][][]} lines @param {number} count
 */
export function pieces(lines, count) {
  const points = lines.reduce((sum, line) => sum + line.length, 0);
  const size = Math.max(2, Math.ceil(points / count));
  /** @type {{ points: [number, number][], age: number }[]} */
  const all = [];
  let seen = 0;
  for (const line of lines) {
    for (let start = 0; start < line.length - 1; start += size - 1) {
      const part = line.slice(start, start + size);
      all.push({points: part, age: points > 1 ? (seen + start + part.length) / points : 1});
    }
    seen += line.length;
  }
  return all;
}

/**
 * The grid's spacing in the reader's units.
 *
 * @param {number} metresPerPixel @param {string} units
 */
export function scale(metresPerPixel, units) {
  if (units !== "imperial") {
    const metres = spacing(metresPerPixel);
    return {metres, text: metres >= 1000 ? `${metres / 1000} km` : `${metres} m`};
  }
  const feet = spacing(metresPerPixel / 0.3048);
  if (feet <= 1000) return {metres: feet * 0.3048, text: `${feet} ft`};
  const miles = spacing(metresPerPixel / 1609.344);
  return {metres: miles * 1609.344, text: `${miles} mi`};
}

/**
 * The grid's spacing: 1, 2 or 5 times a power of ten, at least 48 pixels.
 *
 * @param {number} metresPerPixel
 */
export function spacing(metresPerPixel) {
  const least = metresPerPixel * 48;
  const power = 10 ** Math.floor(Math.log10(least));
  const metres = [1, 2, 5, 10].map((n) => n * power).find((m) => m >= least) ?? 10 * power;
  return Number(metres.toPrecision(1));
}
