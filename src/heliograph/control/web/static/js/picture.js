/** All clusters and flows at a glance: boxes and arrows, each arrow a link to its flow. */

import { el, keep, setAttribute, setText, svg } from "./dom.js";
import { duration, NOTHING, rate } from "./format.js";
import { isLagKnown, lookOf } from "./health.js";
import { icon } from "./icons.js";
import { curveBetween, pictureHeight, placeClusters, placeLabels } from "./picture_layout.js";
import { flowLink } from "./route.js";

const FULL = { name: "full", width: 168, height: 46 };
const MEDIUM = { name: "medium", width: 134, height: 40 };
const SMALL = { name: "small", width: 82, height: 28 };
const BADGE = { name: "badge", width: 26, height: 26 };

export class Picture {
  constructor() {
    this.element = el("div", { class: "picture card" });
    this.topology = null;
    this.isStale = false;
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(this.element);
  }

  /** Stop following the size of the page. */
  close() {
    this.observer.disconnect();
  }

  /**
   * @param {{clusters: any[], flows: any[]}} topology
   * @param {boolean} isStale
   */
  show(topology, isStale) {
    this.topology = topology;
    this.isStale = isStale;
    this.#draw();
  }

  #draw() {
    const style = getComputedStyle(this.element);
    const width = Math.floor(this.element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
    if (!this.topology || width <= 0) return;
    const { clusters, flows } = this.topology;
    const structure = JSON.stringify([width, clusters, flows.map(({ name }) => name)]);
    keep(this.element, structure, () => this.#build(clusters, flows, width));
    for (const flow of flows) this.arrows.get(flow.name).show(describe(flow, this.isStale));
  }

  #build(clusters, flows, width) {
    const height = pictureHeight(clusters.length, width);
    const boxes = placeClusters(
      clusters.map(({ alias }) => alias),
      flows,
      width,
    );
    const curves = flows.map((flow) =>
      curveBetween(boxes.get(flow.source), boxes.get(flow.target), hasOpposite(flow, flows)),
    );
    const { size, seats } = placeLabels(curves, [...boxes.values()], [FULL, MEDIUM, SMALL, BADGE], { width, height });
    this.arrows = new Map(
      flows.map((flow, index) => [flow.name, new ArrowLink(flow, curves[index], seats[index], size)]),
    );
    const arrows = [...this.arrows.values()];
    const title = `${clusters.length} clusters and ${flows.length} flows between them`;
    return svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": title },
      arrows.map(({ way }) => way),
      arrows.map(({ label }) => label),
      clusters.map((cluster) => clusterBox(cluster, boxes.get(cluster.alias))),
    );
  }
}

function hasOpposite({ source, target }, flows) {
  return flows.some((other) => other.source === target && other.target === source);
}

/** @typedef {{look: import("./health.js").Look, numbers: string, lag: string, isMoving: boolean}} Told */

/** @returns {Told} */
function describe(flow, isStale) {
  const look = lookOf(flow, isStale);
  const isKnown = isLagKnown(flow) && !isStale;
  const lag = isKnown ? `lag ${duration(flow.lag_seconds)}` : "lag unknown";
  const numbers =
    flow.health === "heartbeats only" ? "" : `${isStale ? "? /s" : rate(flow.records_per_second)} · ${lag}`;
  const isMoving = !isStale && flow.records_per_second > 0 && flow.health !== "paused";
  return { look, numbers, lag: isKnown ? duration(flow.lag_seconds) : numbers ? "?" : NOTHING, isMoving };
}

/** One flow in the picture; stays while its numbers change, and with it the focus. */
class ArrowLink {
  constructor(flow, curve, seat, size) {
    this.flow = flow;
    this.size = size;
    const path = `M${at(curve.start)}Q${at(curve.bend)} ${at(curve.end)}`;
    const href = flowLink(flow.name);
    this.title = svg("title");
    this.way = svg(
      "a",
      { href, tabindex: -1, "aria-hidden": "true" },
      svg("path", { class: "reach", d: path }),
      svg("path", { class: "line", d: path }),
      svg("path", { class: "moving", d: path }),
      svg("path", { class: "head", d: "M0 0-11-5.5V5.5Z", transform: headTurn(curve) }),
    );
    this.words = svg("g", { transform: `translate(${at(seat)})` });
    this.label = svg("a", { href, "data-flow": flow.name }, this.title, this.words);
  }

  /** @param {Told} told */
  show(told) {
    const text = `${this.flow.source} to ${this.flow.target}: ${told.look.word}${told.numbers && `, ${told.numbers}`}`;
    const tone = `tone-${told.look.tone}`;
    setText(this.title, text);
    setAttribute(this.label, "aria-label", text);
    setAttribute(this.label, "class", `label ${this.size.name} ${tone}`);
    setAttribute(this.way, "class", `way ${tone}${told.isMoving ? " is-moving" : ""}`);
    keep(this.words, JSON.stringify(told), () => [plate(this.size), ...words(told, this.size)]);
  }
}

function at({ x, y }) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

function headTurn({ bend, end }) {
  const degrees = (Math.atan2(end.y - bend.y, end.x - bend.x) * 180) / Math.PI;
  return `translate(${at(end)}) rotate(${degrees.toFixed(1)})`;
}

function plate({ width, height }) {
  return svg("rect", { class: "plate", x: -width / 2, y: -height / 2, width, height, rx: Math.min(height / 2, 14) });
}

function words({ look, numbers, lag }, { name, width }) {
  if (name === "badge") return [icon(look.icon, { x: -8, y: -8 })];
  if (name === "small")
    return [
      icon(look.icon, { x: -width / 2 + 7, y: -8 }),
      svg("text", { x: 10, y: 4, "text-anchor": "middle" }, shortened(lag, 8)),
    ];
  const isFull = name === "full";
  const start = -(look.word.length * (isFull ? 7.6 : 6.8) + 22) / 2;
  const top = numbers ? (isFull ? -7 : -8) : 0;
  return [
    icon(look.icon, { x: start, y: top - 8 }),
    svg("text", { class: "word", x: start + 22, y: top + 4.5 }, look.word),
    svg("text", { x: 0, y: isFull ? 15 : 13, "text-anchor": "middle" }, isFull ? numbers : numbers.replace("lag ", "")),
  ];
}

function clusterBox({ alias, bootstrap_servers: servers }, { x, y, width, height }) {
  const letters = Math.floor((width - 20) / 8.4);
  const room = Math.floor((width - 12) / 6.4);
  const all = servers.length > 1 ? `${servers[0]} + ${servers.length - 1}` : (servers[0] ?? "");
  const where = all.length > room ? shortened(servers[0], room) : all;
  const isTall = height >= 56;
  return svg(
    "g",
    { class: "cluster", transform: `translate(${at({ x, y })})` },
    svg("title", {}, `${alias}: ${servers.join(", ")}`),
    svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 12 }),
    svg("text", { class: "alias", y: isTall ? -2 : 5, "text-anchor": "middle" }, shortened(alias, letters)),
    isTall && svg("text", { class: "where", y: 17, "text-anchor": "middle" }, where),
  );
}

function shortened(text, letters) {
  return text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text;
}
