"""Sockets as connections tune them."""

from __future__ import annotations

import socket

from heliograph.kafka.access import Access
from heliograph.kafka.connection import _Pending, _tune


def receive_buffer(wanted: int) -> int:
    """What a socket has after it was tuned."""
    with socket.socket() as plain:
        _tune(plain, Access("a", ["localhost:9092"], receive_buffer=wanted))
        return plain.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def test_a_buffer_that_the_system_grants_is_as_large_as_asked_for() -> None:
    assert receive_buffer(-1) != receive_buffer(100_000) >= 100_000


def test_a_buffer_that_the_system_would_cut_short_is_left_to_grow_by_itself() -> None:
    assert receive_buffer(1 << 30) == receive_buffer(-1)


def test_an_answer_that_stops_to_come_is_given_up() -> None:
    pending = _Pending(1, lambda _: None, bytearray, 30.0, 130.0, None)
    assert not pending.is_overdue(129.0, heard_at=0.0)
    assert pending.is_overdue(130.1, heard_at=120.0)
    assert not pending.is_overdue(200.0, heard_at=195.0)
    assert pending.is_overdue(210.0, heard_at=195.0)
