/** One question asked again and again while the tab is seen; less often while it goes wrong. */

import { ApiError } from "./api.js";

const LONGEST_PAUSE = 30_000;
const GRACE = 5_000;

/**
 * @typedef {object} FeedPlan
 * @property {() => Promise<any>} load
 * @property {number} every milliseconds between two questions
 */

/** Keeps the last good answer, how old it is, and why there is no newer one. */
export class Feed {
  /**
   * @param {FeedPlan} plan
   * @param {() => void} onChange
   */
  constructor(plan, onChange) {
    this.plan = plan;
    this.onChange = onChange;
    this.data = null;
    this.loadedAt = 0;
    /** @type {ApiError|null} */
    this.error = null;
    this.failures = 0;
    this.nextAt = 0;
    this.isLoading = false;
    this.isStopped = false;
    this.startedAt = Date.now();
  }

  start() {
    this.refresh();
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Ask now. */
  async refresh() {
    clearTimeout(this.timer);
    if (this.isStopped || this.isLoading) return;
    this.isLoading = true;
    try {
      const data = await this.plan.load();
      Object.assign(this, { data, loadedAt: Date.now(), error: null, failures: 0 });
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(0, String(error));
      this.failures += 1;
    }
    this.isLoading = false;
    if (this.isStopped) return;
    this.planNext();
    this.onChange();
  }

  planNext() {
    if (document.hidden) return;
    const pause = Math.min(this.plan.every * 2 ** this.failures, Math.max(LONGEST_PAUSE, this.plan.every));
    this.nextAt = Date.now() + pause;
    this.timer = setTimeout(() => this.refresh(), pause);
  }

  /** Whether what is known may no longer be true. */
  get isStale() {
    return this.error !== null || Date.now() - (this.loadedAt || this.startedAt) > this.plan.every * 2 + GRACE;
  }
}
