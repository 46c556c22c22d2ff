/** The partitions of a flow. */

import { el } from "./dom.js";
import { byteRate, bytes, count, duration, exact, milliseconds, NOTHING, rate } from "./format.js";
import { icon } from "./icons.js";
import { flowLink } from "./route.js";
import { DataTable } from "./table.js";

/** @param {string} flow */
export function partitionTable(flow) {
  const link = (row) => el("a", { href: flowLink(flow, "partitions", row.topic, row.partition) }, name(row));
  return new DataTable({
    label: "partitions",
    noun: "partition",
    columns: [
      { label: "Partition", text: name, node: link },
      { label: "State", text: ({ set_aside: why }) => why || "mirrored", node: stateChip },
      ...lagColumns(),
      ...rateColumns(),
      ...totalColumns(),
      { label: "Target topic", text: (row) => row.target_topic },
    ],
    filterText: (row) => `${name(row)} ${row.target_topic} ${row.set_aside ? `set aside ${row.set_aside}` : ""}`,
    sortBy: 2,
    isDescending: true,
    pageSize: 25,
    empty: "No partition is mirrored.",
  });
}

function number(label, key, shown, hint) {
  return { label, text: (row) => shown(row[key], row), value: (row) => row[key], hint, isNumber: true };
}

function lagColumns() {
  const reached = (offset) => (offset < 0 ? NOTHING : exact(offset));
  return [
    number("Lag", "lag_records", count, "records that are not mirrored yet"),
    number("Behind", "lag_seconds", duration, "how long the oldest of them has waited"),
    number("Mirrored to", "mirrored_to", reached, "the last source offset that is safe on the target"),
    number("Source end", "end", exact, "the offset of the next record there"),
  ];
}

function rateColumns() {
  const latency = (value, row) => (row.records_per_second ? milliseconds(value) : NOTHING);
  return [
    number("Records/s", "records_per_second", rate, "average of the last minute"),
    number("Volume", "bytes_per_second", byteRate, "average of the last minute"),
    number("Latency", "latency_avg_ms", latency, "average of the last minute"),
    number("Max", "latency_max_ms", latency, "highest latency of the last minute"),
  ];
}

function totalColumns() {
  return [
    number("Records", "records", count, "since this process began"),
    number("Bytes", "bytes", bytes, "since this process began"),
    number("Lane", "lane", exact, "which lane copies it"),
  ];
}

function name({ topic, partition }) {
  return `${topic}-${partition}`;
}

function stateChip({ set_aside: why }) {
  if (!why) return el("span", { class: "muted" }, "mirrored");
  return el("span", { class: "chip tone-warn", title: why }, icon("warn"), el("span", {}, `set aside: ${why}`));
}
