"""The producer ids of years take little room, stay known, and are lost by nobody who packs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from heliograph.control.producer_pages import ProducerPages
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import reading, writing
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import ProducerPage
from heliograph.ledger.writers import FlowWriters, KnownWriters
from heliograph.model import TopicPartition
from tests.control.test_standing import flow_to
from tests.zoo import raw
from tests.zoo.internal_topics import announce

pytestmark = pytest.mark.kafka

FIRST = 4_000_000_000  # as on a cluster that has given out many ids


class Scene:
    """A flow whose state is written by hand."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.servers = cluster.bootstrap_servers
        self.flow: FlowDriver = flow_to(self.servers)
        self.topics = self.flow.settings.topics

    def announce(self, *producer_ids: int) -> None:
        announce(self.servers, self.topics, *producer_ids)

    def pack(self, least: int = 1) -> str:
        return ProducerPages(self.flow, least).pack()

    def known(self) -> frozenset[int]:
        """What a process finds that has just begun."""
        with raw.network(self.servers, self.topics.state) as (loop, network):
            known = KnownWriters()
            known.follow(loop, network, self.topics.state)
            return frozenset(known.ids)

    def kept(self) -> dict[bytes, bytes]:
        """What compaction leaves of the state."""
        with raw.network(self.servers, self.topics.state) as (loop, network):
            found = list(reading.read_to_end(loop, network, self.topics.state, {0: 0}))
        newest = {record.key or b"": record.value for _, record in found}
        return {key: value for key, value in newest.items() if value}

    def pages(self) -> list[Sequence[int]]:
        told = map(entries.decode, self.kept().values())
        return [page.numbers() for page in told if isinstance(page, ProducerPage)]


@pytest.fixture
def scene(backup: EmbeddedCluster) -> Scene:
    return Scene(backup)


def test_many_ids_become_few_small_records_and_stay_known(scene: Scene) -> None:
    ids = {FIRST + 3 * number for number in range(2_500)}
    scene.announce(*ids)
    before = sum(map(len, scene.kept().values()))
    assert scene.pack() == "2500 producer ids packed"
    kept = scene.kept()
    assert len(kept) == 3 + 1  # pages, and the owner
    assert sum(map(len, kept.values())) < before / 50
    assert scene.known() == ids


def test_few_ids_stay_as_they_are(scene: Scene) -> None:
    scene.announce(7, 8)
    assert scene.pack(least=3) == ""
    assert scene.known() == {7, 8}
    assert not scene.pages()


def test_an_id_that_is_announced_again_comes_into_no_second_page(scene: Scene) -> None:
    scene.announce(7, 8)
    scene.pack()
    scene.announce(8, 9)
    assert scene.known() == {7, 8, 9}
    scene.pack()
    assert sorted(scene.pages()) == [[7, 8], [9]]
    assert len(scene.kept()) == 2 + 1


def test_whoever_dies_between_pages_and_what_they_stand_for_loses_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.announce(7, 8)
    append = writing.append

    def write_pages_only(loop: Loop, network: Network, where: TopicPartition, written: Sequence[Record]) -> int:
        if written[0].value is None:
            raise BrokerUnavailable("gone")
        return append(loop, network, where, written)

    monkeypatch.setattr(writing, "append", write_pages_only)
    with pytest.raises(BrokerUnavailable):
        scene.pack()
    monkeypatch.undo()
    assert scene.known() == {7, 8}
    scene.announce(9)
    scene.pack()
    assert scene.known() == {7, 8, 9}
    assert sorted(scene.pages()) == [[7, 8], [9]]


def test_a_page_is_safe_before_the_records_go_that_it_stands_for(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.announce(7, 8)
    append = writing.append

    def check(loop: Loop, network: Network, where: TopicPartition, written: Sequence[Record]) -> int:
        if written[0].value is None:
            assert scene.pages() == [[7, 8]]
        return append(loop, network, where, written)

    monkeypatch.setattr(writing, "append", check)
    assert scene.pack()


def test_a_former_owner_that_wakes_up_in_the_middle_takes_nothing_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.announce(1, 2, 9)
    follow = KnownWriters.follow

    def follow_and_freeze(known: KnownWriters, loop: Loop, network: Network, topic: str) -> None:
        follow(known, loop, network, topic)
        monkeypatch.undo()
        scene.announce(3, 4)
        scene.pack()
        scene.announce(5)
        scene.pack()

    monkeypatch.setattr(KnownWriters, "follow", follow_and_freeze)
    scene.pack()
    assert {number for page in scene.pages() for number in page} == {1, 2, 3, 4, 5, 9}


@pytest.fixture
def read_batches(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], list[int]]:
    """Does something during the first read; notes how many batches each read gave."""

    def install(during: Callable[[], None]) -> list[int]:
        counts: list[int] = []
        original = reading.read_batches

        def read(*args: object, **kwargs: object) -> Iterator[CommittedBatch]:
            found = list(original(*args, **kwargs))  # type: ignore[arg-type]
            if not counts:
                during()
            counts.append(len(found))
            yield from found

        monkeypatch.setattr(reading, "read_batches", read)
        return counts

    return install


def test_an_id_whose_record_goes_while_we_read_is_found_in_its_page(
    scene: Scene, read_batches: Callable[[Callable[[], None]], list[int]]
) -> None:
    scene.announce(7)
    read_batches(lambda: scene.announce(8))  # stands for a page behind the end that was seen
    assert scene.known() == {7, 8}


def test_a_process_reads_only_what_is_new(
    scene: Scene, read_batches: Callable[[Callable[[], None]], list[int]]
) -> None:
    for number in range(20):
        scene.announce(number)
    with raw.network(scene.servers) as connected:
        assert FlowWriters(*connected, scene.topics).wrote(11)
    counts = read_batches(lambda: None)
    with raw.network(scene.servers) as connected:
        writers = FlowWriters(*connected, scene.topics)  # of the next lane in the same process
        assert writers.wrote(11)
        assert not writers.wrote(99)
        scene.announce(99 + 1)
        assert writers.wrote(100)
    assert counts == [1]
