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
from heliograph.kafka.transaction import Gate
from heliograph.model import LedgerEntry, TopicPartition


class Closing:
    """One transaction on its way from written data to committed."""

    def __init__(
        self,
        outgoing: Outgoing,
        entry: LedgerEntry,
        bookkeeping: Mapping[TopicPartition, Sequence[Record]],
        gate: Gate | None = None,
    ) -> None:
        """`gate`: what to ask before a commit under an id that others may have left alone because it was busy."""
        self.entry = entry
        self._producer = outgoing.producer
        self._gate = gate
        self._is_asked = False
        self._is_written = False
        self._is_ending = False
        if entry.record_count:  # the id has taken something, so it was free, and can be taken by others from then on
            self._ask_if_rested()
        self._producer.join(bookkeeping)
        encoded = {outgoing.partition(where): records.encode_own(written) for where, written in bookkeeping.items()}
        outgoing.send_now(encoded, self._written)

    def _written(self) -> None:
        self._is_written = True

    def _ask_if_rested(self) -> None:
        self._is_asked = True
        if not self._producer.has_rested:
            self._gate = None
        if self._gate is not None:
            self._gate.begin_check()

    def advance(self) -> bool:
        """Take the next step if it is time; whether the transaction is committed."""
        if not self._is_written:
            return False
        if not self._is_ending:
            if not self._is_asked:
                self._ask_if_rested()
            if self._gate is not None and not self._gate.is_ours():
                return False
            reached("bookkeeping-written")
            self._producer.begin_end(commit=True)
            self._is_ending = True
        if not self._producer.has_ended():
            return False
        reached("committed")
        return True
