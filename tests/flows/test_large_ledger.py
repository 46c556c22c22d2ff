"""`heliograph status` is quick and right, however much a flow has written down."""

from __future__ import annotations

import io
import json
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.control.standing import NO_LANE
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions, reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Position, Run, TopicPartition
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
_OFFSET_AND_EPOCH = struct.Struct(">qii")


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
    create_topic(spare.bootstrap_servers, "mm2-ledger.kept.internal")
    create_topic(spare.bootstrap_servers, "mm2-offsets.kept.internal", _OFFSETS_PARTITIONS)
    spare.brokers[0].process.kill()
    now_ms = int(time.time() * 1000)
    history = list(_history(now_ms))
    _lay_down(spare, TopicPartition("mm2-ledger.kept.internal", 0), history)
    for where in (_ASIDE, _RESUMED):
        _lay_down(spare, _home(where), _old_positions(where, now_ms))
    bring_back(spare)
    settings = tmp_path_factory.mktemp("archive") / "mm2.properties"
    chosen = {"topics": _TOPIC, "heartbeats.replication.enabled": "false"}
    write_settings(settings, {"kept": primary, "vault": spare}, ["kept->vault"], chosen)
    return _Archive(settings, now_ms, history[-1].timestamp)


def _history(now_ms: int) -> Iterator[Record]:
    """Three days of entries; what was set aside in their first hour is told again now and then."""
    began = now_ms - 3 * _DAY_MS
    telling = Event(EventKind.SET_ASIDE, _ASIDE, -1, -1, "too large")
    told = {
        10: [Event(EventKind.SET_ASIDE, _ASIDE, 5, -1, "too large")],
        20: [Event(EventKind.SET_ASIDE, _RESUMED, 5, -1, "too old")],
        30: [
            Event(EventKind.RESUMED, _RESUMED, 5, -1, "goes on"),
            Event(EventKind.RETENTION, _RESUMED, 5, 9, "long ago"),
        ],
        _ENTRIES - 700: [Event(EventKind.RETENTION, _RESUMED, 10, 20, "lately")],
    }
    yield _record(entries.encode_owner("kept->vault", "former", began), began)
    yield _record(entries.encode_entry(_entry(began, 0, "former")), began)
    yield _record(entries.encode_owner("kept->vault", "keeper", began), began)
    for number in range(_ENTRIES):
        until_end = _ENTRIES - number
        when = now_ms - 90 * until_end if until_end <= 600 else began + number * 1000
        yield _record(entries.encode_entry(_entry(when, number, "keeper", told.get(number, ()))), when)
        if number % 1000 == 999:
            standing = LedgerEntry("kept->vault", NO_LANE, "keeper", 7, when, (), (telling,))
            yield _record(entries.encode_entry(standing), when)


def _entry(when: int, number: int, owner: str, events: Sequence[Event] = ()) -> LedgerEntry:
    target = TopicPartition(f"kept.{_TOPIC}", 1)
    progress = PartitionProgress(_RESUMED, target, (Run(10 * number, 10 * number, 10),), 10 * number + 9, 1000, when)
    return LedgerEntry("kept->vault", 0, owner, 7, when, (progress,), tuple(events))


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
    """Make these records, each in a batch of its own, the log of a partition whose broker was killed."""
    folder = cluster.brokers[0].spec.folder / "data" / str(where)
    for stale in (*folder.glob("*.index"), *folder.glob("*.timeindex")):
        stale.unlink()
    with open(folder / "00000000000000000000.log", "wb") as log:
        for offset, record in enumerate(wanted):
            batch = records.encode([record])
            _OFFSET_AND_EPOCH.pack_into(batch, 0, offset, len(batch) - 12, 0)
            log.write(batch)


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
