"""Free TCP ports on the loopback address."""

from __future__ import annotations

import random
import socket

# Below the range that systems hand to outgoing connections, so that no client takes a port before its server
# is up.
_RANGE = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """So many different ports that nobody listens on."""
    chosen: list[int] = []
    for port in random.sample(_RANGE, len(_RANGE)):
        if len(chosen) == count:
            break
        if _is_free(port):
            chosen.append(port)
    return chosen


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
