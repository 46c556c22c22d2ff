/** Light or dark: as the system says, unless the reader has chosen. */

const KEY = "heliograph.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function isDark() {
  const chosen = localStorage.getItem(KEY);
  return chosen ? chosen === "dark" : system.matches;
}

/** The other one from now on. */
export function toggleTheme() {
  const wanted = isDark() ? "light" : "dark";
  const isSystems = (wanted === "dark") === system.matches;
  if (isSystems) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, wanted);
  applyTheme();
}

/**
 * Follow the system and other tabs.
 * @param {() => void} onChange
 */
export function followTheme(onChange) {
  const follow = () => {
    applyTheme();
    onChange();
  };
  system.addEventListener("change", follow);
  addEventListener("storage", follow);
  applyTheme();
}

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}
