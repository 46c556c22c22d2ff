"""Ports are different, can be listened on, and are handed out once."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from heliograph.embedded import ports
from heliograph.embedded.ports import free_ports

_SAME_CHANCE = """
import random
from heliograph.embedded.ports import free_ports
random.seed(7)
print(*free_ports(20), flush=True)
input()
"""


def test_ports_are_different_and_usable() -> None:
    found = free_ports(50)

    assert len(set(found)) == 50
    with ExitStack() as servers:
        for port in found:
            servers.enter_context(socket.create_server(("127.0.0.1", port)))


def test_a_port_in_use_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(ports, "_handed_out", set())
        monkeypatch.setattr(ports, "_RANGE", range(taken - 20, taken + 20))

        everything = free_ports(40)

    assert taken not in everything
    assert everything


def test_nobody_is_given_the_same_port_again() -> None:
    random.seed(3)
    first = free_ports(20)
    random.seed(3)
    assert not set(first) & set(free_ports(20))


def test_processes_are_given_different_ports_even_if_their_chance_is_the_same() -> None:
    with ExitStack() as running:
        started = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _SAME_CHANCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for _ in range(2)
        ]
        given = [set(process.stdout.readline().split()) for process in started if process.stdout]
        for process in started:
            process.communicate("\n", timeout=30)
    assert [len(some) for some in given] == [20, 20]
    assert not given[0] & given[1]
