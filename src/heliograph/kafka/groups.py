"""Consumer groups of one cluster: which there are, what they have committed, and commits on their behalf.

Groups are asked for at their coordinators, many at a time: one request for some groups to read, and one a group to
write, all on their way at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kafka.protocol.admin import DeleteGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from heliograph.kafka.access import Access
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.commits import (
    COMMIT_VERSIONS,
    FETCH_VERSIONS,
    MANY_GROUPS,
    Committed,
    FetchedGroup,
    Offsets,
    decode_commit,
    decode_fetch,
    encode_commit,
)
from heliograph.kafka.connection import Connection, Loop
from heliograph.kafka.network import GROUP, Network, check, error_name
from heliograph.kafka.patience import Patience
from heliograph.model import TopicPartition

__all__ = ["Change", "ChangeResult", "Committed", "GroupInfo", "GroupType", "Groups", "Offsets"]

_PATIENCE_SECONDS = 20.0
_GROUPS_A_REQUEST = 20  # few, so that the broker collects the next ones while we decode
_COMMITS_AT_ONCE = 1000
_MANY_COORDINATORS = 4  # from this version of the request on, several groups fit into one
# What a coordinator that moves or has just started answers: loading, not available, not coordinator.
_COORDINATOR_CHANGES = {14, 15, 16}
_NOT_THERE = 69  # group id not found
# What a commit from outside is refused with while a group has members: illegal generation, unknown member, rebalance in
# progress; of the newer protocol also fenced and stale member epoch.
_HAS_MEMBERS = {22, 25, 27, 68, 110, 113}
_DENIED = {29, 30}  # for the topic, for the group

_Ask = Callable[[Connection, Sequence[str], Callable[[Any], None]], None]
_Take = Callable[[Any], Iterable[tuple[str, int]]]  # from an answer: groups, and error codes that concern all of each


class GroupType(Enum):
    """The protocol that a group speaks."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True)
class GroupInfo:
    """A consumer group as its cluster lists it."""

    name: str
    type: GroupType
    state: str

    @property
    def has_members(self) -> bool:
        """Whether somebody consumes as this group now; brokers that tell no state leave it to the commit's answer."""
        return self.state not in ("", "Empty", "Dead")


class Change(Enum):
    """What became of a change to one partition of a group, or to the group."""

    DONE = "done"
    HAS_MEMBERS = "the group has members"
    NOT_THERE = "the group does not exist"
    DENIED = "not allowed"
    REFUSED = "refused"


@dataclass(frozen=True)
class ChangeResult:
    """What became of a change, and why."""

    change: Change
    reason: str = ""


class Groups(Closeable):
    """The groups of one cluster, over connections of its own; for one thread at a time."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._loop = Loop()
        self._network = _Cluster(self._loop, access)

    def close(self) -> None:
        """Close all connections."""
        self._loop.close()

    # -- reading -------------------------------------------------------------------------------------------

    def list(self) -> dict[str, GroupInfo]:
        """All consumer groups that we may see, of either protocol; not those of Connect, of streams or of shares."""
        patience = Patience(_PATIENCE_SECONDS)
        found: dict[str, GroupInfo] = {}
        for connection in self._network.everyone():
            while (answer := connection.call(ListGroupsRequest(states_filter=[], types_filter=[]))).error_code:
                if answer.error_code not in _COORDINATOR_CHANGES or not patience.wait():
                    check(f"{self.access.alias}: list groups", answer.error_code)
            found |= {info.name: info for info in map(_group_info, answer.groups) if info is not None}
        return found

    def committed(self, names: Collection[str]) -> dict[str, dict[TopicPartition, Committed]]:
        """All that these groups have committed; one that does not exist has committed nothing."""
        found: dict[str, dict[TopicPartition, Committed]] = {}

        def take(answer: Iterable[FetchedGroup]) -> Iterator[tuple[str, int]]:
            for name, offsets, error_code in answer:
                found[name] = offsets
                yield name, 0 if error_code == _NOT_THERE else error_code

        self._at_coordinators(names, _GROUPS_A_REQUEST, _fetch_offsets, take)
        return found

    # -- changing ------------------------------------------------------------------------------------------

    def commit(self, offsets: Mapping[str, Offsets]) -> dict[str, dict[TopicPartition, ChangeResult]]:
        """Commit for groups without members; what a broker does not take comes back with the reason."""
        results: dict[str, dict[TopicPartition, ChangeResult]] = {}

        def ask(connection: Connection, names: Sequence[str], handler: Callable[[Any], None]) -> None:
            key = OffsetCommitRequest.API_KEY
            version = connection.version(key, highest=max(COMMIT_VERSIONS), lowest=min(COMMIT_VERSIONS))
            for name in names:
                connection.send(
                    key,
                    version,
                    True,
                    [encode_commit(name, offsets[name])],
                    lambda body, name=name: handler((name, decode_commit(body))),  # type: ignore[misc]
                )

        def take(answer: tuple[str, Mapping[TopicPartition, int]]) -> Iterator[tuple[str, int]]:
            name, codes = answer
            meanings = {code: _result(code) for code in set(codes.values())}
            results[name] = {where: meanings[code] for where, code in codes.items()}
            yield name, max(map(_moved, meanings), default=0)

        self._at_coordinators([name for name in offsets if offsets[name]], _COMMITS_AT_ONCE, ask, take)
        return results

    def delete(self, names: Collection[str]) -> dict[str, ChangeResult]:
        """Delete groups that have no members."""
        results: dict[str, ChangeResult] = {}

        def ask(connection: Connection, some: Sequence[str], handler: Callable[[Any], None]) -> None:
            request = DeleteGroupsRequest(groups_names=list(some))
            connection.submit(request, connection.version(DeleteGroupsRequest, highest=2), handler)

        def take(answer: Any) -> Iterator[tuple[str, int]]:
            for item in answer.results:
                results[item.group_id] = _result(item.error_code)
                yield item.group_id, _moved(item.error_code)

        self._at_coordinators(names, _GROUPS_A_REQUEST, ask, take)
        return results

    def delete_offsets(self, name: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, ChangeResult]:
        """Let a group forget what it has committed for partitions that none of its members reads."""
        results: dict[TopicPartition, ChangeResult] = {}

        def ask(connection: Connection, _: Sequence[str], handler: Callable[[Any], None]) -> None:
            version = connection.version(OffsetDeleteRequest, highest=0)
            connection.submit(_delete_request(name, partitions), version, handler)

        def take(answer: Any) -> Iterator[tuple[str, int]]:
            codes = _partition_codes(answer) or dict.fromkeys(partitions, int(answer.error_code))
            results.update({where: _result(code) for where, code in codes.items()})
            yield name, _moved(answer.error_code)

        self._at_coordinators([name] if partitions else (), 1, ask, take)
        return results

    # -- coordinators --------------------------------------------------------------------------------------

    def _at_coordinators(self, names: Iterable[str], chunk: int, ask: _Ask, take: _Take) -> None:
        """Ask about every group at its coordinator, and once more about those whose coordinator has just moved."""
        patience = Patience(_PATIENCE_SECONDS)
        waiting = sorted(set(names))
        while waiting:
            codes = self._ask_once(waiting, chunk, ask, take)
            waiting = [name for name, code in codes.items() if code in _COORDINATOR_CHANGES]
            refused = {name: code for name, code in codes.items() if code and code not in _COORDINATOR_CHANGES}
            if waiting and not patience.wait():
                refused = codes
            for name, code in refused.items():
                check(f"{self.access.alias} group {name}", code)

    def _ask_once(self, names: Sequence[str], chunk: int, ask: _Ask, take: _Take) -> dict[str, int]:
        """For each group the error code that concerns all of it."""
        codes = self._network.find_coordinators(names)
        expected = sum(code == 0 for code in codes.values())
        answered: dict[str, int] = {}
        for connection, members in self._network.by_coordinator(name for name in names if codes[name] == 0).items():
            for start in range(0, len(members), chunk):
                ask(connection, members[start : start + chunk], lambda answer: answered.update(take(answer)))
        self._loop.run_until(lambda: len(answered) == expected)
        return codes | answered


class _Cluster(Network):
    """The brokers of a cluster, and which of them coordinates which group."""

    def __init__(self, loop: Loop, access: Access) -> None:
        super().__init__(loop, access)
        self._coordinator_ids: dict[str, int] = {}

    def everyone(self) -> list[Connection]:
        """A connection to every broker."""
        self.refresh(())
        return [self.connection(broker_id) for broker_id in sorted(self._addresses)]

    def find_coordinators(self, names: Sequence[str]) -> dict[str, int]:
        """Learn who coordinates groups; an error code for each, of which 0 is none."""
        connection = self.anyone()
        version = connection.version(FindCoordinatorRequest, highest=_MANY_COORDINATORS, lowest=1)
        if version < _MANY_COORDINATORS:
            requests = [FindCoordinatorRequest(key=name, key_type=GROUP) for name in names]
        else:
            requests = [FindCoordinatorRequest(coordinator_keys=list(names), key_type=GROUP)]
        answers: list[Any] = []
        for request in requests:
            connection.submit(request, version, answers.append)
        self.loop.run_until(lambda: len(answers) == len(requests))
        found = (
            dict(zip(names, answers, strict=True))
            if version < _MANY_COORDINATORS
            else {item.key: item for item in answers[0].coordinators}
        )
        for name, item in found.items():
            if not item.error_code:
                self._addresses[item.node_id] = (item.host, item.port)
                self._coordinator_ids[name] = item.node_id
        return {name: int(item.error_code) for name, item in found.items()}

    def by_coordinator(self, names: Iterable[str]) -> dict[Connection, list[str]]:
        """Groups whose coordinators are known, by the connections to those."""
        found: dict[int, list[str]] = {}
        for name in names:
            found.setdefault(self._coordinator_ids[name], []).append(name)
        return {self.connection(broker_id): members for broker_id, members in found.items()}


def _group_info(listed: Any) -> GroupInfo | None:
    """None for what is no consumer group. One that only holds commits from outside has no protocol."""
    kind = (listed.group_type or "").lower()
    if kind == GroupType.CONSUMER.value:
        return GroupInfo(listed.group_id, GroupType.CONSUMER, listed.group_state)
    if kind in ("", GroupType.CLASSIC.value) and listed.protocol_type in ("", "consumer"):
        return GroupInfo(listed.group_id, GroupType.CLASSIC, listed.group_state or "")
    return None


def _fetch_offsets(connection: Connection, names: Sequence[str], handler: Callable[[Any], None]) -> None:
    """Ask for all offsets of some groups; the handler gets all that one answer tells of."""
    key = OffsetFetchRequest.API_KEY
    version = connection.version(key, highest=max(FETCH_VERSIONS), lowest=min(FETCH_VERSIONS))
    if version >= MANY_GROUPS:
        group_class = OffsetFetchRequest.OffsetFetchRequestGroup
        groups = [group_class(group_id=name, member_id=None, member_epoch=-1, topics=None) for name in names]
        requests = {"": OffsetFetchRequest(groups=groups, require_stable=False)}
    else:
        requests = {name: OffsetFetchRequest(group_id=name, topics=None, require_stable=False) for name in names}
    for name, request in requests.items():
        connection.send(
            key,
            version,
            True,
            [request.encode(version=version)],
            lambda body, name=name: handler(decode_fetch(body, version, name)),  # type: ignore[misc]
        )


def _delete_request(name: str, partitions: Iterable[TopicPartition]) -> OffsetDeleteRequest:
    topic_class = OffsetDeleteRequest.OffsetDeleteRequestTopic
    partition_class = topic_class.OffsetDeleteRequestPartition
    by_topic: dict[str, list[Any]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition_class(partition_index=partition))
    topics = [topic_class(name=topic, partitions=items) for topic, items in by_topic.items()]
    return OffsetDeleteRequest(group_id=name, topics=topics)


def _partition_codes(answer: Any) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, item.partition_index): int(item.error_code)
        for topic in answer.topics
        for item in topic.partitions
    }


def _moved(code: int) -> int:
    """The code, if it means that the group has another coordinator; 0 for those that are the caller's to judge."""
    return int(code) if code in _COORDINATOR_CHANGES else 0


def _result(code: int) -> ChangeResult:
    if not code:
        return ChangeResult(Change.DONE)
    kinds = {Change.HAS_MEMBERS: _HAS_MEMBERS, Change.NOT_THERE: {_NOT_THERE}, Change.DENIED: _DENIED}
    kind = next((kind for kind, codes in kinds.items() if code in codes), Change.REFUSED)
    return ChangeResult(kind, error_name(code))
