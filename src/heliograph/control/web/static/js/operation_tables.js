/** What operations have found out: where groups go on, what is missing, what was saved, what differs. */

import { el, keep } from "./dom.js";
import { exact, moment, plural } from "./format.js";
import { section } from "./section.js";
import { DataTable } from "./table.js";

/** All tables that the details of an operation have rows for. */
export class OperationTables {
  constructor() {
    this.parts = [groupPart(), missingPart(), tailPart(), differencePart(), leftOutPart()];
    this.element = el(
      "div",
      { class: "stack" },
      this.parts.map(({ element }) => element),
    );
    this.details = null;
  }

  /** @param {any} details as the API gives them */
  show(details) {
    const text = JSON.stringify(details);
    if (text === this.details) return;
    this.details = text;
    for (const { element, remark, table, find, say } of this.parts) {
      const rows = find(details);
      element.hidden = rows === null;
      if (rows === null) continue;
      keep(remark, say(details, rows), () => say(details, rows));
      table.show(rows);
    }
  }
}

function part(heading, table, find, say) {
  const remark = el("p", { class: "muted" });
  return { element: section(heading, "", remark, table.element), remark, table, find, say };
}

const number = (label, key, hint) => ({
  label,
  text: (row) => exact(row[key]),
  value: (row) => row[key],
  hint,
  isNumber: true,
});
const partition = { label: "Partition", text: ({ topic, partition }) => `${topic}-${partition}` };

function groupPart() {
  const columns = [
    { label: "Group", text: ({ group }) => group },
    { label: "Partition", text: (row) => `${row.source_topic}-${row.partition}` },
    number("Was at", "source_offset", "what it had committed on the source"),
    { label: "Target topic", text: (row) => row.target_topic },
    number("Goes on at", "target_offset"),
    { label: "Exact", text: (row) => (row.exact ? "yes" : `no: up to ${exact(row.waiting)} records again`) },
    number("Waiting", "waiting", "offsets from there to the end of the target partition"),
    { label: "Outcome", text: (row) => [row.outcome, row.reason].filter(Boolean).join(": "), isWide: true },
  ];
  const filterText = (row) => `${row.group} ${row.source_topic}-${row.partition} ${row.target_topic} ${row.outcome}`;
  const empty = "No group was seen to read what is mirrored.";
  const table = new DataTable({ label: "groups", noun: "offset", columns, filterText, sortBy: 0, empty });
  const groups = (rows) => new Set(rows.map(({ group }) => group)).size;
  return part(
    "Groups",
    table,
    ({ groups }) => groups ?? null,
    (_, rows) => `${plural(groups(rows), "group")}: where each stood, and where it goes on on the other side.`,
  );
}

function missingPart() {
  const columns = [
    partition,
    { label: "Target topic", text: (row) => row.target_topic },
    number("Mirrored to", "mirrored_to", "the last offset that is safe on the target"),
    number("Known end", "known_end", "the offset after the last one that was seen on the source"),
    number("Missing", "missing", "at least so many offsets"),
    { label: "Seen", text: (row) => moment(row.seen_at_ms, Date.now()), value: (row) => row.seen_at_ms },
  ];
  const empty = "Nothing is known to be missing.";
  const table = new DataTable({
    label: "missing records",
    noun: "partition",
    columns,
    sortBy: 4,
    isDescending: true,
    empty,
  });
  const find = ({ partitions }) => partitions?.filter(({ missing }) => missing > 0) ?? null;
  const say = (details) => `${plural(details.missing_records, "record")} of the source, which ${sight(details)}.`;
  return part("Missing records", table, find, say);
}

function sight({ source_answers: answers, source_seen_at_ms: seenAt }) {
  if (answers) return "answers";
  return `does not answer${seenAt ? ` and was last seen at ${moment(seenAt, Date.now())}` : ""}`;
}

function tailPart() {
  const columns = [partition, number("Records", "records")];
  const table = new DataTable({
    label: "unmirrored tail",
    noun: "partition",
    columns,
    sortBy: 0,
    empty: "The target has everything that the source has.",
  });
  const say = ({ tail }) =>
    tail.records ? `${plural(tail.records, "record")} that only the source has, saved to ${tail.saved_to}.` : "";
  return part("Unmirrored tail", table, ({ tail }) => tail?.partitions ?? null, say);
}

function differencePart() {
  const columns = [{ label: "First difference of a partition", text: ({ text }) => text, isWide: true }];
  const table = new DataTable({ label: "differences", noun: "difference", columns, empty: "Nothing differs." });
  const find = ({ differences }) => differences?.map((text) => ({ text })) ?? null;
  const say = (details) =>
    `${plural(details.compared_records, "record")} compared; ${plural(details.not_mirrored_yet, "offset")} of the ` +
    "source not mirrored yet.";
  return part("Differences", table, find, say);
}

function leftOutPart() {
  const columns = [{ label: "What was not compared", text: ({ text }) => text, isWide: true }];
  const table = new DataTable({ label: "left out", noun: "remark", columns, empty: "" });
  const find = ({ left_out: notes }) => (notes?.length ? notes.map((text) => ({ text })) : null);
  return part("Left out", table, find, () => "");
}
