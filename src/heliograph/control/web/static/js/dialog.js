/** Asks before something is done. */

import { el } from "./dom.js";

/**
 * @param {{title: string, text: string, yes: string}} question
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, yes }) {
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" },
    el(
      "form",
      { method: "dialog" },
      el("h2", { id: "dialog-title" }, title),
      el("p", { id: "dialog-text" }, text),
      el(
        "div",
        { class: "buttons" },
        el("button", { value: "no" }, "Cancel"),
        el("button", { value: "yes", class: "primary" }, yes),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
