"""The settings of a flow as Kafka Connect shows those of a connector: one flat map of texts, read and written.

All connectors of a flow share its settings. What is written is the whole map, as with Connect; what differs from the
file are the changes of the flow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heliograph.config.address import ROLES, client_key
from heliograph.config.cluster import ClusterConfig
from heliograph.config.flow import FlowConfig
from heliograph.config.option import FLOW_SCOPES
from heliograph.config.overrides import Changes
from heliograph.config.problem import Problem, Severity
from heliograph.config.setting import Setting, value_text
from heliograph.control.connector import Connector
from heliograph.errors import ConfigError

CONNECTOR_CLASS = "connector.class"
_PACKAGE = "org.apache.kafka.connect.mirror."
_SUFFIX = "Connector"

Texts = Mapping[str, str]


def class_name(connector: Connector) -> str:
    """The Java class that Kafka Connect would run."""
    return _PACKAGE + connector.value


def connector_of_class(name: str) -> Connector | None:
    """The connector that a class means: in full, without its package, or also without `Connector`."""
    return next((item for item in Connector if name in _spellings(item)), None)


def _spellings(connector: Connector) -> tuple[str, ...]:
    return class_name(connector), connector.value, connector.value.removesuffix(_SUFFIX)


def config_texts(flow: FlowConfig, connector: Connector, name: str) -> dict[str, str]:
    """All that the file, or a change, says for a connector; secrets hidden, references as they are written."""
    return {**_identity(flow, connector, name), **{key: item.text for key, item in _settings(flow).items()}}


def _identity(flow: FlowConfig, connector: Connector, name: str) -> dict[str, str]:
    """What nobody can change: it says which connector this is."""
    return {
        "name": name,
        CONNECTOR_CLASS: class_name(connector),
        "source.cluster.alias": flow.source.alias,
        "target.cluster.alias": flow.target.alias,
        "enabled": value_text(flow.enabled),
    }


def _settings(flow: FlowConfig) -> dict[str, Setting]:
    found = {_name_in(flow, item, item.name): item for item in flow.settings.values() if _is_of_connectors(flow, item)}
    for side, cluster in (("source", flow.source), ("target", flow.target)):
        found |= {_name_in(flow, item, name): item for name, item in _client_settings(side, cluster)}
    return {name: item for name, item in found.items() if name not in _identity(flow, Connector.SOURCE, "")}


def _is_of_connectors(flow: FlowConfig, item: Setting) -> bool:
    """Whether the file says it, and not only to a worker."""
    if not item.origin.is_given:
        return False
    return item.option is None or item.option.scope in FLOW_SCOPES or item.origin.key.startswith(f"{flow.name}.")


def _client_settings(side: str, cluster: ClusterConfig) -> Iterator[tuple[str, Setting]]:
    """What is said to all clients of a cluster alike, and what to those of one role."""
    by_role = {role: cluster.clients[role].settings for role in ROLES}
    for role, settings in by_role.items():
        for name, item in settings.items():
            if item.origin.is_given:
                is_shared = all(others.get(name) == item for others in by_role.values())
                yield f"{side}.cluster.{name}" if is_shared else f"{side}.{role}.{name}", item


def _name_in(flow: FlowConfig, item: Setting, name: str) -> str:
    """A key of the flow itself keeps the name that it was given there."""
    prefix = f"{flow.name}."
    return item.origin.key.removeprefix(prefix) if item.origin.key.startswith(prefix) else name


@dataclass(frozen=True)
class ConfigRevision:
    """A whole new map for one connector, and what it means for the settings of its flow."""

    now: FlowConfig  # as the flow runs
    file: FlowConfig  # as if nothing had been changed since the start
    changed: Changes  # what makes the difference between them

    def changes(self, wanted: Texts) -> dict[str, str | None]:
        """The changes after which the map would be the wanted one; raises ConfigError."""
        identity = _identity(self.now, Connector.SOURCE, "")
        shown, written = _texts(self.now), _texts(self.file)
        found: dict[str, str | None] = {}
        for name, value in wanted.items():
            if name in identity or written.get(name) == value:
                continue
            found[name] = self.changed[name] if name in self.changed and shown.get(name) == value else value
        for name, item in _settings(self.file).items():
            if name not in wanted:
                found[name] = self._default(name, item)
        return found

    def _default(self, name: str, item: Setting) -> str | None:
        """What a setting becomes when the map leaves it out; another key than its own may stand behind it."""
        if item.origin.key in (name, f"{self.file.name}.{name}"):
            return None
        if item.option is None or item.option.default is None:
            raise ConfigError([_problem(self.file, name, f"stands in {item.origin}: remove it there and restart")])
        return value_text(item.option.default)

    def check_effect(self, changes: Changes, after: FlowConfig) -> None:
        """Raise ConfigError for changes that another key of the file overrides."""
        idle = [name for name, value in changes.items() if value is not None and not _acts(after, name)]
        if idle:
            why = "has no effect, because another key of the file prevails: change the file and restart"
            raise ConfigError([_problem(after, name, why) for name in idle])


def _acts(flow: FlowConfig, name: str) -> bool:
    """Whether a key of the flow decides; one for clients of both sides, on the side that records pass."""
    client = client_key(name)
    if client is None or client.side or not client.role:
        return name in _settings(flow)
    cluster = flow.target if client.role == "producer" else flow.source
    item = cluster.clients[client.role].settings.get(client.name)
    return item is not None and item.origin.key == f"{flow.name}.{name}"


def _texts(flow: FlowConfig) -> dict[str, str]:
    return {name: item.text for name, item in _settings(flow).items()}


def _problem(flow: FlowConfig, name: str, message: str) -> Problem:
    return Problem(Severity.ERROR, message, key=f"{flow.name}.{name}")
