/** The consumer groups that a flow follows: where each stands on both sides. */

import { flowPath, get } from "../api.js";
import { el, setText } from "../dom.js";
import { FlowFrame } from "../flow_frame.js";
import { ago, count, exact, NOTHING } from "../format.js";
import { icon } from "../icons.js";
import { section } from "../section.js";
import { DataTable } from "../table.js";

const EVERY = 15_000;
const PATIENCE = 60_000; // two clusters are asked

export class GroupsPage {
  /** @param {import("../route.js").Route} route */
  constructor(route) {
    this.title = `${route.flow} groups`;
    this.answer = null;
    this.places = placeTable();
    this.groups = groupTable((group) => this.places.setFilter(group));
    this.read = el("p", { class: "muted" });
    this.again = el("button", { type: "button" }, "Look again");
    this.frame = new FlowFrame(
      route,
      el("div", { class: "read-line" }, this.read, this.again),
      section(
        "Groups",
        "All partitions of a group together. A name narrows the table below to its group.",
        this.groups.element,
      ),
      section(
        "Offsets",
        "Where each group stands in each partition. Exact: it goes on with the very next record; " +
          "else some records come again, none is skipped.",
        this.places.element,
      ),
    );
    this.element = this.frame.element;
    this.plans = {
      flow: this.frame.plan(),
      groups: { load: () => get(flowPath(route.flow, "groups"), PATIENCE), every: EVERY },
    };
  }

  tone() {
    return this.frame.tone;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    const { groups } = view.feeds;
    this.frame.render(view, "groups");
    this.again.onclick = () => view.refresh("groups");
    this.again.disabled = groups.isLoading;
    if (!groups.data) return;
    setText(
      this.read,
      `Read from the clusters ${ago(groups.data.read_at_ms, view.nowMs)}` +
        (groups.isLoading ? ", reading again …" : "."),
    );
    if (this.answer !== groups.data) this.#show(groups.data);
  }

  #show(answer) {
    this.answer = answer;
    this.groups.show(answer.groups.map(totals));
    this.places.show(
      answer.groups.flatMap(({ group, partitions }) => partitions.map((place) => ({ group, ...place }))),
    );
  }
}

function totals({ group, partitions }) {
  const sum = (values) => values.reduce((one, other) => one + other, 0);
  const mirrored = partitions.filter((place) => place.translated_offset !== null);
  return {
    group,
    partitions: partitions.length,
    mirrored: mirrored.length,
    exact: mirrored.filter((place) => place.is_exact).length,
    synced: mirrored.filter((place) => place.target_offset !== null).length,
    sourceLag: sum(partitions.map((place) => place.source_lag)),
    targetLag: mirrored.length ? sum(mirrored.map((place) => place.target_lag ?? 0)) : null,
  };
}

function groupTable(onChosen) {
  const number = (label, text, value, hint) => ({ label, text, value, hint, isNumber: true });
  const link = ({ group }) =>
    el("button", { type: "button", class: "link", on: { click: () => onChosen(group) } }, group);
  const columns = [
    { label: "Group", text: ({ group }) => group, node: link },
    number(
      "Partitions",
      (row) => exact(row.partitions),
      (row) => row.partitions,
    ),
    number(
      "Translated",
      (row) => `${exact(row.mirrored)} of ${exact(row.partitions)}`,
      (row) => row.mirrored,
      "partitions whose offset is known on the target",
    ),
    number(
      "Exact",
      (row) => `${exact(row.exact)} of ${exact(row.mirrored)}`,
      (row) => row.exact,
    ),
    number(
      "Committed on target",
      (row) => `${exact(row.synced)} of ${exact(row.mirrored)}`,
      (row) => row.synced,
    ),
    number(
      "Source lag",
      (row) => count(row.sourceLag),
      (row) => row.sourceLag,
      "records the group has not read on the source",
    ),
    number(
      "Target lag",
      (row) => count(row.targetLag),
      (row) => row.targetLag,
      "records it would still have to read on the target",
    ),
  ];
  return new DataTable({ label: "groups", noun: "group", columns, sortBy: 0, empty: "No group is followed." });
}

function placeTable() {
  const number = (label, text, value, hint) => ({ label, text, value, hint, isNumber: true });
  const columns = [
    { label: "Group", text: ({ group }) => group },
    { label: "Partition", text: ({ topic, partition }) => `${topic}-${partition}` },
    number(
      "Source offset",
      (row) => exact(row.source_offset),
      (row) => row.source_offset,
    ),
    number(
      "Source lag",
      (row) => count(row.source_lag),
      (row) => row.source_lag,
    ),
    { label: "Translation", text: precision, node: precisionChip },
    number(
      "Translated",
      (row) => exact(row.translated_offset),
      (row) => row.translated_offset,
      "where it should go on, on the target",
    ),
    number(
      "Target offset",
      (row) => exact(row.target_offset),
      (row) => row.target_offset,
      "what is committed there",
    ),
    number(
      "Target lag",
      (row) => count(row.target_lag),
      (row) => row.target_lag,
    ),
    { label: "Target topic", text: (row) => row.target_topic || NOTHING },
  ];
  const filterText = (row) => `${row.group} ${row.topic}-${row.partition} ${row.target_topic} ${precision(row)}`;
  return new DataTable({
    label: "offsets of groups",
    noun: "offset",
    columns,
    filterText,
    sortBy: 0,
    empty: "No group has committed offsets.",
  });
}

function precision(row) {
  if (row.translated_offset === null) return "not mirrored";
  return row.is_exact ? "exact" : "safe, not exact";
}

function precisionChip(row) {
  const [tone, picture] =
    row.translated_offset === null ? ["idle", "stop"] : row.is_exact ? ["good", "check"] : ["warn", "warn"];
  return el("span", { class: `chip tone-${tone}` }, icon(picture), el("span", {}, precision(row)));
}
