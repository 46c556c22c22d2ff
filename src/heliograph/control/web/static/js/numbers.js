/** A row of key numbers: label, value, and a word on what it means. */

import { el, setAttribute, setText } from "./dom.js";

/** @typedef {{label: string, value: string, note?: string, title?: string, tone?: string}} KeyNumber */

export class KeyNumbers {
  /** @param {string} label */
  constructor(label) {
    this.element = el("dl", { class: "numbers", "aria-label": label });
    /** @type {HTMLElement[]} */
    this.items = [];
  }

  /** @param {KeyNumber[]} numbers always the same ones in the same order */
  show(numbers) {
    while (this.items.length < numbers.length) this.#add();
    numbers.forEach((number, index) => this.#render(this.items[index], number));
  }

  #add() {
    const item = el(
      "div",
      { class: "number-card" },
      el("dt"),
      el("dd", { class: "value" }),
      el("dd", { class: "note" }),
    );
    this.items.push(item);
    this.element.append(item);
  }

  #render(item, { label, value, note = "", title, tone }) {
    const [name, shown, remark] = item.children;
    setText(name, label);
    setText(shown, value);
    setText(remark, note);
    setAttribute(shown, "title", title ?? null);
    setAttribute(item, "class", `number-card${tone ? ` tone-${tone}` : ""}`);
  }
}
