/** A part of a page under a heading. */

import { el } from "./dom.js";

/**
 * @param {string} heading
 * @param {string} remark what it shows, in a sentence
 * @param {...(import("./dom.js").Child)} content
 */
export function section(heading, remark, ...content) {
  const title = el("h2", {}, heading);
  return el(
    "section",
    { class: "section" },
    el("div", { class: "section-head" }, title, remark && el("p", { class: "muted" }, remark)),
    content,
  );
}
