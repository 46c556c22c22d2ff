/** What a flow mirrors to where, and what it leaves out. */

import { flowPath, get } from "../api.js";
import { el, keep } from "../dom.js";
import { FlowFrame } from "../flow_frame.js";
import { exact } from "../format.js";
import { icon } from "../icons.js";
import { section } from "../section.js";
import { DataTable } from "../table.js";

const EVERY = 30_000;
const PATIENCE = 60_000; // two clusters are asked
const LOOKS = { mirrored: ["good", "check"], "to be created": ["idle", "wait"], "to grow": ["idle", "wait"] };

export class PlanPage {
  /** @param {import("../route.js").Route} route */
  constructor(route) {
    this.title = `${route.flow} plan`;
    this.problems = el("div", { class: "callouts" });
    this.topics = topicTable();
    this.leftOut = leftOutTable();
    this.frame = new FlowFrame(
      route,
      this.problems,
      section("Mirrored", "Topics that the file selects, and their names on the target.", this.topics.element),
      section("Left out", "Topics of the source that are not mirrored, and why.", this.leftOut.element),
    );
    this.element = this.frame.element;
    this.plans = {
      flow: this.frame.plan(),
      plan: { load: () => get(flowPath(route.flow, "plan"), PATIENCE), every: EVERY },
    };
  }

  tone() {
    return this.frame.tone;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    const { plan } = view.feeds;
    this.frame.render(view, "plan");
    if (!plan.data) return;
    const { problems, topics, left_out: leftOut } = plan.data;
    keep(
      this.problems,
      JSON.stringify(problems),
      () =>
        problems.length > 0 &&
        el(
          "div",
          { class: "callout tone-warn" },
          problems.map((text) => el("p", {}, text)),
        ),
    );
    this.topics.show(topics);
    this.leftOut.show(leftOut);
  }
}

function topicTable() {
  const columns = [
    { label: "Topic", text: ({ topic }) => topic },
    { label: "On the target", text: (row) => row.target_topic },
    { label: "Partitions", text: (row) => exact(row.partitions), value: (row) => row.partitions, isNumber: true },
    { label: "State", text: ({ state }) => state, node: stateChip },
  ];
  const filterText = (row) => `${row.topic} ${row.target_topic} ${row.state}`;
  return new DataTable({
    label: "mirrored topics",
    noun: "topic",
    columns,
    filterText,
    sortBy: 0,
    empty: "No topic is selected.",
  });
}

function stateChip({ state }) {
  const [tone, picture] = LOOKS[state] ?? ["warn", "unknown"];
  return el("span", { class: `chip tone-${tone}` }, icon(picture), el("span", {}, state));
}

function leftOutTable() {
  const columns = [
    { label: "Topic", text: ({ topic }) => topic },
    { label: "Reason", text: ({ reason }) => reason, isWide: true },
  ];
  const filterText = ({ topic, reason }) => `${topic} ${reason}`;
  return new DataTable({
    label: "topics left out",
    noun: "topic",
    columns,
    filterText,
    sortBy: 0,
    empty: "No topic is left out.",
  });
}
