/** The topics of a flow. */

import { flowPath, get } from "../api.js";
import { el } from "../dom.js";
import { FlowFrame } from "../flow_frame.js";
import { byteRate, bytes, count, duration, exact, rate } from "../format.js";
import { icon } from "../icons.js";
import { section } from "../section.js";
import { DataTable } from "../table.js";

export class TopicsPage {
  /** @param {import("../route.js").Route} route */
  constructor(route) {
    this.title = `${route.flow} topics`;
    this.table = topicTable();
    this.frame = new FlowFrame(
      route,
      section(
        "Topics",
        "Their partitions together; rates over the last minute, totals since this process began.",
        this.table.element,
      ),
    );
    this.element = this.frame.element;
    this.plans = { flow: this.frame.plan(), topics: { load: () => get(flowPath(route.flow, "topics")), every: 2_000 } };
  }

  tone() {
    return this.frame.tone;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    this.frame.render(view, "topics");
    if (view.feeds.topics.data) this.table.show(view.feeds.topics.data);
  }
}

function topicTable() {
  const number = (label, key, shown) => ({
    label,
    text: (row) => shown(row[key]),
    value: (row) => row[key],
    isNumber: true,
  });
  const columns = [
    { label: "Topic", text: ({ topic }) => topic },
    { label: "Target topic", text: (row) => row.target_topic },
    number("Partitions", "partitions", exact),
    { ...number("Set aside", "set_aside", exact), node: asideChip },
    number("Lag", "lag_records", count),
    number("Behind", "lag_seconds", duration),
    number("Records/s", "records_per_second", rate),
    number("Volume", "bytes_per_second", byteRate),
    number("Records", "records", count),
    number("Bytes", "bytes", bytes),
  ];
  const filterText = (row) => `${row.topic} ${row.target_topic} ${row.set_aside ? "set aside" : ""}`;
  return new DataTable({
    label: "topics",
    noun: "topic",
    columns,
    filterText,
    sortBy: 0,
    empty: "No topic is mirrored.",
  });
}

function asideChip({ set_aside: number }) {
  return number
    ? el("span", { class: "chip tone-warn" }, icon("warn"), el("span", {}, exact(number)))
    : el("span", { class: "muted" }, "0");
}
