"""The end of a transaction whose data is written: bookkeeping, then the commit. The order is the guarantee.

It goes on in the background while the next transaction is being filled under another id, so that records need not wait
for the end of a transaction that they came too late for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heliograph.engine.fault_points import reached
from heliograph.engine.outgoing import Outgoing
from heliograph.kafka import records
from heliograph.kafka.records import Record
from heliograph.model import LedgerEntry, TopicPartition


class Closing:
    """One transaction on its way from written data to committed."""

    def __init__(
        self, outgoing: Outgoing, entry: LedgerEntry, bookkeeping: Mapping[TopicPartition, Sequence[Record]]
    ) -> None:
        self.entry = entry
        self._producer = outgoing.producer
        self._is_written = False
        self._is_ending = False
        self._producer.join(bookkeeping)
        encoded = {outgoing.partition(where): records.encode_own(written) for where, written in bookkeeping.items()}
        outgoing.send_now(encoded, self._written)

    def _written(self) -> None:
        self._is_written = True

    def advance(self) -> bool:
        """Take the next step if it is time; whether the transaction is committed."""
        if not self._is_written:
            return False
        if not self._is_ending:
            reached("bookkeeping-written")
            self._producer.begin_end(commit=True)
            self._is_ending = True
        if not self._producer.has_ended():
            return False
        reached("committed")
        return True
