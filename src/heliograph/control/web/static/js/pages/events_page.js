/** The events of all flows. */

import { flowPath, get } from "../api.js";
import { el } from "../dom.js";
import { eventTable } from "../event_table.js";

const EVERY = 10_000;

export class EventsPage {
  title = "Events";
  plans = { events: { load: loadAll, every: EVERY } };

  constructor() {
    this.loading = el("p", { class: "loading", role: "status" }, "Loading …");
    this.table = eventTable({ hasFlow: true, empty: "Nothing has happened within the last day beside copying." });
    const remark = el("p", { class: "summary" }, "What has happened to partitions of all flows within the last day.");
    this.element = el(
      "div",
      { class: "stack page" },
      el("div", {}, el("h1", {}, "Events"), remark),
      this.loading,
      this.table.element,
    );
  }

  /** @param {import("../app.js").View} view */
  render({ feeds: { events } }) {
    this.loading.hidden = events.data !== null;
    this.table.element.hidden = events.data === null;
    if (events.data) this.table.show(events.data);
  }
}

async function loadAll() {
  const { flows } = await get("mirror");
  const lists = await Promise.all(
    flows.map(async (flow) => (await get(flowPath(flow, "events"))).map((event) => ({ flow, ...event }))),
  );
  return lists.flat();
}
