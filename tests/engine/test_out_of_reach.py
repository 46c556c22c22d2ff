"""A leader of the source that others can reach, and a lane cannot: its partitions wait, and hold up no other."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import pytest

from heliograph.engine import lane_session
from heliograph.engine.lane_session import LaneSession
from heliograph.kafka.network import Leader, Network
from heliograph.model import Event, EventKind
from tests.engine import ward as ward_module
from tests.engine.lane_bench import MakeMirror
from tests.engine.ward import Ward

pytestmark = pytest.mark.kafka

UNREACHABLE = 99


@dataclass
class Cut:
    """A topic of which lanes hear that a broker leads it that takes connections, and says nothing."""

    topic: str = ""


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cut]:
    made, look_up = Cut(), Network.look_up
    with socket.create_server(("127.0.0.1", 0)) as mute:

        def misled(network: Network, topics: Collection[str]) -> dict[str, int]:
            failures = look_up(network, topics)
            if network.access.alias == "primary" and made.topic in network._leaders:
                network._addresses[UNREACHABLE] = mute.getsockname()
                leaders = network._leaders[made.topic]
                leaders.update(dict.fromkeys(leaders, Leader(UNREACHABLE, 0)))
            return failures

        monkeypatch.setattr(Network, "look_up", misled)
        monkeypatch.setattr(ward_module, "PATIENCE_SECONDS", 15.0)
        yield made


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[LaneSession]:
    begun: list[LaneSession] = []
    start = LaneSession.start
    monkeypatch.setattr(LaneSession, "start", lambda session: begun.append(session) or start(session))
    return begun


@pytest.fixture
def newcomer(make_mirror: MakeMirror, ward: Ward) -> Ward:
    """Two topics with ten records each, of which only the second was ever mirrored."""
    first = make_mirror()
    made = replace(ward, pairs={**first.pairs, ward.well: ward.pairs[ward.well]})
    made.feed(made.bad, range(10))
    return made


def test_a_new_partition_whose_leader_cannot_be_asked_holds_up_no_other(
    newcomer: Ward, cut: Cut, sessions: list[LaneSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_session, "_LONG_SECONDS", 1.0)
    cut.topic = newcomer.bad.topic
    newcomer.feed(newcomer.well, range(10, 15))
    with newcomer.lane_walk() as walk:
        walk.until_copied({newcomer.well: 15})
        [told] = walk.until_told(1)
        assert (told.kind, told.source) == (EventKind.SET_ASIDE, newcomer.bad)
        assert told.reason == "its leader on the source is out of reach; it goes on when the leader is back"
        cut.topic = ""
        walk.until_copied({newcomer.bad: 10})
        walk.until_told(2)
    assert len(sessions) == 1
    assert newcomer.events() == [told, Event(EventKind.RESUMED, newcomer.bad, 0, -1, "goes on")]
    assert newcomer.copied(newcomer.bad) == list(range(10))


def test_a_topic_that_was_created_again_where_nobody_can_ask_holds_up_no_other(
    ward: Ward, cut: Cut, sessions: list[LaneSession]
) -> None:
    ward.delete_topic()
    ward.create_again(range(7))
    cut.topic = ward.bad.topic
    ward.feed(ward.well, range(10, 15))
    with ward.lane_walk() as walk:
        walk.until_copied({ward.well: 15})
        assert walk.events == []
        cut.topic = ""
        assert [event.kind for event in walk.until_told(2)] == [EventKind.RECREATED, EventKind.SET_ASIDE]
    assert len(sessions) == 1
