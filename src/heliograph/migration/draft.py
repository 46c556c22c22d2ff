"""An mm2.properties file in the making: what is said about clusters and flows, and what to tell about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

import javaproperties

from heliograph.config.address import locate
from heliograph.config.option import Effect
from heliograph.config.setting import is_secret, shown
from heliograph.migration.placeholder import without_secrets

_IDENTITY: Final = ("name", "connector.class", "source.cluster.alias", "target.cluster.alias")
_SIDES: Final = ("source.cluster.", "target.cluster.")
_SERVERS: Final = "bootstrap.servers"
_TO_ESCAPE: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


class Role(Enum):
    """MirrorMaker 2's three connectors, in the order in which their settings count."""

    SOURCE = "MirrorSourceConnector"
    CHECKPOINT = "MirrorCheckpointConnector"
    HEARTBEAT = "MirrorHeartbeatConnector"


class Draft:
    """Clusters and flows as they come in. What was said first about a key stays; `notes` tells about the rest."""

    def __init__(self) -> None:
        self._clusters: dict[str, dict[str, str]] = {}
        self._flows: dict[tuple[str, str], dict[str, str]] = {}
        self._roles: dict[tuple[str, str], set[Role]] = {}
        self.notes: list[str] = []

    @property
    def has_flows(self) -> bool:
        """Whether there is anything to mirror."""
        return bool(self._flows)

    def add_cluster(self, alias: str, settings: Mapping[str, str], said_by: str) -> None:
        """What is said about the connection to a cluster."""
        known = self._clusters.setdefault(alias, {})
        self._add(known, settings, f"{alias}.", said_by)

    def add_connector(self, role: Role, way: tuple[str, str], config: Mapping[str, str], said_by: str) -> None:
        """A connector with its configuration, as Kafka Connect has it; those of a flow in the order of their roles."""
        for side, alias in zip(_SIDES, way, strict=True):
            said = {key.removeprefix(side): value for key, value in config.items() if key.startswith(side)}
            self.add_cluster(alias, {key: value for key, value in said.items() if key != "alias"}, said_by)
        own = {key: value for key, value in config.items() if key not in _IDENTITY and not key.startswith(_SIDES)}
        self._add(self._flows.setdefault(way, {}), own, f"{way[0]}->{way[1]}.", said_by)
        self._roles.setdefault(way, set()).add(role)

    def entries(self) -> dict[str, str]:
        """All keys with their values, in the order in which one would write them. Adds notes: call it once."""
        made = {"clusters": ", ".join(self._clusters)}
        for alias, settings in self._clusters.items():
            made |= self._usable(f"{alias}.", self._with_servers(alias, settings))
        for way, settings in self._flows.items():
            made |= self._usable(f"{way[0]}->{way[1]}.", self._with_roles(way, settings))
        # A flow of a file also has heartbeats, and so has each flow back, unless the file says otherwise.
        return made | {"emit.heartbeats.enabled": "false"}

    def _add(self, known: dict[str, str], settings: Mapping[str, str], prefix: str, said_by: str) -> None:
        for key, value in settings.items():
            if known.setdefault(key, value) != value:
                option = locate(prefix + key, self._aliases()).option
                first, other = (shown(key, option, text) for text in (known[key], value))
                self.notes.append(f"{prefix}{key} is {first}; that {said_by} says {other} is not taken over")

    def _aliases(self) -> list[str]:
        return list(self._clusters)

    def _with_servers(self, alias: str, settings: Mapping[str, str]) -> dict[str, str]:
        if settings.get(_SERVERS):
            return dict(settings)
        self.notes.append(f"{alias}.{_SERVERS} is said nowhere: write the brokers of {alias}")
        return {_SERVERS: f"{alias}:9092", **settings}

    def _with_roles(self, way: tuple[str, str], settings: Mapping[str, str]) -> dict[str, str]:
        """A connector that is not there does nothing; in a file that must be said."""
        roles, flow = self._roles[way], f"{way[0]}->{way[1]}"
        mirrors = Role.SOURCE in roles and settings.get("enabled") != "false"
        said = {"enabled": str(mirrors).lower()}
        if Role.HEARTBEAT in roles:
            said |= {"emit.heartbeats.enabled": settings.get("emit.heartbeats.enabled", "true")}
        if mirrors and Role.CHECKPOINT not in roles:
            said |= {"emit.checkpoints.enabled": "false"}
            self.notes.append(f"{flow} has no {Role.CHECKPOINT.value}: groups of consumers do not move")
        if Role.CHECKPOINT in roles and not mirrors:
            self.notes.append(f"{flow} has no {Role.SOURCE.value}: checkpoints alone are not written; import both")
        others = {key: value for key, value in settings.items() if key not in said}
        return said | {key: value for key, value in others.items() if key != "emit.heartbeats.enabled"}

    def _usable(self, prefix: str, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name, value in settings.items():
            key = prefix + name
            address = locate(key, self._aliases())
            described = address.option or address.family
            text = shown(name, address.option, value)
            if described is None:
                self.notes.append(f"{key} = {text} means nothing here, left out")
            elif described.effect is not Effect.ACTS:
                self.notes.append(f"{key} = {text} is left out: {described.note}")
            else:
                yield key, self._without_secrets(key, value, is_secret(name, address.option))

    def _without_secrets(self, key: str, value: str, is_secret: bool) -> str:
        safe = without_secrets(key, value, is_secret)
        self.notes += [f"{key}: {reason}" for reason in safe.reasons]
        return safe.text


def as_text(entries: Mapping[str, str], notes: list[str], source: str) -> str:
    """The file, with the notes on top."""
    lines = [f"# Made by heliograph config import from {_one_line(source)}"]
    lines += [f"# note: {_one_line(note)}" for note in notes]
    group = None
    for key, value in entries.items():
        begin = key.partition(".")[0]
        lines += [""] if begin != group else []
        group = begin
        lines.append(f"{javaproperties.escape(key)} = {_escaped(value)}")
    return "\n".join([*lines, ""])


def _one_line(text: str) -> str:
    return " ".join(text.split()).encode("ascii", "javapropertiesreplace").decode()


def _escaped(value: str) -> str:
    text = "".join(_TO_ESCAPE.get(char, char) for char in value)
    return re.sub("^ ", r"\\ ", text).encode("ascii", "javapropertiesreplace").decode()
