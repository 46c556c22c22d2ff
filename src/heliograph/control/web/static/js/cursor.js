/** The moment that the reader looks at: shared by charts, so that all show the same one. */

export class Cursor {
  constructor() {
    /** @type {number|null} */
    this.atMs = null;
    /** @type {(() => void)[]} */
    this.followers = [];
  }

  /** @param {number|null} atMs */
  move(atMs) {
    if (atMs === this.atMs) return;
    this.atMs = atMs;
    for (const follower of this.followers) follower();
  }
}
