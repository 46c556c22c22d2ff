"""A loop ends every wait: with what was awaited, or because that cannot come any more."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from heliograph.errors import BrokerUnavailable
from heliograph.kafka import connection
from heliograph.kafka.connection import Connection, Loop


class _Line:
    """A connection on which nothing ever arrives."""

    def __init__(self, has_pending: bool) -> None:
        self.has_pending = has_pending

    def check_deadline(self, now: float) -> None:
        """As if it were far."""

    def close(self) -> None:
        """Nothing to do."""


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    made = socket.socketpair()
    yield made
    for end in made:
        end.close()


@pytest.mark.timeout(30)
def test_a_wait_that_nothing_can_end_any_more_ends(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_HOPELESS_SECONDS", 0.3)
    loop = Loop()
    loop.register(ends[0], cast(Connection, cast(Any, _Line(has_pending=False))))
    with pytest.raises(BrokerUnavailable, match="backup to take what was sent is awaited, but no request is under way"):
        loop.run_until(lambda: False, "backup to take what was sent")
    loop.close()


def test_a_wait_for_an_answer_that_may_still_come_goes_on(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_HOPELESS_SECONDS", 0.1)
    looks: list[str] = []
    loop = Loop(lambda: looks.append(loop.awaited))
    loop.register(ends[0], cast(Connection, cast(Any, _Line(has_pending=True))))
    until = time.monotonic() + 1
    loop.run_until(lambda: time.monotonic() > until, "an answer")
    assert set(looks) == {"an answer"}
    assert loop.awaited == ""
    loop.close()
