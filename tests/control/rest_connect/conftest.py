"""A mirror with REST that never starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from heliograph.config.mirror_config import load
from heliograph.control.running_mirror import RunningMirror
from tests.control.rest_connect.station import served

_FILE = """
clusters = a, b
a.bootstrap.servers = 127.0.0.1:1
b.bootstrap.servers = 127.0.0.1:2
a->b.enabled = true
"""


@pytest.fixture
def mirror(tmp_path: Path) -> RunningMirror:
    """One that is not started, and whose clusters do not answer."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    return RunningMirror(load(file))


@pytest.fixture
def client(mirror: RunningMirror) -> Iterator[httpx.Client]:
    """Of that mirror."""
    with served(mirror) as client:
        yield client
