"""MirrorMaker 1 as a flow: what its command line and its two files mean here."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import javaproperties

from heliograph.config import options, properties
from heliograph.config.option import Scope
from heliograph.config.problem import Problem, Severity
from heliograph.config.properties import Entry, PropertiesFile
from heliograph.config.value import split_list
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND: Final = "kafka-mirror-maker"
_TARGET: Final = "target"
_SERVERS, _GROUP, _RESET = "bootstrap.servers", "group.id", "auto.offset.reset"
_NOT_IN_ALIASES: Final = re.compile(r"[^A-Za-z0-9_-]")
_OLD_RESETS: Final = {"smallest": "earliest", "largest": "latest"}
_OLD_SERVERS: Final = {"zookeeper.connect": "the brokers of the source", "metadata.broker.list": "the same brokers"}

# What MirrorMaker 1 does not do, and what it leaves to the brokers of the target.
_LIKE_MIRROR_MAKER_1: Final = {
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "topics.exclude": "__.*",
    "replication.factor": "-1",
    "emit.heartbeats.enabled": "false",
    "heartbeats.replication.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "emit.offset-syncs.enabled": "false",
    "sync.topic.configs.enabled": "false",
    "sync.topic.acls.enabled": "false",
}


@dataclass(frozen=True)
class Call:
    """One call of MirrorMaker 1: its two files, and the options that decide what is mirrored and how."""

    consumer: PropertiesFile
    producer: PropertiesFile
    include: str
    streams: int = 1
    commit_interval_ms: int = 60_000

    @property
    def group(self) -> str:
        """The consumer group under which it reads."""
        return self.consumer.entries[_GROUP].value.strip()

    @property
    def alias(self) -> str:
        """The name of the source: another one for every group and cluster, as each keeps books of its own."""
        servers = ",".join(sorted(split_list(self.consumer.entries[_SERVERS].value)))
        mark = hashlib.sha256(servers.encode()).hexdigest()[:8]
        return f"{_NOT_IN_ALIASES.sub('-', self.group)}-{mark}"


def as_flow(call: Call) -> PropertiesFile:
    """The same as an mm2.properties file. Raises ConfigError with all that is missing."""
    problems = [
        *_missing(call.consumer, _SERVERS),
        *_missing(call.consumer, _GROUP),
        *_missing(call.producer, _SERVERS),
    ]
    if problems:
        raise ConfigError(problems)
    lines = (javaproperties.join_key_value(key, value, separator=" = ") for key, value in _own_lines(call))
    own = properties.parse("\n".join(lines).encode("latin-1"), COMMAND)
    carried = [*_carried(call.consumer, call.alias, "consumer"), *_carried(call.producer, _TARGET, "producer")]
    entries = own.entries | {entry.key: entry for entry in carried}
    return PropertiesFile(COMMAND, entries, (*call.consumer.problems, *call.producer.problems))


def differences(call: Call) -> Iterator[str]:
    """What somebody should know who is used to MirrorMaker 1."""
    yield (
        f"mirrors as the flow {call.alias}->{_TARGET}: every record once and in its own partition, under the same "
        "topic names; what transactions have aborted is left out"
    )
    yield (
        f"positions are kept on the target; where there is none yet, group {call.group} tells where to begin, and it "
        "is moved along, so that kafka-consumer-groups shows the lag. End MirrorMaker 1 first"
    )
    yield "topics are created with as many partitions as on the source, without waiting for the first record"
    yield (
        "a record that the target does not take sets its partition aside, with the reason; the other partitions go on. "
        "Nothing is dropped, whatever --abort.on.send.failure says"
    )
    yield f"one process is enough: --num.streams {call.streams} is the number of lanes; a second one takes over"


def _own_lines(call: Call) -> Iterator[tuple[str, str]]:
    flow = f"{call.alias}->{_TARGET}"
    yield "clusters", f"{call.alias}, {_TARGET}"
    yield f"{flow}.enabled", "true"
    yield f"{flow}.topics", _topics(call.include)
    yield "tasks.max", str(call.streams)
    yield "start.group.id", call.group
    yield "progress.group.enabled", "true"
    yield "progress.group.id", call.group
    yield "progress.group.interval.seconds", str(max(1, call.commit_interval_ms // 1000))
    if _RESET not in call.consumer.entries:
        yield f"{call.alias}.consumer.{_RESET}", "latest"
    yield from _LIKE_MIRROR_MAKER_1.items()


def _topics(include: str) -> str:
    """Spaces count for nothing, nor do quotes around it all."""
    return include.replace(" ", "").strip("\"'")


def _carried(file: PropertiesFile, alias: str, role: str) -> Iterator[Entry]:
    """What all clients of a cluster need goes to the cluster, so that topics can be listed and created too."""
    for key, entry in file.entries.items():
        if key == _GROUP or key in _OLD_SERVERS:
            continue
        prefix = f"{alias}." if options.find(key, (Scope.CLIENT,)) else f"{alias}.{role}."
        value = _OLD_RESETS.get(entry.value.strip(), entry.value) if key == _RESET else entry.value
        yield replace(entry, key=prefix + key, value=value, file=file.file)


def _missing(file: PropertiesFile, key: str) -> Iterator[Problem]:
    entry = file.entries.get(key)
    if entry is not None and entry.value.strip():
        return
    hint = f"write {key} = …"
    for old, meaning in _OLD_SERVERS.items():
        if key == _SERVERS and old in file.entries:
            hint = f"instead of {old} write {key} = {meaning}, as host:port"
    line = entry.line if entry else None
    yield Problem(Severity.ERROR, "is missing" if entry is None else "is empty", hint, file.file, line, key)
