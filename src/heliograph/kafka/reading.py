"""Reads small topics (positions, ledger) up to their end, committed records only."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka.protocol.consumer import ListOffsetsRequest

from heliograph.errors import BrokerUnavailable, MalformedRecord
from heliograph.kafka import batches, fetching, records
from heliograph.kafka.aborted import AbortedTransactions
from heliograph.kafka.access import Access
from heliograph.kafka.batches import BatchHeader
from heliograph.kafka.connection import Connection, Loop
from heliograph.kafka.fetching import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Fetched,
    FetchLimits,
    FetchPoint,
    FetchResult,
    FetchSession,
)
from heliograph.kafka.network import LEADER_CHANGES, Network, check, error_name, opened
from heliograph.kafka.patience import Patience
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

EARLIEST, LATEST = -2, -1
_PATIENCE_SECONDS = 60.0  # without anything new
_SOON_SECONDS = 3.0  # much less than a transaction has: whoever asks may be in the middle of one


class CommittedBatch(NamedTuple):
    """A batch of records as a broker keeps it; the bytes are good until the next one is asked for."""

    partition: int
    magic: int
    header: BatchHeader
    data: memoryview


class LogBatch(NamedTuple):
    """A batch wherever it stands in a log; hidden are transaction markers, and data of aborted transactions."""

    partition: int
    magic: int
    header: BatchHeader
    data: memoryview
    is_hidden: bool


def list_offsets(network: Network, topic: str, partitions: Mapping[int, int], isolation: int = 0) -> dict[int, int]:
    """As `list_many`, for partitions of one topic."""
    wanted = {TopicPartition(topic, number): when for number, when in partitions.items()}
    return {where.partition: offset for where, offset in list_many(network, wanted, isolation).items()}


def list_many(network: Network, wanted: Mapping[TopicPartition, int], isolation: int = 0) -> dict[TopicPartition, int]:
    """For each partition the offset that a timestamp stands for (`EARLIEST`, `LATEST` or a time); -1 when none."""
    patience = Patience(10)
    found: dict[TopicPartition, int] = {}
    while missing := {where: when for where, when in wanted.items() if where not in found}:
        failures: dict[TopicPartition, int] = {}
        for where, error_code, offset in _ask_offsets(network, missing, isolation):
            if error_code:
                failures[where] = error_code
            else:
                found[where] = offset
        if failures:
            _wait_for_leaders(network, failures, patience)
    return found


def _wait_for_leaders(network: Network, failures: Mapping[TopicPartition, int], patience: Patience) -> None:
    """A new topic is known a little earlier than its leaders are ready; every other failure is final."""
    can_wait = set(failures.values()) <= LEADER_CHANGES and patience.wait()
    for where, error_code in failures.items():
        if not can_wait:
            check(f"{network.access.alias} {where}", error_code)
    network.refresh({where.topic for where in failures})


class Reachable(NamedTuple):
    """Offsets of the partitions that could be asked, and why the others could not."""

    offsets: dict[TopicPartition, int]
    failures: dict[TopicPartition, str]


def list_reachable(network: Network, wanted: Mapping[TopicPartition, int], isolation: int = 0) -> Reachable:
    """As `list_many`, but one that cannot be asked, or is gone, keeps nobody from the others. Nothing is waited for."""
    found = Reachable({}, {})
    failures = {topic: error_name(code) for topic, code in network.look_up({where.topic for where in wanted}).items()}
    led: dict[TopicPartition, int] = {}
    for where, when in wanted.items():
        if where.topic in failures:
            found.failures[where] = failures[where.topic]
        elif network.has_leader(*where):
            led[where] = when
        else:
            found.failures[where] = "has no leader"
    for broker_id, asked in _by_leader(network, led).items():
        _ask_if_possible(network, broker_id, asked, isolation, found)
    return found


def list_soon(network: Network, wanted: Mapping[TopicPartition, int]) -> Reachable:
    """As `list_reachable`, for whoever must not wait: a leader without a connection is connected to meanwhile.

    Topics are not looked up: who leads the partitions is taken for known.
    """
    found = Reachable({}, {})
    led = {where: when for where, when in wanted.items() if network.has_leader(*where)}
    found.failures.update(dict.fromkeys(wanted.keys() - led.keys(), "has no leader"))
    for broker_id, asked in _by_leader(network, led).items():
        try:
            if network.connection_soon(broker_id) is None:
                found.failures.update(dict.fromkeys(asked, "its leader is being connected to"))
                continue
            _sort_answers(_ask_leader(network, broker_id, asked, READ_UNCOMMITTED, _SOON_SECONDS), found)
        except BrokerUnavailable as error:
            found.failures.update(dict.fromkeys(asked.keys() - found.offsets.keys(), str(error)))
    return found


def _sort_answers(answers: Iterable[tuple[TopicPartition, int, int]], found: Reachable) -> None:
    for where, error_code, offset in answers:
        if error_code:
            found.failures[where] = error_name(error_code)
        else:
            found.offsets[where] = offset


def _ask_if_possible(
    network: Network, broker_id: int, wanted: Mapping[TopicPartition, int], isolation: int, found: Reachable
) -> None:
    for is_last in (False, True):  # a connection may have died of idleness
        try:
            _sort_answers(_ask_leader(network, broker_id, wanted, isolation), found)
            return
        except BrokerUnavailable as error:
            if is_last:
                found.failures.update(dict.fromkeys(wanted, str(error)))


def _ask_offsets(
    network: Network, wanted: Mapping[TopicPartition, int], isolation: int
) -> Iterator[tuple[TopicPartition, int, int]]:
    """One request to each leader."""
    for broker_id, asked in _by_leader(network, wanted).items():
        yield from _ask_leader(network, broker_id, asked, isolation)


def _by_leader(network: Network, wanted: Mapping[TopicPartition, int]) -> dict[int, dict[TopicPartition, int]]:
    by_leader: dict[int, dict[TopicPartition, int]] = {}
    for where, when in wanted.items():
        by_leader.setdefault(network.leader(*where).broker_id, {})[where] = when
    return by_leader


def _ask_leader(
    network: Network,
    broker_id: int,
    wanted: Mapping[TopicPartition, int],
    isolation: int,
    timeout: float | None = None,
) -> Iterator[tuple[TopicPartition, int, int]]:
    topic_class = ListOffsetsRequest.ListOffsetsTopic
    partition_class = topic_class.ListOffsetsPartition
    by_topic: dict[str, list[Any]] = {}
    for (topic, number), when in wanted.items():
        asked = partition_class(partition_index=number, current_leader_epoch=-1, timestamp=when)
        by_topic.setdefault(topic, []).append(asked)
    connection = network.connection(broker_id)
    version = connection.version(ListOffsetsRequest, highest=7, lowest=2)
    topics = [topic_class(name=topic, partitions=items) for topic, items in by_topic.items()]
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
    answer = connection.call(request, version, timeout)
    for topic in answer.topics:
        for item in topic.partitions:
            yield TopicPartition(topic.name, item.partition_index), item.error_code, item.offset


def read_to_end(
    loop: Loop,
    network: Network,
    topic: str,
    starts: Mapping[int, int],
    patience: float = _PATIENCE_SECONDS,
    limit: float = math.inf,
) -> Iterator[tuple[int, Record]]:
    """All committed records from the given offsets to the ends seen now, with their partitions.

    An open transaction of somebody else can hide committed records behind it, so this waits until every partition is
    readable up to the end that was seen at the start: what was committed before the call is never missed.
    `patience` and `limit` are as for `read_batches`.
    """
    ends = list_offsets(network, topic, dict.fromkeys(starts, LATEST))
    for piece in read_batches(loop, network, topic, starts, ends, patience, limit=limit):
        for record in records.decode(piece.magic, piece.data):
            if record.offset >= starts[piece.partition]:
                yield piece.partition, record


def read_single(access: Access, topic: str, limit: float = math.inf) -> Iterator[Record]:
    """All committed records of a topic of one partition, over a connection of their own, within so many seconds."""
    with opened(access, [topic]) as (loop, network):
        starts = list_offsets(network, topic, {0: EARLIEST})
        for _, record in read_to_end(loop, network, topic, starts, min(limit, _PATIENCE_SECONDS), limit):
            yield record


def read_batches(
    loop: Loop,
    network: Network,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    patience: float = _PATIENCE_SECONDS,
    isolation: int = READ_COMMITTED,
    limit: float = math.inf,
) -> Iterator[CommittedBatch]:
    """All committed batches between the given offsets, not decoded; the first may begin before its start.

    With the other isolation also those of transactions that are open or were aborted, and nothing is waited for.
    A broker may give nothing for `patience` seconds; a read that goes on takes as long as it takes, unless `limit` says
    how many seconds the whole of it may take.
    """
    for batch in read_log(loop, network, topic, starts, ends, patience, isolation, limit):
        if not batch.is_hidden:
            yield CommittedBatch(*batch[:4])


def read_log(
    loop: Loop,
    network: Network,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    patience: float = _PATIENCE_SECONDS,
    isolation: int = READ_COMMITTED,
    limit: float = math.inf,
) -> Iterator[LogBatch]:
    """As `read_batches`, with what is hidden from those who read records."""
    deadline = _Deadline(limit)
    waiting = {partition: start for partition, start in starts.items() if start < ends[partition]}
    by_leader: dict[int, list[int]] = {}
    for partition in waiting:
        by_leader.setdefault(network.leader(topic, partition).broker_id, []).append(partition)
    for broker_id, members in by_leader.items():
        points = [FetchPoint(topic, network.topic_id(topic), partition, waiting[partition]) for partition in members]
        reader = _Reader(loop, network, broker_id, points, isolation)
        yield from reader.read({p: ends[p] for p in members}, patience, deadline)


def fetch_once(loop: Loop, connection: Connection, session: FetchSession) -> FetchResult:
    """Send one fetch request and wait for the answer."""
    results: list[FetchResult] = []
    body = [session.encode()]
    connection.send(
        fetching.API_KEY, session.version, True, body, lambda answer: results.append(session.decode(answer))
    )
    loop.run_until(lambda: bool(results), f"{connection.name} to give records")
    return results[0]


def why_silent(alias: str, late: FetchPoint, answers: Iterable[Fetched]) -> BrokerUnavailable:
    """What to say of a partition that does not go on: whether a transaction hides the rest, the last answer tells."""
    place = f"{alias} {late.topic}-{late.partition}"
    for fetched in answers:
        if fetched.point is late and fetched.last_stable_offset <= late.offset < fetched.high_watermark:
            return BrokerUnavailable(f"{place}: an open transaction hides offset {late.offset} on")
    return BrokerUnavailable(f"{place}: the broker gives nothing from offset {late.offset} on")


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Say where a batch is that is not what it should be."""
    try:
        yield
    except MalformedRecord as error:
        raise type(error)(f"{place}: {error}") from error


class _Deadline:
    """When a whole read must be over, whether or not it goes on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() >= self._at

    def check(self, alias: str, late: FetchPoint) -> None:
        """Raise when the time is used up."""
        if self.is_over:
            place = f"{alias} {late.topic}-{late.partition}"
            reached = f"was read up to offset {late.offset} in {self._seconds:.1f} s, which is too slow"
            raise BrokerUnavailable(f"{place}: {reached}")


class _Reader:
    """Reads some partitions from one broker."""

    def __init__(self, loop: Loop, network: Network, broker_id: int, points: list[FetchPoint], isolation: int) -> None:
        self._loop = loop
        self._alias = network.access.alias
        self._connection = network.connection(broker_id)
        version = self._connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        self._session = FetchSession(version, FetchLimits(max_wait_ms=100, isolation=isolation), is_remembered=False)
        self._points = points
        self._aborted = {point.partition: AbortedTransactions() for point in points}
        for point in points:
            self._session.add(point)

    def read(self, ends: Mapping[int, int], patience: float, deadline: _Deadline) -> Iterator[LogBatch]:
        heard_at = time.monotonic()
        while late := [point for point in self._points if point.offset < ends[point.partition]]:
            deadline.check(self._alias, late[0])
            before = [point.offset for point in self._points]
            answers = fetch_once(self._loop, self._connection, self._session).partitions
            for fetched in answers:
                place = f"{self._alias} {fetched.point.topic}-{fetched.point.partition}"
                check(place, fetched.error_code)
                with placed(place):
                    yield from self._batches(fetched)
            now = time.monotonic()
            if [point.offset for point in self._points] != before:
                heard_at = now  # also whoever uses the batches has taken its time
            elif now - heard_at >= patience or deadline.is_over:
                raise why_silent(self._alias, late[0], answers)

    def _batches(self, fetched: Fetched) -> Iterator[LogBatch]:
        point = fetched.point
        aborted = self._aborted[point.partition]
        aborted.announce(fetched.aborted)
        for magic, batch in batches.split(fetched.records):
            header = records.header_of(magic, batch)
            yield LogBatch(point.partition, magic, header, batch, aborted.hides(batch, header))
            point.offset = max(point.offset, header.last_offset + 1)
        self._session.moved(point)
