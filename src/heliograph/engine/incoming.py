"""The source side of a lane: which broker each partition is read from.

That is its leader, or the replica in our rack that the leader names (KIP-392). A replica may lag, so its word about
what a partition holds counts for nothing: whatever it refuses, the leader is asked. Partitions whose broker is lost are
adrift until their leader, the same or a new one, can be reached; the others are read on.

A far broker that sends as much as it may is read over several lines, each with some of the partitions: while one
answer is on its way, the others have been asked for. A broker looks at the requests of one connection one after the
other, and lets each wait for data, so every line has a connection of its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Set
from dataclasses import dataclass

from heliograph.engine.links import AnswerSize, Links
from heliograph.engine.source_broker import FAR_LINES, Arrival, Pace, Shares, SourceBroker
from heliograph.errors import BrokerUnavailable
from heliograph.kafka.connection import Connection
from heliograph.kafka.fetching import Fetched, FetchLimits, FetchPoint
from heliograph.kafka.network import Network
from heliograph.model import TopicPartition

# Leader not available, not leader or follower, replica not available, storage error, fenced leader epoch, unknown
# leader epoch, offset not available: what a partition answers while it moves.
_MOVES = {5, 6, 9, 56, 74, 75, 78}
_LOOK_AGAIN_SECONDS = 0.25
_AVOID_SECONDS = 10.0  # a little more than brokers take to notice that one of them is dead
_ASK_LEADERS_SECONDS = 60.0  # a replica that has fallen behind is not named again
_LONG_SECONDS = 30.0


@dataclass
class _Adrift:
    """A partition that is read from nowhere, and since when."""

    point: FetchPoint
    since: float
    is_told: bool = False


class Incoming:
    """Reads all partitions of a lane; answers wait in `arrivals`."""

    def __init__(
        self,
        network: Network,
        limits: FetchLimits,
        bytes_per_second: float = 0.0,
        total_bytes: int = 0,
        links: Links | None = None,
    ) -> None:
        """`total_bytes`: of memory for answers; as much as is usual by default.

        `links`: what is known of the brokers; without it they are asked for all at once, until one is slow.
        """
        self.arrivals: deque[Arrival] = deque()
        self._network = network
        self._links = links
        self._shares = Shares(limits, total_bytes)
        self._pace = Pace(bytes_per_second)
        self._brokers: dict[int, list[SourceBroker]] = {}  # the lines to each
        self._followed: dict[TopicPartition, SourceBroker] = {}
        self._adrift: dict[TopicPartition, _Adrift] = {}
        self._unheard: dict[TopicPartition, _Adrift] = {}  # asked for again, and no answer has come yet
        self._avoided: dict[int, float] = {}  # replicas that the leader shall not send us to, and until when
        self._unreachable: dict[int, float] = {}  # brokers, and when to try them again
        self._look_again_at = 0.0
        self._ask_leaders_at = 0.0

    @property
    def adrift(self) -> Set[TopicPartition]:
        """The partitions that are read from nowhere, because their brokers cannot be reached."""
        return self._adrift.keys()

    @property
    def keeps_pace(self) -> bool:
        """Whether what was read so far is within the bandwidth of the lane."""
        return self._pace.allows(time.monotonic())

    def long_adrift(self) -> Iterator[TopicPartition]:
        """Those of which nothing has been heard for long, though they may have been asked for; each is told once."""
        now = time.monotonic()
        for where, adrift in [*self._adrift.items(), *self._unheard.items()]:
            if not adrift.is_told and now - adrift.since > _LONG_SECONDS and self._is_awaited(where, adrift.point):
                adrift.is_told = True
                yield where

    def _is_awaited(self, where: TopicPartition, point: FetchPoint) -> bool:
        """Whether anything could have been heard: while a lane has enough to write, it asks for nothing."""
        return where in self._adrift or any(line.is_asked and point in line.session for line in self._lines())

    @property
    def late(self) -> str:
        """The broker whose answer takes long, or nothing."""
        return next((line.name for line in self._lines() if line.is_late), "")

    def read(self, point: FetchPoint) -> None:
        """Begin to read a partition, from the leader that is known."""
        if not self._read_from_leader(point):
            self._set_adrift(point)

    def stop(self, broker: SourceBroker, point: FetchPoint) -> None:
        """Read a partition no more from this broker."""
        broker.session.remove(point)
        self._followed.pop(_name(point), None)

    def ask_again(self, point: FetchPoint) -> None:
        """Ask the leader for a partition again, after a moment."""
        self._set_adrift(point)

    def fetch(self, wants_more: bool = True) -> None:
        """Find brokers for the partitions that have none, and ask all brokers for more if it is wanted."""
        self._leave_lost_brokers()
        self._leave_old_followers()
        self._settle_adrift()
        self._relieve_full_lines()
        now = time.monotonic()
        self._avoided = {broker_id: until for broker_id, until in self._avoided.items() if now < until}
        if not wants_more:
            return
        for broker in self._lines():
            broker.session.prefers_rack = not self._avoided
            broker.fetch()

    def is_elsewhere(self, broker: SourceBroker, fetched: Fetched) -> bool:
        """Whether an answer only means that the partition is to be read from another broker; it will be."""
        point = fetched.point
        is_follower = self._followed.get(_name(point)) is broker
        is_refused = bool(fetched.error_code or fetched.diverging)
        if not is_refused and fetched.preferred_replica >= 0:
            self.stop(broker, point)
            self._follow(point, fetched.preferred_replica)
        elif fetched.error_code in _MOVES or (is_refused and is_follower):
            self.stop(broker, point)
            if is_follower:
                self._avoid(broker.broker_id)
            self._set_adrift(point)
        else:
            self._unheard.pop(_name(point), None)
            return False
        return True

    # -- finding brokers -----------------------------------------------------------------------------------------

    def _read_from_leader(self, point: FetchPoint) -> bool:
        try:
            leader = self._network.leader(point.topic, point.partition)
        except BrokerUnavailable:
            return False
        broker = self._broker(leader.broker_id)
        if broker is None:
            return False
        point.leader_epoch = leader.epoch
        broker.session.add(point)
        return True

    def _follow(self, point: FetchPoint, replica: int) -> None:
        """Read from the replica that the leader has named, or else from the leader, who is not to name it again."""
        broker = self._broker(replica)
        if broker is None:
            self._avoid(replica)
            self._set_adrift(point)
            return
        if not self._followed:
            self._ask_leaders_at = time.monotonic() + _ASK_LEADERS_SECONDS
        broker.session.add(point)
        self._followed[_name(point)] = broker

    def _lines(self) -> Iterator[SourceBroker]:
        for lines in self._brokers.values():
            yield from lines

    def _broker(self, broker_id: int) -> SourceBroker | None:
        """The line to a broker that has the fewest partitions; None when the broker is out of reach."""
        lines = self._brokers.get(broker_id)
        if lines:
            return min(lines, key=lambda line: len(line.session))
        return self._open_line(broker_id)

    def _open_line(self, broker_id: int, another: bool = False) -> SourceBroker | None:
        connection = self._connection(broker_id, another)
        if connection is None:
            return None
        answer_size = self._answer_size(broker_id)
        line = SourceBroker(broker_id, connection, self._shares.among(1), self.arrivals, self._pace, answer_size)
        self._brokers.setdefault(broker_id, []).append(line)
        self._share_memory()
        return line

    def _answer_size(self, broker_id: int) -> AnswerSize:
        return self._links.answer_size(broker_id) if self._links else AnswerSize()

    def _share_memory(self) -> None:
        lines = list(self._lines())
        buffers = sum(len(line.buffers) for line in lines)
        for line in lines:
            line.limit(self._shares.among(buffers))

    def _relieve_full_lines(self) -> None:
        """Open another line where one is full, and give it half of the partitions."""
        for full in [line for line in self._lines() if line.is_full]:
            if len(self._brokers[full.broker_id]) < FAR_LINES:
                line = self._open_line(full.broker_id, another=True)
                if line is not None:
                    self._share_out(full, line)

    def _share_out(self, full: SourceBroker, line: SourceBroker) -> None:
        for point in full.session.points[1::2]:
            full.session.remove(point)
            line.session.add(point)
            if _name(point) in self._followed:
                self._followed[_name(point)] = line

    def close(self) -> None:
        """Want no more lines."""
        self._network.give_up_connecting()

    def _connection(self, broker_id: int, another: bool) -> Connection | None:
        """None if there is none yet, or cannot be: the partitions are adrift until there is."""
        began = time.monotonic()
        if began < self._unreachable.get(broker_id, 0.0):
            return None
        try:
            return self._network.connection_soon(broker_id, another)
        except BrokerUnavailable:
            now = time.monotonic()
            # Little is read while we try, so the longer it takes, the rarer it is done.
            self._unreachable[broker_id] = now + max(_LOOK_AGAIN_SECONDS, 3 * (now - began))
            return None

    # -- losing brokers ------------------------------------------------------------------------------------------

    def _set_adrift(self, point: FetchPoint) -> None:
        self._followed.pop(_name(point), None)
        where = _name(point)
        self._adrift[where] = self._unheard.get(where) or _Adrift(point, time.monotonic())
        self._unheard.pop(where, None)

    def _avoid(self, broker_id: int) -> None:
        self._avoided[broker_id] = time.monotonic() + _AVOID_SECONDS

    def _leave_lost_brokers(self) -> None:
        lost = [broker for broker in self._lines() if broker.is_lost]
        for broker in lost:
            self._brokers[broker.broker_id].remove(broker)
            for point in broker.session.points:
                if _name(point) in self._followed:
                    self._avoid(broker.broker_id)
                self._set_adrift(point)
        if lost:
            self._share_memory()

    def _leave_old_followers(self) -> None:
        if not self._followed or time.monotonic() < self._ask_leaders_at:
            return
        for broker in set(self._followed.values()):
            for point in broker.session.points:
                if self._followed.get(_name(point)) is broker:
                    self.stop(broker, point)
                    self._set_adrift(point)

    def _settle_adrift(self) -> None:
        now = time.monotonic()
        if not self._adrift or now < self._look_again_at:
            return
        self._look_again_at = now + _LOOK_AGAIN_SECONDS
        self._network.look_up({where.topic for where in self._adrift})
        for where, adrift in list(self._adrift.items()):
            if self._read_from_leader(adrift.point):
                self._unheard[where] = self._adrift.pop(where)


def _name(point: FetchPoint) -> TopicPartition:
    return TopicPartition(point.topic, point.partition)
