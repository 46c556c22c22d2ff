/** One flow: its numbers now and over the last hour, its partitions, lanes, periodic tasks and events. */

import { flowPath, get } from "../api.js";
import { Chart } from "../chart.js";
import { Cursor } from "../cursor.js";
import { el } from "../dom.js";
import { eventTable } from "../event_table.js";
import { FlowFrame } from "../flow_frame.js";
import { byteRate, count, duration, rate } from "../format.js";
import { flowNumbers } from "../flow_numbers.js";
import { KeyNumbers } from "../numbers.js";
import { partitionTable } from "../partition_table.js";
import { choreTable, laneTable } from "../work_tables.js";
import { countTicks, timeTicks } from "../scale.js";
import { section } from "../section.js";

export class FlowPage {
  /** @param {import("../route.js").Route} route */
  constructor(route) {
    this.title = route.flow;
    this.numbers = new KeyNumbers("Key numbers");
    this.charts = charts();
    this.partitions = partitionTable(route.flow);
    this.lanes = laneTable();
    this.chores = choreTable();
    this.events = eventTable({ hasFlow: false, empty: "Nothing has happened within the last day beside copying." });
    const loads = (below) => () => get(flowPath(route.flow, below));
    this.frame = new FlowFrame(
      route,
      this.numbers.element,
      section(
        "The last hour",
        "",
        el(
          "div",
          { class: "charts" },
          this.charts.map(({ element }) => element),
        ),
      ),
      section(
        "Partitions",
        "As they are on the source; rates over the last minute, totals since this process began.",
        this.partitions.element,
      ),
      section("Lanes", "Each lane copies its partitions on its own.", this.lanes.element),
      section("Periodic tasks", "What is done again and again beside copying.", this.chores.element),
      section("Events", "What has happened to partitions within the last day.", this.events.element),
    );
    this.element = this.frame.element;
    this.plans = {
      flow: this.frame.plan(),
      history: { load: loads("history"), every: 5_000 },
      partitions: { load: loads("partitions"), every: 2_000 },
      events: { load: loads("events"), every: 10_000 },
    };
  }

  close() {
    for (const chart of this.charts) chart.close();
  }

  tone() {
    return this.frame.tone;
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    const { flow, history, partitions, events } = view.feeds;
    this.frame.render(view);
    if (flow.data) {
      this.numbers.show(flowNumbers(flow.data, flow.isStale, view.nowMs));
      this.lanes.show(flow.data.lane_states);
      this.chores.show(flow.data.chores);
    }
    if (history.data) for (const chart of this.charts) chart.show(history.data, view.nowMs);
    if (partitions.data) this.partitions.show(partitions.data);
    if (events.data) this.events.show(events.data);
  }
}

function charts() {
  const cursor = new Cursor();
  const one = (label, name, value) => ({ label, name, value });
  return [
    new Chart({
      title: "Lag in records",
      cursor,
      format: count,
      ticks: countTicks,
      series: [one("lag", "first", (point) => point.lag_records)],
    }),
    new Chart({
      title: "Lag in time",
      cursor,
      format: duration,
      ticks: timeTicks,
      series: [one("lag", "first", (point) => point.lag_seconds)],
    }),
    new Chart({
      title: "Rate",
      cursor,
      format: rate,
      ticks: countTicks,
      series: [one("records", "second", (point) => point.records_per_second)],
      more: (point) => byteRate(point.bytes_per_second),
    }),
    new Chart({
      title: "Latency",
      cursor,
      format: duration,
      ticks: timeTicks,
      series: [
        one("max", "third", (point) => point.latency_max_ms / 1000),
        one("average", "second", (point) => point.latency_avg_ms / 1000),
      ],
    }),
  ];
}
