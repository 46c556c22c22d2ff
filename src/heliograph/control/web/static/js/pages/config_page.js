/** Every setting of a flow: its value, where that comes from, and what it means. */

import { flowPath, get } from "../api.js";
import { el } from "../dom.js";
import { FlowFrame } from "../flow_frame.js";
import { NOTHING } from "../format.js";
import { icon } from "../icons.js";
import { section } from "../section.js";
import { DataTable } from "../table.js";

const EVERY = 10_000;
const LOOKS = {
  changed: ["warn", "warn", "changed over REST; wins over the file"],
  file: ["good", "check", "stands in the file"],
  variable: ["good", "check", "an environment variable; wins over the file"],
  derived: ["idle", "arrow", "follows from other settings"],
  default: ["plain", null, "nobody has set it"],
};

export class ConfigPage {
  /** @param {import("../route.js").Route} route */
  constructor(route) {
    this.title = `${route.flow} settings`;
    this.settings = [];
    this.table = settingTable();
    this.box = el("input", { type: "checkbox", id: "only-set", on: { change: () => this.#choose(this.settings) } });
    const choice = el("label", { class: "check", for: "only-set" }, this.box, "Only what is not at its default");
    this.frame = new FlowFrame(
      route,
      section("Settings", "As they act now. Secrets are hidden.", choice, this.table.element),
    );
    this.element = this.frame.element;
    this.plans = { flow: this.frame.plan(), config: { load: () => get(flowPath(route.flow, "config")), every: EVERY } };
  }

  tone() {
    return this.frame.tone;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    this.frame.render(view, "config");
    const { data } = view.feeds.config;
    if (data && data !== this.settings) this.#choose(data);
  }

  #choose(settings) {
    this.settings = settings;
    this.table.show(settings.filter(({ origin }) => !this.box.checked || origin !== "default"));
  }
}

function settingTable() {
  const columns = [
    { label: "Setting", text: ({ name }) => name, node: nameAndMeaning, isWide: true },
    { label: "Value", text: ({ value }) => value || NOTHING, node: ({ value }) => code(value), isWide: true },
    { label: "Origin", text: originText, node: originChip },
    { label: "Default", text: (row) => row.default || NOTHING, node: (row) => code(row.default), isWide: true },
    { label: "Where", text: ({ group }) => group, isWide: true },
  ];
  const filterText = (row) => `${row.name} ${row.value} ${row.group} ${originText(row)} ${row.doc}`;
  return new DataTable({
    label: "settings",
    noun: "setting",
    columns,
    filterText,
    empty: "There are no settings.",
    pageSize: 50,
  });
}

function originText({ origin, line }) {
  if (origin === "changed") return "changed over REST";
  return origin === "file" && line ? `file, line ${line}` : origin;
}

function originChip(row) {
  const [tone, picture, hint] = LOOKS[row.origin] ?? LOOKS.default;
  if (!picture) return el("span", { class: "muted", title: hint }, originText(row));
  return el("span", { class: `chip tone-${tone}`, title: hint }, icon(picture), el("span", {}, originText(row)));
}

function nameAndMeaning({ name, doc, acts }) {
  const meaning = acts ? doc : `Has no effect here. ${doc}`;
  return [el("code", {}, name), meaning && el("p", { class: "meaning" }, meaning)];
}

function code(value) {
  return value ? el("code", {}, value) : NOTHING;
}
