"""One socket through which requests come in."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heliograph.config.listener import Listener
from heliograph.config.rest_access import RestAccess
from heliograph.config.server_tls import ServerTls
from heliograph.errors import StartError

_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # a family of addresses that this machine does not have


@dataclass(frozen=True)
class Entrance:
    """A listener and what is served on it."""

    listener: Listener
    tls: ServerTls | None
    serves_admin: bool
    serves_others: bool

    def open(self) -> list[socket.socket]:
        """Sockets on all addresses of the listener, all with the same port; raises StartError."""
        sockets: list[socket.socket] = []
        port = self.listener.port
        try:
            for family, host in _addresses(self.listener):
                opened = _bound(family, host, port)
                if opened is not None:
                    sockets.append(opened)
                    port = opened.getsockname()[1]
            _check_reach(self.listener, sockets)
        except OSError as error:
            close_all(sockets)
            reason = error.strerror or str(error)
            raise StartError(f"the REST server cannot listen on {self.listener}: {reason}") from None
        return sockets


def entrances(access: RestAccess) -> Iterator[Entrance]:
    """All entrances of a server: without listeners of its own, /admin is served like all else."""
    for listener in access.listeners:
        tls = access.tls if listener.has_tls else None
        yield Entrance(listener, tls, serves_admin=access.admin_listeners is None, serves_others=True)
    for listener in access.admin_listeners or ():
        tls = access.admin_tls if listener.has_tls else None
        yield Entrance(listener, tls, serves_admin=True, serves_others=False)


def _addresses(listener: Listener) -> list[tuple[socket.AddressFamily, str]]:
    if not listener.host:
        return [(socket.AF_INET6, "::")] if socket.has_dualstack_ipv6() else [(socket.AF_INET, "0.0.0.0")]  # noqa: S104
    found = socket.getaddrinfo(listener.host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket | None:
    # With the protocol by name asyncio knows that it is TCP, and lets no answer wait for the client's acknowledgement.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "::")
        opened.bind((host, port))
        opened.listen()
    except OSError as error:
        opened.close()
        if error.errno in _NOT_HERE:
            return None
        raise
    return opened


def _check_reach(listener: Listener, sockets: list[socket.socket]) -> None:
    if not sockets:
        raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    hosts = [each.getsockname()[0].partition("%")[0] for each in sockets]
    if listener.is_loopback and not all(ipaddress.ip_address(host).is_loopback for host in hosts):
        raise OSError(errno.EINVAL, f"{listener.host} is not this machine alone")


def close_all(sockets: Iterable[socket.socket]) -> None:
    """Give addresses back."""
    for each in sockets:
        each.close()
