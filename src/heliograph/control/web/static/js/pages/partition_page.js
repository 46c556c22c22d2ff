/** One partition: its numbers, and where its last records went. */

import { flowPath, get } from "../api.js";
import { el, keep } from "../dom.js";
import { FlowFrame } from "../flow_frame.js";
import { byteRate, count, duration, exact, milliseconds, moment, NOTHING, rate } from "../format.js";
import { KeyNumbers } from "../numbers.js";
import { flowLink } from "../route.js";
import { section } from "../section.js";
import { DataTable } from "../table.js";

const PATIENCE = 30_000;

export class PartitionPage {
  /** @param {import("../route.js").Route} route */
  constructor(route) {
    const [topic = "", partition = "0"] = route.rest;
    this.number = Number(partition);
    this.title = `${topic}-${partition}`;
    this.numbers = new KeyNumbers("Numbers of the partition");
    this.aside = el("div", { class: "callouts" });
    this.table = rangeTable();
    const back = el("p", {}, el("a", { href: flowLink(route.flow) }, "← All partitions"));
    this.frame = new FlowFrame(
      route,
      back,
      el("h2", {}, this.title),
      this.aside,
      this.numbers.element,
      section(
        "Ledger",
        "Where its last records went: source offsets in a row, and the target offsets they were written to.",
        this.table.element,
      ),
    );
    this.element = this.frame.element;
    const query = new URLSearchParams({ topic, partition, limit: "200" });
    this.plans = {
      flow: this.frame.plan(),
      partitions: {
        load: () => get(flowPath(route.flow, `partitions?${new URLSearchParams({ topic })}`)),
        every: 2_000,
      },
      ledger: { load: () => get(flowPath(route.flow, `ledger?${query}`), PATIENCE), every: 10_000 },
    };
  }

  tone() {
    return this.frame.tone;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    const { partitions, ledger } = view.feeds;
    this.frame.render(view, "partitions");
    const found = partitions.data?.find(({ partition }) => partition === this.number);
    if (found) this.#showNumbers(found, partitions.isStale);
    if (ledger.data) this.table.show(ledger.data);
  }

  #showNumbers(found, isStale) {
    keep(
      this.aside,
      found.set_aside,
      () => found.set_aside && el("div", { class: "callout tone-warn" }, el("p", {}, `Set aside: ${found.set_aside}`)),
    );
    const numbers = [
      { label: "Lag", value: count(found.lag_records), note: "records" },
      { label: "Behind", value: duration(found.lag_seconds) },
      {
        label: "Mirrored to",
        value: found.mirrored_to < 0 ? NOTHING : exact(found.mirrored_to),
        note: `of ${exact(found.end)} on the source`,
      },
      { label: "Records", value: rate(found.records_per_second), note: byteRate(found.bytes_per_second) },
      {
        label: "Latency",
        value: found.records_per_second ? milliseconds(found.latency_avg_ms) : NOTHING,
        note: "average",
      },
      {
        label: "On the target",
        value: found.target_topic,
        note: found.lane === null ? "on no lane" : `lane ${found.lane}`,
      },
    ];
    this.numbers.show(
      isStale ? numbers.map(({ label, value }) => ({ label, value: "?", note: `was ${value}` })) : numbers,
    );
  }
}

function rangeTable() {
  const number = (label, text, value) => ({ label, text, value, isNumber: true });
  const columns = [
    { label: "Written", text: ({ written_at_ms: at }) => moment(at, Date.now()), value: ({ written_at_ms: at }) => at },
    number(
      "Source offsets",
      (row) => range(row.source_offset, row.length),
      (row) => row.source_offset,
    ),
    number(
      "Target offsets",
      (row) => range(row.target_offset, row.length),
      (row) => row.target_offset,
    ),
    number(
      "Records",
      (row) => exact(row.length),
      (row) => row.length,
    ),
    number(
      "Lane",
      (row) => exact(row.lane),
      (row) => row.lane,
    ),
  ];
  return new DataTable({
    label: "ledger",
    noun: "range",
    columns,
    empty: "The ledger has no entry of this partition within reach.",
  });
}

function range(first, length) {
  return length > 1 ? `${exact(first)} – ${exact(first + length - 1)}` : exact(first);
}
