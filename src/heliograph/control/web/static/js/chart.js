/** Lines over the last hour; pointer or arrow keys show the values of one moment. */

import { el, setAttribute, setText, svg } from "./dom.js";
import { NOTHING, timeOfDay } from "./format.js";
import { clockTicks } from "./scale.js";

const HEIGHT = 170;
const MARGIN = { left: 58, right: 14, top: 10, bottom: 24 };
const SHORTEST_SPAN = 120_000;
const LONGEST_SPAN = 3_600_000;
const GAP = 16_000; // unless the plan says otherwise

/** @typedef {{label: string, name: string, value: (point: any) => number}} Series */

/**
 * @typedef {object} ChartPlan
 * @property {string} title
 * @property {Series[]} series
 * @property {(value: number) => string} format
 * @property {(highest: number) => number[]} ticks
 * @property {(point: any) => string} [more] what else to say of a moment
 * @property {import("./cursor.js").Cursor} cursor
 * @property {number} [gap] milliseconds; longer between two points: nothing is known of the time between
 */

export class Chart {
  /** @param {ChartPlan} plan */
  constructor(plan) {
    this.plan = plan;
    this.points = [];
    this.nowMs = 0;
    this.drawn = "";
    this.element = this.#build();
    plan.cursor.followers.push(() => this.#renderCursor());
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(this.frame);
  }

  /** Stop following the size of the page. */
  close() {
    this.observer.disconnect();
  }

  /**
   * @param {any[]} points the oldest first, each with `at_ms`
   * @param {number} nowMs
   */
  show(points, nowMs) {
    this.points = points;
    this.nowMs = nowMs;
    this.#draw();
  }

  #build() {
    this.readout = el("output", { class: "readout" });
    this.canvas = svg("svg", { class: "canvas", height: HEIGHT, "aria-hidden": "true" });
    this.marks = svg("g", { class: "marks" });
    this.frame = el(
      "div",
      {
        class: "chart-frame",
        tabindex: 0,
        role: "slider",
        "aria-label": this.plan.title,
        "aria-readonly": "true",
        on: this.#listeners(),
      },
      this.canvas,
    );
    const head = el("figcaption", {}, el("h3", {}, this.plan.title), this.readout);
    return el("figure", { class: "chart card" }, head, this.#legend(), this.frame);
  }

  #legend() {
    if (this.plan.series.length < 2) return null;
    const entry = ({ label, name }) => el("li", { class: `key ${name}` }, label);
    return el("ul", { class: "legend" }, this.plan.series.map(entry));
  }

  #listeners() {
    return {
      pointermove: (event) => this.#point(event),
      pointerdown: (event) => this.#point(event),
      pointerleave: () => this.plan.cursor.move(null),
      blur: () => this.plan.cursor.move(null),
      keydown: (event) => this.#key(event),
    };
  }

  #point(event) {
    const x = event.clientX - this.frame.getBoundingClientRect().left;
    const wanted = this.fromMs + ((x - MARGIN.left) / this.plotWidth) * (this.toMs - this.fromMs);
    const nearest = this.points[this.#nearest(wanted)];
    this.plan.cursor.move(nearest ? nearest.at_ms : null);
  }

  #key(event) {
    const last = this.points.length - 1;
    const here = this.plan.cursor.atMs === null ? last + 1 : this.#nearest(this.plan.cursor.atMs);
    const moves = {
      ArrowLeft: here - 1,
      ArrowRight: here + 1,
      PageUp: here - 60,
      PageDown: here + 60,
      Home: 0,
      End: last,
    };
    if (event.key === "Escape") this.plan.cursor.move(null);
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    this.plan.cursor.move(this.points[Math.min(Math.max(0, moves[event.key]), last)].at_ms);
  }

  #nearest(atMs) {
    let best = this.points.length - 1;
    this.points.forEach((point, index) => {
      if (Math.abs(point.at_ms - atMs) < Math.abs(this.points[best].at_ms - atMs)) best = index;
    });
    return best;
  }

  #draw() {
    const width = Math.floor(this.frame.clientWidth);
    const signature = [width, this.points.length, this.points.at(-1)?.at_ms, Math.floor(this.nowMs / 2000)].join();
    if (!width || signature === this.drawn) return;
    this.drawn = signature;
    this.#measure(width);
    setAttribute(this.canvas, "viewBox", `0 0 ${width} ${HEIGHT}`);
    setAttribute(this.canvas, "width", width);
    this.canvas.replaceChildren(
      ...this.#axes(),
      ...this.plan.series.flatMap((series) => this.#lines(series)),
      this.marks,
    );
    this.#renderCursor();
  }

  #measure(width) {
    const first = this.points[0]?.at_ms ?? this.nowMs;
    this.toMs = this.nowMs;
    this.fromMs = Math.max(Math.min(first, this.toMs - SHORTEST_SPAN), this.toMs - LONGEST_SPAN);
    this.plotWidth = width - MARGIN.left - MARGIN.right;
    const values = this.plan.series.flatMap((series) => this.points.map(series.value));
    this.yTicks = this.plan.ticks(Math.max(0, ...values));
  }

  #x(atMs) {
    return MARGIN.left + ((atMs - this.fromMs) / (this.toMs - this.fromMs)) * this.plotWidth;
  }

  #y(value) {
    const room = HEIGHT - MARGIN.top - MARGIN.bottom;
    return MARGIN.top + room * (1 - Math.min(1, value / this.yTicks.at(-1)));
  }

  #axes() {
    const right = MARGIN.left + this.plotWidth;
    const across = this.yTicks.flatMap((value) => [
      svg("line", {
        class: value ? "grid" : "base",
        x1: MARGIN.left,
        x2: right,
        y1: this.#y(value),
        y2: this.#y(value),
      }),
      svg(
        "text",
        { class: "tick", x: MARGIN.left - 8, y: this.#y(value) + 4, "text-anchor": "end" },
        this.plan.format(value),
      ),
    ]);
    const moments = clockTicks(this.fromMs, this.toMs, Math.max(2, Math.floor(this.plotWidth / 80)));
    const isFine = moments.length > 1 && moments[1] - moments[0] < 60_000;
    const label = (atMs) =>
      svg(
        "text",
        { class: "tick", x: this.#x(atMs), y: HEIGHT - 6, "text-anchor": "middle" },
        timeOfDay(atMs).slice(0, isFine ? 8 : 5),
      );
    return [...across, ...moments.filter((atMs) => this.#x(atMs) < right - 12).map(label)];
  }

  #lines(series) {
    const base = this.#y(0);
    const x = (point) => this.#x(point.at_ms).toFixed(1);
    return this.#stretches().flatMap((points) => {
      const path = points.map((point) => `${x(point)} ${this.#y(series.value(point)).toFixed(1)}`).join("L");
      const area = `M${x(points[0])} ${base}L${path}L${x(points.at(-1))} ${base}Z`;
      return [
        svg("path", { class: `area ${series.name}`, d: area }),
        svg("path", { class: `line ${series.name}`, d: `M${path}` }),
      ];
    });
  }

  /** Points in a row; where points are missing, nothing is drawn. */
  #stretches() {
    const stretches = [];
    const { gap = GAP } = this.plan;
    let previous = -Infinity;
    for (const point of this.points.filter(({ at_ms }) => at_ms >= this.fromMs)) {
      if (point.at_ms - previous > gap) stretches.push([]);
      stretches.at(-1).push(point);
      previous = point.at_ms;
    }
    return stretches;
  }

  #renderCursor() {
    const chosen = this.plan.cursor.atMs;
    const point = chosen === null ? this.points.at(-1) : this.points[this.#nearest(chosen)];
    const values = point ? this.plan.series.map((series) => this.#value(series, point)).join(" · ") : NOTHING;
    const rest = point && this.plan.more ? ` · ${this.plan.more(point)}` : "";
    setText(this.readout, point && chosen !== null ? `${timeOfDay(point.at_ms)}  ${values}${rest}` : values + rest);
    this.#tellReaders(point, values + rest);
    this.marks.replaceChildren(...(point && chosen !== null && this.yTicks ? this.#mark(point) : []));
  }

  #value(series, point) {
    const value = this.plan.format(series.value(point));
    return this.plan.series.length > 1 ? `${series.label} ${value}` : value;
  }

  #tellReaders(point, text) {
    setAttribute(this.frame, "aria-valuemin", 0);
    setAttribute(this.frame, "aria-valuemax", Math.max(0, this.points.length - 1));
    setAttribute(this.frame, "aria-valuenow", point ? this.points.indexOf(point) : 0);
    setAttribute(this.frame, "aria-valuetext", point ? `${timeOfDay(point.at_ms)}: ${text}` : "nothing is known yet");
  }

  #mark(point) {
    const x = this.#x(point.at_ms);
    if (x < MARGIN.left) return [];
    const dot = (series) =>
      svg("circle", { class: `dot ${series.name}`, cx: x, cy: this.#y(series.value(point)), r: 4 });
    return [
      svg("line", { class: "hair", x1: x, x2: x, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
      ...this.plan.series.map(dot),
    ];
  }
}
