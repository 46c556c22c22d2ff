"""What is written down of an offset map, and what is deleted from the ledger then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import kafka
import pytest
from kafka import KafkaAdminClient

from heliograph.control import map_keeper
from heliograph.control.map_keeper import MapKeeper
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.tables.appending import Appending, Stream
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.ledger.offset_map import Place
from heliograph.model import LedgerEntry, PartitionProgress, Run, TopicPartition
from heliograph.sync.ledger_reader import LedgerReader
from tests.control.test_standing import flow_to
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

PARTITIONS = 6


class Scene:
    """A flow of one partition whose ledger is written by hand."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.servers = cluster.bootstrap_servers
        self.flow = flow_to(self.servers)
        self.topics = self.flow.settings.topics
        self.source = TopicPartition("orders", 0)
        self.target = TopicPartition(create_topic(self.servers, fresh_name("kept")), 0)
        self._next = Run(0, 0, 0)
        self._many = 0

    def copy(self, transactions: int, owner: str = "me") -> None:
        """Each of ten records and a marker."""
        values = []
        for _ in range(transactions):
            run = Run(self._next.source, self._next.target, 10)
            progress = PartitionProgress(self.source, self.target, (run,), run.source + 9, 1000, 1)
            values.append(entries.encode_entry(LedgerEntry("a->b", 0, owner, 7, 1, (progress,))))
            self._next = Run(run.source + 10, run.target + 11, 0)
        batch = raw.batch_of([entries.record("a->b", 1, value) for value in values])
        raw.append(self.servers, TopicPartition(self.topics.ledger, 0), [batch])

    def copy_many(self, transactions: int) -> None:
        """Of all six partitions in each transaction; what `many_are_exact` asks for."""
        values = []
        for number in range(self._many, self._many + transactions):
            run, done = Run(number * 10, number * 11, 10), number * 10 + 9
            parts = [
                PartitionProgress(TopicPartition("orders", n), TopicPartition(self.target.topic, n), (run,), done, 1, 1)
                for n in range(PARTITIONS)
            ]
            values.append(entries.encode_entry(LedgerEntry("a->b", 0, "me", 7, 1, tuple(parts))))
        self._many += transactions
        batch = raw.batch_of([entries.record("a->b", 1, value) for value in values])
        raw.append(self.servers, TopicPartition(self.topics.ledger, 0), [batch])

    def many_are_exact(self) -> bool:
        """Whether somebody who has just begun knows all of that."""
        reader = self.reader()
        assert reader.read({})
        offsets = (0, 5, self._many * 5 + 3, self._many * 10 - 1)
        asked = [(TopicPartition("orders", n), offset) for n in range(PARTITIONS) for offset in offsets]
        return all(reader.offset_map.to_target(*one) == Place(one[1] + one[1] // 10, True) for one in asked)

    def keeper(self, keeps_ms: int = 1, keeps_offsets: int = 0) -> MapKeeper:
        """Of a process that has just begun."""
        return MapKeeper(self.flow, self.reader(), keeps_ms, keeps_offsets)

    def reader(self) -> LedgerReader:
        return LedgerReader(self.flow.settings.target, "a", self.topics)

    def place(self, offset: int) -> Place | None:
        """Where somebody finds a source offset who has just begun."""
        reader = self.reader()
        assert reader.read({})
        return reader.offset_map.to_target(self.source, offset)

    def stored(self) -> dict[bytes, bytes]:
        """What compaction leaves of the map; what is not committed yet does not count."""
        topic = self.topics.offset_map
        newest: dict[bytes, bytes | None] = {}
        with raw.network(self.servers, topic) as (loop, network):
            ends = reading.list_offsets(network, topic, {0: reading.LATEST}, READ_COMMITTED)
            for batch in reading.read_batches(loop, network, topic, {0: 0}, ends):
                newest |= {record.key or b"": record.value for record in records.decode(batch.magic, batch.data)}
        return {key: value for key, value in newest.items() if value}

    def ahead(self) -> int:
        """How many partitions are said to be written further than the whole map."""
        return len([key for key in self.stored() if key[:1] == b"a"])

    def ledger_begins(self) -> int:
        return self._bound(reading.EARLIEST)

    def ledger_ends(self) -> int:
        return self._bound(reading.LATEST)

    def _bound(self, which: int) -> int:
        with raw.network(self.servers, self.topics.ledger) as (_, network):
            return reading.list_offsets(network, self.topics.ledger, {0: which})[0]


@pytest.fixture
def scene(backup: EmbeddedCluster) -> Scene:
    return Scene(backup)


def test_what_is_written_down_is_deleted_from_the_ledger_and_still_exact(scene: Scene) -> None:
    scene.copy(3_000)
    assert "the ledger begins at 3000 now" in scene.keeper().keep()
    assert scene.ledger_begins() == 3_000
    for offset in (0, 5, 12_345, 29_999):
        assert scene.place(offset) == Place(offset + offset // 10, True)


def test_what_comes_after_is_read_from_the_ledger_and_written_down_in_turn(scene: Scene) -> None:
    keeper = scene.keeper()
    scene.copy(1_500)
    keeper.keep()
    scene.copy(10)
    assert scene.place(15_042) == Place(15_042 + 1_504, True)
    assert keeper.keep().startswith("2 records written")  # a head, and the page that grows
    assert keeper.keep() == ""
    scene.copy(10)
    scene.keeper().keep()  # a later process
    assert scene.place(15_142) == Place(15_142 + 1_514, True)


def test_the_last_minutes_and_the_last_offsets_stay(scene: Scene) -> None:
    scene.copy(100)
    scene.keeper(keeps_offsets=30).keep()
    assert scene.ledger_begins() == 70
    scene.copy(100)
    scene.keeper(keeps_ms=10**13).keep()
    assert scene.ledger_begins() == 70


def test_what_the_map_does_not_have_yet_stays_in_the_ledger(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = scene.keeper()
    scene.copy(50)
    write = keeper._write

    def write_while_lanes_go_on(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        scene.copy(20)

    monkeypatch.setattr(keeper, "_write", write_while_lanes_go_on)
    keeper.keep()
    assert (scene.ledger_begins(), scene.ledger_ends()) == (50, 70)
    assert scene.place(642) == Place(642 + 64, True)


def test_half_a_map_is_never_seen_and_a_later_round_writes_it_whole(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = scene.keeper()
    scene.copy(2_500)
    finish = Appending.finish

    def finish_and_die(self: Appending, streams: list[Stream]) -> None:
        finish(self, streams)
        raise BrokerUnavailable("gone before the commit")

    monkeypatch.setattr(Appending, "finish", finish_and_die)
    with pytest.raises(BrokerUnavailable):
        keeper.keep()
    monkeypatch.undo()
    assert scene.ledger_begins() == 0
    assert scene.place(24_321) == Place(24_321 + 2_432, True)
    keeper.keep()
    assert scene.ledger_begins() == 2_500
    assert scene.place(321) == Place(321 + 32, True)


def test_a_mirror_that_gets_a_flow_back_takes_up_what_others_have_written_meanwhile(scene: Scene) -> None:
    """Its own map ends where the ledger, as others have left it, does not begin."""
    ours, theirs = scene.keeper(), scene.keeper()
    scene.copy(1_500)
    ours.keep()
    scene.copy(1_500, owner="another")
    theirs.keep()
    scene.copy(1_500, owner="me again")
    ours.keep()
    for offset in (14_999, 15_001, 29_999, 30_000, 44_999):
        assert scene.place(offset) == Place(offset + offset // 10, True)


def test_who_only_translates_takes_up_what_others_have_written_too(scene: Scene) -> None:
    reader = scene.reader()
    scene.copy(1_500)
    reader.read({})
    scene.copy(1_500)
    scene.keeper().keep()
    scene.copy(10)
    reader.read({})
    for offset in (14_999, 15_001, 29_999, 30_000, 30_099):
        assert reader.offset_map.to_target(scene.source, offset) == Place(offset + offset // 10, True)


def test_another_owner_may_have_let_others_copy_before_it(scene: Scene) -> None:
    scene.copy(3, owner="one")
    scene.keeper().keep()
    scene._next = Run(50, 70, 0)  # MirrorMaker 2 has copied from 30 on
    scene.copy(1, owner="two")
    assert scene.place(35) == Place(32, False)
    scene.keeper().keep()
    assert scene.place(35) == Place(32, False)
    assert scene.place(55) == Place(75, True)


def test_a_ledger_that_was_created_anew_is_read_from_its_beginning(scene: Scene) -> None:
    scene.copy(40)
    scene.keeper().keep()
    with closing(KafkaAdminClient(bootstrap_servers=scene.servers)) as admin:
        admin.delete_topics([scene.topics.ledger])
        wait_until(lambda: scene.topics.ledger not in admin.list_topics(), "the ledger to be gone")
    create_topic(scene.servers, scene.topics.ledger)
    scene.copy(41)
    assert scene.place(805) == Place(805 + 80, True)
    assert scene.place(395) == Place(395 + 39, True)
    assert scene.place(405) == Place(405 + 40, True)  # its entry lies before where the former ledger ended


def test_nobody_asks_for_what_the_target_has_deleted(scene: Scene) -> None:
    scene.copy(4_000)
    raw.append(scene.servers, scene.target, [raw.batch_of(numbered(100)) for _ in range(250)])
    with closing(KafkaAdminClient(bootstrap_servers=scene.servers)) as admin:
        admin.delete_records({kafka.TopicPartition(*scene.target): 24_000})
    scene.keeper().keep()
    reader = scene.reader()
    reader.read({})
    known = reader.offset_map.of(scene.source)
    assert known is not None
    assert 1_000 < len(known) < 2_500
    assert scene.place(30_000) == Place(33_000, True)


def test_a_topic_that_is_gone_leaves_nothing_behind(scene: Scene) -> None:
    scene.copy(2_000)
    keeper = scene.keeper()
    keeper.keep()
    with closing(KafkaAdminClient(bootstrap_servers=scene.servers)) as admin:
        admin.delete_topics([scene.target.topic])
        wait_until(lambda: scene.target.topic not in admin.list_topics(), "the topic to be gone")
    keeper._looked_at_targets = float("-inf")
    keeper.keep()
    assert scene.reader().read({})
    assert scene.place(5) is None


def freeze_behind_reading(keeper: MapKeeper, meanwhile: Callable[[], None]) -> None:
    """Let something happen between what a keeper reads and what it writes."""
    follow = keeper._ledger.follow
    moments = iter([meanwhile])

    def follow_and_freeze(loop: Loop, network: Network) -> None:
        follow(loop, network)
        next(moments, lambda: None)()

    keeper._ledger.follow = follow_and_freeze  # type: ignore[method-assign]


def test_a_keeper_that_was_frozen_takes_up_what_others_have_written_meanwhile(scene: Scene) -> None:
    """They have deleted from the ledger what it knows nothing of."""
    ours, theirs = scene.keeper(), scene.keeper()
    scene.copy(1_500)
    ours.keep()
    scene.copy(10)

    def go_on() -> None:
        scene.copy(3_000)
        theirs.keep()
        scene.copy(10)

    freeze_behind_reading(ours, go_on)
    ours.keep()
    assert scene.ledger_begins() == 4_520
    for offset in (5, 15_001, 15_101, 30_000, 45_101, 45_199):
        assert scene.place(offset) == Place(offset + offset // 10, True)


@pytest.mark.parametrize("is_frozen", [True, False], ids=["frozen", "late"])
def test_a_former_owner_writes_nothing(scene: Scene, is_frozen: bool) -> None:
    keeper = scene.keeper()
    scene.copy(100)
    another = [entries.owner_record("a->b", "another", 5)]

    def take_over() -> None:
        with Writer(scene.flow.settings.target) as writer:
            writer.append(TopicPartition(scene.topics.state, 0), another)

    if is_frozen:
        freeze_behind_reading(keeper, take_over)
    else:
        take_over()
    assert keeper.keep() == "the flow belongs to another mirror by now"
    assert scene.stored() == {}
    assert scene.ledger_begins() == 0


def let_die_after(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the transaction after so many fail."""
    end, done = TransactionalProducer.end, iter(range(commits))

    def end_or_die(producer: TransactionalProducer, commit: bool) -> None:
        if next(done, None) is None:
            raise BrokerUnavailable("gone")
        end(producer, commit)

    monkeypatch.setattr(TransactionalProducer, "end", end_or_die)


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes-on", "another-begins"])
@pytest.mark.parametrize("commits", [1, 2, 5])
def test_a_large_change_is_written_in_parts_and_stays_exact_wherever_that_ends(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, commits: int, goes_on: bool
) -> None:
    monkeypatch.setattr(map_keeper, "_PART_BYTES", 1, raising=False)
    keeper = scene.keeper()
    scene.copy_many(1_200)
    assert keeper.keep()
    scene.copy_many(1_200)
    let_die_after(commits, monkeypatch)
    with pytest.raises(BrokerUnavailable):
        keeper.keep()
    monkeypatch.undo()
    wait_until(lambda: scene.ahead() == commits, "the commits to be visible")
    assert scene.many_are_exact()
    scene.copy_many(3)
    assert scene.many_are_exact()
    assert (keeper if goes_on else scene.keeper()).keep()
    assert scene.ledger_begins() == 2_403
    assert scene.many_are_exact()
    assert scene.ahead() == 0


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes-on", "another-begins"])
def test_the_first_map_is_written_in_parts_and_counts_when_it_is_whole(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    monkeypatch.setattr(map_keeper, "_PART_BYTES", 1, raising=False)
    keeper = scene.keeper()
    scene.copy_many(2_400)
    let_die_after(7, monkeypatch)
    with pytest.raises(BrokerUnavailable):
        keeper.keep()
    monkeypatch.undo()
    wait_until(lambda: len(scene.stored()) == 7, "the commits to be visible")
    assert scene.many_are_exact()
    scene.copy_many(1)
    assert (keeper if goes_on else scene.keeper()).keep()
    assert scene.ledger_begins() == 2_401
    assert scene.many_are_exact()
