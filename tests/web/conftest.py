"""One live site and one browser for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from heliograph.embedded.cluster import EmbeddedCluster
    from tests.web.browser import Visit
    from tests.web.live_site import LiveSite


@pytest.fixture(scope="package")
def site(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveSite]:
    """Two clusters that mirror each other under load, and their server."""
    from tests.web.live_site import running_site

    with running_site(cluster_pair, tmp_path_factory.mktemp("web")) as site:
        yield site


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser for this folder only: while it runs, nobody else in this thread can run an event loop."""
    from tests.web.browser import running_browser

    with running_browser() as browser:
        yield browser


@pytest.fixture
def visit(site: LiveSite, browser: Browser) -> Iterator[Visit]:
    """A fresh page of an operator on the live site."""
    from tests.control.rest.serving import token_of
    from tests.web.browser import visiting

    with visiting(browser, site.root, token_of("operator")) as visit:
        yield visit
