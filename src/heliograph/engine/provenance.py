"""Which batches and records on the source a flow does not pass on, because its target has them or gets them otherwise.

Batches are told by their producer ids. Lanes write under ids that their ledger names, and announce an id there before
the first batch under it. So when a batch with an unknown id is met, reading the ledger to its end settles whose it is,
once and for all. Records of other tools are told by a header, if the file names one.
"""

from __future__ import annotations

from collections.abc import Iterable

from heliograph.kafka import batches, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.ledger.writers import FlowWriters
from heliograph.model import InternalTopics, LeftOut


class HeaderRule:
    """Tells records of other tools by a header that names the cluster which they came from."""

    def __init__(self, name: str, origins: Iterable[str]) -> None:
        self._name = name
        self._origins = {origin.encode() for origin in origins}

    def hides(self, record: Record) -> bool:
        """Whether the record is not passed on."""
        return any(name == self._name and value in self._origins for name, value in record.headers)

    def hides_some_of(self, batch: memoryview) -> bool:
        """Whether any record of a format 2 batch is not passed on. Decoded only if the header's name stands in it."""
        content = records.content(batch)
        if self._name.encode() not in content or not any(origin in content for origin in self._origins):
            return False
        return any(self.hides(record) for record in records.decode(2, batch))


class TopicProvenance:
    """What of one topic is not passed on."""

    def __init__(self, writers: Iterable[FlowWriters] = (), header: HeaderRule | None = None) -> None:
        self.writers = tuple(writers)
        self.header = header

    def is_mirrored(self, producer_id: int) -> bool:
        """Whether a batch of this producer must not be sent on."""
        return any(writers.wrote(producer_id) for writers in self.writers)

    def brings_back(self, batch: memoryview) -> bool:
        """Whether any record of a format 2 batch must not be sent on, though the rest of it may."""
        return self.header is not None and self.header.hides_some_of(batch)

    def without_returning(self, found: Iterable[Record]) -> list[Record]:
        """The records that may be sent on."""
        header = self.header
        return list(found) if header is None else [record for record in found if not header.hides(record)]


def meet_writers(pieces: Iterable[tuple[TopicProvenance, memoryview]]) -> None:
    """Find out who has written these pieces of log, for all of them at once: each answer takes time on a long way."""
    met: dict[FlowWriters, set[int]] = {}
    for provenance, piece in pieces:
        if provenance.writers:
            found = batches.producer_ids(piece)
            for writers in provenance.writers:
                met.setdefault(writers, set()).update(found)
    for writers, found in met.items():
        writers.meet(found)


class Provenance:
    """What of each topic of a source is not passed on; who writes for a flow is read once for all of them."""

    def __init__(self, loop: Loop, source: Network) -> None:
        self._loop = loop
        self._source = source
        self._writers: dict[InternalTopics, FlowWriters] = {}

    def of(self, left_out: LeftOut) -> TopicProvenance:
        """For a topic of which this is left out."""
        header = HeaderRule(left_out.header, left_out.origins) if left_out.header else None
        return TopicProvenance(map(self._writers_of, sorted(left_out.flows)), header)

    def _writers_of(self, topics: InternalTopics) -> FlowWriters:
        if topics not in self._writers:
            self._writers[topics] = FlowWriters(self._loop, self._source, topics)
        return self._writers[topics]
