"""Source and target of a lane share one loop: whoever runs it, each trouble reaches whom it concerns."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from heliograph.engine import lane_session
from heliograph.engine.lane_session import LaneSession
from heliograph.engine.loss import Loss, Suspicion
from heliograph.engine.outgoing import Outgoing
from heliograph.kafka import connection
from heliograph.kafka.connection import Connection
from heliograph.kafka.fetching import FetchPoint
from heliograph.kafka.network import Network
from tests.engine.lane_bench import QUICK, MakeMirror
from tests.engine.test_set_aside import LARGE, LIMIT, expect_set_aside, mirror_to
from tests.engine.ward import Ward
from tests.zoo import raw
from tests.zoo.odd_records import numbered

pytestmark = pytest.mark.kafka


class Held:
    """Connections to the target whose answers nobody reads, from the first data that is sent on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connections: list[Connection] = []
        self.at_first: Callable[[Outgoing], None] = lambda _: None
        self._is_over = False
        send_request = Outgoing._send_request

        def send_and_hold(sender: Outgoing, broker_id: int, most_runs: float) -> None:
            send_request(sender, broker_id, most_runs)
            if not self._is_over:
                self._is_over = True
                held = sender._network.connection(broker_id)
                held._loop.unregister(held._socket)
                self.connections.append(held)
                self.at_first(sender)

        monkeypatch.setattr(Outgoing, "_send_request", send_and_hold)

    def await_answers(self) -> None:
        """Wait until there is something to read on each."""
        for held in self.connections:
            assert select.select([held._socket], [], [], 30)[0]

    def let_go(self) -> None:
        """Let the answers in."""
        while self.connections:
            held = self.connections.pop()
            held._loop.register(held._socket, held)

    def cut(self) -> None:
        """Lose the connections, and with them the answers that have come."""
        for held in self.connections:
            with contextlib.suppress(BlockingIOError):
                while held._socket.recv(1 << 16):
                    pass
            break_off(held)
        self.let_go()


def break_off(made: Connection) -> None:
    """Cut a connection off, without a word to its owner."""
    made._socket.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Nobody has sent anything yet."""
    made = Held(monkeypatch)
    yield made
    for kept in made.connections:  # which no loop knows of
        kept._socket.close()


def test_a_target_that_is_lost_while_a_source_broker_introduces_itself_is_not_forgotten(
    make_mirror: MakeMirror, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = make_mirror()
    mirror.write([numbered(5)])
    introduce, lines = Connection._introduce, Network.connection
    to_source: list[Connection] = []
    cuts: list[float] = []
    # Should the loss be forgotten, a limit would end the session all the same: here it must not come into it.
    monkeypatch.setattr(connection, "_HOPELESS_SECONDS", 60.0)

    def note(network: Network, broker_id: int) -> Connection:
        made = lines(network, broker_id)
        if network.access.alias == "primary":
            to_source.append(made)
        return made

    def lose_the_target_meanwhile(made: Connection, host: str) -> None:
        if held.connections and made.name.startswith("primary"):
            cuts.append(time.monotonic())
            held.cut()
        introduce(made, host)

    monkeypatch.setattr(Network, "connection", note)
    monkeypatch.setattr(Connection, "_introduce", lose_the_target_meanwhile)
    held.at_first = lambda _: break_off(to_source[0])
    mirror.copy_all()
    assert len(cuts) == 1
    assert time.monotonic() - cuts[0] < 20
    mirror.assert_equal(at_least=5)


def test_a_refusal_on_the_target_is_not_taken_for_that_of_a_partition_that_is_being_examined(
    ward: Ward, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror_to(ward, {"max.message.bytes": str(LIMIT)})
    sessions: list[LaneSession] = []
    asked: list[str] = []
    start, examine = LaneSession.start, lane_session.examine

    def note(session: LaneSession) -> None:
        sessions.append(session)
        start(session)

    def examine_while_answers_come(source: Network, point: FetchPoint, suspicion: Suspicion) -> Loss | None:
        asked.append(point.topic)
        held.await_answers()
        held.let_go()
        return examine(source, point, suspicion)

    monkeypatch.setattr(LaneSession, "start", note)
    monkeypatch.setattr(lane_session, "examine", examine_while_answers_come)
    held.at_first = lambda _: sessions[-1]._suspicions.update({ward.well: Suspicion()})
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(numbered(1, 10, LARGE))])
    aside = expect_set_aside(ward)
    assert asked == [ward.well.topic]
    assert "MESSAGE_SIZE_TOO_LARGE; it has offsets 10 to 10 of the source" in aside.reason


def test_a_lane_ends_in_time_though_the_target_never_answers(make_mirror: MakeMirror, held: Held) -> None:
    mirror = make_mirror()
    mirror.write([numbered(5)])
    settings = replace(QUICK, transaction_timeout_ms=2_000)
    asked_to_end: list[float] = []

    def should_end() -> bool:
        if held.connections and not asked_to_end:
            asked_to_end.append(time.monotonic())
        return bool(asked_to_end)

    assert list(mirror.lane(should_end, settings)) == []
    assert time.monotonic() - asked_to_end[0] < 10
    mirror.copy_all()
    mirror.assert_equal(at_least=5)
