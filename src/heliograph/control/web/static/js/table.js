/** Tables that can be sorted, filtered and leafed through; only one page of rows exists at a time. */

import { el, keep, setAttribute, setText } from "./dom.js";
import { exact, plural } from "./format.js";
import { icon } from "./icons.js";

/**
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: any) => string} text what is shown, and what tells whether a cell has changed
 * @property {(row: any) => (string|number|null)} [value] what to sort by, if not the text
 * @property {(row: any) => (Node|Node[])} [node] how to show it, if not as plain text
 * @property {(row: any) => string} [title] what a pointer over it shows
 * @property {boolean} [isNumber]
 * @property {boolean} [isWide] its text may wrap
 * @property {string} [hint] what the column means
 */

/**
 * @typedef {object} TablePlan
 * @property {string} label
 * @property {string} noun what a row is
 * @property {Column[]} columns the first names the row
 * @property {(row: any) => string} [filterText] what the filter looks at; without it there is no filter
 * @property {number} [sortBy] index of a column; without it the order of the rows is kept
 * @property {boolean} [isDescending]
 * @property {string} empty what to say when there are no rows
 * @property {number} [pageSize]
 */

export class DataTable {
  /** @param {TablePlan} plan */
  constructor(plan) {
    this.plan = { pageSize: 50, ...plan };
    this.sortBy = plan.sortBy ?? -1;
    this.isDescending = plan.isDescending ?? false;
    this.page = 0;
    this.words = [];
    /** @type {any[]|null} */
    this.rows = null;
    this.found = [];
    this.element = this.#build();
  }

  /** @param {any[]} rows */
  show(rows) {
    if (rows !== this.rows) {
      this.rows = rows;
      this.#arrange();
    }
    this.#render();
  }

  /** @param {string} text */
  setFilter(text) {
    if (this.filterBox && this.filterBox.value !== text) this.filterBox.value = text;
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.page = 0;
    this.#changed();
  }

  #changed() {
    if (!this.rows) return;
    this.#arrange();
    this.#render();
  }

  #build() {
    const { label, columns } = this.plan;
    this.headers = columns.map((column, index) => this.#header(column, index));
    this.body = el("tbody");
    this.empty = el("p", { class: "empty" });
    this.total = el("span", { class: "muted count", role: "status" });
    this.pager = this.#buildPager();
    const table = el("table", { "aria-label": label }, el("thead", {}, el("tr", {}, this.headers)), this.body);
    this.table = table;
    const frame = el(
      "div",
      { class: "table-frame", role: "region", "aria-label": `${label}, scrollable`, tabindex: 0 },
      table,
    );
    return el("div", { class: "data-table" }, this.#buildTools(), frame, this.empty, this.pager);
  }

  #buildTools() {
    if (!this.plan.filterText) return null;
    const filter = { input: (event) => this.setFilter(event.target.value), keydown: (event) => this.#leave(event) };
    const attributes = {
      type: "search",
      class: "filter",
      placeholder: "Filter  ( / )",
      "aria-label": `Filter ${this.plan.label}`,
    };
    this.filterBox = el("input", { ...attributes, autocomplete: "off", spellcheck: "false", on: filter });
    return el("div", { class: "tools" }, this.filterBox, this.total);
  }

  #leave(event) {
    if (event.key !== "Escape") return;
    this.setFilter("");
    event.target.blur();
  }

  #header(column, index) {
    const sort = () => this.#sort(index);
    const mark = el("span", { class: "sort-mark" });
    const button = el(
      "button",
      { type: "button", class: "sort", title: column.hint, on: { click: sort } },
      column.label,
      mark,
    );
    return el("th", { scope: "col", class: column.isNumber && "number" }, button);
  }

  #buildPager() {
    const turn = (step) => () => {
      this.page += step;
      this.#render();
    };
    this.previous = el("button", { type: "button", on: { click: turn(-1) } }, "Previous");
    this.next = el("button", { type: "button", on: { click: turn(1) } }, "Next");
    this.position = el("span", { class: "muted" });
    return el(
      "nav",
      { class: "pager", "aria-label": `Pages of ${this.plan.label}` },
      this.previous,
      this.position,
      this.next,
    );
  }

  #sort(index) {
    const isNew = this.sortBy !== index;
    this.isDescending = isNew ? Boolean(this.plan.columns[index].isNumber) : !this.isDescending;
    this.sortBy = index;
    this.page = 0;
    this.#changed();
  }

  #arrange() {
    const { filterText, columns } = this.plan;
    const fits = (row) => this.words.every((word) => filterText(row).toLowerCase().includes(word));
    this.found = this.words.length ? this.rows.filter(fits) : [...this.rows];
    const column = columns[this.sortBy];
    if (!column) return;
    const value = column.value ?? column.text;
    const sign = this.isDescending ? -1 : 1;
    this.found.sort((one, other) => compare(value(one), value(other), sign));
  }

  #render() {
    const { pageSize } = this.plan;
    const pages = Math.max(1, Math.ceil(this.found.length / pageSize));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const first = this.page * pageSize;
    this.#renderRows(this.found.slice(first, first + pageSize));
    this.#renderMarks();
    this.#renderCounts(first, pages);
  }

  #renderRows(rows) {
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    while (this.body.rows.length < rows.length) this.body.append(this.#emptyRow());
    rows.forEach((row, index) => this.#renderRow(this.body.rows[index], row));
  }

  #emptyRow() {
    const cells = this.plan.columns.map((column, index) => {
      const kind = [column.isNumber && "number", column.isWide && "wide"].filter(Boolean).join(" ");
      return index ? el("td", { class: kind || null }) : el("th", { scope: "row", class: kind || null });
    });
    return el("tr", {}, cells);
  }

  #renderRow(element, row) {
    this.plan.columns.forEach((column, index) => {
      const cell = element.cells[index];
      const text = column.text(row);
      if (column.node) keep(cell, text, () => column.node(row));
      else setText(cell, text);
      if (column.title) setAttribute(cell, "title", column.title(row));
    });
  }

  #renderMarks() {
    this.headers.forEach((header, index) => {
      const direction = index === this.sortBy ? (this.isDescending ? "descending" : "ascending") : null;
      setAttribute(header, "aria-sort", direction);
      const mark = header.querySelector(".sort-mark");
      keep(mark, String(direction), () => direction && icon(direction === "ascending" ? "up" : "down"));
    });
  }

  #renderCounts(first, pages) {
    const { noun, pageSize, empty } = this.plan;
    const [found, all] = [this.found.length, this.rows.length];
    setText(this.total, found === all ? plural(all, noun) : `${exact(found)} of ${plural(all, noun)}`);
    setText(this.empty, all ? "Nothing fits the filter." : empty);
    this.empty.hidden = found > 0;
    this.table.parentElement.hidden = found === 0;
    this.pager.hidden = pages === 1;
    this.previous.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    setText(this.position, `${exact(first + 1)}–${exact(Math.min(first + pageSize, found))} of ${exact(found)}`);
  }
}

const words = new Intl.Collator("en", { numeric: true });

/** What is missing comes last, either way. */
function compare(one, other, sign) {
  const [lacksOne, lacksOther] = [one ?? null, other ?? null].map((value) => value === null);
  if (lacksOne || lacksOther) return Number(lacksOne) - Number(lacksOther);
  return sign * (typeof one === "number" ? one - other : words.compare(one, other));
}
