"""A long link: as far and as wide as it was asked to be, and every byte arrives."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.wan_relay import Direction, Link, relayed
from heliograph.embedded.ports import free_ports

MEGABYTE = 1_000_000
LINK = Link.of(round_trip_ms=100, megabits=200)


@contextmanager
def echo_server() -> Iterator[int]:
    """A server that answers one connection with what it is told; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def echo() -> None:
            connection = listener.accept()[0]
            with connection:
                while told := connection.recv(1 << 16):
                    connection.sendall(told)

        thread = threading.Thread(target=echo, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)
        assert not thread.is_alive(), "the end of the connection was not passed on"


def received(connection: socket.socket, size: int) -> bytes:
    """So many bytes from the other end."""
    parts = []
    while size:
        parts.append(connection.recv(size))
        assert parts[-1], "the connection has ended early"
        size -= len(parts[-1])
    return b"".join(parts)


@pytest.mark.parametrize("chunk", [1000, 128 * 1024])
def test_a_sender_that_never_rests_gets_the_bandwidth_of_the_link(chunk: int) -> None:
    direction, now = Direction(LINK), 1000.0
    sent = 0
    while now < 1002.0:
        now = direction.send(chunk, now)
        sent += chunk
    assert sent == pytest.approx(2 * LINK.bytes_per_second, rel=0.02)


def test_late_sleepers_do_not_make_the_link_narrower() -> None:
    direction, now = Direction(LINK), 1000.0
    sent = 0
    while now < 1002.0:
        now = direction.send(128 * 1024, now) + 0.002
        sent += 128 * 1024
    assert sent == pytest.approx(2 * LINK.bytes_per_second, rel=0.02)


def test_bandwidth_that_was_not_used_is_gone() -> None:
    direction = Direction(LINK)
    direction.send(1, 1000.0)
    assert direction.send(25 * MEGABYTE, 1060.0) == pytest.approx(1061.0, abs=0.03)


def test_connections_share_the_bandwidth_of_one_direction() -> None:
    direction = Direction(LINK)
    first = direction.send(5 * MEGABYTE, 1000.0)
    assert direction.send(5 * MEGABYTE, 1000.0) == pytest.approx(first + 0.2)


def test_words_take_a_round_trip_and_bytes_their_time() -> None:
    [port] = free_ports(1)
    data = random.Random(1).randbytes(2 * MEGABYTE)
    with (
        echo_server() as server,
        relayed(LINK, {port: server}),
        socket.create_connection(("127.0.0.1", port), timeout=30) as client,
    ):
        began = time.monotonic()
        client.sendall(b"?")
        assert received(client, 1) == b"?"
        answered = time.monotonic()
        writer = threading.Thread(target=client.sendall, args=(data,))
        writer.start()
        assert received(client, len(data)) == data
        writer.join()
        done = time.monotonic()
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    assert answered - began >= 0.1
    assert done - answered >= 0.1 + len(data) / LINK.bytes_per_second - 0.05  # what a burst may save
