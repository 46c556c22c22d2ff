"""An address that the REST server listens on."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Listener:
    """Scheme, host and port; an empty host means all interfaces, port 0 any that is free."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listener:
        """The listener of an address such as `http://:8083`; raises ValueError if it is none."""
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or parts.port is None or parts.path or parts.query or parts.username:
            raise ValueError("is not http://host:port or https://host:port")
        return cls(parts.scheme, parts.hostname or "", parts.port)

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.scheme == "https"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it, as far as can be told without asking the network."""
        return is_loopback_name(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def is_loopback_name(host: str) -> bool:
    """Whether a host, by its name or address, is this machine itself."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
