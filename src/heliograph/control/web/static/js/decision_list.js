/** Decisions on conflicts: the records that met, side by side, with the winner marked. */

import { el, keep, setText } from "./dom.js";
import { bytes, exact, milliseconds, moment, NOTHING, plural } from "./format.js";
import { icon } from "./icons.js";

const SHOWN = 20;
const LONGEST = 300; // letters of a value
const DELETED = "deletes the key";

export class DecisionList {
  constructor() {
    this.decisions = [];
    this.words = [];
    this.filterBox = el("input", {
      type: "search",
      class: "filter",
      placeholder: "Filter  ( / )",
      "aria-label": "Filter decisions by topic or key",
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => this.#filter(), keydown: (event) => this.#leave(event) },
    });
    this.total = el("span", { class: "muted count", role: "status" });
    this.list = el("ol", { class: "decisions", "aria-label": "Decisions" });
    this.empty = el("p", { class: "empty" });
    this.element = el(
      "div",
      { class: "data-table" },
      el("div", { class: "tools" }, this.filterBox, this.total),
      this.list,
      this.empty,
    );
  }

  /**
   * @param {any[]} decisions the newest first
   * @param {boolean} showsValues
   */
  show(decisions, showsValues) {
    this.decisions = decisions;
    this.showsValues = showsValues;
    this.#render();
  }

  #leave(event) {
    if (event.key !== "Escape") return;
    this.filterBox.value = "";
    this.#filter();
    this.filterBox.blur();
  }

  #filter() {
    this.words = this.filterBox.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.#render();
  }

  #render() {
    const fits = ({ topic, key }) => this.words.every((word) => `${topic} ${key}`.toLowerCase().includes(word));
    const found = this.decisions.filter(fits);
    const [count, all] = [found.length, this.decisions.length];
    setText(this.total, count === all ? plural(all, "decision") : `${exact(count)} of ${plural(all, "decision")}`);
    setText(this.empty, all ? "Nothing fits the filter." : "Nothing was decided within the last hour.");
    this.empty.hidden = count > 0;
    const shown = found.slice(0, SHOWN);
    keep(this.list, JSON.stringify([shown, this.showsValues]), () =>
      shown.map((decision, index) => card(decision, index, this.showsValues)),
    );
  }
}

function card(decision, index, showsValues) {
  const { topic, key, rule, note, window_ms: window, decided_at_ms: at, records, left_out: leftOut } = decision;
  const name = `decision ${index + 1}, ${topic} ${key}`;
  const remarks = [`${moment(at, Date.now())} by ${rule}`, `window ${milliseconds(window)}`, note].filter(Boolean);
  const nothing = decision.values_omitted ? "deletes the key, or too long to be told" : DELETED;
  const table = el("table", { "aria-label": name }, head(records), body(records, showsValues, nothing));
  return el(
    "li",
    { class: "decision card" },
    el("h3", {}, `${topic} · ${key}`),
    el("p", { class: "muted", title: new Date(at).toISOString() }, remarks.join(", ")),
    el("div", { class: "table-frame", role: "region", "aria-label": `${name}, scrollable`, tabindex: 0 }, table),
    leftOut > 0 && el("p", { class: "muted" }, `and ${plural(leftOut, "more record")}`),
    decision.winner === null && el("p", {}, "Merged: ", el("code", {}, shortened(decision.merged, showsValues))),
  );
}

function head(records) {
  const cells = records.map(({ cluster, won }) =>
    el("th", { scope: "col", class: won && "won" }, cluster, won && wonChip()),
  );
  return el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Written on"), cells));
}

function wonChip() {
  return [" ", el("span", { class: "chip tone-good" }, icon("check"), el("span", {}, "won"))];
}

function body(records, showsValues, nothing) {
  const [first] = records;
  const row = (label, cell) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, label),
      records.map((record) => el("td", { class: record.won && "won" }, cell(record))),
    );
  return el(
    "tbody",
    {},
    row("Time", (record) => written(record, first)),
    row("Place", ({ topic, partition, offset }) => `${topic}-${partition}, offset ${exact(offset)}`),
    row("Value", (record) => value(record, showsValues, nothing)),
  );
}

function written({ timestamp_ms: at }, first) {
  const apart = at - first.timestamp_ms;
  const text = `${moment(at, Date.now())}.${String(at % 1000).padStart(3, "0")}`;
  const sign = apart > 0 ? "+" : "−";
  return [text, apart !== 0 && el("span", { class: "apart" }, `${sign}${exact(Math.abs(apart))} ms`)];
}

function value({ value, value_bytes: size }, showsValues, nothing) {
  if (size === null) return nothing;
  if (!showsValues) return bytes(size);
  return [el("code", {}, shortened(value, true)), size > LONGEST && el("span", { class: "muted" }, bytes(size))];
}

function shortened(text, showsValues) {
  if (!showsValues) return NOTHING;
  if (text === null) return DELETED;
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
