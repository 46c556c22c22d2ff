"""Mirrors with REST."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.control.rest_connect.station import Station


@pytest.fixture
def station(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Station:
    """Two topics and a file."""
    return Station(primary, backup, tmp_path)
