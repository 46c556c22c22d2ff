"""Which broker is asked, and what becomes of questions when brokers go away."""

from __future__ import annotations

import resource
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from kafka.protocol.metadata import MetadataRequest

from heliograph.config.stores import TlsSettings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.errors import BrokerUnavailable, ClusterError
from heliograph.kafka import connection, fetching
from heliograph.kafka.access import Access
from heliograph.kafka.connecting import Connecting
from heliograph.kafka.connection import Connection, Loop
from heliograph.kafka.fetching import FetchLimits, FetchPoint, FetchSession
from heliograph.kafka.network import Network
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

HOST = "127.0.0.1"


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def alive(primary: EmbeddedCluster) -> int:
    """The port of a broker that works."""
    return primary.brokers[0].spec.listeners[0].port


@pytest.fixture
def dead() -> int:
    """A port that nobody listens on."""
    return free_ports(1)[0]


@pytest.fixture
def mute() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server((HOST, 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that takes no more connections, and does not refuse them either, as that of a machine that is gone."""
    with ExitStack() as opened, socket.create_server((HOST, 0), backlog=0) as server:
        for _ in range(4):
            caller = opened.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def network(loop: Loop, *ports: int) -> Network:
    return Network(loop, Access("test", [f"{HOST}:{port}" for port in ports]))


def break_off(made: Connection) -> None:
    """Cut a connection off, without a word to its owner."""
    made._socket.shutdown(socket.SHUT_RDWR)


# -- connecting --------------------------------------------------------------------------------------------------------


def test_a_dead_server_is_passed_over_and_tried_last_from_then_on(loop: Loop, alive: int, dead: int) -> None:
    with pytest.raises(BrokerUnavailable, match="refused"):
        network(loop, dead).anyone()
    servers = network(loop, dead, alive)
    assert all(servers._candidates() == [(HOST, alive), (HOST, dead)] for _ in range(20))
    assert servers.anyone().address == (HOST, alive)


def test_a_server_that_works_again_is_one_like_the_others(loop: Loop, alive: int, dead: int) -> None:
    servers = network(loop, alive)
    break_off(servers.anyone())
    wait_until(lambda: _is_lost_after_a_turn(loop, servers), "the loss")
    assert servers.anyone().is_open
    orders = {tuple(network(loop, dead, alive)._candidates()) for _ in range(50)}
    assert len(orders) == 2


def _is_lost_after_a_turn(loop: Loop, servers: Network) -> bool:
    loop.run_once(0.01)
    assert servers._bootstrap is not None
    return not servers._bootstrap.is_open


def known_at(loop: Loop, alive: int, **brokers: int) -> Network:
    """A network that knows brokers at these ports, by numbers like `n1`."""
    servers = network(loop, alive)
    servers.anyone()
    servers._addresses |= {int(number[1:]): (HOST, port) for number, port in brokers.items()}
    return servers


def test_a_connection_that_takes_its_time_is_made_meanwhile(loop: Loop, alive: int, mute: int) -> None:
    servers = known_at(loop, alive, n8=mute, n9=alive)
    began = time.monotonic()
    assert servers.connection_soon(8) is None
    assert servers.connection_soon(8) is None
    found = servers.connection_soon(9)
    assert time.monotonic() - began < 1.0
    assert found is not None
    assert servers.connection(9) is servers.connection_soon(9) is found
    found.call(MetadataRequest(topics=[]), 8)
    another = servers.connection_soon(9, another=True)
    assert another is not None
    assert another is not found


def test_a_failure_to_connect_meanwhile_is_told_to_who_asks_again(loop: Loop, alive: int, deaf: int) -> None:
    servers = Network(loop, Access("c", [f"{HOST}:{alive}"], connect_timeout_ms=600))
    servers.anyone()
    servers._addresses[8] = (HOST, deaf)
    assert servers.connection_soon(8) is None
    with pytest.raises(BrokerUnavailable, match="timed out"):
        wait_until(lambda: servers.connection_soon(8), "the failure")
    assert servers.connection_soon(8) is None, "tried again"


def test_a_connection_that_nobody_wants_any_more_is_closed(loop: Loop, alive: int) -> None:
    made = Connecting((HOST, alive), Access("c", [f"{HOST}:{alive}"]))
    assert made.is_done(30)
    made.give_up()
    assert made._made is not None
    assert not made._made.is_open


def test_a_machine_that_is_gone_does_not_hold_us_up_for_long(loop: Loop, deaf: int) -> None:
    servers = Network(loop, Access("c", [f"127.0.0.1:{deaf}"], connect_timeout_ms=300))
    began = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="timed out"):
        servers.anyone()
    assert 0.3 <= time.monotonic() - began < 2.0


def test_a_broker_that_says_nothing_is_given_up(loop: Loop, mute: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_INTRODUCTION_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(BrokerUnavailable, match="no answer in time"):
        network(loop, mute).anyone()
    assert 0.3 <= time.monotonic() - began < 2.0


@pytest.fixture
def leaving() -> Iterator[int]:
    """A port where every caller is heard and left without an answer, as by a broker that is about to end."""
    with socket.create_server((HOST, 0)) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(_leave_callers, server)
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _leave_callers(server: socket.socket) -> None:
    with suppress(OSError):  # the end of the test
        while True:
            caller, _ = server.accept()
            with caller:
                caller.recv(65536)  # what was not read would make the end a reset


def test_a_broker_that_ends_during_the_tls_handshake_refuses_nobody(loop: Loop, leaving: int) -> None:
    tls = TlsSettings(None, None, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3, checks_host=True)
    with pytest.raises(BrokerUnavailable, match=r"cannot connect: .*(?i:eof)"):
        Network(loop, Access("test", [f"{HOST}:{leaving}"], tls)).anyone()


# -- losing connections ------------------------------------------------------------------------------------------------


def test_a_question_is_asked_again_when_the_connection_is_gone(loop: Loop, alive: int) -> None:
    servers = network(loop, alive)
    first = servers.anyone()
    break_off(first)
    servers.refresh(())
    assert servers.anyone() is not first


def test_any_known_broker_will_do_when_the_first_servers_are_gone(loop: Loop, alive: int, dead: int) -> None:
    servers = network(loop, alive)
    servers.refresh(())
    assert servers._bootstrap is not None
    break_off(servers._bootstrap)
    servers.access = Access("test", [f"{HOST}:{dead}"])
    servers.refresh(())
    assert servers.anyone().address == (HOST, alive)


def test_the_end_of_a_connection_that_nobody_waits_for_troubles_nobody(loop: Loop, alive: int) -> None:
    servers = network(loop, alive)
    servers.refresh(())
    first = servers.connection(1)
    break_off(first)
    servers.refresh(())  # runs the loop, which finds out
    assert not first.is_open
    again = servers.connection(1)
    assert again is not first
    assert again.call(MetadataRequest(topics=[]), version=9).brokers


def send_fetch(made: Connection, point: FetchPoint, losses: list[ClusterError] | None, seconds: float) -> None:
    """A question that is answered after half a minute, unless the broker goes away before."""
    session = FetchSession(fetching.HIGHEST_VERSION, FetchLimits(max_wait_ms=30_000))
    session.add(point)
    made.send(
        fetching.API_KEY,
        session.version,
        True,
        [session.encode()],
        lambda _: pytest.fail("came too early"),
        timeout=seconds,
        on_lost=None if losses is None else losses.append,
    )


@pytest.fixture
def quiet(primary: EmbeddedCluster, loop: Loop, alive: int) -> tuple[Network, FetchPoint]:
    """A partition where nothing is to be read."""
    topic = create_topic(primary.bootstrap_servers, fresh_name("network"))
    servers = network(loop, alive)
    servers.refresh([topic])
    return servers, FetchPoint(topic, servers.topic_id(topic), 0, 0)


def test_who_waits_for_an_answer_is_told_of_the_loss(loop: Loop, quiet: tuple[Network, FetchPoint]) -> None:
    servers, point = quiet
    made = servers.connection(1)
    send_fetch(made, point, None, 30)
    break_off(made)
    with pytest.raises(BrokerUnavailable, match="connection lost"):
        loop.run_until(lambda: False)
    with pytest.raises(BrokerUnavailable, match="connection lost"):
        made.submit(MetadataRequest(topics=[]), 9, lambda answer: pytest.fail(f"came all the same: {answer}"))


def test_who_can_live_with_a_loss_hears_of_it_and_others_go_on(loop: Loop, quiet: tuple[Network, FetchPoint]) -> None:
    servers, point = quiet
    losses: list[ClusterError] = []
    made = servers.connection(1)
    send_fetch(made, point, losses, 30)
    break_off(made)
    servers.refresh(())
    assert [type(loss) for loss in losses] == [BrokerUnavailable]
    send_fetch(made, point, losses, 30)
    assert len(losses) == 2


def test_a_silent_broker_is_noticed_while_others_keep_us_busy(quiet: tuple[Network, FetchPoint]) -> None:
    servers, point = quiet
    send_fetch(servers.connection(1), point, None, 0.5)
    with pytest.raises(BrokerUnavailable, match="no answer in time"):
        ask_for(servers, 10)


def ask_for(servers: Network, seconds: float) -> None:
    """Ask one question after the other, so that the loop is never idle."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        servers.refresh(())


def test_too_many_open_files_are_told_as_trouble_with_brokers() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(BrokerUnavailable, match="Too many open files"):
            Loop()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
