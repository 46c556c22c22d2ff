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
  const number = (label, text, value) => ({ label, text, value, isNumber: true });
  const columns = [
    { label: "Topic", text: ({ topic }) => topic },
    { label: "Target topic", text: (row) => row.target_topic },
    number(
      "Partitions",
      (row) => exact(row.partitions),
      (row) => row.partitions,
    ),
    {
      label: "Set aside",
      text: (row) => exact(row.set_aside),
      value: (row) => row.set_aside,
      node: asideChip,
      isNumber: true,
    },
    number(
      "Lag",
      (row) => count(row.lag_records),
      (row) => row.lag_records,
    ),
    number(
      "Behind",
      (row) => duration(row.lag_seconds),
      (row) => row.lag_seconds,
    ),
    number(
      "Records/s",
      (row) => rate(row.records_per_second),
      (row) => row.records_per_second,
    ),
    number(
      "Volume",
      (row) => byteRate(row.bytes_per_second),
      (row) => row.bytes_per_second,
    ),
    number(
      "Records",
      (row) => count(row.records),
      (row) => row.records,
    ),
    number(
      "Bytes",
      (row) => bytes(row.bytes),
      (row) => row.bytes,
    ),
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
