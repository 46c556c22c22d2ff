/** Round numbers for the axes of charts: pure arithmetic. */

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];
const CLOCK = [10, 15, 30, 60, 120, 300, 600, 900];

/**
 * Steps of a count, from 0 up to or beyond the highest value.
 * @param {number} highest
 * @param {number} [wanted] about so many steps
 */
export function countTicks(highest, wanted = 3) {
  return ticks(decimalStep(Math.max(highest, 1) / wanted), Math.max(highest, 1));
}

/**
 * The same for seconds, which above a minute step in minutes, hours and days.
 * @param {number} highest
 * @param {number} [wanted]
 */
export function timeTicks(highest, wanted = 3) {
  const top = Math.max(highest, 0.01);
  const rough = top / wanted;
  const step =
    rough < 1 ? decimalStep(rough) : (TIMES.find((each) => each >= rough) ?? decimalStep(rough / 86_400) * 86_400);
  return ticks(step, top);
}

/**
 * Round moments between two times, in milliseconds.
 * @param {number} fromMs
 * @param {number} toMs
 * @param {number} most so many fit
 */
export function clockTicks(fromMs, toMs, most) {
  const step = (CLOCK.find((each) => (toMs - fromMs) / 1000 / each <= most) ?? 1800) * 1000;
  const first = Math.ceil(fromMs / step) * step;
  return Array.from({ length: Math.max(0, Math.floor((toMs - first) / step) + 1) }, (_, index) => first + index * step);
}

function decimalStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((each) => each * power >= rough * 0.999) * power;
}

function ticks(step, highest) {
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}
