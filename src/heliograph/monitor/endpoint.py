"""Where metrics and alerts are sent to. Addresses may hold credentials: they are never shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from heliograph.config.secret import Secret, redact


class BadAddress(ValueError):
    """An address that nothing can be sent to; the text does not repeat it."""


@dataclass(frozen=True)
class Delivery:
    """What became of one message; an empty failure means that it has arrived."""

    to: str
    failure: str = ""


class Endpoint:
    """One HTTP server and what it is called."""

    def __init__(self, name: str, url: str, client: httpx.Client) -> None:
        self._url = Secret(url.rstrip("/"))
        self._client = client
        self.name = f"{name} {_shown(url)}"

    def send(self, method: str, path: str = "", **content: Any) -> Delivery:
        """Send one request; anything but a plain yes is a failure."""
        try:
            response = self._client.request(method, self._url.reveal() + path, **content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Delivery(self.name, redact(str(error) or type(error).__name__, [self._url]))
        failure = "" if response.is_success else f"answered {response.status_code} {response.reason_phrase}"
        return Delivery(self.name, failure)


def check_address(url: str) -> None:
    """Raise BadAddress unless requests can be sent to the address."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise BadAddress("is not an address of the form http://host:port")


def _shown(url: str) -> str:
    """Scheme, host and port: paths and queries may be secret, too."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
