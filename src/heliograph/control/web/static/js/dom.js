/** Making and changing elements, without a framework. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node|string|number|null|undefined|false} Child */
/** @typedef {Record<string, unknown> & {on?: Record<string, EventListener>}} Attributes */

/**
 * An HTML element.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child|Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  node.append(...children.flat().filter(isShown));
  return node;
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}

/**
 * Sets an attribute, or takes it away if the value says so.
 * @param {Element} node
 * @param {string} name
 * @param {unknown} value
 */
export function setAttribute(node, name, value) {
  if (!isShown(value)) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : String(value));
}

/**
 * Sets a text, touching the page only if it differs.
 * @param {Element} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @type {WeakMap<Element, string>} */
const signatures = new WeakMap();

/**
 * Builds the content of an element anew only if what it depends on has changed, so that focus and selection stay.
 * @param {Element} node
 * @param {string} signature
 * @param {() => (Child|Child[])} build
 */
export function keep(node, signature, build) {
  if (signatures.get(node) === signature) return;
  signatures.set(node, signature);
  node.replaceChildren(...[build()].flat().filter(isShown));
}
