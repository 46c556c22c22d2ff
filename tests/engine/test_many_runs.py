"""A transaction has no more runs than its ledger entry can hold, however many holes there are between records."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from heliograph.engine import copying
from heliograph.engine.copying import CopyRules
from heliograph.engine.provenance import HeaderRule, TopicProvenance
from heliograph.engine.settings import NEVER, LaneSettings
from heliograph.kafka import records
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import LedgerEntry, LeftOut, PartitionProgress, Run, TopicPartition
from tests.engine.lane_bench import QUICK
from tests.engine.test_copying import Bench
from tests.engine.test_provenance import batch
from tests.engine.ward import Ward
from tests.zoo import raw

_MOST_BYTES = 1024 * 1024 + 12  # of a batch, where nobody has set another limit
_HEADER = "x-from"
_RULES = CopyRules(TopicProvenance(header=HeaderRule(_HEADER, ["backup"])))


def with_holes(count: int, first: int = 0) -> list[Record]:
    """Records of which every second one does not go on."""
    return [
        Record(number, 1_700_000_000_000, None, b"v%d" % number, [(_HEADER, b"backup")] if number % 2 else [])
        for number in range(first, first + count)
    ]


def random_runs(count: int) -> list[Run]:
    """Runs with holes of all sizes on both sides, some of them large."""
    draw, runs = random.Random(5), [Run(10**12, 10**11, 1)]
    while len(runs) < count:
        last, (hole, shift) = runs[-1], (draw.randrange(1, 2 ** draw.randrange(1, 26)) for _ in range(2))
        source, target = last.source + last.length + hole, last.target + last.length + shift % 8_000
        runs.append(Run(source, target, draw.randrange(1, 2 ** draw.randrange(1, 12))))
    return runs


def test_as_many_runs_as_a_transaction_may_have_fit_in_a_batch_even_if_nothing_makes_them_smaller() -> None:
    runs = random_runs(LaneSettings().most_runs)
    progress = PartitionProgress(TopicPartition("o" * 249, 0), TopicPartition("c" * 249, 0), runs, 0, 0, 0)
    value = entries.encode_entry(LedgerEntry("a->b", 0, "me", 1, 0, (progress,)))
    record = entries.record("a->b", 0, value)
    assert len(records.encode([record])) < _MOST_BYTES
    assert len(records.encode_own([record])) < _MOST_BYTES


def test_a_batch_that_is_built_anew_has_no_more_runs_than_one_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_MOST_PIECES", 30)
    bench = Bench(rules=_RULES)
    bench.accept(batch(*with_holes(200)))
    assert [queued.runs for queued in bench.target.queue] == [25] * 4
    assert [number for some in bench.numbers() for number in some] == list(range(0, 200, 2))


def test_runs_of_joined_batches_are_counted_as_they_will_be_told() -> None:
    bench = Bench()
    bench.accept(*(batch(*with_holes(3, first)) for first in (0, 3, 10, 13)))
    assert [queued.runs for queued in bench.target.queue] == [2]


@pytest.mark.kafka
def test_a_lane_commits_before_there_are_too_many(ward: Ward) -> None:
    settings = replace(QUICK, commit_interval=NEVER, most_runs=300)
    left_out = {ward.bad.topic: LeftOut(header=_HEADER, origins=frozenset({"backup"}))}
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(with_holes(200)) for _ in range(10)])
    with ward.lane_walk(settings, ward.plan(left_out=left_out)) as walk:
        walk.until_copied({ward.bad: 2_010})
    runs = [
        len(progress.runs) for entry in ward.entries() for progress in entry.partitions if progress.source == ward.bad
    ]
    assert sum(runs) == 1_000 + 1
    assert max(runs) <= 300
    assert len(runs) < 10, "no more transactions than it takes"
