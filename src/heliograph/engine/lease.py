"""How long a lane may go on writing without having heard that its id is still its own.

Whoever takes a partition over puts up a fence, which brokers keep for a day. A process that was frozen for longer, with
its whole machine perhaps, must not write a single batch when it wakes up: so before anything is sent the clock is asked
how long ago the coordinator has last confirmed the id. That clock also counts the time in which the machine slept.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka.protocol.admin.transactions import DescribeTransactionsRequest, DescribeTransactionsResponse

from heliograph.errors import BrokerUnavailable, ClusterError, Fenced
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.connection import Connection
from heliograph.kafka.network import TRANSACTION, Network, check

LEASE_SECONDS = 10.0
_ASK_SECONDS = 3.0
_PATIENCE_SECONDS = 5.0  # for one answer
_MOVED = {14, 15, 16}  # coordinator loading, not available, not the coordinator


def boot_seconds() -> float:
    """A clock that goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # not every system has the former
    return time.clock_gettime(clock)


class Lease:
    """The right to write under one transactional id."""

    def __init__(
        self,
        network: Network,
        name: str,
        stamp: ProducerStamp,
        confirmed_at: float,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        """`confirmed_at`: when the id was asked for."""
        self._network = network
        self._name = name
        self._stamp = stamp
        self._confirmed_at = confirmed_at
        self._clock = clock
        self._ask_at = confirmed_at + _ASK_SECONDS
        self._is_asking = False
        self._connection: Connection | None = None

    def check(self) -> None:
        """Raise if nothing may be written any more: the session has to end."""
        seconds = self._clock() - self._confirmed_at
        if seconds >= LEASE_SECONDS:
            alias = self._network.access.alias
            raise BrokerUnavailable(
                f"{alias}: nobody has confirmed for {seconds:.0f} s that {self._name} is still ours"
            )

    def renew(self) -> None:
        """Ask the coordinator from time to time; nobody waits for its answer."""
        now = self._clock()
        if now >= self._ask_at and not self._is_asking:
            self._ask_at = now + _ASK_SECONDS
            self._ask(now)

    def _ask(self, now: float) -> None:
        if self._connection is None or not self._connection.is_open:
            self._connection = self._network.coordinator(self._name, TRANSACTION)
        request = DescribeTransactionsRequest(transactional_ids=[self._name])
        version = self._connection.version(DescribeTransactionsRequest, highest=0)
        self._is_asking = True
        self._connection.submit(
            request, version, lambda answer: self._hear(now, answer), _PATIENCE_SECONDS, self._not_answered
        )

    def _not_answered(self, why: ClusterError) -> None:
        self._is_asking = False
        self._connection = None

    def _hear(self, asked_at: float, answer: DescribeTransactionsResponse) -> None:
        self._is_asking = False
        [state] = answer.transaction_states
        if state.error_code in _MOVED:
            self._connection = None
            return
        try:
            check(f"{self._network.access.alias} {self._name}", state.error_code)
        except ClusterError as error:
            self._network.loop.fail(error)
            return
        if (state.producer_id, state.producer_epoch) == (self._stamp.producer_id, self._stamp.epoch):
            self._confirmed_at = max(self._confirmed_at, asked_at)
        else:
            alias = self._network.access.alias
            self._network.loop.fail(Fenced(f"{alias} {self._name}: another lane has taken over"))
