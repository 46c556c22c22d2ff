/** How operations and their steps are, as colour, picture and word. */

import { chip } from "./health.js";

/** @type {Record<string, [string, string, string]>} */
const LOOKS = {
  waiting: ["idle", "wait", "not begun yet"],
  running: ["idle", "play", "under way"],
  done: ["good", "check", "done, with its proof beside it"],
  failed: ["bad", "cross", "stopped before its end"],
  "put back": ["warn", "undo", "what was changed is as it was before"],
  unfinished: ["unknown", "unknown", "begun by another process, which is at it or was interrupted"],
  possible: ["good", "check", "nothing stands in the way"],
  blocked: ["bad", "cross", "something stands in the way"],
};

/** @param {string} state */
export function stateChip(state) {
  const [tone, icon, hint] = LOOKS[state] ?? ["unknown", "unknown", ""];
  return chip({ word: state, tone, icon, hint });
}

/** @param {string} state */
export function stateTone(state) {
  return (LOOKS[state] ?? ["unknown"])[0];
}
