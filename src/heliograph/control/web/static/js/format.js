/** Numbers, sizes and times as people read them. */

export const NOTHING = "–";

const COUNTS = ["", "k", "M", "G", "T"];
const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];
const NARROW_SPACE = "\u202f";

/**
 * A count: exact while it is short.
 * @param {number|null|undefined} number
 */
export function count(number) {
  if (!isNumber(number)) return NOTHING;
  return Math.abs(number) < 10_000 ? exact(number) : scaled(number, COUNTS);
}

/**
 * A count with all its digits.
 * @param {number|null|undefined} number
 */
export function exact(number) {
  if (!isNumber(number)) return NOTHING;
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}

/**
 * Something per second.
 * @param {number|null|undefined} number
 */
export function rate(number) {
  if (!isNumber(number)) return NOTHING;
  return `${number > 0 && number < 0.1 ? "< 0.1" : scaled(number, COUNTS)}/s`;
}

/**
 * A number of bytes.
 * @param {number|null|undefined} number
 */
export function bytes(number) {
  return isNumber(number) ? scaled(number, SIZES) : NOTHING;
}

/**
 * Bytes per second.
 * @param {number|null|undefined} number
 */
export function byteRate(number) {
  return isNumber(number) ? `${bytes(number)}/s` : NOTHING;
}

/**
 * A span of time.
 * @param {number|null|undefined} seconds
 */
export function duration(seconds) {
  if (!isNumber(seconds)) return NOTHING;
  if (seconds <= 0) return "0 s";
  if (seconds < 0.001) return "< 1 ms";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${trimmed(seconds, 1)} s`;
  return longDuration(Math.round(seconds));
}

function longDuration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pair(seconds, 60, "m", 1, "s");
  if (seconds < 86_400) return pair(seconds, 3600, "h", 60, "m");
  return pair(seconds, 86_400, "d", 3600, "h");
}

function pair(seconds, big, bigName, small, smallName) {
  const rest = Math.floor((seconds % big) / small);
  return `${Math.floor(seconds / big)} ${bigName}` + (rest ? ` ${rest} ${smallName}` : "");
}

/**
 * A span of time given in milliseconds.
 * @param {number|null|undefined} milliseconds
 */
export function milliseconds(milliseconds) {
  return isNumber(milliseconds) ? duration(milliseconds / 1000) : NOTHING;
}

/**
 * How long ago a moment was.
 * @param {number} atMs 0 means never
 * @param {number} nowMs
 */
export function ago(atMs, nowMs) {
  if (!atMs) return "never";
  const seconds = Math.max(0, (nowMs - atMs) / 1000);
  return seconds < 1 ? "just now" : `${longDuration(Math.floor(seconds))} ago`;
}

/**
 * The time of day, with the date if it is another day.
 * @param {number} atMs
 * @param {number} nowMs
 */
export function moment(atMs, nowMs) {
  if (!atMs) return NOTHING;
  const at = new Date(atMs);
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return isToday ? timeOfDay(atMs) : `${isoDay(at)} ${timeOfDay(atMs)}`;
}

/**
 * The time of day, 24 hours.
 * @param {number} atMs
 */
export function timeOfDay(atMs) {
  const at = new Date(atMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
}

/**
 * "1 flow", "2 flows".
 * @param {number} number
 * @param {string} noun
 */
export function plural(number, noun) {
  return `${exact(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function isoDay(at) {
  return [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join("-");
}

function twoDigits(number) {
  return String(number).padStart(2, "0");
}

function scaled(number, units) {
  let [value, unit] = [Number(number), 0];
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const text = trimmed(value, Math.abs(value) < 99.95 ? 1 : 0);
  return units[unit] ? `${text} ${units[unit]}` : text;
}

function trimmed(value, digits) {
  return value.toFixed(digits).replace(/\.0$/, "");
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}
