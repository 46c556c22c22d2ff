/** Operations: beginning one, and all that are known. */

import { get } from "../api.js";
import { el, keep } from "../dom.js";
import { duration, moment } from "../format.js";
import { OperationForm } from "../operation_form.js";
import { operationName } from "../operation_kinds.js";
import { stateChip } from "../operation_look.js";
import { operationLink } from "../route.js";
import { section } from "../section.js";
import { DataTable } from "../table.js";

export class OperationsPage {
  title = "Operations";
  plans = {
    operations: { load: () => get("operations", 30_000), every: 5_000 },
    flows: { load: () => get("flows"), every: 5_000 },
  };

  constructor() {
    this.form = new OperationForm((begun) => {
      location.hash = operationLink(begun);
    });
    this.loading = el("p", { class: "loading", role: "status" }, "Loading …");
    this.unread = el("div", { class: "callouts" });
    this.table = operationTable();
    const remark = "Moves between clusters, step by step, each with its proof; and comparisons of both sides.";
    this.element = el(
      "div",
      { class: "stack page" },
      el("div", {}, el("h1", {}, "Operations"), el("p", { class: "summary" }, remark)),
      this.form.element,
      section(
        "Known operations",
        "Those of this process, and those of the last day that the journals on the targets tell of.",
        this.loading,
        this.unread,
        this.table.element,
      ),
    );
  }

  /** @param {import("../app.js").View} view */
  render({ feeds: { operations, flows }, mirror }) {
    const mirroring = (flows.data ?? []).filter(({ health }) => health !== "heartbeats only");
    this.form.update(
      mirror?.caller.role ?? "",
      mirroring.map(({ name }) => name),
    );
    this.loading.hidden = operations.data !== null;
    this.table.element.hidden = operations.data === null;
    if (!operations.data) return;
    const { operations: known, unread } = operations.data;
    keep(this.unread, JSON.stringify(unread), () =>
      unread.map((text) => el("div", { class: "callout tone-warn" }, el("p", {}, `Journal not read. ${text}`))),
    );
    this.table.show(known);
  }
}

function operationTable() {
  const link = (row) => el("a", { href: operationLink(row) }, row.id);
  const columns = [
    { label: "Operation", text: ({ id }) => id, node: link },
    { label: "What", text: operationName },
    { label: "Flow", text: ({ flow }) => flow },
    { label: "State", text: ({ state }) => state, node: ({ state }) => stateChip(state) },
    {
      label: "Began",
      text: (row) => moment(row.began_at_ms, Date.now()),
      value: (row) => row.began_at_ms,
      title: (row) => new Date(row.began_at_ms).toISOString(),
    },
    { label: "Took", text: ({ seconds }) => duration(seconds), value: ({ seconds }) => seconds, isNumber: true },
    { label: "By", text: ({ by }) => by },
    { label: "Why not", text: ({ error }) => error, isWide: true },
  ];
  const filterText = (row) => `${row.id} ${operationName(row)} ${row.flow} ${row.state} ${row.by} ${row.error}`;
  return new DataTable({
    label: "operations",
    noun: "operation",
    columns,
    filterText,
    sortBy: 4,
    isDescending: true,
    empty: "There was none within the last day.",
  });
}
