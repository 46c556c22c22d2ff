/** Says loudly that what is shown may no longer be true. */

import { el, keep, setText } from "./dom.js";
import { duration, timeOfDay } from "./format.js";
import { icon } from "./icons.js";

const PATIENCE = 1; // failures in a row before it is said

/**
 * @param {import("./feed.js").Feed[]} feeds all that the page asks for
 * @param {import("./feed.js").Feed[]} shown those whose answers are seen
 * @param {() => void} retry
 */
export function renderBanner(feeds, shown, retry) {
  const banner = document.getElementById("banner");
  const silent = feeds.filter((feed) => feed.failures >= PATIENCE || (feed.loadedAt && feed.isStale));
  const refused = silent.find((feed) => feed.error?.status);
  const headline = refused ? "The server answers with an error." : "The server does not answer.";
  keep(banner, silent.length ? headline : "", () => silent.length > 0 && build(headline));
  if (!silent.length) return;
  setText(banner.querySelector(".details"), details(silent, shown, refused));
  banner.querySelector("button").onclick = retry;
}

function build(headline) {
  return el(
    "div",
    { class: "banner" },
    icon("cross"),
    el("p", {}, el("strong", {}, headline), " ", el("span", { class: "details", "aria-live": "off" })),
    el("button", { type: "button" }, "Try now"),
  );
}

function details(feeds, shown, refused) {
  const known = shown.filter((feed) => feed.loadedAt).map((feed) => feed.loadedAt);
  const oldest = Math.min(...known);
  const age = duration(Math.floor((Date.now() - oldest) / 1000));
  const why = (refused ?? feeds.find((feed) => feed.error))?.error.message;
  const seen = known.length ? `What you see is from ${timeOfDay(oldest)}, ${age} ago.` : "Nothing is known yet.";
  const wait = Math.max(0, Math.min(...feeds.map((feed) => feed.nextAt)) - Date.now());
  return [why && `${why[0].toUpperCase()}${why.slice(1)}.`, seen, `Next try in ${Math.ceil(wait / 1000)} s.`]
    .filter(Boolean)
    .join(" ");
}
