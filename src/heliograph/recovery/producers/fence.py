"""Closes topics of the source to producers, and opens them again as they were.

Two ways. `acl`: nobody may write (a rule that denies Write to everyone); it takes an authorizer, and super users are
above it. `topic`: no record is small enough (`max.message.bytes`); it takes nothing more, and holds for everyone.

Brokers write the end of a transaction as a small batch of its own, for which that setting counts, too. One that is
refused is never tried again, even after the topic has been opened: readers would wait there for ever (seen with Kafka
4.3). So topics are first closed to all that is larger than such an end; then, only where nobody writes in
transactions, altogether. Where somebody does, a record with next to nothing in it can still slip through, and whoever
waits for quiet (`ProducerWatch`) sees that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from heliograph.errors import ClusterError, FenceFailed
from heliograph.kafka.acls import EVERYONE, Acl, Permission
from heliograph.kafka.admin import Admin
from heliograph.kafka.patience import Patience
from heliograph.kafka.topics import (
    LARGEST_FENCE,
    SIZE_LIMIT,
    Operation,
    Outcome,
    SettingSource,
    Status,
    TopicSetting,
    is_fence,
)
from heliograph.model import TopicPartition
from heliograph.sync.rights import principal

_NOTHING_FITS: Final = "1"
_DENIED: Final = "denied"
_PATIENCE_SECONDS: Final = 30.0
_UNKNOWN_TOPIC: Final = 3
_NAMED: Final = 5


class FenceWay(Enum):
    """How topics are closed to producers."""

    ACL = "acl"
    TOPIC = "topic"


@dataclass(frozen=True)
class Fence:
    """Which topics of which cluster are closed, and what each had of the same kind before; None: nothing.

    Plain enough for a journal, which must know it before topics are closed: who forgets it cannot put things back.
    """

    way: FenceWay
    cluster_id: str
    before: Mapping[str, str | None]

    @property
    def topics(self) -> list[str]:
        """The topics that it is about."""
        return sorted(self.before)

    def to_dict(self) -> dict[str, Any]:
        """For a journal."""
        return {"way": self.way.value, "cluster_id": self.cluster_id, "before": dict(self.before)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Fence:
        """From a journal."""
        return cls(FenceWay(data["way"]), str(data["cluster_id"]), dict(data["before"]))


class ProducerFence:
    """Closes topics of one cluster in one way. Everything can be done again, and none of it does harm then."""

    def __init__(self, cluster: Admin, way: FenceWay) -> None:
        self._cluster = cluster
        self._way = way
        self._gate = _gate(cluster, way)

    def plan(self, topics: Collection[str], earlier: Fence | None = None) -> Fence:
        """What a fence around these topics has to remember; changes nothing. Topics that do not exist are left out.

        Of topics that an earlier fence still closes, which a run may have put up that did not come to its end, its
        memory counts, and they stay part of the fence. Raises FenceFailed if topics cannot be closed in this way here,
        or were closed in the other way and are not open again.
        """
        self._check_other_way(earlier)
        remembered = earlier.before if earlier and earlier.way is self._way and self._is_here(earlier) else {}
        before: dict[str, str | None] = {}
        for topic, state in self._gate.look({*topics, *remembered}).items():
            if topic in remembered and self._gate.closes(state):
                before[topic] = remembered[topic]
            elif topic in topics:
                before[topic] = state
        self._gate.check_rights(before)
        return Fence(self._way, self._cluster.cluster_id(), before)

    def closed_before(self, fence: Fence) -> list[str]:
        """Topics that nobody could write to already when the fence was planned, and that stay so when it is lifted."""
        return [topic for topic in fence.topics if self._gate.closes(fence.before[topic])]

    def apply(self, fence: Fence) -> None:
        """Close the topics; comes back when all brokers say that they are closed. Raises FenceFailed."""
        self._check(fence)
        self._gate.close(fence.topics)

    def lift(self, fence: Fence) -> None:
        """Put back what topics had before, where they are still closed; comes back when all brokers say so."""
        self._check(fence)
        self._gate.restore(self._gate.closed_by(fence))

    def is_applied(self, fence: Fence) -> bool:
        """Whether all brokers say that all of its topics are closed, of those that still exist."""
        return self._is_here(fence) and not self._gate.still_open(fence.topics)

    def _check_other_way(self, earlier: Fence | None) -> None:
        """Whoever remembered only the new fence could never lift the old one."""
        if earlier is None or earlier.way is self._way or not self._is_here(earlier):
            return
        if closed := _gate(self._cluster, earlier.way).closed_by(earlier):
            where = f"{self._cluster.access.alias}: {_some(closed)}"
            raise FenceFailed(f"{where}: still closed the way {earlier.way.value}: open it first")

    def _is_here(self, fence: Fence) -> bool:
        return fence.cluster_id == self._cluster.cluster_id()

    def _check(self, fence: Fence) -> None:
        if fence.way is not self._way:
            raise FenceFailed(f"the fence was made the way {fence.way.value}, not {self._way.value}")
        if not self._is_here(fence):
            alias = self._cluster.access.alias
            raise FenceFailed(f"{alias}: the fence belongs to another cluster, {fence.cluster_id}")


class _Gate(ABC):
    """One way to close topics. The state of a topic is what it has of that kind at present; None: nothing."""

    def __init__(self, cluster: Admin) -> None:
        self._cluster = cluster
        self._alias = cluster.access.alias

    @abstractmethod
    def look(self, topics: Collection[str], broker_id: int | None = None) -> dict[str, str | None]:
        """The states of those topics that exist, as any broker or that one has them."""

    @abstractmethod
    def closes(self, state: str | None) -> bool:
        """Whether a topic in that state takes no records."""

    @abstractmethod
    def check_rights(self, topics: Collection[str]) -> None:
        """Raise FenceFailed unless we may close and open these topics."""

    @abstractmethod
    def close(self, topics: Collection[str]) -> None:
        """Close topics, and wait until they are."""

    @abstractmethod
    def restore(self, states: Mapping[str, str | None]) -> None:
        """Bring topics back to these states, and wait until they are."""

    def closed_by(self, fence: Fence) -> dict[str, str | None]:
        """Topics that some broker has closed by a fence, and not only by what they had before, which is told."""
        found = {topic: state for topic, state in self.look_everywhere(fence.topics) if self.closes(state)}
        return {topic: fence.before[topic] for topic in found if fence.before[topic] != found[topic]}

    def still_open(self, topics: Collection[str]) -> set[str]:
        """The topics that some broker does not have closed."""
        return {topic for topic, state in self.look_everywhere(topics) if not self.closes(state)}

    def look_everywhere(self, topics: Collection[str]) -> Iterator[tuple[str, str | None]]:
        """A change reaches brokers one by one, and each decides for the partitions that it leads."""
        for broker_id in self._cluster.broker_ids():
            yield from self.look(topics, broker_id).items()

    def _await(self, wanted: Mapping[str, str | None]) -> None:
        patience = Patience(_PATIENCE_SECONDS)
        while late := {topic for topic, state in self.look_everywhere(wanted) if state != wanted[topic]}:
            if not patience.wait():
                raise FenceFailed(f"{self._alias}: brokers have not taken over the change of {_some(late)}")

    def _check(self, what: str, outcomes: Mapping[str, Outcome]) -> None:
        refused = {
            topic: outcome.reason
            for topic, outcome in outcomes.items()
            if outcome.status is Status.REFUSED and outcome.code != _UNKNOWN_TOPIC  # what is gone needs no fence
        }
        if refused:
            reasons = ", ".join(sorted(set(refused.values())))
            raise FenceFailed(f"{self._alias}: cannot {what} {_some(refused)}: {reasons}")


class _SizeGate(_Gate):
    """Closes topics by their own limit of the size of batches."""

    def look(self, topics: Collection[str], broker_id: int | None = None) -> dict[str, str | None]:
        settings = self._cluster.topic_settings(topics, broker_id)
        return {topic: _own_value(found[SIZE_LIMIT]) for topic, found in settings.items()}

    def closes(self, state: str | None) -> bool:
        return is_fence(SIZE_LIMIT, state)

    def check_rights(self, topics: Collection[str]) -> None:
        rights = self._cluster.topic_rights(topics)
        lacking = [topic for topic in topics if Operation.AlterConfigs not in rights.get(topic, ())]
        if lacking:
            who = principal(self._cluster.access)
            raise FenceFailed(f"{self._alias}: {who} lacks {Operation.AlterConfigs.name} on {_some(lacking)}")

    def close(self, topics: Collection[str]) -> None:
        still_open = self.still_open(topics)
        self._set(dict.fromkeys(still_open, str(LARGEST_FENCE)), "close")
        self._set(dict.fromkeys(set(topics) - self._with_transactions(topics), _NOTHING_FITS), "close")

    def restore(self, states: Mapping[str, str | None]) -> None:
        self._set(states, "open")

    def _set(self, states: Mapping[str, str | None], what: str) -> None:
        changes = {topic: {SIZE_LIMIT: state} for topic, state in states.items()}
        self._check(what, self._cluster.alter_topic_settings(changes))
        self._await(states)

    def _with_transactions(self, topics: Collection[str]) -> set[str]:
        found = self._cluster.topics(topics)
        partitions = [TopicPartition(info.name, number) for info in found.values() for number in range(info.partitions)]
        try:
            return self._cluster.transactional_topics(partitions)
        except ClusterError:  # who cannot be asked may have some
            return set(topics)


class _AclGate(_Gate):
    """Closes topics by a rule that nobody may write to them."""

    def look(self, topics: Collection[str], broker_id: int | None = None) -> dict[str, str | None]:
        acls = self._cluster.topic_acls(broker_id)
        if acls is None:
            raise FenceFailed(
                f"{self._alias} has no authorizer, so that no rule keeps producers out: close topics the way "
                f"{FenceWay.TOPIC.value}, or stop the producers"
            )
        return {topic: _DENIED if _denial(topic) in acls else None for topic in self._cluster.topics(topics)}

    def closes(self, state: str | None) -> bool:
        return state == _DENIED

    def check_rights(self, topics: Collection[str]) -> None:
        if topics and Operation.Alter not in self._cluster.cluster_rights():
            raise FenceFailed(f"{self._alias}: {principal(self._cluster.access)} lacks Alter on the cluster")

    def close(self, topics: Collection[str]) -> None:
        still_open = self.still_open(topics)
        outcomes = self._cluster.create_acls([_denial(topic) for topic in still_open])
        self._check("close", {acl.topic: outcome for acl, outcome in outcomes.items()})
        self._await(dict.fromkeys(still_open, _DENIED))

    def restore(self, states: Mapping[str, str | None]) -> None:
        outcomes = self._cluster.delete_acls([_denial(topic) for topic in states])
        self._check("open", {acl.topic: outcome for acl, outcome in outcomes.items()})
        self._await(states)


def _gate(cluster: Admin, way: FenceWay) -> _Gate:
    return _AclGate(cluster) if way is FenceWay.ACL else _SizeGate(cluster)


def _own_value(setting: TopicSetting) -> str | None:
    return setting.value if setting.source is SettingSource.TOPIC else None


def _denial(topic: str) -> Acl:
    return Acl(topic, EVERYONE, Operation.Write, Permission.DENY)


def _some(topics: Collection[str]) -> str:
    named = sorted(topics)[:_NAMED]
    more = len(topics) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
