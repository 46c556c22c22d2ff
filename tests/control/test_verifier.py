"""Continuous verification: what has just been mirrored is compared, within its budget, and mismatches are told.

A mirror that runs with it is in test_running_mirror.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.control.meter import VerifiedMeter
from heliograph.control.status import read_status
from heliograph.control.verifier import Backlog, Verifier
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.kafka.records import Record
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Run, TopicPartition
from heliograph.recovery.verification.segments import Pair
from tests.recovery.handmade_mirror import HandmadeMirror, in_batches, some_records
from tests.sync.moving import make_moving
from tests.zoo.topics import fresh_name

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("a.t", 0)
PLENTY = 1 << 30

Maker = Callable[..., HandmadeMirror]


@pytest.fixture
def make(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> Maker:
    """Makes a partition that seems to be mirrored."""

    def make(settings: dict[str, str] | None = None) -> HandmadeMirror:
        topic = fresh_name("continuous")
        return HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic, settings)

    return make


def verifier_of(mirror: HandmadeMirror, round_bytes: int = PLENTY) -> tuple[Verifier, VerifiedMeter, FlowDriver]:
    flow, meter = mirror.moving.flow, VerifiedMeter()
    driver = FlowDriver(flow_settings(flow), ClusterTopics(flow))
    return Verifier(flow, driver, meter, round_bytes), meter, driver


def entry(*runs: Run, size: int = 100, events: tuple[Event, ...] = (), at_ms: int = 5) -> LedgerEntry:
    last = runs[-1].source + runs[-1].length - 1
    return LedgerEntry("a->b", 0, "o", 7, at_ms, (PartitionProgress(SOURCE, TARGET, runs, last, size, 0),), events)


@pytest.mark.kafka
def test_what_is_equal_is_counted_and_nothing_waits_any_more(make: Maker) -> None:
    mirror, records = make(), some_records(60)
    mirror.write(in_batches(records, 10), in_batches(records, 10))
    verifier, meter, _ = verifier_of(mirror)
    with closing(verifier):
        verifier.mirrored(mirror.enter([Run(0, 0, 30)]))
        assert meter.lag_seconds(2_000_000_000_000) > 0
        assert verifier.run() == "30 records compared, 0 differences"
        assert meter.lag_seconds(2_000_000_000_000) == 0
        verifier.mirrored(mirror.enter([Run(30, 30, 30)]))
        verifier.run()
    assert (meter.records, meter.mismatches, meter.passed_over_bytes) == (60, 0, 0)
    assert meter.bytes > 1000


@pytest.mark.kafka
def test_a_difference_is_told_in_log_ledger_and_status_once(make: Maker, caplog: pytest.LogCaptureFixture) -> None:
    mirror, records = make(), some_records(60)
    spoilt = [*records[:41], records[41]._replace(value=b"other"), *records[42:]]
    mirror.write(in_batches(records, 10), in_batches(spoilt, 10))
    verifier, meter, driver = verifier_of(mirror)
    heard: list[LedgerEntry] = []
    driver.followers.append(heard.append)
    with closing(verifier), caplog.at_level(logging.ERROR):
        verifier.mirrored(mirror.enter([Run(0, 0, 60)]))
        verifier.run()
    assert meter.mismatches == 1
    [event] = [item for item in read_status(mirror.moving.flow).events if item.kind is EventKind.MISMATCH]
    assert (event.source, event.from_offset) == (mirror.source, 41)
    assert "offset 41" in event.reason
    assert "value not the same" in caplog.text
    assert [item.kind for told in heard for item in told.events] == [EventKind.MISMATCH]


@pytest.mark.kafka
def test_a_topic_that_was_created_anew_meanwhile_is_no_mismatch(make: Maker) -> None:
    mirror, records = make(), some_records(10)
    mirror.write([], in_batches(records, 10))
    verifier, meter, _ = verifier_of(mirror)
    verifier.mirrored(mirror.enter([Run(0, 0, 10)]))
    mirror.enter([Run(0, 10, 1)], [Event(EventKind.RECREATED, mirror.source, 10, -1, "created again")])
    other = [Record(0, 1_700_000_000_000, b"x", b"y")]
    mirror.write(in_batches(other, 1), in_batches(other, 1))
    with closing(verifier):
        for _ in range(2):
            verifier.run()
    assert meter.mismatches == 0
    assert meter.passed_over_bytes > 0


@pytest.mark.kafka
def test_compacted_topics_are_passed_over(make: Maker) -> None:
    mirror = make({"cleanup.policy": "compact"})
    mirror.write(in_batches(some_records(5), 5), in_batches(some_records(5, first=50), 5))
    verifier, meter, _ = verifier_of(mirror)
    with closing(verifier):
        verifier.mirrored(mirror.enter([Run(0, 0, 5)]))
        verifier.run()
    assert (meter.records, meter.mismatches, meter.passed_over_bytes) == (0, 0, 1000)


@pytest.mark.kafka
def test_a_round_reads_no_more_than_it_may_and_makes_up_for_what_it_did(make: Maker) -> None:
    mirror, records = make(), some_records(40)
    mirror.write(in_batches(records, 10), in_batches(records, 10))
    verifier, meter, _ = verifier_of(mirror, round_bytes=3_000_000)
    size = 5 * 1024 * 1024  # so it is said: twice that is read, which takes three rounds and a half
    with closing(verifier):
        for first in (0, 10, 20):
            verifier.mirrored(mirror.enter([Run(first, first, 10)], byte_count=size))
        seen = []
        for _ in range(9):
            verifier.run()
            seen.append(meter.records)
    assert seen == [10, 10, 10, 20, 20, 20, 30, 30, 30]


@pytest.mark.kafka
def test_a_round_that_fails_loses_nothing(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    from heliograph.errors import BrokerUnavailable
    from heliograph.recovery.verification.comparison import Sides

    mirror, records = make(), some_records(10)
    mirror.write(in_batches(records, 10), in_batches(records, 10))
    verifier, meter, _ = verifier_of(mirror)

    def fail(*_: object) -> None:
        raise BrokerUnavailable("gone")

    with closing(verifier):
        verifier.mirrored(mirror.enter([Run(0, 0, 10)]))
        with monkeypatch.context() as patch:
            patch.setattr(Sides, "compare", fail)
            with pytest.raises(BrokerUnavailable):
                verifier.run()
        verifier.run()
    assert meter.records == 10


def test_small_transactions_in_a_row_are_one_piece_with_what_lies_between() -> None:
    backlog = Backlog(PLENTY, VerifiedMeter())
    backlog.add(entry(Run(0, 0, 10)))
    backlog.add(entry(Run(15, 11, 10)))
    piece = backlog.take()
    assert piece is not None
    assert (piece.begin, piece.end, piece.bytes) == (Pair(0, 0), Pair(25, 21), 200)
    backlog.add(entry(Run(30, 22, 10)))
    following = backlog.take()
    assert following is not None
    assert following.begin == Pair(25, 21)


def test_a_mirror_that_goes_back_and_a_target_created_anew_begin_new_pieces() -> None:
    backlog = Backlog(PLENTY, VerifiedMeter())
    for run in (Run(0, 0, 10), Run(0, 11, 10), Run(10, 0, 5)):
        backlog.add(entry(run))
    begins = [piece.begin for piece in iter(backlog.take, None)]
    assert begins == [Pair(0, 0), Pair(0, 11), Pair(10, 0)]


def test_what_belongs_to_an_earlier_log_of_the_source_is_passed_over() -> None:
    meter = VerifiedMeter()
    backlog = Backlog(PLENTY, meter)
    backlog.add(entry(Run(0, 0, 10)))
    backlog.add(entry(Run(0, 11, 5), events=(Event(EventKind.TRUNCATION, SOURCE, 0, 10, "cut"),)))
    assert backlog.take() is None
    assert meter.passed_over_bytes == 200


def test_what_waits_for_too_long_is_passed_over_the_oldest_first() -> None:
    meter = VerifiedMeter()
    backlog = Backlog(10_000_000, meter)
    for number in range(3):
        backlog.add(entry(Run(number * 10, number * 11, 10), size=4_500_000, at_ms=1000 + number))
    assert meter.passed_over_bytes == 4_500_000
    assert meter.oldest_waiting_ms == 1001
    piece = backlog.take()
    assert piece is not None
    assert piece.begin == Pair(10, 10)
