// The geometry of a route. No DOM.

/**
 * Lines of a route, oldest first.
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
      points.push([latitude / 1e5, longitude / 1e5]);
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
 * The places where each whole split ends.
 *
 * @param {[number, number][][]} lines @param {number} length metres
 */
export function splits(lines, length) {
  /** @type {[number, number][]} */
  const places = [];
  let sum = 0;
  for (const line of lines) {
    for (let i = 1; i < line.length; i++) {
      const step = distance(line[i - 1], line[i]);
      while (step > 0 && sum + step >= (places.length + 1) * length) {
        const part = ((places.length + 1) * length - sum) / step;
        const [[latitude, longitude], [north, east]] = [line[i - 1], line[i]];
        places.push([latitude + part * (north - latitude), longitude + part * (east - longitude)]);
      }
      sum += step;
    }
  }
  return places;
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
      all.push({ points: part, age: points > 1 ? (seen + start + part.length) / points : 1 });
    }
    seen += line.length;
  }
  return all;
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
