/** The steps of an operation, in order: how each is, what it says, how long it took. */

import { el, keep } from "./dom.js";
import { duration } from "./format.js";
import { stateChip } from "./operation_look.js";

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {string} state
 * @property {string} text
 * @property {number} [seconds]
 * @property {string[]} [problems]
 * @property {string[]} hooks
 */

export class StepList {
  /** @param {string} label */
  constructor(label) {
    this.element = el("ol", { class: "steps", "aria-label": label });
  }

  /** @param {Step[]} steps */
  show(steps) {
    while (this.element.children.length > steps.length) this.element.lastElementChild.remove();
    while (this.element.children.length < steps.length) this.element.append(el("li", { class: "step" }));
    steps.forEach((step, index) =>
      keep(this.element.children[index], JSON.stringify(step), () => content(step, index + 1)),
    );
  }
}

function content({ title, state, text, seconds = 0, problems = [], hooks }, number) {
  return [
    el("span", { class: "step-number muted", "aria-hidden": "true" }, number),
    el(
      "div",
      { class: "step-body" },
      el("p", { class: "step-title" }, title),
      text && el("p", { class: "muted" }, text),
      problems.map((problem) => el("p", { class: "step-problem" }, problem)),
      hooks.map((hook) => el("p", { class: "muted small" }, hook)),
    ),
    el("div", { class: "step-side" }, stateChip(state), el("span", { class: "muted small" }, took(seconds))),
  ];
}

function took(seconds) {
  return seconds > 0 ? duration(seconds) : "";
}
