"""The way of a flow: what is written at its beginning, what must come out at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from heliograph.client import MirrorClient
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.mm2.heartbeat import Heartbeat
from tests.conformance.site import ALL, PARTITIONS, Contents, Offsets, Site
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

START_SECONDS = 240
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@dataclass(frozen=True)
class Route:
    """A flow that mirrors topics and follows groups whose names begin with its label."""

    label: str
    source: Site
    target: Site
    is_two_way: bool = False
    keeps_names: bool = False
    is_transactional: bool = False
    has_heartbeats: bool = False
    is_exactly_once: bool = True
    _known: list[str] = field(default_factory=list)  # topics that nobody has used yet

    @property
    def back(self) -> Route:
        """The flow in the other direction."""
        return replace(self, source=self.target, target=self.source)

    def copy_of(self, topic: str) -> str:
        """The name on the target; what came from there has its own name there."""
        if self.keeps_names:
            return topic
        home = f"{self.target.alias}."
        return topic.removeprefix(home) if topic.startswith(home) else f"{self.source.alias}.{topic}"

    def client(self) -> MirrorClient:
        """A client of the target."""
        policy = {"replication.policy.class": IDENTITY} if self.keeps_names else {}
        return MirrorClient({"bootstrap.servers": self.target.servers, **policy})

    # -- records -------------------------------------------------------------------------------------------

    def prepare(self, count: int) -> None:
        """Create topics in advance, so that not every test must wait until its own is found."""
        self._known.extend(self.new_topic() for _ in range(count))

    def topic(self) -> str:
        """A topic on the source that nobody else uses, which the mirror may know already."""
        return self._known.pop() if self._known else self.new_topic()

    def new_topic(self, settings: Mapping[str, str] | None = None) -> str:
        """A topic on the source that nobody else uses, made just now."""
        topic = fresh_name(self.label)
        self.source.create(topic, settings)
        return topic

    def write(self, topic: str, amount: int, partitions: Sequence[int] = ALL) -> None:
        """So many records for each of these partitions."""
        if self.is_transactional:
            self.source.produce_in_transactions(topic, amount, partitions)
        else:
            self.source.produce(topic, amount, partitions)

    def await_topic(self, topic: str) -> None:
        """Wait until the target has the topic."""
        wait_until(lambda: self.copy_of(topic) in self.target.topics(), f"{self.copy_of(topic)}", 60, 0.2)

    def begin(self) -> str:
        """A topic with one record, to see when the mirror is at work."""
        topic = self.new_topic()
        self.write(topic, 1, [0])
        return topic

    def await_begun(self, topic: str) -> None:
        """Wait until that record is mirrored; what Spark takes to start on a busy machine is not measured."""
        copy = self.copy_of(topic)

        def has_begun() -> bool:
            return copy in self.target.topics() and self.target.ends(copy, [0])[0] > 0

        wait_until(has_begun, f"{self.label} to be mirrored", START_SECONDS, 0.5)

    def expect_copy(self, topic: str) -> None:
        """Wait for as many records as the source has, and see that they are the same."""
        self.await_topic(topic)
        expected = self.source.contents(topic)
        copied: Contents = {}

        def is_long_enough() -> bool:
            """Contents are read only when there may be enough of them."""
            ends = self.target.ends(self.copy_of(topic))
            if any(ends[number] < len(records) for number, records in expected.items()):
                return False
            copied.update(self.target.contents(self.copy_of(topic)))
            return _count(copied) >= _count(expected)

        wait_until(is_long_enough, f"{_count(expected)} records in {self.copy_of(topic)}", 60, 0.2)
        assert copied == expected

    # -- groups --------------------------------------------------------------------------------------------

    def commit_after(self, group: str, topic: str, amount: int) -> dict[int, int]:
        """Commit on the source behind so many records of each partition; where there are none, at the beginning."""
        offsets = {
            number: records[amount - 1].offset + 1 if records else 0
            for number, records in self.source.read(topic).items()
        }
        self.source.commit(group, topic, offsets)
        return offsets

    def checkpoints(self, group: str, topic: str) -> list[Checkpoint]:
        """All checkpoints of a group and topic, in the order in which they were written."""
        found = [Checkpoint.decode(*record) for record in self.target.own_records(self._checkpoints_topic)]
        return [item for item in found if item.group == group and item.target.topic == self.copy_of(topic)]

    @property
    def _checkpoints_topic(self) -> str:
        return f"{self.source.alias}.checkpoints.internal"

    def _growth_of(self, topic: str) -> Callable[[], bool]:
        """Tells whether a topic of the mirror's own on the target has grown since it was asked before."""
        seen = [0]

        def has_grown() -> bool:
            if not seen[0] and topic not in self.target.topics():
                return False
            before, seen[0] = seen[0], self.target.ends(topic, [0])[0]
            return seen[0] > before

        return has_grown

    def await_checkpoints(self, group: str, topic: str, committed: Offsets) -> dict[int, int]:
        """Wait until the newest checkpoints tell of these commits; returns what clients make of them.

        Without transactions the books are written after the data: until they are, checkpoints lead a little earlier.
        """
        has_grown = self._growth_of(self._checkpoints_topic)

        def are_there() -> bool:
            if not has_grown():
                return False
            newest = {item.target.partition: item for item in self.checkpoints(group, topic)}
            is_level = self.is_exactly_once or all(
                item.downstream_offset == item.upstream_offset for item in newest.values()
            )
            return is_level and {number: item.upstream_offset for number, item in newest.items()} == committed

        wait_until(are_there, f"checkpoints of {group} for {committed}", 30, 0.2)
        with self.client() as client:
            found = client.remote_consumer_offsets(group, self.source.alias)
        copy = self.copy_of(topic)
        return {where.partition: item.offset for where, item in found.items() if where.topic == copy}

    def await_group(self, group: str, topic: str) -> dict[int, int]:
        """Wait until the group has an offset for each partition of the copy; returns these.

        Without transactions the books are written after the data: until they are, a group stands a little earlier.
        """
        copy = self.copy_of(topic)

        def is_there() -> bool:
            found = self.target.committed(group, copy)
            is_level = self.is_exactly_once or found == self.source.committed(group, topic)
            return len(found) == PARTITIONS and is_level

        wait_until(is_there, f"offsets of {group} for {copy}", 30, 0.2)
        return self.target.committed(group, copy)

    def await_group_at(self, group: str, topic: str, places: Offsets) -> None:
        """Wait until the group stands on the target at these places of the copy."""
        copy = self.copy_of(topic)
        wait_until(lambda: self.target.committed(group, copy) == places, f"{group} to follow to {places}", 30, 0.2)

    def expect_rest(self, topic: str, places: Offsets, consumed: int) -> None:
        """Whoever goes on at these places of the copy reads all but the first so many records, each once."""
        rest = {number: items[consumed:] for number, items in self.source.contents(topic).items()}
        assert self.target.contents(self.copy_of(topic), places) == rest

    # -- the mirror's own records --------------------------------------------------------------------------

    def heartbeats(self, topic: str) -> list[tuple[str, str]]:
        """The aliases in heartbeats on the target."""
        found = (Heartbeat.decode(*record) for record in self.target.own_records(topic))
        return [(item.source_alias, item.target_alias) for item in found]


def expect_monotonic(checkpoints: Sequence[Checkpoint]) -> None:
    """No partition ever goes back, neither on the source nor on the target."""
    last: dict[int, Checkpoint] = {}
    for item in checkpoints:
        before = last.get(item.target.partition, item)
        assert item.upstream_offset >= before.upstream_offset
        assert item.downstream_offset >= before.downstream_offset
        last[item.target.partition] = item


def _count(contents: Contents) -> int:
    return sum(map(len, contents.values()))
