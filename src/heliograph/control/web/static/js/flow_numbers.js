/** The key numbers of a flow. */

import { ago, byteRate, bytes, count, duration, exact, milliseconds, NOTHING, rate } from "./format.js";
import { isLagKnown, recoveryPoint } from "./health.js";

const OLD_LAG = 15; // seconds after which the source should have been asked again

/**
 * @param {any} flow
 * @param {boolean} isStale
 * @param {number} nowMs
 * @returns {import("./numbers.js").KeyNumber[]}
 */
export function flowNumbers(flow, isStale, nowMs) {
  const numbers = [...lagNumbers(flow), ...rateNumbers(flow), ...otherNumbers(flow, nowMs)];
  return isStale
    ? numbers.map((number) => ({ label: number.label, value: "?", note: `was ${number.value}` }))
    : numbers;
}

function lagNumbers(flow) {
  if (!isLagKnown(flow)) {
    const note = flow.health === "starting" ? "not known yet" : "mirrors no topics";
    return ["Lag", "Behind", "RPO"].map((label) => ({ label, value: NOTHING, note }));
  }
  const isOld = flow.lag_known_age_seconds > OLD_LAG;
  const seen = `source asked ${duration(Math.floor(flow.lag_known_age_seconds))} ago`;
  const tone = isOld ? "bad" : "";
  return [
    {
      label: "Lag",
      value: `${isOld ? "≥ " : ""}${count(flow.lag_records)}`,
      note: `records · ${seen}`,
      title: exact(flow.lag_records),
      tone,
    },
    {
      label: "Behind",
      value: `${isOld ? "≥ " : ""}${duration(flow.lag_seconds)}`,
      note: "the oldest record that waits",
      tone,
    },
    {
      label: "RPO",
      value: `≤ ${duration(Math.ceil(recoveryPoint(flow)))}`,
      note: "lost if the source were lost now",
      tone,
    },
  ];
}

function rateNumbers(flow) {
  const latency = (value) => (flow.records_per_second ? milliseconds(value) : NOTHING);
  return [
    {
      label: "Records",
      value: rate(flow.records_per_second),
      note: `${count(flow.records_total)} since the start`,
      title: exact(flow.records_total),
    },
    {
      label: "Volume",
      value: byteRate(flow.bytes_per_second),
      note: `${bytes(flow.bytes_total)} since the start`,
      title: `${exact(flow.bytes_total)} B`,
    },
    { label: "Latency, average", value: latency(flow.latency_avg_ms), note: "from a record's own time to its commit" },
    { label: "Latency, highest", value: latency(flow.latency_max_ms), note: "within the last minute" },
  ];
}

function otherNumbers(flow, nowMs) {
  const aside = flow.set_aside ? `${exact(flow.set_aside)} set aside` : "none set aside";
  return [
    { label: "Partitions", value: exact(flow.partitions), note: aside, tone: flow.set_aside ? "warn" : "" },
    { label: "Lanes", value: exact(flow.lanes), note: `${count(flow.transactions_total)} transactions` },
    { label: "Last commit", value: ago(flow.last_commit_ms, nowMs), note: flow.owner && `by ${flow.owner}` },
  ];
}
