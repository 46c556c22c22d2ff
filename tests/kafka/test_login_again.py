"""Brokers that let nobody stay without logging in again, after a while that they tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from kafka.protocol.metadata import MetadataRequest

from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import sasl_plain
from heliograph.errors import AuthenticationFailed, ClusterError
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.connection import Connection, Loop

pytestmark = pytest.mark.kafka

LIFETIME_SECONDS = 2.0
VERSION = 9


@pytest.fixture(scope="module")
def strict() -> Iterator[EmbeddedCluster]:
    settings = {"connections.max.reauth.ms": str(int(1000 * LIFETIME_SECONDS))}
    listener = sasl_plain("PLAIN", {"alice": "secret"})
    with running_clusters(ClusterSpec("strict", settings=settings, listeners=[listener])) as [cluster]:
        yield cluster


@pytest.fixture
def made(strict: EmbeddedCluster) -> Iterator[tuple[Loop, Connection]]:
    """A connection of somebody who has just logged in."""
    with closing(Loop()) as loop:
        yield loop, connect(loop, strict)


def connect(loop: Loop, strict: EmbeddedCluster) -> Connection:
    address = strict.addresses("PLAIN")
    host, port = address.split(":")
    access = Access("strict", [address], credentials=Credentials("PLAIN", "alice", Secret("secret")))
    return Connection(loop, host, int(port), access)


def for_lifetimes(count: float, ask: Callable[[], None]) -> None:
    """Ask one question after the other."""
    until = time.monotonic() + count * LIFETIME_SECONDS
    while time.monotonic() < until:
        ask()


def test_a_connection_outlives_its_session(made: tuple[Loop, Connection]) -> None:
    _, line = made
    for_lifetimes(2.5, lambda: line.call(MetadataRequest(topics=[]), VERSION))
    assert line.is_open


def test_a_session_that_has_ended_in_silence_is_no_loss(made: tuple[Loop, Connection]) -> None:
    loop, line = made
    for_lifetimes(1.5, lambda: loop.run_once(0.05))
    assert line.call(MetadataRequest(topics=[]), VERSION).brokers


def test_requests_on_their_way_are_all_answered_in_order(made: tuple[Loop, Connection]) -> None:
    loop, line = made
    asked, answered = 0, list[int]()

    def keep_five_on_their_way() -> None:
        nonlocal asked
        while asked - len(answered) < 5:
            line.submit(MetadataRequest(topics=[]), VERSION, lambda _, number=asked: answered.append(number))
            asked += 1
        loop.run_once(0.05)

    for_lifetimes(2.5, keep_five_on_their_way)
    loop.run_until(lambda: len(answered) == asked)
    assert answered == list(range(asked))


def test_who_is_not_let_in_again_is_told_so_wherever_an_answer_is_awaited(
    made: tuple[Loop, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, line = made
    wrong = Access("strict", [], credentials=Credentials("PLAIN", "alice", Secret("wrong")))
    monkeypatch.setattr(line, "_access", wrong)
    losses: list[ClusterError] = []
    for_lifetimes(1, lambda: loop.run_once(0.05))
    line.submit(MetadataRequest(topics=[]), VERSION, lambda _: pytest.fail("was let in"), on_lost=losses.append)
    loop.run_until(lambda: bool(losses))
    assert isinstance(losses[0], AuthenticationFailed)
    assert "login refused" in str(losses[0])
    assert "wrong" not in str(losses[0])
