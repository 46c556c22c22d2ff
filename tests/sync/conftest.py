"""What the tests of syncs share: flows made from text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load

FlowMaker = Callable[..., FlowConfig]


@pytest.fixture
def make_flow(tmp_path: Path) -> FlowMaker:
    """The flow a->b of two clusters with some more settings."""

    def make(text: str = "", source: str = "a:1", target: str = "b:1", enabled: str = "true") -> FlowConfig:
        path = tmp_path / "mm2.properties"
        base = f"clusters=a,b\na.bootstrap.servers={source}\nb.bootstrap.servers={target}\na->b.enabled={enabled}\n"
        path.write_text(base + text)
        flow = load(path, environment={}).flow("a->b")
        assert flow is not None
        return flow

    return make
