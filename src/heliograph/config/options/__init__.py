"""The table of every key, by the part of the system that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from heliograph.config.option import Family, Option, Scope
from heliograph.config.options import (
    admin,
    checkpoint,
    client,
    conflicts,
    connector,
    consumer,
    driver,
    heartbeat,
    hooks,
    own,
    producer,
    rest,
    security,
    source,
    verify,
    worker,
)

OPTIONS: Final[tuple[Option, ...]] = (
    *driver.OPTIONS,
    *hooks.OPTIONS,
    *connector.OPTIONS,
    *source.OPTIONS,
    *checkpoint.OPTIONS,
    *heartbeat.OPTIONS,
    *own.OPTIONS,
    *verify.OPTIONS,
    *conflicts.OPTIONS,
    *worker.OPTIONS,
    *rest.OPTIONS,
    *security.OPTIONS,
    *client.OPTIONS,
    *consumer.OPTIONS,
    *producer.OPTIONS,
    *admin.OPTIONS,
)
FAMILIES: Final[tuple[Family, ...]] = (
    *driver.FAMILIES,
    *hooks.FAMILIES,
    *connector.FAMILIES,
    *conflicts.FAMILIES,
    *worker.FAMILIES,
    *rest.FAMILIES,
)
SECURITY_NAMES: Final = frozenset(option.name for option in security.OPTIONS)
_BY_SCOPE: Final = {scope: {option.name: option for option in OPTIONS if option.scope is scope} for scope in Scope}


def find(name: str, scopes: tuple[Scope, ...]) -> Option | None:
    """The option of that name in the first of the scopes that has one."""
    return next((_BY_SCOPE[scope][name] for scope in scopes if name in _BY_SCOPE[scope]), None)


def find_family(name: str, scopes: tuple[Scope, ...]) -> Family | None:
    """The family that a name belongs to."""
    candidates = (family for family in FAMILIES if family.scope in scopes)
    return next((family for family in candidates if name.startswith(family.prefix)), None)


@cache
def in_scopes(scopes: tuple[Scope, ...]) -> Mapping[str, Option]:
    """All options of the scopes by name; of equal names the earlier scope's."""
    found: dict[str, Option] = {}
    for scope in scopes:
        for name, option in _BY_SCOPE[scope].items():
            found.setdefault(name, option)
    return found
