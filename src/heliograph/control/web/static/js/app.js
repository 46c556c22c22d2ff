/** The page as a whole: shows what the address says, keeps it up to date, and says when it cannot. */

import { get } from "./api.js";
import { renderBanner } from "./banner.js";
import { Feed } from "./feed.js";
import { loginForm } from "./login.js";
import { makePage } from "./pages.js";
import { parseRoute } from "./route.js";
import { Shell } from "./shell.js";
import { signOut } from "./token.js";

const TICK = 1_000;

/**
 * @typedef {object} Page
 * @property {HTMLElement} element
 * @property {string} title
 * @property {Record<string, import("./feed.js").FeedPlan>} plans
 * @property {(view: View) => void} render
 * @property {() => void} [close]
 * @property {() => string} [tone] how bad it is, for the title of the tab
 */

/**
 * @typedef {object} View
 * @property {Record<string, Feed>} feeds
 * @property {any} mirror
 * @property {number} nowMs the server's clock
 * @property {(feed: string) => void} refresh
 */

export class App {
  constructor() {
    this.main = document.getElementById("main");
    this.shell = new Shell(() => this.leave());
    this.mirror = new Feed({ load: () => get("mirror"), every: 2_000 }, () => this.#mirrorChanged());
    this.clockSkew = 0;
    /** @type {Page|null} */
    this.page = null;
    /** @type {Record<string, Feed>} */
    this.feeds = {};
    this.isLocked = false;
  }

  start() {
    addEventListener("hashchange", () => this.open());
    document.addEventListener("visibilitychange", () => this.#seen());
    document.addEventListener("keydown", (event) => focusFilter(event));
    document.getElementById("skip").addEventListener("click", (event) => skip(event, this.main));
    setInterval(() => !document.hidden && this.render(), TICK);
    this.mirror.start();
    this.open(false);
  }

  /** Show what the address says. */
  open(moveFocus = true) {
    this.#close();
    if (this.isLocked) return;
    this.route = parseRoute(location.hash);
    this.page = makePage(this.route);
    this.feeds = Object.fromEntries(
      Object.entries(this.page.plans).map(([name, plan]) => [name, new Feed(plan, () => this.render())]),
    );
    this.main.replaceChildren(this.page.element);
    for (const feed of Object.values(this.feeds)) feed.start();
    this.render();
    if (moveFocus) {
      scrollTo(0, 0);
      this.main.focus({ preventScroll: true });
    }
  }

  #close() {
    for (const feed of Object.values(this.feeds)) feed.stop();
    this.feeds = {};
    this.page?.close?.();
    this.page = null;
  }

  /** Show everything as it is known now. */
  render() {
    const feeds = [this.mirror, ...Object.values(this.feeds)];
    if (feeds.some((feed) => feed.error?.status === 401)) return this.#lock();
    const nowMs = Date.now() + this.clockSkew;
    const isStale = feeds.some((feed) => feed.isStale);
    document.body.classList.toggle("is-stale", isStale);
    renderBanner(feeds, Object.values(this.feeds), () => feeds.forEach((feed) => feed.refresh()));
    this.shell.render(this.mirror, this.route, isStale, nowMs);
    if (!this.page) return;
    this.page.render({
      feeds: this.feeds,
      mirror: this.mirror.data,
      nowMs,
      refresh: (name) => this.feeds[name].refresh(),
    });
    this.#title(isStale);
  }

  #title(isStale) {
    const isWorrying = isStale || ["warn", "bad", "unknown"].includes(this.page.tone?.() ?? "good");
    document.title = `${isWorrying ? "⚠ " : ""}${this.page.title} · Heliograph`;
  }

  #mirrorChanged() {
    if (this.mirror.data && !this.mirror.error) this.clockSkew = this.mirror.data.now_ms - this.mirror.loadedAt;
    this.render();
  }

  #seen() {
    if (document.hidden || this.isLocked) return;
    for (const feed of [this.mirror, ...Object.values(this.feeds)]) feed.refresh();
  }

  #lock() {
    if (this.isLocked) return;
    this.isLocked = true;
    this.#close();
    this.mirror.stop();
    this.mirror.data = null;
    document.title = "Sign in · Heliograph";
    document.body.classList.remove("is-stale");
    renderBanner([], [], () => {});
    this.shell.render(this.mirror, { page: "login", flow: "", rest: [] }, false, Date.now());
    this.main.replaceChildren(loginForm(() => this.#unlock()));
    this.main.querySelector("input").focus();
  }

  #unlock() {
    this.isLocked = false;
    this.mirror = new Feed(this.mirror.plan, () => this.#mirrorChanged());
    this.mirror.start();
    this.open();
  }

  /** Forget who is asking. */
  leave() {
    signOut();
    this.#lock();
  }
}

/** "/" goes to the filter of the first table, unless something is being typed. */
function focusFilter(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, dialog")) return;
  const filter = document.querySelector("main input.filter");
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}

function skip(event, main) {
  event.preventDefault();
  main.focus();
  main.scrollIntoView();
}
