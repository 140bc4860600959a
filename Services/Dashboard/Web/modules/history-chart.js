// A chart of lines over one axis, as vectors: it scales with its box and prints. The pages draw their text beside it.

import {make} from "./dom.js";

/**
 * @typedef {{ className: string, points: [number, number][] }} ChartLine `NaN` breaks it
 * @typedef {{ value: number, text: string }} Mark
 * @typedef {{ lines: ChartLine[], areas?: ChartLine[], from: number, to: number, low: number, high: number, xMarks: Mark[], yMarks: Mark[] }} Chart
 *   `areas`: filled between the line and 0
 */

/** Units of the drawing, whatever its pixels. */
const [width, height] = [1000, 300];

/** @param {string} name @param {Record<string, string | number>} attributes */
export function vector(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/**
 * Marks at round values of which at most `count` fit, and limits around them.
 *
 * @param {number} low @param {number} high @param {number} count @param {number[]} [steps] of quantities that are not decimal
 */
export function roundMarks(low, high, count, steps) {
  const span = Math.max(high - low, 1e-9);
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = (steps ?? [1, 2, 5, 10].map((each) => each * power)).find((each) => span / each <= count) ?? span;
  const [from, to] = [Math.floor(low / step), Math.ceil(high / step)];
  return {
    low: from * step,
    high: Math.max(to, from + 1) * step,
    values: Array.from({length: Math.max(to, from + 1) - from + 1}, (_, index) => (from + index) * step)
  };
}

/**
 * Draws the lines anew.
 *
 * @param {HTMLElement} box @param {Chart} chart
 */
export function drawChart(box, {lines, areas = [], from, to, low, high, xMarks, yMarks}) {
  const x = (/** @type {number} */ value) => Math.round((value - from) / Math.max(to - from, 1e-9) * width * 10) / 10;
  const y = (/** @type {number} */ value) => Math.round((high - value) / Math.max(high - low, 1e-9) * height * 10) / 10;
  /** @param {[number, number][]} points */
  const path = (points) => {
    let [text, isBroken] = ["", true];
    for (const [at, value] of points) {
      if (!Number.isFinite(value)) {
        isBroken = true;
        continue;
      }
      text += `${isBroken ? "M" : "L"}${x(at)} ${y(value)}`;
      isBroken = false;
    }
    return text;
  };
  const drawing = vector("svg",
    {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "chart-drawing", "aria-hidden": "true"});
  for (const {value} of yMarks)
    drawing.append(
      vector("path", {d: `M0 ${y(value)}H${width}`, class: value === 0 ? "chart-grid zero" : "chart-grid"}));
  for (const {className, points} of areas) {
    const known = points.filter(([, value]) => Number.isFinite(value));
    if (known.length < 2) continue;
    const [first, last] = [known[0][0], known[known.length - 1][0]];
    drawing.append(vector("path", {d: `${path(known)}L${x(last)} ${y(0)}L${x(first)} ${y(0)}Z`, class: className}));
  }
  for (const {className, points} of lines)
    drawing.append(vector("path", {d: path(points), class: `chart-line ${className}`}));
  /** @param {Mark} mark @param {string} className @param {"left" | "top"} side @param {number} part */
  const label = ({text}, className, side, part) => {
    const element = make("span", {className}, text);
    element.style[side] = `${part * 100}%`;
    return element;
  };
  box.replaceChildren(drawing, ...yMarks.map((mark) => label(mark, "chart-y", "top", y(mark.value) / height)),
    ...xMarks.map((mark) => label(mark, "chart-x", "left", x(mark.value) / width)));
}
