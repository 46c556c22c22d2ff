"""The bytes of a year, computed from made-up hours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.ledger.offset_map import PACKED_BYTES
from tests.aging.year import Kept, Shown, kept_after

_MB = 1e6
_HOUR = Shown(
    seconds=3600,
    commits=720_000,
    runs=720_000,
    map_bytes=1_440_000,  # 2 B each
    position_bytes=5_000,
    state_bytes=3_000,
    ledger_bytes_per_commit=250,
    journal_bytes=1_000,
)


def test_the_map_stops_at_its_limit_and_the_rest_is_small() -> None:
    kept = kept_after(_HOUR)
    assert kept.is_thinned
    assert kept.offset_map == 2 * PACKED_BYTES + 16 * 1024 * 1024
    assert kept.total < 2e9
    assert kept.total - kept.offset_map < 100 * _MB
    assert "thin out" in str(kept)


def test_runs_that_the_target_keeps_for_a_day_do_not_reach_the_limit() -> None:
    kept = kept_after(_HOUR, target_keeps_seconds=24 * 3600)
    assert not kept.is_thinned
    assert kept.offset_map == pytest.approx(2 * 200 * 24 * 3600 * 2 + 16 * 1024 * 1024)
    assert kept.total < 200 * _MB


@pytest.mark.parametrize("times", [0.1, 3.0])
def test_what_grows_by_commit_is_the_same_whatever_the_rate_of_the_run_was(times: float) -> None:
    other = replace(
        _HOUR,
        commits=round(_HOUR.commits * times),
        runs=round(_HOUR.runs * times),
        map_bytes=round(_HOUR.map_bytes * times),
    )
    assert kept_after(other, target_keeps_seconds=3600) == kept_after(_HOUR, target_keeps_seconds=3600)


def test_each_part_follows_what_it_grows_with() -> None:
    before = kept_after(_HOUR)

    def grown(**changes: float) -> set[str]:
        after = kept_after(replace(_HOUR, **changes))
        return {name for name in Kept.__dataclass_fields__ if getattr(after, name) != getattr(before, name)}

    assert grown(position_bytes=6_000) == {"positions"}
    assert grown(state_bytes=6_000) == {"state"}
    assert grown(ledger_bytes_per_commit=300) == {"ledger"}
    assert grown(journal_bytes=2_000) == {"journal"}
    assert grown(runs=1_440_000, map_bytes=2_880_000) == set()  # it is at its limit
    assert grown(runs=7_200, map_bytes=14_400) == {"offset_map", "is_thinned"}


def test_the_ids_of_a_year_take_as_much_as_their_pages() -> None:
    """200,000 ids of 1.25 B, twice for what brokers have not compacted."""
    grows = kept_after(_HOUR, 400).state - kept_after(_HOUR, 200).state
    assert grows == pytest.approx(2 * 192_000 * 1.25, rel=0.01)
