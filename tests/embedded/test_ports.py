"""Ports are different and can be listened on."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from heliograph.embedded.ports import free_ports


def test_ports_are_different_and_usable() -> None:
    ports = free_ports(50)

    assert len(set(ports)) == 50
    with ExitStack() as servers:
        for port in ports:
            servers.enter_context(socket.create_server(("127.0.0.1", port)))


def test_a_port_in_use_is_not_handed_out() -> None:
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as server:
        taken = server.getsockname()[1]

        everything = free_ports(12_000)

    assert taken not in everything
    assert len(everything) > 10_000
