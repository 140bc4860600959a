// A browser's position as an item of `locations`. No DOM.

/** Seconds from which a browser's clock is off. */
export const clockTolerance = 2;

/**
 * The server's time of an event of this browser.
 *
 * @param {number} timestamp milliseconds of this browser's clock
 * @param {number} ahead seconds by which the server's clock is ahead, 0 if this browser's clock is right
 */
export const timeOf = (timestamp, ahead) => round(timestamp / 1000 + ahead, 3);

/** @param {number} value @param {number} digits */
const round = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;

/** @param {GeolocationPosition} position @param {number} ahead see `timeOf` @returns {import("./stream.js").Item} */
export function itemOf({timestamp, coords}, ahead) {
  /** @type {[string, number | null, number][]} */
  const fields = [
    ["la", coords.latitude, 7],
    ["lo", coords.longitude, 7],
    ["al", coords.altitude, 2],
    ["ac", coords.accuracy, 2],
    ["va", coords.altitudeAccuracy, 2],
    ["v", coords.speed, 2],
    ["co", coords.heading, 1],
  ];
  const known = fields.filter(([, value]) => typeof value === "number" && Number.isFinite(value));
  return {
    c: timeOf(timestamp, ahead),
    ...Object.fromEntries(known.map(([key, value, digits]) => [key, round(/** @type {number} */ (value), digits)]))
  };
}

/** Seconds from which a step of this browser's clock is ignored. */
const ignoredStep = 60;

/** The server's time, also after a step of this browser's clock. A value without a clock. */
export class SteadyClock {
  /** @type {number | undefined} */
  #ahead;

  /**
   * @param {number} serverNow by the clock of this browser @param {number} steady seconds of a clock that does not step
   * @param {boolean} mayHaveSlept since the last call: then the steady clock may have stood still
   */
  now(serverNow, steady, mayHaveSlept) {
    const ahead = serverNow - steady;
    const isNear = Math.abs(ahead - (this.#ahead ?? ahead)) < ignoredStep;
    if (isNear || mayHaveSlept) this.#ahead = ahead;
    return steady + (this.#ahead ?? ahead);
  }
}
