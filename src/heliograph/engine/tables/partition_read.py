"""One source partition while a lane reads it into rows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from heliograph.engine.provenance import TopicProvenance
from heliograph.engine.tables.columns import CREATE_TIME, LOG_APPEND_TIME, Gathered, check_text
from heliograph.engine.tables.handover import Covered
from heliograph.errors import MalformedRecord, PartitionFailed
from heliograph.kafka import batches, records
from heliograph.kafka.aborted import AbortedTransactions
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.kafka.records import Record
from heliograph.model import Assignment

CODEC_BITS = 3
# Heartbeats are the mirror's own: queries are written for records of users, and would spoil them.
_HEARTBEATS = re.compile(r"(.*[^A-Za-z0-9])?heartbeats")
_MOST_PASSED_BY = 10_000


class PartitionRead:
    """Decodes what a partition brings; `number` tells its rows from those of the others."""

    def __init__(
        self,
        item: Assignment,
        number: int,
        point: FetchPoint,
        end: int,
        is_new: bool,
        provenance: TopicProvenance | None = None,
    ) -> None:
        self.source = item.source
        self._shown_as = item.target  # the query knows topics by their names on the target, as all transforms do
        self.point = point
        self.start = point.offset
        self.end = end  # as seen when reading began
        self.has_stopped = False
        self.is_news = False  # whether its place must be written down also if nothing was read
        self._number = number
        self._is_new = is_new
        self.provenance = provenance or TopicProvenance()
        self._aborted = AbortedTransactions()
        self._records = 0
        self._passes_by = _HEARTBEATS.fullmatch(item.source.topic) is not None
        self.passed_by: list[tuple[int, Record]] = []

    @property
    def is_done(self) -> bool:
        """Whether all that was there when reading began has been read, or no more can be."""
        return self.has_stopped or self.point.offset >= self.end or len(self.passed_by) >= _MOST_PASSED_BY

    def skip_to(self, offset: int) -> None:
        """Go on at another place: what lies between is lost on the source, and has been reported."""
        self.point.offset = self.start = self.end = offset
        self.point.last_fetched_epoch = -1
        self.is_news = True

    def accept(self, fetched: Fetched, into: Gathered) -> None:
        """Decode a fetched piece of log; raises PartitionFailed at what cannot be a row, with all before it done."""
        self._aborted.announce(fetched.aborted)
        try:
            for magic, batch in batches.split(fetched.records):
                if magic >= 2:
                    self._accept_batch(batch, into)
                else:
                    self._accept_old(magic, batch, into)
        except MalformedRecord as error:
            raise PartitionFailed(self.source, f"{error}, on the source") from error

    def covered(self) -> Covered:
        """How far it was read."""
        point = self.point
        return Covered(
            self.source, self.start, point.offset, self._records, str(point.topic_id), point.last_fetched_epoch,
            self._is_new, self.is_news,
        )  # fmt: skip

    def _accept_batch(self, batch: memoryview, into: Gathered) -> None:
        header = batches.read_header(batch)
        if header.last_offset < self.point.offset:
            return
        if not batches.is_intact(batch, header):
            raise self._corrupt(header.base_offset)
        hidden = self._aborted.hides(batch, header) or self.provenance.is_mirrored(header.producer_id)
        if header.record_count and not hidden:
            time_type = LOG_APPEND_TIME if header.attributes & batches.LOG_APPEND_TIME else CREATE_TIME
            found = self.provenance.without_returning(records.decode(2, batch))
            self._take(found, time_type, header.attributes, into)
        self.point.offset = header.last_offset + 1
        self.point.last_fetched_epoch = header.leader_epoch

    def _accept_old(self, magic: int, batch: memoryview, into: Gathered) -> None:
        if not records.is_intact_old(magic, batch):
            raise self._corrupt(int.from_bytes(batch[:8], "big"))
        last = self._take(records.decode(magic, batch), CREATE_TIME, 0, into)
        if last is not None:
            self.point.offset, self.point.last_fetched_epoch = last + 1, -1

    def _take(self, decoded: Iterable[Record], time_type: int, attributes: int, into: Gathered) -> int | None:
        wanted = list(decoded)
        if wanted and wanted[0].offset < self.point.offset:
            wanted = [record for record in wanted if record.offset >= self.point.offset]
        check_text(wanted)
        number = self._number << CODEC_BITS | attributes & batches.COMPRESSION_MASK
        if self._passes_by:
            self.passed_by.extend((number, record) for record in wanted)
        else:
            into.add(self._shown_as, number, time_type, wanted)
        self._records += len(wanted)
        return wanted[-1].offset if wanted else None

    def _corrupt(self, offset: int) -> PartitionFailed:
        return PartitionFailed(self.source, f"the batch at offset {offset} fails its checksum on the source")
