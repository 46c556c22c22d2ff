"""Transactions whose end is decided, while some partitions cannot be told.

The coordinator puts on record how a transaction ends, and then tells every partition that took part in it. A partition
with fewer replicas in sync than `min.insync.replicas` takes no word of it, not even that the transaction is aborted:
the coordinator goes on trying until it does. Meanwhile the transactional id is busy, and nobody can initialise it.

What counts is known all the same: nothing can be added to such a transaction, and nobody can change how it ends. So
others need not wait for the id, if they know that whoever used it last does not use it again without looking: that is
what the gate is for. It is an id that never writes, so it is never busy, and only one can have initialised it last.

- Whoever takes the ids of a lane takes its gate first, and leaves a busy id alone only when it has seen the same
  decided transaction there for `LASTING_SECONDS`.
- Whoever writes under an id again, more than `TRUSTED_SECONDS` after it last ended a transaction under it, asks whether
  the gate is still its own, once the id has taken something. If others have left the id alone, they had the gate
  before.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from kafka.protocol.admin.transactions import DescribeTransactionsRequest

from heliograph.errors import BrokerUnavailable
from heliograph.kafka.connection import Connection
from heliograph.kafka.network import TRANSACTION, Network, check, error_name
from heliograph.kafka.patience import Patience
from heliograph.model import Ending, TopicPartition

LASTING_SECONDS = 5.0
TRUSTED_SECONDS = 2.0  # well below the other, for no two clocks run alike
_SOON_SECONDS = 0.5  # in which most transactions are told to all
_DECIDED = {"PrepareCommit", "PrepareAbort"}
_UNKNOWN_ID = 105
_MOVING = {14, 15, 16}  # the coordinator is loading, not available, or another one by now


def now() -> float:
    """Seconds that pass also while the machine is suspended."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Described(NamedTuple):
    """What a coordinator says of a transactional id."""

    ending: Ending
    partitions: frozenset[TopicPartition]  # that take part, and do not know the end yet

    @property
    def is_decided(self) -> bool:
        """Whether nothing can change any more how the transaction ends."""
        return self.ending.state in _DECIDED


class Endings:
    """What is remembered of busy ids, from one attempt to take them to the next."""

    def __init__(self, lasting: Mapping[str, Ending] | None = None) -> None:
        """`lasting`: what somebody who had the gate before has watched for long enough."""
        self._seen = {name: (ending, -math.inf) for name, ending in (lasting or {}).items()}
        self.untold: dict[str, frozenset[TopicPartition]] = {}
        """By busy id the partitions that cannot be told, as of the last attempt."""

        self._ask_at = 0.0

    @property
    def partitions(self) -> set[TopicPartition]:
        """All that cannot be told how a transaction has ended."""
        return {where for some in self.untold.values() for where in some}

    def lasting(self) -> dict[str, Ending]:
        """What others may rely on."""
        return {name: self._seen[name][0] for name in self.untold}

    def begin(self) -> None:
        """Begin another attempt."""
        self.untold = {}
        self._ask_at = now() + _SOON_SECONDS

    def leave(self, network: Network, busy: Collection[str], needed: Collection[TopicPartition]) -> bool:
        """Whether all these ids can be left alone: for long they have been telling others than the needed partitions.

        What was seen before is known at once; for others most ends are told before it is worth asking.
        """
        if now() < self._ask_at and not self._seen.keys() >= set(busy):
            return False
        found = {name: told for name, told in describe_ids(network, busy).items() if told.is_decided}
        for name, told in found.items():
            if self._seen.get(name, (None,))[0] != told.ending:
                self._seen[name] = told.ending, now()
        self.untold = {name: told.partitions for name, told in found.items()}
        lasts = all(name in found and now() - self._seen[name][1] >= LASTING_SECONDS for name in busy)
        return lasts and not self.partitions & set(needed)

    def keep(self, names: Collection[str]) -> None:
        """These are left alone now."""
        self.untold = {name: self.untold[name] for name in names}

    def look_again(self, network: Network) -> None:
        """Learn which of them still cannot be told."""
        known = describe_ids(network, self.untold)
        self.untold = {
            name: told.partitions
            for name, told in known.items()
            if told.is_decided and told.ending == self._seen[name][0]
        }


def can_describe(network: Network) -> bool:
    """Whether the brokers tell what an id is busy with: Kafka 3 and newer."""
    return network.anyone().speaks(DescribeTransactionsRequest, 0)


def describe_ids(network: Network, names: Collection[str]) -> dict[str, Described]:
    """What the coordinators say of these ids; those that do not exist are left out."""
    answers: dict[str, Any] = {}
    patience = Patience()
    while missing := set(names) - answers.keys():
        late = ""
        for coordinator, some in _by_coordinator(network, missing).items():
            answer = coordinator.call(DescribeTransactionsRequest(transactional_ids=sorted(some)), 0)
            for item in answer.transaction_states:
                if item.error_code in _MOVING:
                    late = f"{network.access.alias} transaction {item.transactional_id}: {error_name(item.error_code)}"
                    continue
                if item.error_code != _UNKNOWN_ID:
                    check(f"{network.access.alias} transaction {item.transactional_id}", item.error_code)
                answers[item.transactional_id] = item
        if late and not patience.wait():
            raise BrokerUnavailable(late)
    return {name: _described(item) for name, item in answers.items() if item.error_code != _UNKNOWN_ID}


def _by_coordinator(network: Network, names: Collection[str]) -> dict[Connection, list[str]]:
    found: dict[Connection, list[str]] = {}
    for name, coordinator in network.coordinators(names, TRANSACTION).items():
        found.setdefault(coordinator, []).append(name)
    return found


def _described(item: Any) -> Described:
    ending = Ending(item.producer_id, item.producer_epoch, item.transaction_start_time_ms, item.transaction_state)
    partitions = {TopicPartition(topic.topic, number) for topic in item.topics for number in topic.partitions}
    return Described(ending, frozenset(partitions))
