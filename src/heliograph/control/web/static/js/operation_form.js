/** Choosing an operation, looking what it would do, and beginning it with the flow's name typed once more. */

import { post } from "./api.js";
import { el, keep, setText } from "./dom.js";
import { plural } from "./format.js";
import { KINDS } from "./operation_kinds.js";
import { OperationTables } from "./operation_tables.js";
import { StepList } from "./step_list.js";

const LOOK_PATIENCE = 300_000; // a look reads from both clusters

export class OperationForm {
  /** @param {(operation: any) => void} onBegun */
  constructor(onBegun) {
    this.onBegun = onBegun;
    this.role = "";
    this.flows = [];
    /** What the last look was for, and what it found. */
    this.seenFor = "";
    this.seen = null;
    this.busyWith = "";
    this.failure = "";
    this.element = this.#build();
    this.#kindChanged();
  }

  #build() {
    this.flow = el("select", { id: "operation-flow", on: { change: () => this.#changed() } });
    this.kind = el(
      "select",
      { id: "operation-kind", "aria-describedby": "operation-remark", on: { change: () => this.#kindChanged() } },
      Object.entries(KINDS).map(([value, { label }]) => el("option", { value }, label)),
    );
    this.remark = el("p", { class: "muted", id: "operation-remark" });
    this.options = el("div", { class: "option-fields" });
    this.look = el("button", { type: "button", on: { click: () => this.#look() } }, "Look first");
    this.note = el("p", { class: "muted", role: "status", "aria-live": "polite", id: "operation-note" });
    this.chosen = el(
      "fieldset",
      { class: "plain stack" },
      el("legend", { class: "unseen" }, "What to do"),
      el("div", { class: "option-fields" }, field("Flow", this.flow), field("Operation", this.kind)),
      this.remark,
      this.options,
      el("div", { class: "form-line" }, this.look),
    );
    return el(
      "section",
      { class: "card stack operation-form", "aria-label": "Begin an operation" },
      this.chosen,
      this.#buildPreview(),
      this.#buildConfirmation(),
      this.note,
    );
  }

  #buildPreview() {
    this.steps = new StepList("Steps that would be done");
    this.tables = new OperationTables();
    this.verdict = el("p", { class: "verdict", role: "status" });
    this.obstacles = el("div", { class: "callouts" });
    this.preview = el(
      "section",
      { class: "stack preview", "aria-label": "What would happen" },
      el("h2", {}, "What would happen"),
      this.verdict,
      this.obstacles,
      this.steps.element,
      this.tables.element,
    );
    return this.preview;
  }

  #buildConfirmation() {
    const changed = () => this.render();
    this.typed = el("input", {
      id: "operation-typed",
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": "operation-note",
      on: { input: changed },
    });
    this.typedLabel = el("span");
    this.typedField = el("div", { class: "field" }, el("label", { for: this.typed.id }, this.typedLabel), this.typed);
    this.override = el("input", { type: "checkbox", on: { change: changed } });
    this.overrideField = el("label", { class: "check" }, this.override, "Begin in spite of problems");
    this.begin = el("button", { type: "submit", class: "primary", "aria-describedby": "operation-note" });
    this.confirmation = el(
      "fieldset",
      { class: "plain stack" },
      el("legend", { class: "unseen" }, "Confirmation"),
      this.typedField,
      this.overrideField,
      el("div", { class: "form-line" }, this.begin),
    );
    // A form of its own: Enter in a filter of what would happen must not begin it.
    return el("form", { on: { submit: (event) => this.#begin(event) } }, this.confirmation);
  }

  get #plan() {
    return KINDS[this.kind.value];
  }

  /** What the API is asked for, but for the confirmation. */
  get #body() {
    const { operation, isUndo = false } = this.#plan;
    return { operation, flow: this.flow.value, undo: isUndo, options: this.#values() };
  }

  #values() {
    const value = (option) => {
      const field = this.options.querySelector(`[name="${option.name}"]`);
      const found = { number: field.valueAsNumber, check: field.checked }[option.kind] ?? field.value;
      return option.sent ? option.sent(found) : found;
    };
    return Object.fromEntries(this.#plan.options.map((option) => [option.name, value(option)]));
  }

  #kindChanged() {
    setText(this.remark, this.#plan.remark);
    this.options.replaceChildren(...this.#plan.options.map((option) => optionField(option, () => this.#changed())));
    this.#changed();
  }

  /** What was seen and typed was for something else. */
  #changed() {
    if (this.seenFor !== JSON.stringify(this.#body)) this.#forget();
    this.failure = "";
    this.render();
  }

  #forget() {
    this.seen = null;
    this.seenFor = "";
    this.typed.value = "";
    this.override.checked = false;
  }

  /**
   * @param {string} role
   * @param {string[]} flows those that mirror
   */
  update(role, flows) {
    this.role = role;
    if (JSON.stringify(flows) !== JSON.stringify(this.flows)) {
      const before = this.flow.value;
      this.flows = flows;
      this.flow.replaceChildren(...flows.map((name) => el("option", { value: name }, name)));
      if (flows.includes(before)) this.flow.value = before;
      this.#changed();
    }
    this.render();
  }

  render() {
    const plan = this.#plan;
    const obstacle = this.#obstacle();
    this.chosen.disabled = this.role === "viewer" || !this.role || this.busyWith !== "";
    this.look.hidden = plan.isUndo === true;
    this.preview.hidden = this.seen === null;
    this.typedField.hidden = plan.isHarmless === true;
    setText(this.typedLabel, `Type ${this.flow.value} to confirm`);
    this.overrideField.hidden = !this.seen?.problems.length;
    this.confirmation.disabled = this.#roleObstacle() !== "" || this.busyWith !== "";
    setText(this.begin, `Begin: ${plan.label.toLowerCase()}`);
    this.begin.disabled = obstacle !== "" || this.busyWith !== "";
    setText(this.note, this.busyWith || this.failure || obstacle);
    this.note.classList.toggle("form-error", this.failure !== "" && this.busyWith === "");
  }

  /** Why it cannot begin yet; empty if it can. */
  #obstacle() {
    const { isHarmless, isUndo } = this.#plan;
    const refusal = this.#roleObstacle();
    if (refusal) return refusal;
    if (!this.flow.value) return "No flow of this process mirrors records.";
    if (isHarmless) return "";
    if (!isUndo && this.seen === null) return "Look first: a dry run shows every step and what stands in its way.";
    if (this.seen?.problems.length && !this.override.checked)
      return `${plural(this.seen.problems.length, "problem")}: solve them and look again, or begin in spite of them.`;
    if (this.typed.value !== this.flow.value) return `Type ${this.flow.value} to confirm.`;
    return "";
  }

  #roleObstacle() {
    const needed = this.#plan.isHarmless ? ["operator", "admin"] : ["admin"];
    if (!this.role || needed.includes(this.role)) return this.role ? "" : "Loading …";
    if (this.role === "viewer") return "You may look. Dry runs and verifications take an operator, all else an admin.";
    return "You may look what would happen, and verify. To begin this takes an admin.";
  }

  async #look() {
    const body = this.#body;
    this.#forget();
    const found = await this.#ask("Asking the clusters …", () =>
      post("operations", { ...body, dry_run: true }, LOOK_PATIENCE),
    );
    if (found) this.#show(body, found);
    this.render();
  }

  #show(body, found) {
    this.seen = found;
    this.seenFor = JSON.stringify(body);
    const count = found.problems.length;
    setText(this.verdict, count ? `${plural(count, "problem")}: it would stop.` : "Nothing stands in the way.");
    const own = new Set(found.steps.flatMap(({ step, problems }) => problems.map((text) => `${step}: ${text}`)));
    const others = found.problems.filter((text) => !own.has(text));
    keep(this.obstacles, JSON.stringify(others), () =>
      others.map((text) => el("div", { class: "callout tone-bad" }, el("p", {}, text))),
    );
    this.steps.show(
      found.steps.map((step) => ({ ...step, text: step.would, state: step.problems.length ? "blocked" : "possible" })),
    );
    this.tables.show(found.details);
  }

  async #begin(event) {
    event.preventDefault();
    if (this.begin.disabled) return;
    const confirm = this.#plan.isHarmless ? null : this.typed.value;
    const begun = await this.#ask("Beginning …", () => post("operations", { ...this.#body, confirm }));
    this.render();
    if (begun) this.onBegun(begun);
  }

  async #ask(word, question) {
    Object.assign(this, { busyWith: word, failure: "" });
    this.render();
    try {
      return await question();
    } catch (error) {
      this.failure = `That did not work: ${error.message}`;
      return null;
    } finally {
      this.busyWith = "";
    }
  }
}

function field(label, control) {
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control);
}

function optionField(option, onChange) {
  const [id, about] = [`option-${option.name}`, `about-${option.name}`];
  const control = optionControl(option, { id, name: option.name, "aria-describedby": about, on: { input: onChange } });
  const shown =
    option.kind === "check" ? el("label", { class: "check" }, control, option.label) : field(option.label, control);
  return el("div", { class: "option" }, shown, el("p", { class: "muted small", id: about }, option.hint));
}

function optionControl({ kind, initial, choices = [] }, common) {
  if (kind === "choice")
    return el(
      "select",
      common,
      choices.map(([value, word]) => el("option", { value }, word)),
    );
  if (kind === "check") return el("input", { ...common, type: "checkbox" });
  if (kind === "number") return el("input", { ...common, type: "number", min: 0, step: "any", value: initial });
  return el("input", { ...common, autocomplete: "off", spellcheck: "false", value: initial });
}
