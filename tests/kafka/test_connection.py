"""Sockets as connections tune them."""

from __future__ import annotations

import socket

from heliograph.kafka.access import Access
from heliograph.kafka.connection import _tune


def receive_buffer(wanted: int) -> int:
    """What a socket has after it was tuned."""
    with socket.socket() as plain:
        _tune(plain, Access("a", ["localhost:9092"], receive_buffer=wanted))
        return plain.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def test_a_buffer_that_the_system_grants_is_as_large_as_asked_for() -> None:
    assert receive_buffer(-1) != receive_buffer(100_000) >= 100_000


def test_a_buffer_that_the_system_would_cut_short_is_left_to_grow_by_itself() -> None:
    assert receive_buffer(1 << 30) == receive_buffer(-1)
