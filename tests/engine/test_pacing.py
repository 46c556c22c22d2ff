"""Bandwidth limits and forced codecs: what a lane does differently when it is told to."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from heliograph.engine.settings import LaneSettings
from heliograph.kafka import batches
from heliograph.kafka.fetching import FetchLimits
from tests.engine.lane_bench import QUICK, MakeMirror
from tests.zoo import raw
from tests.zoo.odd_records import numbered

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_a_forced_codec_is_used_for_every_batch(make_mirror: MakeMirror, codec: int) -> None:
    mirror = make_mirror()
    mirror.write([numbered(100, 100 * number, size=200) for number in range(4)])
    mirror.copy_all(replace(QUICK, compression=codec))
    mirror.assert_equal(at_least=400)
    [target] = mirror.pairs.values()
    found = raw.fetch_batches(mirror.stations.target, target)
    codecs = {header.attributes & batches.COMPRESSION_MASK for header, _ in found if not header.is_control}
    assert codecs == {codec}


def test_a_lane_keeps_to_its_bandwidth(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(50, 50 * number, size=10_000) for number in range(4)])  # 2 MB
    limited = replace(QUICK, bytes_per_second=1_000_000.0).with_share_of(1)
    began = time.monotonic()
    mirror.copy_all(limited)
    seconds = time.monotonic() - began
    mirror.assert_equal(at_least=200)
    assert 1.0 < seconds < 10.0


def test_lanes_share_the_bandwidth_of_their_flow() -> None:
    settings = LaneSettings(limits=FetchLimits(max_bytes=8_000_000), bytes_per_second=4_000_000.0)
    assert settings.with_share_of(4).bytes_per_second == 1_000_000.0
    assert settings.with_share_of(4).limits.max_bytes == 125_000
    assert LaneSettings().with_share_of(4) == replace(LaneSettings(), lanes=4)
