"""Which fetched batches belong to aborted transactions, told from the list in the fetch response."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from heliograph.kafka.batches import BatchHeader, control_type

_ABORT = 0


class AbortedTransactions:
    """Follows one partition through its log."""

    def __init__(self) -> None:
        self._upcoming: list[tuple[int, int]] = []
        self._open: set[int] = set()

    def announce(self, aborted: Iterable[tuple[int, int]]) -> None:
        """Take in the list of a fetch response: producer id and first offset of each aborted transaction."""
        self._upcoming = [(first_offset, producer_id) for producer_id, first_offset in aborted]
        heapq.heapify(self._upcoming)
        self._open = set()  # a response lists every aborted transaction that reaches into it

    def hides(self, batch: memoryview, header: BatchHeader) -> bool:
        """Whether a batch must not be seen: a transaction marker, or data of an aborted transaction."""
        while self._upcoming and self._upcoming[0][0] <= header.last_offset:
            self._open.add(heapq.heappop(self._upcoming)[1])
        if header.is_control:
            if header.record_count and control_type(batch) == _ABORT:
                self._open.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._open
