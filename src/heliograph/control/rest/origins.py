"""From which pages and under which names the server may be called: against pages of others, and names that lie."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from heliograph.config.listener import Listener, is_loopback_name
from heliograph.config.rest_access import RestAccess
from heliograph.control.rest.errors import RestError

SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
_HEADERS: Final = "X-Requested-With,Content-Type,Accept,Origin,Authorization"
_PREFLIGHT_SECONDS: Final = "1800"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Origins:
    """Decides on the Host and Origin headers of requests."""

    def __init__(self, access: RestAccess) -> None:
        self._own_names = access.own_names
        self._methods = access.origin_methods
        self._allowed = [_pattern(origin) for origin in access.origins]

    def check_host(self, host: str | None, listener: Listener) -> None:
        """On loopback, refuse requests for a name that is not ours: a page of others may have bent it to us."""
        if host is None or not listener.is_loopback:
            return
        name = _name_and_port(host, "http")[0]
        if not (is_loopback_name(name) or name in self._own_names):
            hint = "rest.advertised.host.name allows one more"
            raise RestError(403, f"this server is called localhost here, not what the Host header says; {hint}")

    def check_origin(self, method: str, origin: str | None, host: str | None) -> None:
        """Refuse changes that pages of others ask for."""
        if origin is None or method in SAFE_METHODS or self._is_own(origin, host):
            return
        if not (self._is_allowed(origin) and method in self._methods):
            raise RestError(403, "pages of another origin may not change anything; see access.control.allow.origin")

    @property
    def has_others(self) -> bool:
        """Whether answers depend on the origin of the page."""
        return bool(self._allowed)

    def headers_for(self, origin: str | None) -> dict[str, str]:
        """What lets a page of an allowed origin read the answer."""
        return {"Access-Control-Allow-Origin": origin} if origin and self._is_allowed(origin) else {}

    def preflight(self, method: str, headers: Mapping[str, str]) -> dict[str, str] | None:
        """The answer to a browser that asks first, or None if it is not one that may go on."""
        wanted = headers.get("access-control-request-method")
        if method != "OPTIONS" or wanted is None or not self._is_allowed(headers.get("origin", "")):
            return None
        return {
            "Access-Control-Allow-Methods": ",".join(self._methods),
            "Access-Control-Allow-Headers": _HEADERS,
            "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
        }

    def _is_allowed(self, origin: str) -> bool:
        return any(pattern.fullmatch(origin) for pattern in self._allowed)

    def _is_own(self, origin: str, host: str | None) -> bool:
        try:
            parts = urlsplit(origin)
            name, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
        except ValueError:
            return False
        return name in self._own_names or (host is not None and (name, port) == _name_and_port(host, parts.scheme))


def _name_and_port(host: str, scheme: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname or "", parts.port or _DEFAULT_PORTS.get(scheme)
    except ValueError:
        return "", None


def _pattern(origin: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, origin.split("*"))), re.IGNORECASE)
