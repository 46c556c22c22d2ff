"""The files of the page are served as they must be: complete, of their own, and asked about again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest

from heliograph.control.web.assets import assets
from tests.control.rest.serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with callers, so that nobody is somebody by default."""
    text = "rest.token.me = admin:sha256:" + "0" * 64 + "\n"
    with serving(tmp_path_factory.mktemp("pages"), text) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/ui/", "text/html; charset=utf-8"),
        ("/ui/static/js/main.js", "text/javascript; charset=utf-8"),
        ("/ui/static/css/base.css", "text/css; charset=utf-8"),
        ("/ui/static/favicon.svg", "image/svg+xml"),
    ],
)
def test_whoever_asks_gets_the_page_and_only_once(served: Served, path: str, media_type: str) -> None:
    first = served.request("GET", path)
    assert first.status_code == 200
    assert first.headers["content-type"] == media_type
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
    for tag in (first.headers["etag"], f'"other", W/{first.headers["etag"]}'):
        again = served.request("GET", path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
    assert served.request("GET", path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path", ["pages.py", "../pages.py", "js", "js/", "", "js/../../pages.py", "%2e%2e/pages.py", "js/nothing.js"]
)
def test_nothing_else_is_served(served: Served, path: str) -> None:
    answer = served.request("GET", f"/ui/static/{path}")
    assert answer.status_code == 404
    assert answer.json()["error_code"] == 404


def test_the_address_without_a_slash_leads_to_the_page(served: Served) -> None:
    answer = served.request("GET", "/ui")
    assert (answer.status_code, answer.headers["location"]) == (307, "ui/")


def test_every_file_that_the_page_names_exists() -> None:
    html = assets()["index.html"].content.decode()
    named = re.findall(r'(?:href|src)="static/([^"]+)"', html)
    assert len(named) >= 6
    assert set(named) <= set(assets())


def test_every_module_that_a_module_imports_exists_and_all_are_used() -> None:
    used = {"js/main.js"}
    for path, asset in assets().items():
        found = re.findall(r'from "([^"]+)"', asset.content.decode()) if path.endswith(".js") else []
        used |= {normpath(join(dirname(path), name)) for name in found}
    assert used == {path for path in assets() if path.endswith(".js")}


def test_the_page_holds_no_scripts_or_styles_of_its_own_and_names_no_other_host() -> None:
    html = assets()["index.html"].content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    for asset in assets().values():
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", asset.content.decode())


def test_every_file_of_the_folder_is_served() -> None:
    from heliograph.control.web import pages

    folder = Path(pages.__file__).parent / "static"
    assert {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} == set(assets())
