"""Keys that only Heliograph has; MirrorMaker 2 ignores them."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "transform.sql",
        Kind.STRING,
        None,
        "A query of Spark SQL that all records of a flow pass through, instead of `transforms`: `SELECT … FROM records "
        "WHERE …`; its columns key, value, headers, topic, partition and timestamp take the place of the record's own.",
        Scope.OWN,
    ),
    Option(
        "errors.deadletterqueue.content",
        Kind.STRING,
        "auto",
        "Whether a dead letter has the key and value that could not be transformed (`full`), or only headers that tell "
        "where the record is and what went wrong (`none`); `auto`: full, unless a transform of the flow hides data.",
        Scope.OWN,
        choices=("auto", "full", "none"),
    ),
    Option(
        "exactly.once.commit",
        Kind.STRING,
        "transactions",
        "How lanes write exactly once: in `transactions`, or by `sequences`: plain batches whose place in the source "
        "is declared ahead, with a fence after crashes. The latter takes less of the target's brokers and has the "
        "lower latency; it needs the right to read the target topics. Flows with transforms use transactions.",
        Scope.OWN,
        choices=("transactions", "sequences"),
    ),
    Option(
        "on.data.loss",
        Kind.STRING,
        "stop",
        "What a partition does when records vanished at the source before they were mirrored (retention, "
        "truncation, topic re-created): `stop` and report, or `continue` and record the gap.",
        Scope.OWN,
        choices=("stop", "continue"),
    ),
    Option(
        "bandwidth.limit.bytes.per.second",
        Kind.LONG,
        0,
        "Upper limit of a flow's traffic to its target, over all lanes; 0: no limit.",
        Scope.OWN,
        minimum=0,
    ),
    Option(
        "provenance.header",
        Kind.STRING,
        None,
        "For flows that keep topic names: a record header whose value is the alias of the cluster that a record came "
        "from, as other tools write it. Records that came from the target, or from a cluster whose records reach the "
        "target directly, are not passed on. Costs a look into every batch: compressed ones are decompressed for it, "
        "and those with such records are built anew. Unset: what other tools write is mirrored like any other record.",
        Scope.OWN,
    ),
    Option(
        "start.timestamp.ms",
        Kind.LONG,
        None,
        "Partitions without a stored position begin at the first record of this time or later "
        "(milliseconds since 1970); unset: by `auto.offset.reset`.",
        Scope.OWN,
        minimum=0,
    ),
    Option(
        "start.group.id",
        Kind.STRING,
        None,
        "Partitions without a stored position begin where this consumer group of the source stands, such as that of "
        "a tool that mirrored before; those it has committed nothing for, by `start.timestamp.ms` or "
        "`auto.offset.reset`.",
        Scope.OWN,
    ),
    Option(
        "ledger.topic.replication.factor",
        Kind.SHORT,
        3,
        "Replication factor of the ledger topic on the target; -1: the broker's default.",
        Scope.OWN,
        minimum=-1,
        zero_allowed=False,
    ),
    Option(
        "ledger.retention.ms",
        Kind.LONG,
        14 * 24 * 60 * 60 * 1000,
        "How long the journal keeps events and operations (14 days); -1: for ever. Also how long the ledger keeps what "
        "the mirror may not delete from it. Offsets of consumers are translated exactly whatever this says.",
        Scope.OWN,
        minimum=-1,
        zero_allowed=False,
    ),
    Option(
        "sync.group.deletions.enabled",
        Kind.BOOLEAN,
        False,
        "With `sync.group.offsets.enabled`, delete a group on the target when it is deleted on the source, if it has "
        "no members and holds only offsets that the mirror put there. Off unless asked for: a source that has lost its "
        "groups is what the target is there for.",
        Scope.OWN,
    ),
    Option(
        "progress.group.enabled",
        Kind.BOOLEAN,
        False,
        "Commit on the source, for a consumer group that stands for the mirror, what is safe on the target: then "
        "`kafka-consumer-groups --describe` shows the mirror's lag.",
        Scope.OWN,
    ),
    Option(
        "progress.group.id",
        Kind.STRING,
        "mm2-MirrorSourceConnector",
        "The name of that group; flows from the same source need different ones.",
        Scope.OWN,
    ),
    Option(
        "progress.group.interval.seconds",
        Kind.LONG,
        10,
        "Time between these commits.",
        Scope.OWN,
        minimum=1,
    ),
    Option(
        "sync.topic.acls.prefixed.enabled",
        Kind.BOOLEAN,
        False,
        "With `sync.topic.acls.enabled`, copy also rights on all topics that begin alike, and on all topics (`*`). Off "
        "unless asked for: on the target they also count for topics that no flow has mirrored there.",
        Scope.OWN,
    ),
)
