"""Keys of Connect's workers; in the file they stand behind the target's alias, `B.…`."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Family, Kind, Option, Scope, Value

_NO_GROUP = "there are no Connect workers to coordinate; Spark's driver plans the lanes"
_NO_FLUSH = "positions are committed together with the data, in the same transaction"
_ONLY_CHANGES = "the configuration is read from the file at each start; the topic keeps only what was changed over REST"
_FROM_LEDGER = "how flows stand is read from the ledger and both clusters; nothing is written to a topic of its own"
_NO_KEYS = "no REST calls between nodes are made, so none is signed"
_RAW = "records are mirrored as the bytes they are, without converters"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_JAVA = "Java plugins are not loaded; custom policies, filters and transforms are Python classes"


def _idle(name: str, kind: Kind, default: Value, doc: str, note: str, at_top: bool = False) -> Option:
    return Option(name, kind, default, doc, Scope.WORKER, effect=Effect.NONE, note=note, dropped_at_top=not at_top)


def _replication_factor(storage: str, doc: str) -> Option:
    name = f"{storage}.storage.replication.factor"
    return Option(name, Kind.SHORT, 3, doc, Scope.WORKER, minimum=-1, zero_allowed=False)


def _partitions(storage: str, default: int, doc: str) -> Option:
    name = f"{storage}.storage.partitions"
    return Option(name, Kind.INT, default, doc, Scope.WORKER, minimum=-1, zero_allowed=False)


_STORAGE: Final = (
    Option(
        "offset.storage.topic",
        Kind.STRING,
        None,
        "Topic on the target that holds the positions; unset: `mm2-offsets.A.internal`.",
        Scope.WORKER,
    ),
    _partitions("offset", 25, "Partitions of that topic when it is created."),
    _replication_factor("offset", "Its replication factor; -1: the broker's default."),
    Option(
        "status.storage.topic",
        Kind.STRING,
        None,
        "Topic on the target that holds the status; unset: `mm2-status.A.internal`.",
        Scope.WORKER,
        effect=Effect.NONE,
        note=_FROM_LEDGER,
    ),
    _idle("status.storage.partitions", Kind.INT, 5, "Partitions of that topic when it is created.", _FROM_LEDGER),
    _idle("status.storage.replication.factor", Kind.SHORT, 3, "Its replication factor.", _FROM_LEDGER),
    Option(
        "config.storage.topic",
        Kind.STRING,
        None,
        "Topic on the target that keeps what was changed over REST; unset: `mm2-configs.A.internal`.",
        Scope.WORKER,
    ),
    _replication_factor("config", "Its replication factor; -1: the broker's default."),
)

_DELIVERY: Final = (
    Option(
        "exactly.once.source.support",
        Kind.STRING,
        "enabled",
        "`enabled`: data and positions are written in one transaction; `disabled`: at least once, without "
        "transactions. `preparing` counts as enabled.",
        Scope.WORKER,
        mm2_default="disabled",
        choices=("disabled", "preparing", "enabled"),
        since="3.3",
        dropped_at_top=True,
    ),
    Option(
        "task.shutdown.graceful.timeout.ms",
        Kind.LONG,
        15000,
        "Time that lanes get to finish when the mirror stops.",
        Scope.WORKER,
        mm2_default="5000",
        minimum=0,
    ),
    _idle("offset.flush.interval.ms", Kind.LONG, 60000, "Time between commits of positions.", _NO_FLUSH),
    _idle("offset.flush.timeout.ms", Kind.LONG, 5000, "Limit for such a commit.", _NO_FLUSH),
)

_CONVERTERS: Final = (
    Option(
        "key.converter",
        Kind.CLASS,
        _BYTES,
        "What transforms take keys for, by the name of Kafka Connect's class; bytes: what each of them looks like.",
        Scope.WORKER,
    ),
    Option(
        "value.converter",
        Kind.CLASS,
        _BYTES,
        "What transforms take values for, by the name of Kafka Connect's class; bytes: what each of them looks like.",
        Scope.WORKER,
    ),
    _idle("header.converter", Kind.CLASS, _BYTES, "Java class that reads and writes headers.", _RAW, at_top=True),
)

_GROUP: Final = (
    Option(
        "group.id",
        Kind.STRING,
        None,
        "Name of the Connect cluster; unset: `A-mm2`. Kept, because it stands in transactional ids.",
        Scope.WORKER,
        dropped_at_top=True,
    ),
    _idle("session.timeout.ms", Kind.INT, 10000, "Time after which a worker counts as dead.", _NO_GROUP),
    _idle("heartbeat.interval.ms", Kind.INT, 3000, "Time between signs of life.", _NO_GROUP),
    _idle("rebalance.timeout.ms", Kind.INT, 60000, "Limit for joining a rebalance.", _NO_GROUP),
    _idle("scheduled.rebalance.max.delay.ms", Kind.INT, 300000, "Wait for a lost worker.", _NO_GROUP),
    _idle("worker.sync.timeout.ms", Kind.INT, 3000, "Limit for catching up.", _NO_GROUP, at_top=True),
    _idle("worker.unsync.backoff.ms", Kind.INT, 300000, "Pause after failing to.", _NO_GROUP, at_top=True),
    _idle("connect.protocol", Kind.STRING, "sessioned", "Protocol of the group.", _NO_GROUP),
    _idle("inter.worker.key.generation.algorithm", Kind.STRING, "HmacSHA256", "Kind of key.", _NO_KEYS),
    _idle("inter.worker.key.size", Kind.INT, None, "Size of the key.", _NO_KEYS),
    _idle("inter.worker.key.ttl.ms", Kind.INT, 3600000, "Life of the key.", _NO_KEYS),
    _idle("inter.worker.signature.algorithm", Kind.STRING, "HmacSHA256", "Kind of signature.", _NO_KEYS),
    _idle("inter.worker.verification.algorithms", Kind.LIST, ("HmacSHA256",), "Kinds accepted.", _NO_KEYS),
)

_PLUGINS: Final = (
    _idle("plugin.path", Kind.LIST, None, "Folders with Java plugins.", _JAVA),
    _idle("plugin.discovery", Kind.STRING, "hybrid_warn", "How Java plugins are found.", _JAVA),
    _idle(
        "connector.client.config.override.policy",
        Kind.STRING,
        "All",
        "Which client keys a connector may override.",
        "the file is trusted: every client key it sets counts",
    ),
    _idle("topic.creation.enable", Kind.BOOLEAN, True, "Let Connect create topics.", "see `replication.factor`"),
    _idle("topic.tracking.enable", Kind.BOOLEAN, True, "Track topics in use.", "the ledger names every topic"),
    _idle("topic.tracking.allow.reset", Kind.BOOLEAN, True, "Let that be reset.", "the ledger names every topic"),
)

OPTIONS: Final = (*_STORAGE, *_DELIVERY, *_CONVERTERS, *_GROUP, *_PLUGINS)

FAMILIES: Final = (
    Family("offset.storage.", "Topic settings of the positions topic when it is created.", Scope.WORKER),
    Family("status.storage.", "Topic settings of the status topic.", Scope.WORKER, Effect.NONE, _FROM_LEDGER),
    Family(
        "config.storage.",
        "Topic settings of the configurations topic.",
        Scope.WORKER,
        Effect.NONE,
        _ONLY_CHANGES,
    ),
    Family("key.converter.", "Settings of that class, such as `schemas.enable`.", Scope.WORKER),
    Family("value.converter.", "Settings of that class, such as `schemas.enable`.", Scope.WORKER),
    Family("header.converter.", "Settings of that class.", Scope.WORKER, Effect.NONE, _RAW),
)
