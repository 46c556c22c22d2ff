"""What a configuration means to the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.flow_settings import flow_settings
from heliograph.engine.settings import FlowSettings
from heliograph.engine.start import NOWHERE
from heliograph.kafka.reading import EARLIEST, LATEST

BASE = "clusters=a,b\na.bootstrap.servers=a:1\nb.bootstrap.servers=b:1\na->b.enabled=true\n"


def settings(folder: Path, text: str) -> FlowSettings:
    path = folder / "mm2.properties"
    path.write_text(BASE + text)
    flow = load(path, environment={}).flow("a->b")
    assert flow is not None
    return flow_settings(flow)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", EARLIEST),
        ("a.consumer.auto.offset.reset=earliest", EARLIEST),
        ("a.consumer.auto.offset.reset=latest", LATEST),
        ("a.consumer.auto.offset.reset=none", NOWHERE),
        ("a.consumer.auto.offset.reset=none\nstart.timestamp.ms=17", 17),
    ],
)
def test_where_partitions_without_a_position_begin(tmp_path: Path, text: str, start: int) -> None:
    assert settings(tmp_path, text).lane.start == start


def test_the_rack_of_the_mirror_goes_with_every_fetch(tmp_path: Path) -> None:
    assert settings(tmp_path, "a.consumer.client.rack=r1").lane.limits.rack == "r1"
