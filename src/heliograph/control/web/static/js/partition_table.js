/** The partitions of a flow. */

import { el } from "./dom.js";
import { byteRate, bytes, count, duration, exact, milliseconds, NOTHING, rate } from "./format.js";
import { icon } from "./icons.js";
import { flowLink } from "./route.js";
import { DataTable } from "./table.js";

/** @param {string} flow */
export function partitionTable(flow) {
  const number = (label, text, value, hint) => ({ label, text, value, hint, isNumber: true });
  const latency = (row, value) => (row.records_per_second ? milliseconds(value) : NOTHING);
  const columns = [
    {
      label: "Partition",
      text: name,
      node: (row) => el("a", { href: flowLink(flow, "partitions", row.topic, row.partition) }, name(row)),
    },
    { label: "State", text: ({ set_aside: why }) => why || "mirrored", node: stateChip },
    number(
      "Lag",
      (row) => count(row.lag_records),
      (row) => row.lag_records,
      "records that are not mirrored yet",
    ),
    number(
      "Behind",
      (row) => duration(row.lag_seconds),
      (row) => row.lag_seconds,
      "how long the oldest of them has waited",
    ),
    number(
      "Mirrored to",
      (row) => (row.mirrored_to < 0 ? NOTHING : exact(row.mirrored_to)),
      (row) => row.mirrored_to,
      "the last source offset that is safe on the target",
    ),
    number(
      "Source end",
      (row) => exact(row.end),
      (row) => row.end,
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
      "Latency",
      (row) => latency(row, row.latency_avg_ms),
      (row) => row.latency_avg_ms,
      "average of the last minute",
    ),
    number(
      "Max",
      (row) => latency(row, row.latency_max_ms),
      (row) => row.latency_max_ms,
      "highest latency of the last minute",
    ),
    number(
      "Records",
      (row) => count(row.records),
      (row) => row.records,
      "since this process began",
    ),
    number(
      "Bytes",
      (row) => bytes(row.bytes),
      (row) => row.bytes,
      "since this process began",
    ),
    number(
      "Lane",
      (row) => (row.lane === null ? NOTHING : exact(row.lane)),
      (row) => row.lane,
    ),
    { label: "Target topic", text: (row) => row.target_topic },
  ];
  const filterText = (row) => `${name(row)} ${row.target_topic} ${row.set_aside ? `set aside ${row.set_aside}` : ""}`;
  return new DataTable({
    label: "partitions",
    noun: "partition",
    columns,
    filterText,
    sortBy: 2,
    isDescending: true,
    pageSize: 25,
    empty: "No partition is mirrored.",
  });
}

function name({ topic, partition }) {
  return `${topic}-${partition}`;
}

function stateChip({ set_aside: why }) {
  if (!why) return el("span", { class: "muted" }, "mirrored");
  return el("span", { class: "chip tone-warn", title: why }, icon("warn"), el("span", {}, `set aside: ${why}`));
}
