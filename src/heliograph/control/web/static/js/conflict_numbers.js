/** The key numbers of conflicts on a cluster. */

import { ago, count, duration, exact, NOTHING } from "./format.js";

/**
 * @param {any} cluster
 * @param {boolean} isStale
 * @param {number} nowMs
 * @returns {import("./numbers.js").KeyNumber[]}
 */
export function conflictNumbers(cluster, isStale, nowMs) {
  const numbers = [...decided(cluster, nowMs), ...detected(cluster.detection)];
  return isStale
    ? numbers.map((number) => ({ label: number.label, value: "?", note: `was ${number.value}` }))
    : numbers;
}

/** What cannot be read may be more. */
function decided({ conflicts, last_minute: minute, per_minute: rate, last_ms: last, trouble }, nowMs) {
  const least = (text) => (trouble ? `≥ ${text}` : text);
  const tone = trouble ? "bad" : "";
  return [
    { label: "Conflicts", value: least(count(conflicts)), note: "in the last hour", title: exact(conflicts), tone },
    { label: "Last minute", value: least(count(minute)), note: `the last ${ago(last, nowMs)}`, tone },
    { label: "Rate", value: least(perMinute(rate)), note: "average of the hour", tone },
  ];
}

function detected({ records, waiting, delay_seconds: delay, late }) {
  return [
    { label: "Records looked at", value: count(records), note: "since this process began", title: exact(records) },
    { label: "Waiting", value: count(waiting), note: "may still meet another" },
    { label: "Behind", value: duration(delay), note: "the oldest that waits" },
    { label: "Late", value: count(late), note: "not looked at", tone: late > 0 ? "warn" : "" },
  ];
}

function perMinute(number) {
  if (typeof number !== "number") return NOTHING;
  const text = number < 100 ? number.toFixed(1).replace(/\.0$/, "") : count(number);
  return `${number > 0 && number < 0.1 ? "< 0.1" : text}/min`;
}
