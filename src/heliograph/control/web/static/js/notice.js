/** Short messages about what was done, or could not be. */

import { el } from "./dom.js";

const SHOWN_MS = 6_000;

/**
 * @param {string} text
 * @param {"good"|"bad"} tone errors stay until they are dismissed
 */
export function notify(text, tone = "good") {
  const close = el(
    "button",
    { class: "quiet", type: "button", "aria-label": "Dismiss", on: { click: () => note.remove() } },
    "×",
  );
  const note = el("div", { class: `notice tone-${tone}` }, el("span", {}, text), close);
  document.getElementById("notices").append(note);
  if (tone === "good") setTimeout(() => note.remove(), SHOWN_MS);
}
