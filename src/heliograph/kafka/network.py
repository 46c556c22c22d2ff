"""The brokers of one cluster as a lane sees them: who leads what, and a connection to each."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kafka.errors import for_code
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from heliograph.errors import BrokerRefused, BrokerUnavailable
from heliograph.kafka.access import Access
from heliograph.kafka.connecting import Connecting
from heliograph.kafka.connection import Connection, Loop
from heliograph.kafka.patience import Patience
from heliograph.model import TopicPartition

Address = tuple[str, int]

GROUP, TRANSACTION = 0, 1
_UNKNOWN_SERVER_ERROR = -1
UNKNOWN_TOPIC = 3
NOT_ENOUGH_REPLICAS = 19
NOT_AUTHORISED = 29  # for a topic
# What a moving partition answers: unknown topic, leader not available, not leader, offset not known after an election.
LEADER_CHANGES = {UNKNOWN_TOPIC, 5, 6, 78}
_COORDINATOR_NOT_AVAILABLE = 15
_SIMPLE_QUESTION_SECONDS = 10.0
_MOMENT = 0.25  # that others are held up while a connection is made; afterwards it is made without them
_TURN = 0.002
_failures: dict[Address, float] = {}  # when an address last failed; shared, since attempts of lanes are short-lived


def check(where: str, error_code: int) -> None:
    """Raise what a broker's error code means; nothing for code 0."""
    if error_code:
        raise BrokerRefused(where, error_code, error_name(error_code))


def error_name(error_code: int) -> str:
    """The name of a broker's error code, in the words of Kafka's documentation."""
    if error_code == _UNKNOWN_SERVER_ERROR:
        return "UNKNOWN_SERVER_ERROR"  # the client library has only half of it
    return str(for_code(error_code).message)


@dataclass(frozen=True)
class Leader:
    """Who leads a partition, since which epoch."""

    broker_id: int
    epoch: int


@dataclass(frozen=True)
class Replicas:
    """How many replicas a partition has, and how many of them are in sync."""

    in_sync: int
    all: int


@contextmanager
def opened(access: Access, topics: Collection[str] = (), loop: Loop | None = None) -> Iterator[tuple[Loop, Network]]:
    """A network of its own, which knows these topics and hangs up at the end, as does the loop that it was given."""
    with closing(loop or Loop()) as turning:
        network = Network(turning, access)
        network.refresh(topics)
        yield turning, network


class Network:
    """All connections of one lane to one cluster, made when they are first needed."""

    def __init__(self, loop: Loop, access: Access) -> None:
        self.access = access
        self.loop = loop
        self._addresses: dict[int, Address] = {}
        self._connections: dict[int, Connection] = {}
        self._leaders: dict[str, dict[int, Leader]] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._lacking: dict[TopicPartition, Replicas] = {}
        self._bootstrap: Connection | None = None
        self._connecting: dict[tuple[int, bool], Connecting] = {}

    def refresh(self, topics: Collection[str]) -> None:
        """Learn anew who leads the partitions of these topics; raises if a topic cannot be described."""
        for topic, error_code in self.look_up(topics).items():
            check(f"{self.access.alias} topic {topic}", error_code)

    def look_up(self, topics: Collection[str]) -> dict[str, int]:
        """Learn anew who leads the partitions of these topics; returns those that cannot be described, and why."""
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic) for topic in sorted(topics)],
            allow_auto_topic_creation=False,
        )
        [answer] = self._ask_anyone([request], highest=12, lowest=8)
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        failures = {}
        for topic in answer.topics:
            if topic.error_code:
                failures[topic.name] = topic.error_code
                continue
            self._topic_ids[topic.name] = topic.topic_id or UUID(int=0)
            leaders = self._leaders.setdefault(topic.name, {})
            for item in topic.partitions:
                leaders[item.partition_index] = Leader(item.leader_id, item.leader_epoch)
                self._note_replicas(TopicPartition(topic.name, item.partition_index), item)
        return failures

    def _note_replicas(self, where: TopicPartition, item: Any) -> None:
        if len(item.isr_nodes) < len(item.replica_nodes):
            self._lacking[where] = Replicas(len(item.isr_nodes), len(item.replica_nodes))
        elif self._lacking:
            self._lacking.pop(where, None)

    def lacking(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Replicas]:
        """Those of which not all replicas are in sync, as far as we know."""
        return {where: self._lacking[where] for where in self._lacking.keys() & set(partitions)}

    def leader(self, topic: str, partition: int) -> Leader:
        """Who leads a partition, as far as we know."""
        leader = self._leaders.get(topic, {}).get(partition)
        if leader is None or leader.broker_id < 0:
            raise BrokerUnavailable(f"{self.access.alias} {topic}-{partition}: has no leader")
        return leader

    def has_leader(self, topic: str, partition: int) -> bool:
        """Whether somebody leads a partition, as far as we know."""
        leader = self._leaders.get(topic, {}).get(partition)
        return leader is not None and leader.broker_id >= 0

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic."""
        return sorted(self._leaders.get(topic, ()))

    def topic_id(self, topic: str) -> UUID:
        """The id of a topic, which tells a re-created topic from the old one."""
        return self._topic_ids[topic]

    def incarnation(self, topic: str) -> str:
        """The id of a topic as text; empty if it is not known, or the cluster gives topics none."""
        found = self._topic_ids.get(topic)
        return str(found) if found is not None and found.int else ""

    def connection(self, broker_id: int) -> Connection:
        """The connection to one broker; a new one when the one before was lost."""
        known = self._connections.get(broker_id)
        if known is None or not _is_usable(known):
            known = self._connections[broker_id] = self.another_connection(broker_id)
        return known

    def another_connection(self, broker_id: int) -> Connection:
        """A connection to one broker beside the one that all share; the caller notices when it is lost."""
        return self._connect(self._address(broker_id))

    def _address(self, broker_id: int) -> Address:
        if broker_id not in self._addresses:
            raise BrokerUnavailable(f"{self.access.alias} broker {broker_id}: its address is not known")
        return self._addresses[broker_id]

    def connection_soon(self, broker_id: int, another: bool = False) -> Connection | None:
        """As `connection` or `another_connection`, but None while it is being made: ask again then.

        Whoever serves other brokers meanwhile is held up only for a moment, in which most connections are made.
        """
        known = self._connections.get(broker_id)
        if not another and known is not None and _is_usable(known):
            return known
        which = broker_id, another
        connecting = self._connecting.get(which)
        if connecting is None:
            connecting = self._connecting[which] = Connecting(self._address(broker_id), self.access)
            self._wait_a_moment(connecting)
        if not connecting.is_done():
            return None
        del self._connecting[which]
        with self._noting_failure(connecting.address):
            made = connecting.take(self.loop)
        if not another:
            self._connections[broker_id] = made
        return made

    def _wait_a_moment(self, connecting: Connecting) -> None:
        deadline = time.monotonic() + _MOMENT
        while not connecting.is_done(_TURN) and time.monotonic() < deadline:
            self.loop.run_once(0)

    def give_up_connecting(self) -> None:
        """Want none of the connections any more that are being made."""
        for connecting in self._connecting.values():
            connecting.give_up()
        self._connecting.clear()

    def coordinator(self, key: str, kind: int) -> Connection:
        """The connection to the broker that coordinates a group or a transactional id."""
        return self.coordinators([key], kind)[key]

    def coordinators(self, keys: Collection[str], kind: int) -> dict[str, Connection]:
        """The same for many of them, which are asked for all at once."""
        found: dict[str, int] = {}
        patience = Patience()
        while missing := [key for key in keys if key not in found]:
            requests = [FindCoordinatorRequest(key=key, key_type=kind) for key in missing]
            answers = dict(zip(missing, self._ask_anyone(requests, highest=3, lowest=1), strict=True))
            # On a new cluster the first question makes the broker create its coordinator's topic.
            is_early = any(answer.error_code == _COORDINATOR_NOT_AVAILABLE for answer in answers.values())
            can_wait = is_early and patience.wait()
            for key, answer in answers.items():
                if answer.error_code == _COORDINATOR_NOT_AVAILABLE and can_wait:
                    continue
                check(f"{self.access.alias} coordinator of {key}", answer.error_code)
                self._addresses[answer.node_id] = (answer.host, answer.port)
                found[key] = answer.node_id
        return {key: self.connection(found[key]) for key in keys}

    def anyone(self) -> Connection:
        """A connection to some broker, for questions that any of them can answer."""
        if self._bootstrap is None or not _is_usable(self._bootstrap):
            self._bootstrap = self._connect_to_someone()
        return self._bootstrap

    def _ask_anyone(self, requests: Sequence[ApiMessage], highest: int, lowest: int) -> list[Any]:
        """The answers of some broker; of another one when the first has gone away meanwhile."""

        def ask(connection: Connection) -> list[Any]:
            version = connection.version(type(requests[0]), highest, lowest)
            if len(requests) == 1:
                return [connection.call(requests[0], version, patience)]  # which also tells how far the broker is
            return connection.call_all(requests, version, patience)

        patience = min(_SIMPLE_QUESTION_SECONDS, self.access.request_timeout_ms / 1000)
        first = self.anyone()
        try:
            return ask(first)
        except BrokerUnavailable:
            if first.is_open:
                raise
        return ask(self.anyone())

    def _connect_to_someone(self) -> Connection:
        failure: BrokerUnavailable | None = None
        for address in self._candidates():
            try:
                return self._connect(address)
            except BrokerUnavailable as error:
                failure = error
        assert failure is not None
        raise failure

    def _candidates(self) -> list[Address]:
        """Every address we know of, in any order, but those that have failed last of all."""
        servers = (server.rsplit(":", 1) for server in self.access.bootstrap_servers)
        known = {(host.strip("[]"), int(port)) for host, port in servers} | set(self._addresses.values())
        return sorted(random.sample(sorted(known), len(known)), key=lambda address: _failures.get(address, 0.0))

    def _connect(self, address: Address) -> Connection:
        with self._noting_failure(address):
            return Connection(self.loop, *address, self.access)

    @contextmanager
    def _noting_failure(self, address: Address) -> Iterator[None]:
        try:
            yield
        except BrokerUnavailable:
            _failures[address] = time.monotonic()
            raise
        _failures.pop(address, None)


def _is_usable(connection: Connection) -> bool:
    if not connection.is_open:
        _failures[connection.address] = time.monotonic()
    return connection.is_open
