"""`heliograph status` is quick and right, however much a flow has written down."""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.control.standing import NO_LANE
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions, reading
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Position, Run, TopicPartition
from tests.aging.logs import batch_of, in_a_row, lay_down
from tests.chaos.outages import bring_back
from tests.chaos.stage import write_settings
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic

pytestmark = pytest.mark.kafka

_ENTRIES = 200_000
_POSITIONS = 10_000
_OFFSETS_PARTITIONS = 25
_TOPIC = "well-kept"
_ASIDE, _RESUMED = TopicPartition(_TOPIC, 0), TopicPartition(_TOPIC, 1)
_DAY_MS = 24 * 3600 * 1000
_SECONDS = 6  # a user's patience, on a slow machine


@dataclass(frozen=True)
class _Archive:
    """A flow that has run for days, with all its book-keeping."""

    settings: Path
    now_ms: int
    newest: int


@pytest.fixture(scope="module")
def archive(primary: EmbeddedCluster, spare: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> _Archive:
    """The target's logs are laid down as files, as no producer writes that many small batches in time."""
    create_topic(primary.bootstrap_servers, _TOPIC, 2)
    raw.append(primary.bootstrap_servers, _ASIDE, [raw.batch_of(numbered(50))])
    for kind in ("ledger", "journal", "state", "offset-map"):
        create_topic(spare.bootstrap_servers, f"mm2-{kind}.kept.internal")
    create_topic(spare.bootstrap_servers, "mm2-offsets.kept.internal", _OFFSETS_PARTITIONS)
    spare.brokers[0].process.kill()
    now_ms = int(time.time() * 1000)
    history = list(_history(now_ms))
    for kind, records in (("ledger", history), ("journal", _journal(now_ms)), ("state", _state(now_ms))):
        _lay_down(spare, TopicPartition(f"mm2-{kind}.kept.internal", 0), records)
    for where in (_ASIDE, _RESUMED):
        _lay_down(spare, _home(where), _old_positions(where, now_ms))
    bring_back(spare)
    settings = tmp_path_factory.mktemp("archive") / "mm2.properties"
    chosen = {"topics": _TOPIC, "heartbeats.replication.enabled": "false"}
    write_settings(settings, {"kept": primary, "vault": spare}, ["kept->vault"], chosen)
    return _Archive(settings, now_ms, history[-1].timestamp)


def _history(now_ms: int) -> Iterator[Record]:
    """Three days of transactions, as if nobody had deleted what the offset map has."""
    began = now_ms - 3 * _DAY_MS
    for number in range(_ENTRIES):
        until_end = _ENTRIES - number
        when = now_ms - 90 * until_end if until_end <= 600 else began + number * 1000
        yield _record(entries.encode_entry(_entry(when, number, "keeper")), when)


def _journal(now_ms: int) -> Iterator[Record]:
    """What happened long ago, and what happened lately."""
    began = now_ms - 3 * _DAY_MS
    told = (
        (began + 10, Event(EventKind.SET_ASIDE, _ASIDE, 5, -1, "too large")),
        (began + 20, Event(EventKind.SET_ASIDE, _RESUMED, 5, -1, "too old")),
        (began + 30, Event(EventKind.RESUMED, _RESUMED, 5, -1, "goes on")),
        (began + 31, Event(EventKind.RETENTION, _RESUMED, 5, 9, "long ago")),
        (now_ms - 100_000, Event(EventKind.RETENTION, _RESUMED, 10, 20, "lately")),
    )
    for when, event in told:
        yield _record(entries.encode_entry(LedgerEntry("kept->vault", 0, "keeper", 7, when, (), (event,))), when)


def _state(now_ms: int) -> Iterator[Record]:
    began = now_ms - 3 * _DAY_MS
    yield entries.owner_record("kept->vault", "former", began)
    yield entries.owner_record("kept->vault", "keeper", began)
    aside = Event(EventKind.SET_ASIDE, _ASIDE, -1, -1, "too large")
    yield entries.standing_record(LedgerEntry("kept->vault", NO_LANE, "keeper", -1, began + 10_000, (), (aside,)))


def _entry(when: int, number: int, owner: str) -> LedgerEntry:
    target = TopicPartition(f"kept.{_TOPIC}", 1)
    progress = PartitionProgress(_RESUMED, target, (Run(10 * number, 10 * number, 10),), 10 * number + 9, 1000, when)
    return LedgerEntry("kept->vault", 0, owner, 7, when, (progress,))


def _old_positions(where: TopicPartition, now_ms: int) -> Iterator[Record]:
    key = positions.encode_key("kept", where)
    for number in range(_POSITIONS):
        yield Record(0, now_ms, key, positions.encode_value(Position(number - _POSITIONS + 20)))


def _record(value: bytes, when: int) -> Record:
    return Record(0, when, b"kept->vault", value)


def _home(where: TopicPartition) -> TopicPartition:
    number = positions.partition_for(positions.encode_key("kept", where), _OFFSETS_PARTITIONS)
    return TopicPartition("mm2-offsets.kept.internal", number)


def _lay_down(cluster: EmbeddedCluster, where: TopicPartition, wanted: Iterable[Record]) -> None:
    """Make these records, each in a batch of its own, the log of a partition."""
    lay_down(cluster, where, in_a_row(batch_of([record]) for record in wanted))


@pytest.fixture
def batches_read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many batches have been read from each topic."""
    counted: Counter[str] = Counter()
    read_batches = reading.read_batches

    def count(loop: Loop, network: Network, topic: str, *others: Any) -> Iterator[CommittedBatch]:
        for batch in read_batches(loop, network, topic, *others):
            counted[topic] += 1
            yield batch

    monkeypatch.setattr(reading, "read_batches", count)
    return counted


def test_a_long_ledger_is_answered_from_its_end(archive: _Archive, batches_read: Counter[str]) -> None:
    _heliograph("status", archive)  # imports, and what brokers do only once
    batches_read.clear()
    began = time.monotonic()
    [flow] = _heliograph("status", archive)
    seconds = time.monotonic() - began

    aside = [{"topic": _TOPIC, "partition": 0, "reason": "too large"}]
    assert (flow["owner"], flow["set_aside"], flow["last_commit_ms"]) == ("keeper", aside, archive.newest)
    assert flow["events"] == [f"{_RESUMED}: retention: lately"]
    assert 0 < flow["records_per_second"] <= 10 * 600 / 60
    assert 0 < batches_read["mm2-ledger.kept.internal"] < _ENTRIES / 2
    assert seconds < _SECONDS


def test_lag_is_answered_from_the_newest_positions(archive: _Archive, batches_read: Counter[str]) -> None:
    began = time.monotonic()
    lags = _heliograph("lag", archive)
    seconds = time.monotonic() - began

    assert [(row["mirrored_to"], row["end"], row["lag_records"]) for row in lags] == [(19, 50, 30), (19, 0, 0)]
    assert 0 < batches_read["mm2-offsets.kept.internal"] < _POSITIONS / 2
    assert seconds < _SECONDS


def _heliograph(command: str, archive: _Archive) -> list[dict[str, Any]]:
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        main([command, str(archive.settings), "-o", "json"])
    assert not ended.value.code
    return list(json.loads(printed.getvalue()))
