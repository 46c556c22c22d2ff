"""What every reader needs: names on all controls, and text that stands out from its ground."""

from __future__ import annotations

from itertools import pairwise

from playwright.sync_api import Page

LEAST_CONTRAST = 4.5

_NAMELESS = """() => {
  const named = (node) => {
    const label = node.getAttribute("aria-label") || node.getAttribute("title") || node.textContent.trim();
    const labelled = (node.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
    return label || [...(node.labels || [])].some((each) => each.textContent.trim())
      || labelled.some((id) => document.getElementById(id)?.textContent.trim());
  };
  const controls = "a[href], button, input, select, textarea, summary, [tabindex], [role=slider], table, nav, dialog";
  return [...document.querySelectorAll(controls)]
    .filter((node) => node.id !== "main" && !node.closest("[aria-hidden=true]") && !named(node))
    .map((node) => node.outerHTML.slice(0, 200));
}"""

_FAINT = """(least) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha: alpha / 255 };
  };
  const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => rgb.map(linear).reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (node) => {
    const plate = node instanceof SVGElement && node.parentElement.querySelector(".plate, rect");
    if (plate) return channels(getComputedStyle(plate).fill).rgb;
    for (let each = node; each; each = each.parentElement) {
      const { rgb, alpha } = channels(getComputedStyle(each).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const isShown = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility === "visible";
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  return [...document.querySelectorAll("body *")]
    .filter((node) => node.tagName !== "title" && hasText(node) && isShown(node))
    .map((node) => {
      const style = getComputedStyle(node);
      const ink = channels(node instanceof SVGElement ? style.fill : style.color).rgb;
      return { text: node.textContent.trim().slice(0, 60), kind: node.className.baseVal ?? node.className,
               contrast: ratio(ink, ground(node)) };
    })
    .filter(({ contrast }) => contrast < least);
}"""


def expect_names(page: Page) -> None:
    """Every control says what it is."""
    assert page.evaluate(_NAMELESS) == []


def expect_contrast(page: Page) -> None:
    """Every text that is shown stands out from what is behind it."""
    assert page.evaluate(_FAINT, LEAST_CONTRAST) == []


def expect_order(page: Page) -> None:
    """One first heading, none left out below it, and no two elements of the same id."""
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


def expect_fits(page: Page) -> None:
    """Nothing is wider than the screen; tables scroll within their frames."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
