/** What the caller says to be let in: kept until the tab is closed, never longer. */

const KEY = "heliograph.authorization";

/** The value of the Authorization header, or null. */
export function authorization() {
  return sessionStorage.getItem(KEY);
}

/** @param {string} token */
export function useToken(token) {
  sessionStorage.setItem(KEY, `Bearer ${token}`);
}

/**
 * @param {string} name
 * @param {string} password
 */
export function usePassword(name, password) {
  const raw = new TextEncoder().encode(`${name}:${password}`);
  sessionStorage.setItem(KEY, `Basic ${btoa(String.fromCharCode(...raw))}`);
}

/** Forget it. */
export function signOut() {
  sessionStorage.removeItem(KEY);
}
