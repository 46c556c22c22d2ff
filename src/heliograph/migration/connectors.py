"""Connectors as they are posted to Kafka Connect: alone, in lists, by name, with or without their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from heliograph.config.problem import Problem, Severity
from heliograph.errors import ConfigError
from heliograph.migration.document import Document
from heliograph.migration.draft import Draft, Role

_CLASS: Final = "connector.class"
_ROLES: Final = {role.value: role for role in Role}


@dataclass(frozen=True)
class Connector:
    """One connector: its name, its configuration, and where it begins."""

    name: str
    config: Mapping[str, Any]
    line: int


def holds_connectors(value: object) -> bool:
    """Whether a document seems to be about connectors."""
    return next(_found(Document(value, 0)), None) is not None


def add_connectors(documents: list[Document], file: str, draft: Draft) -> None:
    """Add all connectors of some documents to a draft. Raises ConfigError with all that cannot be used."""
    problems: list[Problem] = []
    usable: list[tuple[Role, tuple[str, str], dict[str, str], str]] = []
    for connector in (item for document in documents for item in _found(document)):
        role = _ROLES.get(str(connector.config[_CLASS]).rpartition(".")[2])
        if role is None:
            draft.notes.append(f"{connector.name} is a {connector.config[_CLASS]}, not MirrorMaker 2's: left out")
            continue
        found = list(_faults(connector, file))
        problems += found
        if not found:
            usable.append((role, _way(connector), _texts(connector.config), connector.name))
    if problems:
        raise ConfigError(problems)
    for item in sorted(usable, key=lambda item: list(Role).index(item[0])):
        draft.add_connector(*item)


def _found(document: Document) -> Iterator[Connector]:
    for name, value in _objects("", document.value):
        config = value.get("config", value)
        if isinstance(config, dict) and _CLASS in config:
            yield Connector(str(value.get("name") or config.get("name") or name), config, document.line)


def _objects(name: str, value: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that may be connectors: of lists each item, of answers of Kafka Connect's REST what stands below names."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(name, item)
    elif isinstance(value, dict) and (_CLASS in value or "config" in value):
        yield name or "a connector", value
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _objects(name if key == "info" else str(key), item)


def _faults(connector: Connector, file: str) -> Iterator[Problem]:
    for key, value in connector.config.items():
        if isinstance(value, dict | list):
            message = f"{connector.name}: is not one value"
            yield Problem(Severity.ERROR, message, "write it as text", file, connector.line, key)
    if not connector.config.get("source.cluster.alias"):
        message, hint = f"{connector.name}: is missing", "name the source, as the connector does"
        yield Problem(Severity.ERROR, message, hint, file, connector.line, "source.cluster.alias")


def _way(connector: Connector) -> tuple[str, str]:
    config = connector.config
    return str(config["source.cluster.alias"]).strip(), str(config.get("target.cluster.alias") or "target").strip()


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    return {key: text_of(value) for key, value in config.items() if value is not None}


def text_of(value: object) -> str:
    """A value as a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
