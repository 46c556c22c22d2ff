"""A real REST server on a real socket, for a mirror that has not started: its brokers do not exist."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from heliograph.config.credential_hash import TokenHash
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # else each client would load all authorities, for 30 ms
LOOPBACK = "http://127.0.0.1:0"
ROLES = ("viewer", "operator", "admin")
BASE = """\
clusters = a, b
a.bootstrap.servers = 127.0.0.1:1
b.bootstrap.servers = 127.0.0.1:1
a->b.enabled = true
"""


def token_of(role: str) -> str:
    """The token of the caller with that role."""
    return f"token-of-the-{role}"


TOKENS = "".join(f"rest.token.{role}s = {role}:{TokenHash.of(token_of(role))}\n" for role in ROLES)


@dataclass(frozen=True)
class Served:
    """A server that runs, and its mirror."""

    mirror: RunningMirror
    server: RestServer
    client: httpx.Client

    @property
    def address(self) -> str:
        """Where it listens first."""
        return self.server.addresses[0]

    @property
    def port(self) -> int:
        """The port of that."""
        return int(self.address.rpartition(":")[2])

    def request(
        self, method: str, path: str, role: str = "", headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        """One request, by the caller of a role, or by nobody."""
        own = {"Authorization": f"Bearer {token_of(role)}"} if role else {}
        return self.client.request(method, self.address + path, headers={**own, **(headers or {})}, **more)


def configured(folder: Path, text: str = "") -> MirrorConfig:
    """Two clusters, one flow and more."""
    file = folder / "mm2.properties"
    file.write_text(BASE + text)
    return load(file, environment={})


@contextmanager
def serving(folder: Path, text: str = "", listeners: Sequence[str] | None = (LOOPBACK,)) -> Iterator[Served]:
    """A server for a file with these lines more."""
    mirror = RunningMirror(configured(folder, text))
    server = RestServer(mirror, listeners)
    server.start()
    try:
        with httpx.Client(trust_env=False, timeout=30, verify=_NO_TLS) as client:
            yield Served(mirror, server, client)
    finally:
        server.stop()


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.texts.append(record.getMessage())

    def parsed(self) -> list[dict[str, Any]]:
        """All lines as JSON."""
        return [json.loads(text) for text in self.texts]
