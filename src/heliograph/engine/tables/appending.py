"""Rows on their way into partitions of a cluster: batches are built, sent many at a time, and their places noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from heliograph.engine.outgoing import Outgoing, Queued, TargetPartition
from heliograph.kafka import records
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import Producer
from heliograph.model import TopicPartition

LARGEST_BATCH = 1024 * 1024 + 12  # what brokers take unless they are told otherwise
_BATCH_BYTES = 256 * 1024
_RECORD_OVERHEAD = 24  # lengths, deltas and attributes
_BATCH_OVERHEAD = 61
_MOST_WAITING = 96  # batches


def record_size(record: Record) -> int:
    """At most so many bytes a record takes in a batch before it is compressed."""
    size = _RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += 10 + 4 * len(name) + len(value or b"")
    return size


@dataclass(eq=False)
class Stream:
    """The records of one source for one partition of the target, in order; `on_appended` gets them and their place."""

    target: TargetPartition
    source: TopicPartition
    on_appended: Callable[[list[Record], int, int], None] = lambda *_: None  # records, base offset, bytes
    compression: int = 0
    largest_batch: int = LARGEST_BATCH
    records: list[Record] = field(default_factory=list)
    size: int = _BATCH_OVERHEAD

    def may_be_too_large(self, size: int) -> bool:
        """Whether a record of this size may make a batch larger than brokers take."""
        return size + _BATCH_OVERHEAD > self.largest_batch


class Appending:
    """Appends the records of streams; those of one stream stay in order."""

    def __init__(self, loop: Loop, network: Network, producer: Producer) -> None:
        self._loop = loop
        self._producer = producer
        self.outgoing = Outgoing(network, producer)
        self._waiting = 0

    def add(self, stream: Stream, record: Record, size: int) -> None:
        """Append a record of this size. Whoever calls has checked that it is not too large."""
        if stream.size + size > min(_BATCH_BYTES, stream.largest_batch) and stream.records:
            self._close(stream)
        stream.records.append(record)
        stream.size += size

    def turn_to(self, stream: Stream, compression: int) -> None:
        """Go on with another codec; what has been added before leaves before."""
        if stream.compression != compression:
            if stream.records:
                self._close(stream)
            stream.compression = compression

    def advance(self) -> None:
        """Send what may be sent now; waits only when too much is on its way."""
        self._send()
        self._loop.run_once(0)
        while self._waiting > _MOST_WAITING:
            self._loop.run_once(0.1)
            self._send()

    def finish(self, streams: Iterable[Stream]) -> None:
        """Wait until everything is appended."""
        for stream in streams:
            if stream.records:
                self._close(stream)
        while self._waiting:
            self._send()
            self._loop.run_once(0.1)

    def _close(self, stream: Stream) -> None:
        closed, stream.records, stream.size = stream.records, [], _BATCH_OVERHEAD
        data = records.encode(closed, compression=stream.compression)
        self._waiting += 1

        def appended(base_offset: int) -> None:
            self._waiting -= 1
            stream.on_appended(closed, base_offset, len(data))

        self.outgoing.put(stream.target, Queued(data, appended, stream.source))

    def _send(self) -> None:
        if missing := self.outgoing.unjoined():
            self._producer.join(missing.keys())
        self.outgoing.pump()
