"""Runs of kills are written down and added up; what a reader beside them must find is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.kill_runs import read, summed_up, written_down
from tests.chaos.reader_beside import difference
from tests.chaos.strikes import Strikes, Toll


def test_runs_add_up_with_their_seeds(tmp_path: Path) -> None:
    file = tmp_path / "kills.jsonl"
    assert summed_up(read(file)) == "no runs so far"
    for seed, kills in ((3, {"worker": 40, "jvm": 2}), (4, {"worker": 8, "target_broker": 1})):
        toll = Toll()
        with written_down(seed, toll, file) as notes:
            toll.kills.update(kills)
            toll.slowest = seed + 0.25
            notes.records = 1000
    assert [run.seed for run in read(file)] == [3, 4]
    told = summed_up(read(file))
    assert told.startswith("51 kills (worker 48, jvm 2, target_broker 1) in 2 runs with nothing lost")
    assert "2000 records compared" in told
    assert "slowest recovery 4.2 s" in told


def test_a_run_that_failed_is_told_first_and_its_kills_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "kills.jsonl"
    good, bad = Toll(), Toll()
    with written_down(1, good, file):
        good.kills["worker"] = 5
    bad.kills["worker"] = 7
    with pytest.raises(AssertionError), written_down(2, bad, file):
        raise AssertionError("one record lost\nand more")
    first, second = summed_up(read(file)).splitlines()
    assert first.startswith("1 of 2 runs FAILED: seed 2 at ")
    assert first.endswith("FAILED: AssertionError: one record lost")
    assert second.startswith("5 kills (worker 5) in 1 runs")


@pytest.mark.parametrize("kills", [20, 70, 500])
def test_many_kills_hit_everything_and_workers_most(kills: int) -> None:
    strikes = Strikes.many(kills)
    counts = strikes._counts()
    assert sum(counts.values()) == kills == len(strikes._parts())
    assert min(counts.values()) >= 1
    assert counts["worker"] > kills / 2


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ([1, 2, 3, 3], ""),
        ([1, 2, 3], "record 3 of 4 is the first that differs: 1 were not seen, 0 once too often"),
        ([1, 2, 2, 3, 3], "record 2 of 4 is the first that differs: 0 were not seen, 1 once too often"),
        ([2, 1, 3, 3], "record 0 of 4 is the first that differs: 0 were not seen, 0 once too often or unknown, the or"),
        ([1, 9, 3, 3], "record 1 of 4 is the first that differs: 1 were not seen, 1 once too often"),
    ],
)
def test_what_was_not_seen_once_and_in_order_is_told(seen: list[int], told: str) -> None:
    assert difference([1, 2, 3, 3], seen).startswith(told)
    assert bool(difference([1, 2, 3, 3], seen)) == bool(told)
