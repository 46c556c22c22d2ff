"""Brokers that are moved behind a link, for everyone who connects meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.wan_relay import Link, relayed
from heliograph.embedded.ports import free_ports
from heliograph.kafka import network
from heliograph.kafka.connecting import Connecting
from heliograph.kafka.connection import Connection
from heliograph.kafka.network import Address, Network


@contextmanager
def behind(link: Link, address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The broker at an address is reached over a link only."""
    broker = int(address.rpartition(":")[2])
    [port] = free_ports(1)
    connect = Network._connect

    def diverted(where: Address) -> Address:
        return (where[0], port) if where[1] == broker else where

    def divert(asked: Network, where: Address) -> Connection:
        return connect(asked, diverted(where))

    with relayed(link, {port: broker}), monkeypatch.context() as patch:
        patch.setattr(Network, "_connect", divert)
        patch.setattr(network, "Connecting", lambda where, access: Connecting(diverted(where), access))
        yield
