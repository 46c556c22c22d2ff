/** For addresses that lead nowhere. */

import { el } from "../dom.js";

export class NowherePage {
  title = "Not found";
  plans = {};
  element = el(
    "div",
    { class: "stack page" },
    el("h1", {}, "There is no such page"),
    el("p", {}, el("a", { href: "#/" }, "To the overview")),
  );

  render() {}
}
