"""One run for all tests of what is deployed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.deploy.live_run import LiveRun


@pytest.fixture(scope="package")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRun]:
    """A mirror, its clusters and a Prometheus."""
    from tests.deploy.live_run import running

    with running(tmp_path_factory.mktemp("live")) as run:
        yield run
