// What charts show of each quantity: its label, unit, colour and marks. No DOM.

import {format, joined, minutes, rowOf} from "./format.js";

/** In the order in which they are shown. */
export const chartKeys = ["heartRate", "speed", "elevation", "power", "cadence"];

/**
 * @param {string} key @param {import("./format.js").Options} options @param {number[]} [bands] limits between heart rate zones
 * @returns {import("./chart.js").Kind}
 */
export function chartKind(key, options, bands) {
  const {units} = options;
  const isPaced = rowOf(options).figure === "pace" || rowOf(options).swims;
  /** @param {string} quantity */
  const text = (quantity) => (/** @type {number} */ value) => joined(format(quantity, value, options));
  /** @param {number} unit */
  const whole = (unit) => (/** @type {number} */ value) => String(Math.round(value / unit * 10) / 10);
  switch (key) {
    case "heartRate":
      return {
        key,
        label: "Heart rate",
        unit: "bpm",
        color: "heart",
        format: text("heartRate"),
        mark: whole(1),
        least: 20,
        bands
      };
    case "speed": {
      if (isPaced) {
        const length = rowOf(options).swims ? (units === "imperial" ? 91.44 : 100)
          : units === "imperial"            ? 1609.344
                                            : 1000;
        // The slowest pace of live metrics, in metres a second: below it a position only drifts.
        const slowest = rowOf(options).swims ? 1 / 6 : 1 / 1.8;
        return {
          key,
          label: "Pace",
          unit: format("pace", 300, options).unit,
          color: "route",
          format: (value) => text("pace")(value > slowest ? 1000 / value : NaN),
          mark: minutes,
          isReversed: true,
          least: 20,
          widths: [5, 10, 15, 30, 60, 120, 300, 600],
          value: (speed) => speed > slowest ? length / speed : NaN
        };
      }
      const unit = units === "imperial" ? 0.44704 : 1 / 3.6;
      return {
        key,
        label: "Speed",
        unit: format("speed", 3, options).unit,
        color: "route",
        format: text("speed"),
        mark: whole(1),
        least: 4,
        value: (speed) => speed / unit
      };
    }
    case "elevation": {
      const unit = units === "imperial" ? 0.3048 : 1;
      return {
        key,
        label: "Elevation",
        unit: format("height", 3, options).unit,
        color: "elevation",
        format: text("height"),
        mark: whole(1),
        least: 20,
        value: (metres) => metres / unit,
        isFilled: true
      };
    }
    case "power":
      return {key, label: "Power", unit: "W", color: "power", format: text("power"), mark: whole(1), least: 50};
    default:
      return {
        key,
        label: "Cadence",
        unit: format("cadence", 3, options).unit,
        color: "cadence",
        format: text("cadence"),
        mark: whole(1),
        least: 20
      };
  }
}
