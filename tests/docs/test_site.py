"""The documentation as a site: it can be built, its links lead somewhere, and it asks no other host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.docs.pages import ROOT

_LOADED = {
    "img": "src",
    "script": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "use": "href",
}
_FOREIGN = re.compile(r"(https?:)?//")
_IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """What one page of the site refers to, and what in it can be referred to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.paragraphs: list[str] = []
        self._is_in_paragraph = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses and names."""
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if (address := found.get(_LOADED.get(tag, ""))) and found.get("rel") != "canonical":
            self.loaded.append(address)
        if tag == "p":
            self._is_in_paragraph = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        """A paragraph ends."""
        self._is_in_paragraph &= tag != "p"

    def handle_data(self, data: str) -> None:
        """Text of a paragraph."""
        if self._is_in_paragraph:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning would be an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[Path, Page]:
    """All pages, by their files."""
    found = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(found) > 30
    return found


def dead_links(site: Path, pages: Mapping[Path, Page]) -> list[str]:
    """Links within the site that lead to no file, or to no place in it."""
    faults = []
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            folder = site if address.path.startswith("/") else path.parent
            target = (folder / unquote(address.path).lstrip("/")).resolve() if address.path else path
            place = unquote(address.fragment)
            if not target.exists() or (place and target in pages and place not in pages[target].ids):
                faults.append(f"{path.name}: {link}")
    return faults


def foreign(addresses: Iterable[str]) -> list[str]:
    """Addresses on other hosts."""
    return [address for address in addresses if _FOREIGN.match(address)]


def test_every_link_leads_somewhere(site: Path, pages: Mapping[Path, Page]) -> None:
    assert dead_links(site, pages) == []


def test_no_other_host_is_asked_for_anything(site: Path, pages: Mapping[Path, Page]) -> None:
    assert foreign(address for page in pages.values() for address in page.loaded) == []
    styles = [path.read_text(encoding="utf-8") for pattern in ("*.css", "*.svg") for path in site.rglob(pattern)]
    assert foreign("".join(found) for text in styles for found in _IN_STYLES.findall(text)) == []


def test_lists_and_tables_are_no_paragraphs(pages: Mapping[Path, Page]) -> None:
    """Markdown for the site wants a blank line before them, which other readers do without."""
    swallowed = re.compile(r"\n(- |\d+\. )|^\||\n\|")
    assert [text for page in pages.values() for text in page.paragraphs if swallowed.search(text)] == []


def test_every_page_is_in_the_navigation() -> None:
    def entries(item: object) -> Iterable[str]:
        if isinstance(item, str):
            yield item
        for part in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            yield from entries(part)

    listed = list(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    assert sorted(listed) == sorted(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))


def test_what_is_wrong_is_noticed(tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    two.touch()
    page = Page(
        '<a href="two.html#there">x</a><a href="two.html#gone">x</a><a href="three.html">x</a><a href="#own">x</a>'
    )
    assert dead_links(tmp_path, {one: page, two: Page('<h1 id="there">y</h1>')}) == [
        "one.html: two.html#gone", "one.html: three.html", "one.html: #own",
    ]  # fmt: skip
    loading = Page('<script src="//cdn.example/x.js"></script><img src="a.png"><link href="https://fonts.example/f">')
    assert foreign(loading.loaded) == ["//cdn.example/x.js", "https://fonts.example/f"]
    assert foreign("".join(found) for found in _IN_STYLES.findall("a{b:url('https://x.example/f')}")) != []
