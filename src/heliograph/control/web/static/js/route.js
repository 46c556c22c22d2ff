/** Addresses within the page: the part behind "#". */

/** @typedef {{page: string, flow: string, rest: string[]}} Route */

/**
 * @param {string} hash
 * @returns {Route}
 */
export function parseRoute(hash) {
  const parts = hash
    .replace(/^#?\/?/, "")
    .split("/")
    .filter(Boolean)
    .map(decoded);
  if (parts[0] !== "flows") return { page: parts[0] ?? "overview", flow: "", rest: parts.slice(1) };
  if (!parts[1]) return { page: "overview", flow: "", rest: [] };
  return { page: parts[2] ?? "flow", flow: parts[1], rest: parts.slice(3) };
}

/**
 * The address of a flow, or of something below it.
 * @param {string} flow
 * @param {...(string|number)} below
 */
export function flowLink(flow, ...below) {
  return ["#/flows", flow, ...below].map((part, index) => (index ? encodeURIComponent(part) : part)).join("/");
}

/**
 * The address of one operation.
 * @param {{id: string, flow: string}} operation
 */
export function operationLink({ id, flow }) {
  return `#/operation/${encodeURIComponent(id)}/${encodeURIComponent(flow)}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
