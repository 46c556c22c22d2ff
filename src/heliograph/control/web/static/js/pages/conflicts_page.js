/** Conflicts of the last hour on one cluster: how many, in which keys, and how they were settled. */

import { get } from "../api.js";
import { Chart } from "../chart.js";
import { conflictNumbers } from "../conflict_numbers.js";
import { keyTable, sharesOf, shareTable } from "../conflict_tables.js";
import { Cursor } from "../cursor.js";
import { DecisionList } from "../decision_list.js";
import { el, keep } from "../dom.js";
import { count, duration, plural } from "../format.js";
import { KeyNumbers } from "../numbers.js";
import { countTicks } from "../scale.js";
import { section } from "../section.js";

const EVERY = 5_000;
const PATIENCE = 60_000; // the first time, all decisions of an hour are read
const SLICE = 90_000; // more than between two points

export class ConflictsPage {
  title = "Conflicts";

  constructor() {
    this.plans = { conflicts: { load: () => get(this.#path(), PATIENCE), every: EVERY } };
    this.alias = "";
    this.only = null;
    this.worst = "good";
    this.loading = el("p", { class: "loading", role: "status" }, "Loading …");
    this.off = off();
    this.choices = el("div", { class: "choices" });
    this.callouts = el("div", { class: "callouts stack" });
    this.numbers = new KeyNumbers("Key numbers");
    this.chart = rateChart();
    this.shares = shareTable();
    this.keys = keyTable((chosen) => this.#choose(chosen));
    this.chosen = el("div", { class: "choices" });
    this.decisions = new DecisionList();
    this.content = this.#content();
    const remark = "Records of one key that were written on different clusters too close to each other.";
    this.element = el(
      "div",
      { class: "stack page" },
      el("div", {}, el("h1", {}, "Conflicts"), el("p", { class: "summary" }, remark)),
      this.loading,
      this.off,
      this.content,
    );
  }

  #content() {
    return el(
      "div",
      { class: "stack" },
      this.choices,
      this.callouts,
      this.numbers.element,
      section("The last hour", "", el("div", { class: "charts" }, this.chart.element)),
      section(
        "Keys",
        "Those with the most conflicts. A key narrows the decisions below to its own.",
        this.keys.element,
      ),
      section("Decisions", "The newest first, with the records that met.", this.chosen, this.decisions.element),
      section("Shares", "Conflicts by topic, by rule, and by the cluster that won.", this.shares.element),
    );
  }

  close() {
    this.chart.close();
  }

  tone() {
    return this.worst;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    this.view = view;
    const { data, isStale } = view.feeds.conflicts;
    this.loading.hidden = data !== null;
    this.off.hidden = !data || data.clusters.length > 0;
    this.content.hidden = !data || !data.clusters.length;
    if (this.content.hidden) return;
    const cluster = data.clusters.find(({ cluster }) => cluster === this.alias) ?? data.clusters[0];
    this.#renderChoices(data.clusters, cluster);
    this.#renderCallouts(cluster, data.shows_values);
    this.numbers.show(conflictNumbers(cluster, isStale, view.nowMs));
    this.chart.show(cluster.bars, view.nowMs);
    this.shares.show(sharesOf(cluster));
    this.keys.show(cluster.keys);
    this.#renderChosen();
    this.decisions.show(cluster.decisions.filter((each) => this.#isChosen(each)), data.shows_values);
  }

  #path() {
    return `conflicts?${new URLSearchParams({ limit: 50, ...this.only })}`;
  }

  #isChosen({ topic, key }) {
    return !this.only || (this.only.topic === topic && this.only.key === key);
  }

  /** Show at once what is known, and ask for more. */
  #choose(chosen) {
    this.only = chosen;
    this.render(this.view);
    this.view.refresh("conflicts");
  }

  #renderChoices(clusters, { cluster, patterns, resolver, window_ms: window }) {
    const names = clusters.map((each) => each.cluster);
    keep(this.choices, JSON.stringify([names, cluster, patterns, resolver, window]), () => [
      names.length > 1 && this.#clusterChoice(names, cluster),
      el(
        "p",
        { class: "muted" },
        `Looks for conflicts in ${patterns.join(", ")} within ${duration(window / 1000)}; settles them by ${resolver}.`,
      ),
    ]);
  }

  #clusterChoice(names, current) {
    const options = names.map((name) => el("option", { value: name, selected: name === current }, name));
    const change = (event) => {
      this.alias = event.target.value;
      this.render(this.view);
    };
    return el("label", {}, "Decided on", el("select", { on: { change } }, options));
  }

  #renderCallouts(cluster, showsValues) {
    const found = troublesOf(cluster);
    this.worst = found.some(([tone]) => tone === "bad") ? "bad" : found.length ? "warn" : "good";
    const notes = showsValues ? found : [...found, ["idle", "What the records say is shown to operators."]];
    keep(this.callouts, JSON.stringify(notes), () =>
      notes.map(([tone, text]) => el("div", { class: `callout tone-${tone}` }, el("p", {}, text))),
    );
  }

  #renderChosen() {
    keep(this.chosen, JSON.stringify(this.only), () =>
      this.only
        ? [
            el("p", {}, `Only ${this.only.topic} · ${this.only.key}`),
            el("button", { type: "button", on: { click: () => this.#choose(null) } }, "Show all keys"),
          ]
        : [],
    );
  }
}

function off() {
  const lines = ["conflicts.topics = orders", "conflicts.window.ms = 5000", "conflicts.resolver = last-writer-wins"];
  return el(
    "section",
    { class: "section card", hidden: true },
    el("h2", {}, "Detection is off"),
    el(
      "p",
      {},
      "Nobody looks for conflicts on the clusters that this mirror writes to. To turn it on, name the topics in the " +
        "file and start the mirror again, for all clusters or for one (with its alias and a dot before the key):",
    ),
    el("pre", { class: "lines" }, el("code", {}, lines.join("\n"))),
  );
}

function troublesOf({ cluster, exists, trouble, unreadable, detection }) {
  return [
    trouble && ["bad", `The decisions of ${cluster} cannot be read: ${trouble}`],
    detection.trouble && ["bad", `Something holds detection on ${cluster} up: ${detection.trouble}`],
    !exists && !trouble && ["warn", `${cluster} has no topic conflict-resolutions yet: detection has not begun.`],
    detection.late > 0 && [
      "warn",
      `${plural(detection.late, "record")} came too late to be looked at; conflicts.lateness.ms says what is too late.`,
    ],
    detection.unreadable > 0 && [
      "warn",
      `${plural(detection.unreadable, "offset")} cannot be read, and took part in no decision. The last: ` +
        `${detection.passed_by.at(-1)}`,
    ],
    unreadable > 0 && ["warn", `${plural(unreadable, "record")} of conflict-resolutions could not be read.`],
  ].filter(Boolean);
}

function rateChart() {
  return new Chart({
    title: "Conflicts per minute",
    cursor: new Cursor(),
    format: count,
    ticks: countTicks,
    gap: SLICE,
    series: [{ label: "conflicts", name: "first", value: (point) => point.per_minute }],
  });
}
