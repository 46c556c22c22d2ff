/** What all pages of a flow share: its name, how it is, what can be done with it, and the way to its other pages. */

import { flowPath, get, put } from "./api.js";
import { confirmed } from "./dialog.js";
import { el, keep } from "./dom.js";
import { plural } from "./format.js";
import { lookOf, showChip } from "./health.js";
import { icon } from "./icons.js";
import { notify } from "./notice.js";
import { flowLink } from "./route.js";

const TABS = [
  ["flow", "Now"],
  ["topics", "Topics"],
  ["groups", "Groups"],
  ["plan", "Plan"],
  ["config", "Settings"],
];
const ACTIONS = {
  PAUSED: {
    verb: "Pause",
    icon: "pause",
    done: "is paused",
    text:
      "Nothing more is copied, no heartbeats, groups or settings are synchronised, and lag grows until somebody " +
      "resumes it. It stays paused over restarts. Nothing is lost as long as the source keeps its records.",
  },
  RUNNING: { verb: "Resume", icon: "play", done: "is resumed", text: "It goes on where it stopped." },
};

export class FlowFrame {
  /**
   * @param {import("./route.js").Route} route
   * @param {...Node} content
   */
  constructor(route, ...content) {
    this.name = route.flow;
    this.health = el("span", { class: "health" });
    this.trouble = el("div", { class: "callouts" });
    this.actions = el("div", { class: "actions" });
    this.content = el("div", { class: "stack" }, content);
    this.loading = el("p", { class: "loading", role: "status" });
    const head = el(
      "div",
      { class: "flow-head" },
      el("div", { class: "flow-name" }, title(route.flow), this.health),
      this.actions,
    );
    this.element = el("div", { class: "stack page" }, head, this.trouble, tabs(route), this.loading, this.content);
    this.tone = "unknown";
  }

  /** The question that every page of a flow asks. */
  plan() {
    return { load: () => get(flowPath(this.name)), every: 2_000 };
  }

  /**
   * @param {import("./app.js").View} view
   * @param {string} [awaited] the feed without which the page is empty
   */
  render(view, awaited = "flow") {
    const { flow } = view.feeds;
    const feed = view.feeds[awaited];
    this.content.hidden = !feed.data;
    keep(this.loading, String(feed.data ? "" : (feed.error?.message ?? "…")), () =>
      feed.data ? "" : (feed.error?.message ?? "Asking the clusters …"),
    );
    if (!flow.data) return;
    const look = lookOf(flow.data, flow.isStale);
    this.tone = look.tone;
    showChip(this.health, look);
    this.#renderTrouble(flow.data, look);
    this.#renderActions(view, flow.data);
  }

  #renderTrouble(flow, look) {
    const lines = [
      flow.trouble,
      ...(["idle", "warn", "bad"].includes(look.tone) && !flow.trouble ? [sentence(look.hint)] : []),
    ].filter(Boolean);
    const parts = [...lines, ...causes(flow)];
    keep(
      this.trouble,
      JSON.stringify([parts, look.tone]),
      () =>
        parts.length > 0 &&
        el(
          "div",
          { class: `callout tone-${look.tone}` },
          parts.map((line) => el("p", {}, line)),
        ),
    );
  }

  #renderActions(view, flow) {
    const role = view.mirror?.caller.role;
    const wanted = wantedStates(flow);
    keep(
      this.actions,
      JSON.stringify([role, wanted]),
      () => role && (role === "viewer" ? viewersNote() : wanted.map((state) => this.#button(state, view))),
    );
  }

  #button(state, view) {
    const { verb, icon: picture } = ACTIONS[state];
    const click = (event) => this.#change(event.currentTarget, state, view);
    return el(
      "button",
      { type: "button", class: state === "RUNNING" ? "primary" : "", "data-state": state, on: { click } },
      icon(picture),
      verb,
    );
  }

  async #change(button, state, view) {
    const { verb, text, done } = ACTIONS[state];
    if (!(await confirmed({ title: `${verb} ${this.name}?`, text, yes: verb }))) return;
    button.disabled = true;
    try {
      await put(flowPath(this.name, "state"), { state });
      notify(`${this.name} ${done}.`);
    } catch (error) {
      notify(`${this.name} could not be changed: ${error.message}`, "bad");
    }
    button.disabled = false;
    view.refresh("flow");
  }
}

/** What can be done: both, if some of its connectors run and others do not. */
function wantedStates(flow) {
  const states = Object.values(flow.states);
  return [states.some((state) => state !== "RUNNING") && "RUNNING", states.includes("RUNNING") && "PAUSED"].filter(
    Boolean,
  );
}

function viewersNote() {
  return el("p", { class: "muted small" }, "You may look. Pausing and resuming takes an operator.");
}

function causes(flow) {
  const odd = Object.entries(flow.states).filter(([, state]) => state !== "RUNNING");
  const isMixed = odd.length > 0 && odd.length < Object.keys(flow.states).length;
  return [
    flow.set_aside > 0 &&
      `${flow.set_aside} of ${flow.partitions} partitions are set aside; the table of partitions says why.`,
    flow.failing_chores > 0 &&
      `${plural(flow.failing_chores, "periodic task")} at fault; the table of periodic tasks says why.`,
    isMixed && odd.map(([connector, state]) => `${connector} is ${state}.`).join(" "),
  ].filter(Boolean);
}

function sentence(text) {
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function title(name) {
  const [source, target] = name.split("->");
  return el(
    "h1",
    { "aria-label": `Flow from ${source} to ${target}` },
    source,
    icon("arrow", { class: "icon between" }),
    target,
  );
}

function tabs(route) {
  const page = route.page === "partitions" ? "flow" : route.page;
  const tab = ([name, label]) =>
    el(
      "a",
      {
        href: name === "flow" ? flowLink(route.flow) : flowLink(route.flow, name),
        "aria-current": name === page && "page",
      },
      label,
    );
  return el("nav", { class: "tabs", "aria-label": "Pages of this flow" }, TABS.map(tab));
}
