"""Keys of the consumer that reads the source."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Kind, Option, Scope, Value

_NO_GROUP = "positions are kept on the target beside the data; the source consumer is in no group"
_RAW = "record batches are copied as the bytes they are"


def _idle(name: str, kind: Kind, default: Value, doc: str, note: str) -> Option:
    return Option(name, kind, default, doc, Scope.CONSUMER, effect=Effect.NONE, note=note)


def _bytes(name: str, default: int, doc: str, mm2_default: str = "") -> Option:
    return Option(name, Kind.INT, default, doc, Scope.CONSUMER, minimum=0, mm2_default=mm2_default)


OPTIONS: Final = (
    _bytes("fetch.min.bytes", 1, "Data that a broker waits for before it answers a fetch."),
    _bytes(
        "fetch.max.bytes",
        8388608,
        "Most data in one fetch; a lane keeps up to three of them in memory for each broker, six for a far one.",
        "52428800",
    ),
    _bytes("max.partition.fetch.bytes", 2097152, "Most data of one partition in one fetch.", "1048576"),
    Option(
        "fetch.max.wait.ms",
        Kind.INT,
        500,
        "Longest wait of a broker for that data.",
        Scope.CONSUMER,
        minimum=0,
    ),
    Option(
        "client.rack",
        Kind.STRING,
        "",
        "Rack of this mirror, so that it reads from the nearest replica.",
        Scope.CONSUMER,
    ),
    Option(
        "isolation.level",
        Kind.STRING,
        "read_committed",
        "Only committed records are mirrored. MirrorMaker 2 also copies aborted ones unless told otherwise.",
        Scope.CONSUMER,
        mm2_default="read_uncommitted",
        choices=("read_committed", "read_uncommitted"),
        effect=Effect.NONE,
        note="only committed records are mirrored, whatever this says",
    ),
    Option(
        "auto.offset.reset",
        Kind.STRING,
        "earliest",
        "Where partitions without a stored position begin; those that are added to a topic which is mirrored already "
        "begin at their first record also with latest. MirrorMaker 2 sets the same default for its consumers (Kafka's "
        "own is latest).",
        Scope.CONSUMER,
        choices=("earliest", "latest", "none"),
    ),
    Option(
        "check.crcs",
        Kind.BOOLEAN,
        True,
        "Check the checksum of each batch read.",
        Scope.CONSUMER,
        effect=Effect.NONE,
        note="always checked",
    ),
    _idle(
        "max.poll.records",
        Kind.INT,
        500,
        "Most records in one poll.",
        "whole batches are copied, not records; the size of a fetch is `fetch.max.bytes`",
    ),
    _idle("max.poll.interval.ms", Kind.INT, 300000, "Longest time between polls.", _NO_GROUP),
    _idle(
        "enable.auto.commit",
        Kind.BOOLEAN,
        False,
        "Commit offsets by timer; MirrorMaker 2 always sets false.",
        _NO_GROUP,
    ),
    _idle("auto.commit.interval.ms", Kind.INT, 5000, "Time between such commits.", _NO_GROUP),
    _idle("group.id", Kind.STRING, None, "Group of the consumer.", _NO_GROUP),
    _idle("group.instance.id", Kind.STRING, None, "Static member name.", _NO_GROUP),
    _idle("group.protocol", Kind.STRING, "classic", "Group protocol.", _NO_GROUP),
    _idle("group.remote.assignor", Kind.STRING, None, "Assignor on the broker.", _NO_GROUP),
    _idle("session.timeout.ms", Kind.INT, 45000, "Time after which a member counts as dead.", _NO_GROUP),
    _idle("heartbeat.interval.ms", Kind.INT, 3000, "Time between group heartbeats.", _NO_GROUP),
    _idle("partition.assignment.strategy", Kind.LIST, (), "Assignors on the client.", _NO_GROUP),
    _idle("exclude.internal.topics", Kind.BOOLEAN, True, "Leave out internal topics.", "see `topics.exclude`"),
    _idle(
        "allow.auto.create.topics",
        Kind.BOOLEAN,
        True,
        "Let reading create topics.",
        "the source is only read; nothing is ever created there by reading",
    ),
    _idle("key.deserializer", Kind.CLASS, None, "Java class that reads keys.", _RAW),
    _idle("value.deserializer", Kind.CLASS, None, "Java class that reads values.", _RAW),
    _idle(
        "interceptor.classes",
        Kind.LIST,
        (),
        "Java classes that see each record.",
        "Java classes cannot be loaded here; use `transforms`",
    ),
)
