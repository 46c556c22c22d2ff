/** How a flow is, as colour, picture and word; never as one of them alone. */

import { el, keep } from "./dom.js";
import { icon } from "./icons.js";

/** @typedef {{word: string, tone: string, icon: string, hint: string}} Look */

/** @type {Record<string, [string, string, string]>} */
const LOOKS = {
  "up to date": ["good", "check", "everything on the source is on the target"],
  copying: ["good", "copy", "records are on their way"],
  "heartbeats only": ["good", "pulse", "this pair writes heartbeats and mirrors no topics"],
  paused: ["idle", "pause", "nothing is copied until somebody resumes it"],
  stopped: ["idle", "stop", "nothing is copied until somebody resumes it"],
  starting: ["idle", "wait", "not at work yet"],
  degraded: ["warn", "warn", "copies, but partitions are set aside or a periodic task fails"],
  stalled: ["bad", "stall", "records wait, or the source does not answer, and nothing moves"],
  failing: ["bad", "cross", "tries again and again, and fails"],
  ended: ["bad", "ended", "has given up; restart the process"],
};

const SEVERITIES = ["good", "idle", "warn", "unknown", "bad"];

/**
 * How to show a flow; what is not known any more is never shown as good.
 * @param {{health: string, is_good: boolean}} flow
 * @param {boolean} isStale
 * @returns {Look}
 */
export function lookOf(flow, isStale) {
  if (isStale)
    return { word: "unknown", tone: "unknown", icon: "unknown", hint: `was ${flow.health} when last heard of` };
  const [tone, picture, hint] = LOOKS[flow.health] ?? [flow.is_good ? "good" : "warn", "unknown", ""];
  return { word: flow.health, tone, icon: picture, hint };
}

/**
 * The worst of several looks, for those who see only one sign.
 * @param {Look[]} looks
 */
export function worstTone(looks) {
  return SEVERITIES[Math.max(0, ...looks.map((look) => SEVERITIES.indexOf(look.tone)))];
}

/**
 * Picture and word in a coloured pill.
 * @param {Look} look
 */
export function chip(look) {
  return el("span", { class: `chip tone-${look.tone}`, title: look.hint }, icon(look.icon), el("span", {}, look.word));
}

/**
 * Shows a look in an element that stays.
 * @param {Element} node
 * @param {Look} look
 */
export function showChip(node, look) {
  keep(node, JSON.stringify(look), () => chip(look));
}

const ADDED_AFTER = 10; // seconds without an answer from the source, after which the server adds them to what waits

/**
 * At most so many seconds of the newest records would be missing if the source were lost now: as long as the oldest
 * waiting record has waited, and since nobody knows what came after the source was last asked, that time too.
 * @param {{lag_seconds: number, lag_known_age_seconds: number, health: string}} flow
 * @returns {number|null} null where nothing is known or nothing is mirrored
 */
export function recoveryPoint(flow) {
  if (!isLagKnown(flow)) return null;
  const { lag_seconds: waited, lag_known_age_seconds: unseen } = flow;
  return unseen > ADDED_AFTER ? Math.max(waited, unseen) : waited + unseen;
}

/**
 * Whether the numbers of lag mean anything.
 * @param {{health: string}} flow
 */
export function isLagKnown(flow) {
  return flow.health !== "starting" && flow.health !== "heartbeats only";
}
