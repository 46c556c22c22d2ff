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


def test_a_group_may_tell_where_they_begin(tmp_path: Path) -> None:
    assert settings(tmp_path, "").lane.start_group == ""
    assert not settings(tmp_path, "").lane.start_may_move
    assert settings(tmp_path, "start.group.id=old").lane.start_group == "old"
    for text in ("start.group.id=old", "start.timestamp.ms=1", "a.consumer.auto.offset.reset=latest"):
        assert settings(tmp_path, text).lane.start_may_move


def test_the_rack_of_the_mirror_goes_with_every_fetch(tmp_path: Path) -> None:
    assert settings(tmp_path, "a.consumer.client.rack=r1").lane.limits.rack == "r1"
