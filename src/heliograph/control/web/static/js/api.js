/** Questions to the server, and what may go wrong with them. */

import { authorization } from "./token.js";

const ROOT = new URL("../api/v1/", document.baseURI);

/** An answer that is none: `status` is 0 if the server did not answer at all. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} path below the API's root
 * @param {number} [patience] milliseconds
 */
export function get(path, patience = 10_000) {
  return ask("GET", path, undefined, patience);
}

/**
 * @param {string} path below the API's root
 * @param {object} body
 */
export function put(path, body) {
  return ask("PUT", path, body, 30_000);
}

/**
 * @param {string} path below the API's root
 * @param {object} body
 * @param {number} [patience] milliseconds
 */
export function post(path, body, patience = 30_000) {
  return ask("POST", path, body, patience);
}

/**
 * The path of a flow, or of something below it.
 * @param {string} name `A->B`
 * @param {string} [below]
 */
export function flowPath(name, below = "") {
  return `flows/${encodeURIComponent(name)}${below && `/${below}`}`;
}

async function ask(method, path, body, patience) {
  const response = await send(method, path, body, patience);
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new ApiError(response.status, answer?.message ?? `the server answered with ${response.status}`);
}

async function send(method, path, body, patience) {
  const headers = { Accept: "application/json" };
  const credential = authorization();
  if (credential) headers.Authorization = credential;
  if (body) headers["Content-Type"] = "application/json";
  const signal = AbortSignal.timeout(patience);
  const options = { method, headers, body: body && JSON.stringify(body), signal, cache: "no-store" };
  try {
    return await fetch(new URL(path, ROOT), options);
  } catch (error) {
    const isLate = error.name === "TimeoutError";
    throw new ApiError(0, isLate ? `no answer within ${patience / 1000} s` : "the server cannot be reached");
  }
}
