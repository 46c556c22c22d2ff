"""The configuration of a drill: that of production, under other aliases and for canary topics and groups alone.

It is made from the text of the file, so that references to secrets stay references. What would act outside of the drill
is left out: hooks, REST, heartbeats, rights, names of topics and groups that the file gives itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import javaproperties

from heliograph.config.address import Address, Place, locate
from heliograph.config.environment import read_with_variables
from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.option import Scope
from heliograph.config.value import split_list
from heliograph.config.variable_name import FILE_ALONE
from heliograph.recovery.drill.names import DrillNames
from heliograph.sync.topics import mirrored_names

NOWHERE: Final = "127.0.0.1:1"  # nobody listens there: what a cluster looks like that is gone
_SERVERS: Final = "bootstrap.servers"
_LEFT_OUT: Final = (
    "clusters", "enabled", "hooks", "hooks.", "topics", "topics.", "topic.filter.class", "groups", "groups.",
    "group.filter.class", "group.id", "name", "connector.class", "offset.storage.topic", "status.storage.topic",
    "config.storage.topic", "offsets.storage.topic", "source.cluster.alias", "target.cluster.alias",
    "progress.group.", "start.timestamp.ms", "start.group.id", "emit.heartbeats.", "heartbeats.replication.",
    "sync.topic.acls.",
    "emit.checkpoints.interval.seconds", "sync.group.offsets.interval.seconds", "sync.group.deletions.",
    "refresh.", "transforms", "transforms.", "predicates", "predicates.",
)  # fmt: skip
_KEPT_FOR_REAL: Final = (
    "replication.policy.", "emit.checkpoints.enabled", "sync.group.offsets.enabled", "tasks.max",
    "exactly.once.source.support", "offset-syncs.topic.location", "bandwidth.limit.bytes.per.second",
)  # fmt: skip
_OWN: Final = {
    "topics.exclude": "__.*",
    "groups.exclude": "__.*",
    "emit.heartbeats.enabled": "false",
    "heartbeats.replication.enabled": "false",
    "sync.topic.acls.enabled": "false",
    "consumer.auto.offset.reset": "earliest",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "refresh.topics.interval.seconds": "5",
}
_ONE_BROKER: Final = dict.fromkeys(
    (
        "replication.factor", "offset.storage.replication.factor", "config.storage.replication.factor",
        "ledger.topic.replication.factor", "checkpoints.topic.replication.factor",
        "offset-syncs.topic.replication.factor",
    ),
    "1",
)  # fmt: skip

Entries = Mapping[str, str]


@dataclass(frozen=True)
class DrillConfig:
    """The drill's configuration; `as_if_lost` is the same with a source that does not answer."""

    file: Path
    config: MirrorConfig
    as_if_lost: MirrorConfig
    names: DrillNames

    @property
    def flow(self) -> FlowConfig:
        """The drill's own flow."""
        return flow_of(self.config, self.names)

    @property
    def copies(self) -> dict[str, str]:
        """The names on the target of the canary topics."""
        return mirrored_names(self.flow, self.names.topics)


def flow_of(config: MirrorConfig, names: DrillNames) -> FlowConfig:
    """The drill's flow in one of its configurations."""
    flow = config.flow(names.flow)
    assert flow is not None
    return flow


def rehearsal_entries(file: Path, names: DrillNames) -> dict[str, str]:
    """For the clusters of a file: connections, policies and limits as they are there."""
    return {**dict(_renamed(file, names)), **_own_entries(names)}


def embedded_entries(file: Path | None, names: DrillNames, servers: Mapping[str, str]) -> dict[str, str]:
    """For clusters of this machine; of a file only what decides on names and on what is written down."""
    kept = _renamed(file, names, _KEPT_FOR_REAL) if file else ()
    return {
        **dict(kept),
        **_own_entries(names),
        **_ONE_BROKER,
        f"{names.source_alias}.{_SERVERS}": servers[names.source],
        f"{names.target_alias}.{_SERVERS}": servers[names.target],
    }


def write_config(entries: Entries, names: DrillNames, folder: Path) -> DrillConfig:
    """Write and read the drill's files; nobody else may read them, should the file hold a secret as it is."""
    file, blind = folder / "drill.properties", folder / "lost.properties"
    _write(file, entries)
    _write(blind, _without_source(entries, names))
    return DrillConfig(file, _load(file), _load(blind), names)


def _load(file: Path) -> MirrorConfig:
    """The drill's own file has what variables say, under other names."""
    return load(file, {**os.environ, FILE_ALONE: "1"})


def carriers(production: MirrorConfig, drill: DrillConfig) -> list[str]:
    """The flows of production that would carry canary topics on, or copies of them."""
    topics = [*drill.names.topics, *drill.copies.values()]
    flows = (*production.flows, *production.others)
    return [flow.name for flow in flows if flow.enabled and mirrored_names(flow, topics)]


def _renamed(file: Path, names: DrillNames, only: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    entries = read_with_variables(file, os.environ).entries
    aliases = [alias for alias in split_list(entries["clusters"].value) if alias]
    new = {names.source: names.source_alias, names.target: names.target_alias}
    for key, entry in entries.items():
        address = locate(key, aliases)
        is_wanted = _is_kept(address) and (not only or _is_one_of(address.name, only))
        if is_wanted and all(alias in new for alias in address.clusters):
            yield _prefix(address, new) + address.name, entry.value


def _is_kept(address: Address) -> bool:
    described = address.option or address.family
    if described is None or described.scope is Scope.REST or _is_one_of(address.name, _LEFT_OUT):
        return False
    return address.client is None or address.client.name != "auto.offset.reset"


def _is_one_of(name: str, names: Iterable[str]) -> bool:
    """Whether a name is one of several, of which those that end in a dot stand for all that begin so."""
    return any(name.startswith(item) if item.endswith(".") else name == item for item in names)


def _prefix(address: Address, new: Mapping[str, str]) -> str:
    aliases = [new[alias] for alias in address.clusters]
    return "" if address.place is Place.TOP else f"{'->'.join(aliases)}."


def _own_entries(names: DrillNames) -> dict[str, str]:
    return {
        "clusters": f"{names.source_alias}, {names.target_alias}",
        f"{names.flow}.enabled": "true",
        "topics": ", ".join(topic.replace(".", "[.]") for topic in names.topics),
        "groups": ", ".join(names.groups),
        **_OWN,
    }


def _without_source(entries: Entries, names: DrillNames) -> dict[str, str]:
    own = f"{names.target_alias}."
    return {
        key: NOWHERE if key.endswith(_SERVERS) and not key.startswith(own) else value for key, value in entries.items()
    }


def _write(file: Path, entries: Entries) -> None:
    text = javaproperties.dumps(dict(entries), timestamp=False)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="latin-1") as out:
        out.write(text)
