/** What surrounds every page: the name, the way around, who is asking, and whether the numbers are live. */

import { el, keep, setAttribute, svg } from "./dom.js";
import { ago, plural } from "./format.js";
import { icon } from "./icons.js";
import { isDark, toggleTheme } from "./theme.js";
import { authorization } from "./token.js";

const LINKS = [
  ["overview", "#/", "Overview"],
  ["operations", "#/operations", "Operations"],
  ["conflicts", "#/conflicts", "Conflicts"],
  ["events", "#/events", "Events"],
];

const SECTIONS = {
  events: "events",
  conflicts: "conflicts",
  operations: "operations",
  operation: "operations",
  login: "",
};

export class Shell {
  /** @param {() => void} onLeave */
  constructor(onLeave) {
    this.onLeave = onLeave;
    this.links = LINKS.map(([, href, label]) => el("a", { href }, label));
    this.live = el("span", { class: "live" });
    this.who = el("span", { class: "who" });
    this.theme = el("button", { class: "quiet round", type: "button", on: { click: () => this.#turn() } });
    const brand = el(
      "a",
      { class: "brand", href: "#/", "aria-label": "Heliograph, overview" },
      mark(),
      el("span", {}, "Heliograph"),
    );
    const nav = el("nav", { "aria-label": "Main" }, this.links);
    document.getElementById("top").append(brand, nav, el("div", { class: "side" }, this.live, this.who, this.theme));
    this.bottom = document.getElementById("bottom");
  }

  /**
   * @param {import("./feed.js").Feed} mirror
   * @param {import("./route.js").Route} route
   * @param {boolean} isStale
   * @param {number} nowMs
   */
  render(mirror, route, isStale, nowMs) {
    const current = SECTIONS[route.page] ?? "overview";
    const isBelow = route.flow || route.page === "operation";
    this.links.forEach((link, index) =>
      setAttribute(link, "aria-current", LINKS[index][0] === current ? (isBelow ? "true" : "page") : null),
    );
    this.#renderLive(mirror, isStale);
    this.#renderWho(mirror.data?.caller);
    this.#renderTheme();
    this.#renderBottom(mirror.data, nowMs);
  }

  #renderLive(mirror, isStale) {
    const word = isStale ? "Not live" : mirror.data ? "Live" : "";
    keep(this.live, word, () => word && [el("span", { class: `dot ${isStale ? "off" : "on"}` }), word]);
  }

  #renderWho(caller) {
    const hasToken = authorization() !== null;
    keep(
      this.who,
      JSON.stringify([caller, hasToken]),
      () =>
        caller && [
          el(
            "span",
            { class: "caller", title: "who you are to the server" },
            caller.name === caller.role ? caller.role : `${caller.name} (${caller.role})`,
          ),
          hasToken &&
            el(
              "button",
              {
                class: "quiet round",
                type: "button",
                "aria-label": "Sign out",
                title: "Sign out",
                on: { click: this.onLeave },
              },
              icon("leave"),
            ),
        ],
    );
  }

  #renderTheme() {
    const label = isDark() ? "Use light colours" : "Use dark colours";
    setAttribute(this.theme, "aria-label", label);
    setAttribute(this.theme, "title", label);
    keep(this.theme, label, () => icon(isDark() ? "sun" : "moon"));
  }

  #turn() {
    toggleTheme();
    this.#renderTheme();
  }

  #renderBottom(mirror, nowMs) {
    const since = mirror ? ago(mirror.started_at_ms, nowMs).replace(" ago", "") : "";
    keep(
      this.bottom,
      JSON.stringify([mirror?.version, mirror?.file, since, mirror?.flows.length]),
      () =>
        mirror && [
          el("span", {}, `Heliograph ${mirror.version}`),
          el("span", {}, mirror.file),
          el("span", {}, `running for ${since}`),
          el("span", {}, plural(mirror.flows.length, "flow")),
        ],
    );
  }
}

function mark() {
  return svg(
    "svg",
    { class: "mark", viewBox: "0 0 32 32", width: 28, height: 28, "aria-hidden": "true" },
    svg("rect", { class: "ground", width: 32, height: 32, rx: 8 }),
    svg("path", { class: "mirror", d: "M9 24 23 10" }),
    svg("circle", { class: "light", cx: 11, cy: 11, r: 4.5 }),
    svg("path", { class: "ray", d: "m18 18 7 4.5" }),
  );
}
