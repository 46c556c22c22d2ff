"""Where a schema registry is and how it is spoken to, from Confluent's keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from heliograph.config.secret import Secret
from heliograph.config.stores import TlsSettings
from heliograph.policy.filters import split_list

URL: Final = "schema.registry.url"
_REGISTRY: Final = "schema.registry."
_TARGET: Final = "target."
_USER_SOURCES: Final = ("URL", "USER_INFO")
_TOKEN_SOURCES: Final = ("STATIC_TOKEN",)


@dataclass(frozen=True)
class RegistrySettings:
    """One registry: its addresses, and what it is told about who asks."""

    urls: tuple[str, ...]
    user: Secret | None = None  # name:password
    token: Secret | None = None
    tls: tuple[tuple[str, str | Secret], ...] = ()  # the `ssl.*` keys


def source_registry(settings: Mapping[str, str | Secret], side: str) -> RegistrySettings | None:
    """The registry for records of the source: that of the side's converter, else the one for both sides."""
    return _registry(settings, f"{side}.converter.") or _registry(settings, "")


def target_registry(settings: Mapping[str, str | Secret]) -> RegistrySettings | None:
    """The registry for records of the target, if it is another one."""
    return _registry(settings, _TARGET)


def _registry(settings: Mapping[str, str | Secret], prefix: str) -> RegistrySettings | None:
    """All keys must have the same prefix as the address: a password is not sent to a host that it is not meant for."""
    addresses = split_list(_text(settings, prefix + URL) or "")
    if not addresses:
        return None
    found = [_address(prefix + URL, address) for address in addresses]
    user = _user(settings, prefix) or next((user for _, user in found if user), None)
    return RegistrySettings(tuple(url for url, _ in found), user, _token(settings, prefix), _tls(settings, prefix))


def _address(key: str, address: str) -> tuple[str, Secret | None]:
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ValueError(f"{key} must be addresses of the form http://host:port, separated by commas")
    host = parts.netloc.rpartition("@")[2]
    user = Secret(f"{unquote(parts.username)}:{unquote(parts.password or '')}") if parts.username else None
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")), user


def _user(settings: Mapping[str, str | Secret], prefix: str) -> Secret | None:
    source = _named(settings, prefix, "basic.auth.credentials.source")
    if source and source.upper() not in _USER_SOURCES:
        raise ValueError(f"{prefix}{_REGISTRY}basic.auth.credentials.source must be {' or '.join(_USER_SOURCES)}")
    info = _named(settings, prefix, "basic.auth.user.info")
    if source and source.upper() == "USER_INFO" and not info:
        raise ValueError(f"{prefix}{_REGISTRY}basic.auth.user.info is not set, but credentials.source wants it")
    if info and ":" not in info:
        raise ValueError(f"{prefix}{_REGISTRY}basic.auth.user.info must be of the form name:password")
    return Secret(info) if info and (source or "").upper() != "URL" else None


def _token(settings: Mapping[str, str | Secret], prefix: str) -> Secret | None:
    source = _named(settings, prefix, "bearer.auth.credentials.source")
    if source and source.upper() not in _TOKEN_SOURCES:
        raise ValueError(f"{prefix}{_REGISTRY}bearer.auth.credentials.source must be STATIC_TOKEN")
    token = _named(settings, prefix, "bearer.auth.token")
    return Secret(token) if token else None


def _tls(settings: Mapping[str, str | Secret], prefix: str) -> tuple[tuple[str, str | Secret], ...]:
    start = f"{prefix}{_REGISTRY}ssl."
    found = {"ssl." + key.removeprefix(start): value for key, value in settings.items() if key.startswith(start)}
    if found:
        TlsSettings.from_client_settings(found)  # refuses what contradicts itself
    return tuple(sorted(found.items()))


def _named(settings: Mapping[str, str | Secret], prefix: str, key: str) -> str | None:
    """Confluent knows these keys with and without `schema.registry.`; without it only behind a converter's prefix."""
    return _text(settings, prefix + _REGISTRY + key) or (_text(settings, prefix + key) if prefix else None)


def _text(settings: Mapping[str, str | Secret], key: str) -> str | None:
    value = settings.get(key)
    return (value.reveal() if isinstance(value, Secret) else value or "").strip() or None
