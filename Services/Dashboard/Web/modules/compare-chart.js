// Charts with a line for each workout, one above the other, and one cursor over all. dygraphs draws the lines; it gets no events.

import {marks, range} from "./chart-data.js";
import {make} from "./dom.js";

const {default: Dygraph} = await import("../dygraphs/dygraphs.js");

/**
 * @typedef {{ key: string, label: string, unit: string, least: number, mark: (value: number) => string, isReversed?: boolean,
 *   widths?: number[], rows: number[][] }} Chart `rows`: a place of the axis, and the value of each workout as it is drawn
 * @typedef {{ mode: import("./chart-data.js").Mode, end: number, unit: number, text: (value: number) => string }} Axis `unit`: metres
 *   of a unit of distance
 */

// Others write HTML with styles, which the page's policy forbids.
Dygraph.PLUGINS = [Dygraph.Plugins.Axes, Dygraph.Plugins.Grid];

/** Pixels. */
const labelWidth = 52;
const axisHeight = 26;
/** Dashes and gaps of the lines, so that more than a colour tells them apart. */
const patterns = [null, [7, 3], [2, 3], [9, 3, 2, 3]];

export class CompareCharts {
  /** @type {{ chart: Chart, plot: HTMLElement, dygraph?: any }[]} */
  #charts = [];
  /** @type {Axis} */
  #axis = {mode: "distance", end: 1, unit: 1, text: String};
  /** @type {number[]} the colours of the workouts */
  #colors = [];
  #area = {x: labelWidth, w: 1};
  #cursor = 0;
  #line = make("div", {className: "chart-cursor"});

  /** @param {HTMLElement} box @param {(x: number) => void} onPoint where a pointer is */
  constructor(box, onPoint) {
    this.box = box;
    for (const type of ["pointerdown", "pointermove"])
      box.addEventListener(type, (event) => {
        const pixel = /** @type {PointerEvent} */ (event).clientX - box.getBoundingClientRect().left;
        const part = Math.min(1, Math.max(0, (pixel - this.#area.x) / this.#area.w));
        if (this.#charts.length > 0) onPoint(part * this.#axis.end);
      });
    new ResizeObserver(() => {
      for (const {dygraph, plot} of this.#charts)
        if (plot.clientWidth > 0) dygraph?.resize();
      this.draw();
    }).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, {attributeFilter: ["data-theme"]});
  }

  /** @param {Chart[]} charts @param {Axis} axis @param {number[]} colors */
  show(charts, axis, colors) {
    [this.#axis, this.#colors] = [axis, colors];
    for (const {dygraph} of this.#charts) dygraph?.destroy();
    this.#charts = charts.map((chart) => ({chart, plot: make("div", {className: "chart-plot"})}));
    this.box.replaceChildren(
      ...this.#charts.map(
        ({chart: {key, label, unit}, plot}, index) =>
          make("div", {className: index === charts.length - 1 ? "chart last" : "chart", data: {chart: key}},
            make("p", {className: "chart-label"}, make("span", {}, label, make("small", {}, ` ${unit}`))), plot)),
      this.#line, make("div", {className: "chart-cover"}));
    for (const each of this.#charts) {
      const {file, ...options} = this.#options(each);
      each.dygraph = new Dygraph(each.plot, file, {
        labels: ["x", ...colors.map((_, index) => String(index))],
        strokeWidth: 1.75,
        series: Object.fromEntries(
          colors.map((_, index) => [String(index), {strokePattern: patterns[index % patterns.length]}])),
        axisLabelFontSize: 13,
        axisTickSize: 0,
        gridLineWidth: 1,
        drawPoints: false,
        highlightCircleSize: 0,
        rightGap: 10,
        yRangePad: 0,
        xRangePad: 0,
        interactionModel: {},
        ...options
      });
    }
    this.#place();
  }

  /** @param {{ chart: Chart, plot: HTMLElement }} chart */
  #options({chart: {rows, least, widths, mark, isReversed}, plot}) {
    const {mode, end, unit, text} = this.#axis;
    const isLast = plot === this.#charts[this.#charts.length - 1].plot;
    const sign = isReversed ? -1 : 1;
    const limits = range(rows.flatMap(([, ...values]) => values), least, 4, widths);
    const places = marks({mode, x: (value) => value, t: (value) => value, end}, 0, end,
      Math.max(2, Math.floor(plot.clientWidth / 84)), mode === "distance" ? unit : 1);
    const [low, high] = sign > 0 ? [limits.low, limits.high] : [-limits.high, -limits.low];
    const line = this.#paint("--line");
    return {
      file: rows.map(([x, ...values]) => [x, ...values.map((value) => sign * value)]),
      dateWindow: [0, end],
      valueRange: [low, high],
      colors: this.#colors.map((color) => this.#paint("--runner", `runner-${color}`)),
      gridLineColor: line,
      axisLineColor: line,
      axes: {
        x: {
          drawAxis: true,
          axisHeight: isLast ? axisHeight : 1,
          ticker: () => places.map(({x, value}) => ({v: x, label: isLast ? text(value) : ""}))
        },
        y: {
          axisLabelWidth: labelWidth,
          ticker: () => limits.marks.map((value) => ({v: sign * value, label: mark(value)}))
        }
      }
    };
  }

  /**
   * A canvas takes no variables: an element says what they are now.
   *
   * @param {string} name @param {string} [className]
   */
  #paint(name, className = "") {
    const probe = make("span", {hidden: true, className});
    probe.style.color = `var(${name})`;
    this.box.append(probe);
    const {color} = getComputedStyle(probe);
    probe.remove();
    return color;
  }

  /** Draws again in another size or other colours. */
  draw() {
    for (const each of this.#charts) each.dygraph?.updateOptions(this.#options(each));
    this.#place();
  }

  /** @param {number} x where the cursor is on the axis */
  moveCursor(x) {
    this.#cursor = x;
    this.#place();
  }

  #place() {
    this.#area = this.#charts[0]?.dygraph?.getArea() ?? this.#area;
    this.#line.style.transform = `translateX(${this.#area.x + this.#cursor / this.#axis.end * this.#area.w}px)`;
  }
}
