// Charts one above the other, with one cursor, one zoom and marks over all. dygraphs draws the lines; it gets no events.

import {axis, buckets, marks, range} from "./chart-data.js";
import {make, setText} from "./dom.js";

const {default: Dygraph} = await import("../dygraphs/dygraphs.js");

/**
 * @typedef {import("./workout-data.js").Details} Details
 * @typedef {import("./workout-data.js").Stretch} Stretch
 * @typedef {{ key: string, label: string, unit: string, color: string, format: (value: number) => string, mark: (value: number) => string,
 *   isReversed?: boolean, least: number, widths?: number[], value?: (value: number) => number, bands?: number[], isFilled?: boolean }} Kind
 *   `value`: of the line as it is drawn; `color`: a variable of the style sheet; `bands`: the limits between zones
 * @typedef {{ kind: Kind, box: HTMLElement, plot: HTMLElement, value: Element, dygraph?: any }} Chart
 */

// Others write HTML with styles, which the page's policy forbids.
Dygraph.PLUGINS = [Dygraph.Plugins.Axes, Dygraph.Plugins.Grid];

/** Pixels of the labels of values. */
const labelWidth = 48;
const axisHeight = 26;
/** The shortest stretch of a zoom, in seconds. */
const shortest = 20;

export class Charts {
  /** @type {Chart[]} */
  #charts = [];
  /** @type {Details | undefined} */
  #details;
  /** @type {ReturnType<typeof axis> | undefined} */
  #axis;
  /** Pixels of the lines: where they begin, and their width. */
  #area = {x: labelWidth, w: 1};
  /** @type {Stretch} what is seen */
  #window = {from: 0, to: 1};
  /** @type {Stretch | undefined} */
  #marked;
  /** @type {number | undefined} */
  #cursor;
  /** @type {Record<string, string>} colours as canvases need them */
  #paints = {};
  #cursorLine = make("div", {className: "chart-cursor", hidden: true});
  #mark = make("div", {className: "chart-mark", hidden: true});
  #selection = make("div", {className: "chart-selection", hidden: true});

  /**
   * @param {HTMLElement} box
   * @param {{ onPoint: (t: number | undefined) => void, onZoom: (isWhole: boolean) => void,
   *   axisText: (value: number, mode: import("./chart-data.js").Mode) => string, unit: () => number }} page `onPoint`: where a
   *   pointer is; `unit`: metres of a unit of distance
   */
  constructor(box, page) {
    this.box = box;
    this.page = page;
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(box);
    const redraw = () => {
      this.#readPaints();
      this.draw();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new MutationObserver(redraw).observe(document.documentElement, {attributeFilter: ["data-theme"]});
    // Canvases have a width of their own, and paper is narrower than a screen. It is white.
    matchMedia("print").addEventListener("change", () => {
      this.#readPaints();
      this.#resize();
    });
  }

  /** @param {Details} details @param {Kind[]} kinds @param {import("./chart-data.js").Mode} mode */
  show(details, kinds, mode) {
    const isNew = details !== this.#details;
    this.#details = details;
    this.#axis = axis(details, mode);
    if (isNew) this.#window = {from: 0, to: details.duration};
    for (const {dygraph} of this.#charts) dygraph?.destroy();
    this.#charts = kinds.map((kind) => {
      const value = make("span", {className: "chart-value"});
      const plot = make("div", {className: "chart-plot"});
      const box = make("div", {className: "chart", data: {chart: kind.key}},
        make("p", {className: "chart-label"}, make("span", {}, kind.label, make("small", {}, ` ${kind.unit}`)), value),
        plot);
      return {kind, box, plot, value};
    });
    this.box.replaceChildren(...this.#charts.map(({box}) => box), this.#mark, this.#selection, this.#cursorLine,
      make("div", {className: "chart-cover"}));
    this.#readPaints();
    this.#charts.at(-1)?.box.classList.add("last");
    for (const chart of this.#charts) this.#make(chart);
    this.#measure();
    this.moveCursor(this.#cursor);
    this.page.onZoom(this.isWhole);
  }

  /**
   * The lines have grown.
   *
   * @param {Details} details @param {Stretch} stretch that is seen
   */
  update(details, stretch) {
    this.#details = details;
    this.#axis = axis(details, "time");
    this.zoom(stretch);
  }

  /** A canvas takes no variables: an element says what they are now. */
  #readPaints() {
    const probe = make("span", {hidden: true});
    this.box.append(probe);
    for (const name of ["line", "muted", ...this.#charts.map(({kind}) => kind.color),
           ...[1, 2, 3, 4, 5].map((n) => `zone-${n}`)]) {
      probe.style.color = `var(--${name})`;
      this.#paints[name] = getComputedStyle(probe).color;
    }
    probe.remove();
  }

  /** @param {Chart} chart */
  #options({kind, plot}) {
    const axisNow = /** @type {ReturnType<typeof axis>} */ (this.#axis);
    const line = /** @type {Details} */ (this.#details).lines[kind.key];
    const isLast = kind === this.#charts.at(-1)?.kind;
    const sign = kind.isReversed ? -1 : 1;
    const shown = kind.value ?? ((/** @type {number} */ value) => value);
    const points = buckets(line, this.#window.from, this.#window.to).map(([t,
      v]) => [axisNow.x(t), Number.isNaN(v) ? NaN : sign * shown(v)]);
    const [low, high] = [axisNow.x(this.#window.from), axisNow.x(this.#window.to)];
    const seen = points.filter(([x]) => x >= low && x <= high).map(([, v]) => v * sign);
    const limits = range(seen, kind.least, 4, kind.widths);
    const values = limits.marks.map((value) => ({v: sign * value, label: kind.mark(value)}));
    const places = marks(axisNow, this.#window.from, this.#window.to, Math.max(2, Math.floor(plot.clientWidth / 84)),
      axisNow.mode === "distance" ? this.page.unit() : 1);
    const ticks = places.map(({x, value}) => ({v: x, label: isLast ? this.page.axisText(value, axisNow.mode) : ""}));
    const [y0, y1] = sign > 0 ? [limits.low, limits.high] : [-limits.high, -limits.low];
    const color = this.#paints[kind.color];
    return {
      file: points.length > 0 ? points : [[0, NaN]],
      dateWindow: [low, high > low ? high : low + 1],
      valueRange: [y0, y1],
      colors: [color],
      gridLineColor: this.#paints.line,
      axisLineColor: this.#paints.line,
      axes: {
        x: {drawAxis: true, axisHeight: isLast ? axisHeight : 1, ticker: () => ticks},
        y: {axisLabelWidth: labelWidth, ticker: () => values}
      },
      underlayCallback: (/** @type {CanvasRenderingContext2D} */ context, /** @type {any} */ area,
        /** @type {any} */ dygraph) => this.#drawBands(context, area, dygraph, kind, limits),
    };
  }

  /** @param {CanvasRenderingContext2D} context @param {any} area @param {any} dygraph @param {Kind} kind @param {{ low: number, high: number }} limits */
  #drawBands(context, area, dygraph, {bands}, {low, high}) {
    if (!bands) return;
    const edges = [-Infinity, ...bands, Infinity].map((value) => Math.min(high, Math.max(low, value)));
    context.save();
    context.globalAlpha = 0.2;
    for (let zone = 1; zone < edges.length; zone++) {
      const [top, bottom] = [edges[zone], edges[zone - 1]].map((value) => dygraph.toDomYCoord(value));
      context.fillStyle = this.#paints[`zone-${zone}`];
      if (bottom > top) context.fillRect(area.x, top, area.w, bottom - top);
    }
    context.restore();
  }

  /** @param {Chart} chart */
  #make(chart) {
    const {file, ...options} = this.#options(chart);
    chart.dygraph = new Dygraph(chart.plot, file, {
      labels: ["x", chart.kind.key],
      strokeWidth: 1.75,
      fillGraph: chart.kind.isFilled ?? false,
      fillAlpha: 0.22,
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

  #measure() {
    const area = this.#charts[0]?.dygraph?.getArea();
    if (area) this.#area = area;
  }

  /** Draws what is seen anew: after a zoom, and in other colours. */
  draw() {
    if (!this.#details) return;
    for (const chart of this.#charts) chart.dygraph?.updateOptions(this.#options(chart));
    this.#measure();
    this.#place();
  }

  #resize() {
    for (const {dygraph, plot} of this.#charts)
      if (plot.clientWidth > 0) dygraph?.resize();
    this.draw();
  }

  /** @param {number} t @returns pixels from the left of the box */
  #pixel(t) {
    const axisNow = /** @type {ReturnType<typeof axis>} */ (this.#axis);
    const [low, high] = [axisNow.x(this.#window.from), axisNow.x(this.#window.to)];
    return this.#area.x + (axisNow.x(t) - low) / (high - low) * this.#area.w;
  }

  /** @param {number} pixel @returns active seconds */
  #time(pixel) {
    const axisNow = /** @type {ReturnType<typeof axis>} */ (this.#axis);
    const [low, high] = [axisNow.x(this.#window.from), axisNow.x(this.#window.to)];
    const part = Math.min(1, Math.max(0, (pixel - this.#area.x) / this.#area.w));
    return Math.min(this.#window.to, Math.max(this.#window.from, axisNow.t(low + part * (high - low))));
  }

  /** @param {HTMLElement} element @param {number} from @param {number} to pixels */
  #span(element, from, to) {
    const [left, right] =
      [from, to].map((pixel) => Math.min(this.#area.x + this.#area.w, Math.max(this.#area.x, pixel)));
    element.hidden = right <= left;
    element.style.transform = `translateX(${left}px)`;
    element.style.width = `${right - left}px`;
  }

  /** Puts cursor and mark where they are on the axis. */
  #place() {
    if (!this.#details) return;
    if (this.#marked) this.#span(this.#mark, this.#pixel(this.#marked.from), this.#pixel(this.#marked.to));
    else this.#mark.hidden = true;
    const isSeen = this.#cursor !== undefined && this.#cursor >= this.#window.from && this.#cursor <= this.#window.to;
    this.#cursorLine.hidden = !isSeen;
    if (isSeen) this.#cursorLine.style.transform = `translateX(${this.#pixel(/** @type {number} */ (this.#cursor))}px)`;
  }

  /**
   * @param {number | undefined} t active seconds
   * @param {Record<string, string>} [values] of the charts there
   */
  moveCursor(t, values = {}) {
    this.#cursor = t;
    for (const {kind, value} of this.#charts) setText(value, values[kind.key] ?? "");
    this.#place();
  }

  /** @param {Stretch | undefined} stretch shown over all charts */
  mark(stretch) {
    this.#marked = stretch;
    if (stretch && (stretch.to <= this.#window.from || stretch.from >= this.#window.to)) this.zoom();
    this.#place();
  }

  get isWhole() { return !this.#details || (this.#window.from <= 0 && this.#window.to >= this.#details.duration); }

  /** @returns {Stretch} what is seen */
  get window() { return this.#window; }

  /** @param {Stretch} [stretch] the whole workout without one */
  zoom(stretch = {from: 0, to: this.#details?.duration ?? 1}) {
    if (!this.#details) return;
    const {duration} = this.#details;
    const length = Math.min(duration, Math.max(shortest, stretch.to - stretch.from));
    const middle = (stretch.from + stretch.to) / 2;
    const from = Math.min(duration - length, Math.max(0, middle - length / 2));
    this.#window = {from, to: from + length};
    this.draw();
    this.page.onZoom(this.isWhole);
  }

  /** @param {number} factor of what is seen, around the cursor */
  zoomBy(factor) {
    const {from, to} = this.#window;
    const center =
      this.#cursor !== undefined && this.#cursor >= from && this.#cursor <= to ? this.#cursor : (from + to) / 2;
    this.zoom({from: center - (center - from) * factor, to: center + (to - center) * factor});
  }

  #listen() {
    /** Where a mouse began to select. */
    /** @type {number | undefined} */
    let began;
    const pixel = (/** @type {PointerEvent} */ event) => event.clientX - this.box.getBoundingClientRect().left;
    this.box.addEventListener("pointerdown", (event) => {
      if (!this.#details || event.button !== 0) return;
      if (event.pointerType === "mouse") began = pixel(event);
      this.page.onPoint(this.#time(pixel(event)));
    });
    this.box.addEventListener("pointermove", (event) => {
      if (!this.#details) return;
      this.page.onPoint(this.#time(pixel(event)));
      if (began !== undefined && event.buttons === 1) {
        const now = pixel(event);
        if (Math.abs(now - began) > 4) this.#span(this.#selection, Math.min(began, now), Math.max(began, now));
      }
    });
    addEventListener("pointerup", (event) => {
      if (began === undefined) return;
      const [from, to] = [began, pixel(event)].sort((a, b) => a - b);
      began = undefined;
      this.#selection.hidden = true;
      if (to - from > 8) this.zoom({from: this.#time(from), to: this.#time(to)});
    });
    this.box.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && began === undefined && document.activeElement !== this.box)
        this.page.onPoint(undefined);
    });
    this.box.addEventListener("dblclick", () => this.zoom());
  }
}
