/** All clusters and flows: as a picture, and as cards with their numbers. */

import { get } from "../api.js";
import { el, keep, setText } from "../dom.js";
import { byteRate, count, duration, exact, milliseconds, NOTHING, plural, rate } from "../format.js";
import { isLagKnown, lookOf, recoveryPoint, showChip, worstTone } from "../health.js";
import { icon } from "../icons.js";
import { KeyNumbers } from "../numbers.js";
import { Picture } from "../picture.js";
import { flowLink } from "../route.js";

export class OverviewPage {
  title = "Overview";
  plans = { topology: { load: () => get("topology"), every: 2_000 } };

  constructor() {
    this.summary = el("p", { class: "summary" });
    this.picture = new Picture();
    this.cards = el("ul", { class: "cards", "aria-label": "Flows" });
    /** @type {Map<string, FlowCard>} */
    this.byName = new Map();
    this.looks = [];
    this.element = el(
      "div",
      { class: "stack page" },
      el("div", {}, el("h1", {}, "Overview"), this.summary),
      this.picture.element,
      this.cards,
    );
  }

  close() {
    this.picture.close();
  }

  tone() {
    return worstTone(this.looks);
  }

  /** @param {import("../app.js").View} view */
  render({ feeds: { topology } }) {
    this.picture.element.hidden = !topology.data;
    if (!topology.data) return setText(this.summary, topology.error?.message ?? "Loading …");
    const { flows } = topology.data;
    this.looks = flows.map((flow) => lookOf(flow, topology.isStale));
    setText(this.summary, summary(flows, this.looks));
    this.picture.show(topology.data, topology.isStale);
    keep(this.cards, JSON.stringify(flows.map(({ name }) => name)), () => this.#makeCards(flows));
    flows.forEach((flow, index) => this.byName.get(flow.name).render(flow, this.looks[index], topology.isStale));
  }

  #makeCards(flows) {
    this.byName = new Map(flows.map((flow) => [flow.name, new FlowCard(flow)]));
    return [...this.byName.values()].map(({ element }) => element);
  }
}

function summary(flows, looks) {
  const worrying = looks.filter(({ tone }) => tone !== "good").length;
  if (!flows.length) return "No flow is enabled in the file.";
  if (looks.some(({ tone }) => tone === "unknown")) return "How the flows are doing is not known at present.";
  if (worrying)
    return `${exact(worrying)} of ${plural(flows.length, "flow")} ${worrying === 1 ? "needs" : "need"} a look.`;
  return (
    ["", "The flow is well.", "Both flows are well."][flows.length] ?? `All ${exact(flows.length)} flows are well.`
  );
}

class FlowCard {
  constructor(flow) {
    this.health = el("span");
    this.trouble = el("p", { class: "trouble-line" });
    this.remark = el("p", { class: "muted" });
    this.numbers = new KeyNumbers(`Numbers of ${flow.name}`);
    const link = el(
      "a",
      { href: flowLink(flow.name), class: "card-link" },
      flow.source,
      icon("arrow", { class: "icon between" }),
      flow.target,
    );
    this.element = el(
      "li",
      { class: "card flow-card", "data-flow": flow.name },
      el("div", { class: "card-head" }, el("h2", {}, link), this.health),
      this.trouble,
      this.remark,
      this.numbers.element,
    );
  }

  render(flow, look, isStale) {
    showChip(this.health, look);
    setText(this.trouble, flow.trouble);
    setText(this.remark, flow.health === "heartbeats only" ? look.hint : "");
    this.numbers.element.hidden = flow.health === "heartbeats only";
    this.numbers.show(isStale ? unknownNumbers(flow) : knownNumbers(flow));
  }
}

function knownNumbers(flow) {
  const isKnown = isLagKnown(flow);
  const point = recoveryPoint(flow);
  return [
    {
      label: "Behind",
      value: isKnown ? duration(flow.lag_seconds) : NOTHING,
      note: isKnown ? `${count(flow.lag_records)} records` : "not known yet",
    },
    { label: "RPO", value: point === null ? NOTHING : `≤ ${duration(Math.ceil(point))}` },
    { label: "Rate", value: rate(flow.records_per_second), note: byteRate(flow.bytes_per_second) },
    {
      label: "Latency",
      value: flow.records_per_second ? milliseconds(flow.latency_avg_ms) : NOTHING,
      note: flow.records_per_second ? `max ${milliseconds(flow.latency_max_ms)}` : "",
    },
  ];
}

function unknownNumbers(flow) {
  const note = `was ${duration(flow.lag_seconds)}`;
  return ["Behind", "RPO", "Rate", "Latency"].map((label, index) => ({ label, value: "?", note: index ? "" : note }));
}
