/** One operation: its steps while they are done, and what they have found out. */

import { get, post } from "../api.js";
import { confirmed } from "../dialog.js";
import { el, keep, setText } from "../dom.js";
import { duration, moment } from "../format.js";
import { icon } from "../icons.js";
import { notify } from "../notice.js";
import { operationName } from "../operation_kinds.js";
import { stateChip, stateTone } from "../operation_look.js";
import { OperationTables } from "../operation_tables.js";
import { section } from "../section.js";
import { StepList } from "../step_list.js";

const LIVELY = 1_000;
const AT_REST = 10_000;

export class OperationPage {
  /** @param {import("../route.js").Route} route */
  constructor({ rest: [id = "", flow = ""] }) {
    this.title = id;
    const query = flow && `?flow=${encodeURIComponent(flow)}`;
    this.path = (below = "") => `operations/${encodeURIComponent(id)}${below}${query}`;
    this.name = el("h1", {}, flow);
    this.state = el("span", { class: "health" });
    this.actions = el("div", { class: "actions" });
    this.facts = el("p", { class: "muted" });
    this.loading = el("p", { class: "loading", role: "status" });
    this.progress = el("p", { class: "progress", role: "status", "aria-live": "polite" });
    this.error = el("div", { class: "callouts" });
    this.steps = new StepList("Steps");
    this.tables = new OperationTables();
    this.content = el(
      "div",
      { class: "stack" },
      this.progress,
      this.error,
      section("Steps", "", this.steps.element),
      this.tables.element,
    );
    this.element = el(
      "div",
      { class: "stack page" },
      el("p", {}, el("a", { href: "#/operations" }, "All operations")),
      el("div", { class: "flow-head" }, el("div", { class: "flow-name" }, this.name, this.state), this.actions),
      this.facts,
      this.loading,
      this.content,
    );
    this.plans = { operation: { load: () => get(this.path(), 30_000), every: LIVELY } };
  }

  tone() {
    return this.found ? stateTone(this.found.state) : "unknown";
  }

  /** @param {import("../app.js").View} view */
  render(view) {
    const { operation } = view.feeds;
    this.found = operation.data;
    this.content.hidden = !operation.data;
    setText(this.loading, operation.data ? "" : (operation.error?.message ?? "Loading …"));
    if (!operation.data) return;
    const found = operation.data;
    operation.plan.every = found.state === "running" ? LIVELY : AT_REST;
    this.#renderHead(found, view);
    setText(this.progress, progress(found));
    keep(
      this.error,
      found.error,
      () => found.error && el("div", { class: "callout tone-bad" }, el("p", {}, found.error)),
    );
    this.steps.show(found.steps);
    this.tables.show(found.details);
  }

  #renderHead(found, view) {
    const name = `${operationName(found)} ${found.flow}`;
    setText(this.name, name);
    this.title = name;
    keep(this.state, found.state, () => stateChip(found.state));
    const where = found.is_here ? "" : "; only the journal tells of it";
    setText(
      this.facts,
      `${found.id}, begun ${moment(found.began_at_ms, view.nowMs)} by ${found.by}, ${duration(found.seconds)}${where}.`,
    );
    const mayStop = found.state === "running" && view.mirror?.caller.role === "admin";
    keep(this.actions, String(mayStop), () => mayStop && this.#stopButton(found, view));
  }

  #stopButton(found, view) {
    const click = async (event) => {
      const button = event.currentTarget;
      const text = "It ends as soon as its step can, puts back what it may, and can be begun again.";
      if (!(await confirmed({ title: `Stop ${found.operation} of ${found.flow}?`, text, yes: "Stop it" }))) return;
      button.disabled = true;
      try {
        await post(this.path("/stop"), {});
        notify(`${found.operation} of ${found.flow} is told to stop.`);
      } catch (error) {
        notify(`It could not be stopped: ${error.message}`, "bad");
      }
      view.refresh("operation");
    };
    return el("button", { type: "button", on: { click } }, icon("stop"), "Stop");
  }
}

/** In one line, for those who hear the page: it changes with the steps, not with every record. */
function progress({ state, steps }) {
  const index = steps.findIndex((step) => step.state === "running");
  if (state === "running" && index >= 0) return `Step ${index + 1} of ${steps.length}: ${steps[index].title} …`;
  if (state === "running") return "Under way …";
  if (state === "done") return "All steps are done.";
  if (state === "put back") return "What was changed has been put back.";
  if (state === "failed") return "It has stopped before its end.";
  return "Another process is at it, or it was interrupted: begin it again, and it goes on.";
}
