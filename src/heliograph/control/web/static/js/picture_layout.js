/** Where clusters, arrows and labels go in the picture: pure arithmetic. */

/** @typedef {{x: number, y: number}} Point */
/** @typedef {{x: number, y: number, width: number, height: number}} Box around its centre */
/** @typedef {{source: string, target: string}} Arrow */
/** @typedef {{start: Point, bend: Point, end: Point}} Curve */

const NARROW = 640;

/**
 * The size of the picture.
 * @param {number} clusters
 * @param {number} width
 */
export function pictureHeight(clusters, width) {
  if (clusters <= 2) return width < NARROW ? 400 : 250;
  if (width < NARROW) return 240 + 56 * clusters;
  return clusters <= 5 ? 500 : 660;
}

/**
 * A box for every cluster: side by side, around the one that all flows touch, or in a ring.
 * @param {string[]} aliases
 * @param {Arrow[]} arrows
 * @param {number} width
 * @returns {Map<string, Box>}
 */
export function placeClusters(aliases, arrows, width) {
  const height = pictureHeight(aliases.length, width);
  const size = boxSize(aliases.length, width);
  const boxed = (alias, { x, y }) => [alias, { x, y, ...size }];
  if (aliases.length <= 2)
    return new Map(aliases.map((alias, index) => boxed(alias, sideBySide(index, aliases.length, width, height, size))));
  const hub = findHub(aliases, arrows);
  const around = walk(aliases, arrows).filter((alias) => alias !== hub);
  const places = around.map((alias, index) => boxed(alias, onRing(index, around.length, width, height, size)));
  return new Map(hub ? [boxed(hub, { x: width / 2, y: height / 2 }), ...places] : places);
}

function boxSize(count, width) {
  if (width < NARROW) return { width: count <= 2 ? 180 : 88, height: count <= 2 ? 60 : 44 };
  return count <= 2 ? { width: 210, height: 76 } : { width: 150, height: 60 };
}

function sideBySide(index, count, width, height, size) {
  if (count === 1) return { x: width / 2, y: height / 2 };
  if (width < NARROW) return { x: width / 2, y: index ? height - size.height / 2 - 8 : size.height / 2 + 8 };
  const margin = Math.max(size.width / 2 + 8, width * 0.14);
  return { x: index ? width - margin : margin, y: height / 2 };
}

function onRing(index, count, width, height, size) {
  const [radiusX, radiusY] = [
    Math.min(width / 2 - size.width / 2 - (width < NARROW ? 4 : 20), 460),
    height / 2 - size.height / 2 - 26,
  ];
  const angle = (2 * Math.PI * index) / count - Math.PI / 2;
  return { x: width / 2 + radiusX * Math.cos(angle), y: height / 2 + radiusY * Math.sin(angle) };
}

/** The cluster that every flow touches, if there is one; of two, the first has no right to it. */
function findHub(aliases, arrows) {
  if (arrows.length < 2) return null;
  const hubs = aliases.filter((alias) => arrows.every(({ source, target }) => source === alias || target === alias));
  return hubs.length === 1 ? hubs[0] : null;
}

/** An order in which flows lead from one cluster to the next, as far as they do: fewer arrows cross. */
function walk(aliases, arrows) {
  const order = [];
  for (let next = aliases[0]; next !== undefined;) {
    order.push(next);
    const here = next;
    const follows = (alias) => arrows.some(({ source, target }) => source === here && target === alias);
    const left = aliases.filter((alias) => !order.includes(alias));
    next = left.find(follows) ?? left[0];
  }
  return order;
}

/**
 * The way of an arrow from box to box; bent if there is one in the other direction.
 * @param {Box} from
 * @param {Box} to
 * @param {boolean} isBent
 * @returns {Curve}
 */
export function curveBetween(from, to, isBent) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const side = isBent ? Math.min(Math.max(length * 0.14, 26), 58) : 0;
  const bend = { x: (from.x + to.x) / 2 + (dy / length) * side * 2, y: (from.y + to.y) / 2 - (dx / length) * side * 2 };
  const first = leaves(from, bend, to, from, 4);
  const last = 1 - leaves(to, bend, from, to, 9);
  return part({ x: from.x, y: from.y }, bend, { x: to.x, y: to.y }, first, last);
}

/** How far along the curve it has left a box. */
function leaves(start, bend, end, box, margin) {
  for (let share = 0; share < 0.5; share += 0.01) {
    const { x, y } = along(start, bend, end, share);
    if (Math.abs(x - box.x) > box.width / 2 + margin || Math.abs(y - box.y) > box.height / 2 + margin) return share;
  }
  return 0.5;
}

function along(start, bend, end, share) {
  const rest = 1 - share;
  const mix = (one, two, three) => rest * rest * one + 2 * rest * share * two + share * share * three;
  return { x: mix(start.x, bend.x, end.x), y: mix(start.y, bend.y, end.y) };
}

/** The part of a quadratic curve between two shares of it. */
function part(start, bend, end, first, last) {
  const [from, to] = [along(start, bend, end, first), along(start, bend, end, last)];
  const mix = (one, two, three) =>
    (1 - first) * (1 - last) * one + ((1 - first) * last + first * (1 - last)) * two + first * last * three;
  const middleBend = { x: mix(start.x, bend.x, end.x), y: mix(start.y, bend.y, end.y) };
  return { start: from, bend: middleBend, end: to };
}

/** Shares of its curve at which a label may sit, the best first: in the middle, or nearer to where the arrow begins. */
const SEATINGS = [
  [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73],
  [0.3, 0.27, 0.34, 0.24, 0.42, 0.5],
];

/**
 * The largest size of labels with which none covers another or a cluster, and where each then sits.
 * @param {Curve[]} curves
 * @param {Box[]} boxes
 * @param {{width: number, height: number}[]} sizes the largest first
 * @param {{width: number, height: number}} room
 * @returns {{size: any, seats: Point[]}}
 */
export function placeLabels(curves, boxes, sizes, room) {
  for (const size of sizes) {
    for (const shares of SEATINGS) {
      const seats = seatAll(curves, boxes, size, room, shares);
      if (seats) return { size, seats };
    }
  }
  return { size: sizes.at(-1), seats: curves.map(({ start, bend, end }) => along(start, bend, end, 0.5)) };
}

function seatAll(curves, boxes, size, room, shares) {
  const taken = [...boxes];
  for (const { start, bend, end } of curves) {
    const seats = shares.map((share) => ({ ...along(start, bend, end, share), ...size }));
    const free = seats.find((seat) => isInside(seat, room) && !taken.some((other) => overlap(seat, other)));
    if (!free) return null;
    taken.push(free);
  }
  return taken.slice(boxes.length);
}

function isInside({ x, y, width, height }, room) {
  return x > width / 2 && x < room.width - width / 2 && y > height / 2 && y < room.height - height / 2;
}

function overlap(one, other) {
  const isNear = (axis, side) => Math.abs(one[axis] - other[axis]) < (one[side] + other[side]) / 2 + 4;
  return isNear("x", "width") && isNear("y", "height");
}
