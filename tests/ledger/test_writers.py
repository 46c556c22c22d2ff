"""When it is not known who writes for a flow, nobody may be taken for a stranger."""

from __future__ import annotations

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused, BrokerUnavailable
from heliograph.kafka import reading
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.ledger import writers as writers_module
from heliograph.ledger.writers import FlowWriters, KnownWriters
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.internal_topics import announce, create_all, fresh_names

pytestmark = pytest.mark.kafka

SOME_ID = 4711


def test_a_flow_without_state_has_not_begun_and_may_later(primary: EmbeddedCluster) -> None:
    names = fresh_names()
    with raw.network(primary.bootstrap_servers) as connected:
        writers = FlowWriters(*connected, names)
        assert not writers.wrote(SOME_ID)
        create_all(primary.bootstrap_servers, names)
        assert not writers.wrote(SOME_ID + 2)  # the topics alone say nothing
        announce(primary.bootstrap_servers, names, SOME_ID + 1)
        assert writers.wrote(SOME_ID + 1)
        assert writers.all() == {SOME_ID + 1}


def test_who_writes_while_a_broker_does_not_know_of_the_flow_is_no_stranger_for_good(primary: EmbeddedCluster) -> None:
    """Brokers hear of new topics one after the other, and lanes write at once."""
    names = fresh_names()
    with raw.network(primary.bootstrap_servers) as connected:
        writers, alone = FlowWriters(*connected, names), FlowWriters(*connected, names)
        writers.meet([SOME_ID])
        assert not writers.wrote(SOME_ID)
        assert not alone.wrote(SOME_ID)
        announce(primary.bootstrap_servers, create_all(primary.bootstrap_servers, names), SOME_ID)
        writers.meet([SOME_ID])
        assert writers.wrote(SOME_ID)
        wait_until(lambda: alone.wrote(SOME_ID), "one who does not meet them to look again", 5)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics whose ends are asked for."""
    asked: list[str] = []
    original = reading.list_offsets

    def ask(network: Network, topic: str, *arguments: object) -> dict[int, int]:
        asked.append(topic)
        return original(network, topic, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "list_offsets", ask)
    return asked


def test_one_look_tells_of_all_that_were_met_and_no_other_session_of_the_process_looks_again(
    primary: EmbeddedCluster, looks: list[str]
) -> None:
    names = create_all(primary.bootstrap_servers)
    announce(primary.bootstrap_servers, names, 1, 2)
    with raw.network(primary.bootstrap_servers) as connected:
        FlowWriters(*connected, names).wrote(1)
        looks.clear()
        writers = FlowWriters(*connected, names)
        writers.meet([*range(100), -1])
        assert [number for number in range(-1, 100) if writers.wrote(number)] == [1, 2]
        assert len(looks) == 1
        later = FlowWriters(*connected, names)
        later.meet(range(1, 100))
        assert [number for number in range(3, 100) if later.wrote(number)] == []
        assert len(looks) <= 2


def test_so_many_strangers_as_there_are_take_no_memory_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers_module, "_MOST_OTHERS", 50)
    known = KnownWriters()
    known.ids.add(7)
    for first in range(0, 1_000, 10):
        known.note_others(range(first, first + 10))
        assert first + 9 in known.others
    assert len(known.others) <= 60
    assert 7 not in known.others


def test_a_state_that_cannot_be_asked_for_is_no_flow_that_has_not_begun(primary: EmbeddedCluster) -> None:
    with raw.network(primary.bootstrap_servers) as connected:
        writers = FlowWriters(*connected, fresh_names()._replace(state="no name of a topic!"))
        with pytest.raises(BrokerRefused, match="no name of a topic!"):
            writers.wrote(SOME_ID)
        with pytest.raises(BrokerRefused, match="no name of a topic!"):
            writers.wrote(SOME_ID)  # nor is the id remembered as somebody else's


def test_a_ledger_of_version_0_1_0_must_be_taken_over_first(primary: EmbeddedCluster) -> None:
    names = create_all(primary.bootstrap_servers)
    former = b'{"kind":"producer","flow":"a->b","writtenAt":1,"owner":"me","producerId":4711}'
    batch = raw.batch_of([Record(0, 1, b"a->b", former)])
    raw.append(primary.bootstrap_servers, TopicPartition(names.ledger, 0), [batch])
    with raw.network(primary.bootstrap_servers) as connected:
        writers = FlowWriters(*connected, names)
        with pytest.raises(BrokerUnavailable, match=r"was written by Heliograph 0\.1\.0"):
            writers.wrote(SOME_ID)
        announce(primary.bootstrap_servers, names, SOME_ID)
        assert writers.wrote(SOME_ID)
