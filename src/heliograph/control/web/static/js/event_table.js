/** What has happened to partitions beside being copied. */

import { DataTable } from "./table.js";
import { el } from "./dom.js";
import { exact, moment } from "./format.js";
import { icon } from "./icons.js";

const LOOKS = {
  retention: ["bad", "cross", "the source deleted records before they were mirrored"],
  truncation: ["bad", "cross", "the source lost records that it had"],
  recreated: ["warn", "warn", "another topic of the same name has taken the place of the old one"],
  "target-loss": ["bad", "cross", "the target lost records that had been mirrored"],
  "set-aside": ["warn", "stop", "the partition cannot go on for now"],
  mismatch: ["bad", "cross", "what was mirrored is not what the source has"],
  resumed: ["good", "play", "the partition goes on again"],
};

/**
 * @param {{hasFlow: boolean, empty: string}} plan
 */
export function eventTable({ hasFlow, empty }) {
  const columns = [
    {
      label: "Time",
      text: ({ at_ms }) => moment(at_ms, Date.now()),
      value: ({ at_ms }) => at_ms,
      title: ({ at_ms }) => new Date(at_ms).toISOString(),
    },
    { label: "What", text: ({ kind }) => kind, node: ({ kind }) => kindChip(kind) },
    ...(hasFlow ? [{ label: "Flow", text: ({ flow }) => flow }] : []),
    { label: "Partition", text: ({ topic, partition }) => `${topic}-${partition}` },
    {
      label: "Source offsets",
      text: offsets,
      value: ({ from_offset }) => from_offset,
      isNumber: true,
      hint: "from, up to and without to",
    },
    { label: "Reason", text: ({ reason }) => reason, isWide: true },
  ];
  const filterText = ({ kind, flow = "", topic, partition, reason }) =>
    `${kind} ${flow} ${topic}-${partition} ${reason}`;
  return new DataTable({ label: "events", noun: "event", columns, filterText, sortBy: 0, isDescending: true, empty });
}

function kindChip(kind) {
  const [tone, picture, hint] = LOOKS[kind] ?? ["warn", "unknown", ""];
  return el("span", { class: `chip tone-${tone}`, title: hint }, icon(picture), el("span", {}, kind));
}

function offsets({ from_offset: from, to_offset: to }) {
  return to > from + 1 ? `${exact(from)} – ${exact(to)}` : exact(from);
}
