"""What the topic of markers tells, by the batches in it."""

from __future__ import annotations

import json

import pytest

from heliograph.engine.tables.markers import Marker, MarkerLog, Rows, encode, removal
from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka import batches, records
from heliograph.kafka.batches import NOBODY, ProducerStamp
from heliograph.kafka.reading import LogBatch
from heliograph.kafka.records import Record
from tests.zoo import handmade

ROWS = Rows(3, 77)


class Log:
    """Gives batches their offsets, one after the other."""

    def __init__(self) -> None:
        self.markers = MarkerLog()

    def write(self, *written: Record, producer: int | None = None) -> None:
        stamp = NOBODY if producer is None else ProducerStamp(producer, 0, is_transactional=True)
        self._add(records.encode(written, stamp, 0))

    def end(self, producer: int, *, commit: bool) -> None:
        self._add(bytearray(handmade.marker(0, producer, commit=commit)))

    def _add(self, data: bytearray) -> None:
        data[:8] = self.markers.next_offset.to_bytes(8, "big")
        header = batches.read_header(memoryview(data))
        self.markers.apply(LogBatch(0, 2, header, memoryview(data), header.is_control))


def of(name: str, batch: int, rows: Rows | None = ROWS) -> Record:
    return encode(name, Marker(batch, rows), 1)


def test_what_is_committed_is_known_and_nothing_else() -> None:
    log = Log()
    log.write(of("q-0", 5), producer=1)
    log.write(of("q-1", 5), producer=2)
    log.write(of("q-2", 5), producer=3)
    log.end(1, commit=True)
    log.end(2, commit=False)
    assert log.markers.of("q-0") == Marker(5, ROWS)
    assert log.markers.of("q-1") is None
    assert log.markers.of("q-2") is None
    assert log.markers.committed("q", 5) == {0}


def test_one_that_is_committed_behind_an_open_transaction_is_known() -> None:
    """Else a task that is run again would not find its own marker while another one writes."""
    log = Log()
    log.write(of("q-1", 5), producer=2)
    log.write(of("q-0", 5), producer=1)
    log.end(1, commit=True)
    assert log.markers.committed("q", 5) == {0}
    log.end(2, commit=True)
    assert log.markers.committed("q", 5) == {0, 1}


def test_the_newest_counts_and_an_aborted_one_takes_nothing_back() -> None:
    log = Log()
    for batch, commit in ((5, True), (6, True), (7, False)):
        log.write(of("q-0", batch), producer=1)
        log.end(1, commit=commit)
    assert log.markers.of("q-0") == Marker(6, ROWS)
    assert log.markers.committed("q", 5) == frozenset()


def test_a_micro_batch_is_complete_by_its_own_marker_or_anything_of_a_later_one() -> None:
    log = Log()
    log.write(of("q-0", 5), producer=1)
    log.end(1, commit=True)
    assert not log.markers.is_complete("q", 5)
    assert log.markers.is_complete("q", 4)
    log.write(of("q", 5, None))
    assert log.markers.is_complete("q", 5)
    assert not log.markers.is_complete("q", 6)
    assert not log.markers.is_complete("other", 5)


def test_older_markers_are_understood() -> None:
    log = Log()
    log.write(Record(0, 1, b"q-0", json.dumps({"batch": 5}).encode()), producer=1)
    log.end(1, commit=True)
    assert log.markers.of("q-0") == Marker(5, None)


def test_removed_ones_are_forgotten() -> None:
    log = Log()
    log.write(of("job-0", 0), producer=1)
    log.end(1, commit=True)
    log.write(removal("job-0", 2))
    assert log.markers.of("job-0") is None


def test_markers_of_before_there_were_formats_are_read_and_newer_ones_refused() -> None:
    log = Log()
    log.write(Record(0, 1, b"q-0", b'{"batch": 5}'))
    assert log.markers.of("q-0") == Marker(5)
    with pytest.raises(
        NewerFormat, match=r"^mm2-tables.internal-0, offset 1: a record of format 3, written by a newer"
    ):
        log.write(Record(0, 1, b"q-0", b'{"format": 3}'))


def test_of_markers_that_summed_up_keys_and_values_only_the_number_of_rows_counts() -> None:
    log = Log()
    log.write(Record(0, 1, b"q-0", b'{"format": 1, "batch": 5, "rows": 3, "sum": 9}'))
    assert log.markers.of("q-0") == Marker(5, Rows(3, None))
    log.write(of("q", 6))
    log.write(Record(0, 1, b"q-0", b'{"format": 2, "batch": 6, "rows": 3, "sum": 9}'))
    assert log.markers.of("q-0") == Marker(6, Rows(3, 9))


@pytest.mark.parametrize("value", [b"{", b"[]", b"{}", b'{"batch": "x"}', b'{"batch": 1, "rows": 2}', b"\xff"])
def test_what_is_no_marker_is_told_as_such(value: bytes) -> None:
    with pytest.raises(MalformedRecord, match="offset 0: no marker of a micro-batch"):
        Log().write(Record(0, 1, b"q-0", value))
