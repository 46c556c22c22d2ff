/** The form for those whom the server does not know yet. */

import { get } from "./api.js";
import { el, setText } from "./dom.js";
import { authorization, signOut, usePassword, useToken } from "./token.js";

/**
 * @param {() => void} onEntered
 * @returns {HTMLElement}
 */
export function loginForm(onEntered) {
  const wasRefused = authorization() !== null;
  signOut();
  const error = el(
    "p",
    { class: "form-error", role: "alert", id: "login-error" },
    wasRefused ? "That was not accepted." : "",
  );
  const token = field("Token", { type: "password", name: "token", autocomplete: "off", spellcheck: "false" });
  const user = field("Name", { name: "user", autocomplete: "username", spellcheck: "false" });
  const password = field("Password", { type: "password", name: "password", autocomplete: "current-password" });
  const enter = async (event) => {
    event.preventDefault();
    setText(error, "");
    const form = new FormData(event.target);
    if (form.get("token")) useToken(String(form.get("token")).trim());
    else usePassword(String(form.get("user")), String(form.get("password")));
    await tryOut(error, onEntered);
  };
  return el(
    "form",
    { class: "login card", "aria-labelledby": "login-title", on: { submit: enter } },
    el("h1", { id: "login-title" }, "Sign in"),
    el("p", { class: "muted" }, "This server wants to know who asks. What you enter is kept until you close this tab."),
    token,
    el("details", {}, el("summary", {}, "Use a name and a password instead"), user, password),
    error,
    el("button", { class: "primary", type: "submit" }, "Sign in"),
  );
}

function field(label, attributes) {
  return el("label", { class: "field" }, el("span", {}, label), el("input", attributes));
}

async function tryOut(error, onEntered) {
  try {
    await get("mirror");
    onEntered();
  } catch (failure) {
    signOut();
    setText(error, failure.status === 401 ? "That was not accepted." : failure.message);
  }
}
