/** Small line drawings, 16 by 16. */

import { svg } from "./dom.js";

const PATHS = {
  check: ["circle", "M5 8.3 7.2 10.5 11 6"],
  copy: ["circle", "M5 8h6M8.5 5.5 11 8l-2.5 2.5"],
  pulse: ["M1.5 8.5h3l1.5-4 3 7.5 2-5 .8 1.5h2.7"],
  pause: ["circle", "M6.5 5.8v4.4M9.5 5.8v4.4"],
  stop: ["circle", "M6 6h4v4H6z"],
  wait: ["circle", "M8 4.8V8l2.2 1.4"],
  warn: ["M8 2 14.5 13.5h-13z", "M8 6.5v3M8 11.4v.2"],
  stall: ["M4.5 2h7M4.5 14h7M5 2c0 3.5 6 4.5 6 6s-6 2.5-6 6M11 2c0 3.5-6 4.5-6 6s6 2.5 6 6"],
  cross: ["circle", "m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4"],
  ended: ["M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z", "M8 4.8v4M8 11v.2"],
  unknown: ["circle", "M6.2 6.3a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.8.6-.8 1.2M8 11.3v.1"],
  sun: [
    "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
    "M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  ],
  moon: ["M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z"],
  play: ["M5 3.5v9l7-4.5z"],
  arrow: ["M2.5 8h11M9.5 4l4 4-4 4"],
  up: ["M4.5 9.5 8 6l3.5 3.5"],
  down: ["m4.5 6.5 3.5 3.5 3.5-3.5"],
  undo: ["M5 3.5 2 6.5l3 3", "M2.5 6.5h7a4 4 0 0 1 0 8H7"],
  leave: ["M9.5 3H4v10h5.5M7 8h7M11.5 5.5 14 8l-2.5 2.5"],
};

const CIRCLE = "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13z";

/**
 * A drawing that says nothing to screen readers: the word beside it does.
 * @param {string} name
 * @param {Record<string, unknown>} [attributes]
 */
export function icon(name, attributes = {}) {
  const paths = (PATHS[name] ?? PATHS.unknown).map((path) => svg("path", { d: path === "circle" ? CIRCLE : path }));
  const common = { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" };
  return svg("svg", { ...common, ...attributes }, paths);
}
