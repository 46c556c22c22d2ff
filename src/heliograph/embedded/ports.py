"""Free TCP ports on the loopback address, each handed out once."""

from __future__ import annotations

import os
import random
import socket
from fcntl import LOCK_EX, LOCK_NB, lockf
from functools import cache

from heliograph.cache import cache_folder

# Below the range that systems hand to outgoing connections, so that no client takes a port before its server
# is up.
_RANGE = range(20_000, 32_000)
_handed_out: set[int] = set()  # by this process, for which a second lock on the same byte would not be refused


def free_ports(count: int) -> list[int]:
    """So many different ports that nobody listens on, and that no other process of ours was given.

    A server takes seconds to listen on its port. Until this process ends, nobody else gets the same one.
    """
    chosen: list[int] = []
    for port in random.sample(_RANGE, len(_RANGE)):
        if len(chosen) == count:
            break
        if port not in _handed_out and _is_free(port) and _is_ours(port):
            _handed_out.add(port)
            chosen.append(port)
    return chosen


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _is_ours(port: int) -> bool:
    """Lock the byte that stands for the port; the system unlocks it when this process ends, even by a kill."""
    locks = _locks()
    try:
        lockf(locks, LOCK_EX | LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _locks() -> int:
    """A descriptor of the locked file, open for as long as this process lives: closing it would unlock all ports."""
    file = cache_folder() / "ports.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
