"""Keys of the producer that writes the target."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Kind, Option, Scope, Value

_WHOLE_BATCHES = "whole batches of the source are written as they come, and small ones are joined"
_ALWAYS_SAFE = "always on: every lane writes with sequence numbers and waits for all in-sync replicas"
_SAME_PARTITION = "records keep the partition they have at the source"
_RAW = "record batches are copied as the bytes they are"


def _idle(name: str, kind: Kind, default: Value, doc: str, note: str) -> Option:
    return Option(name, kind, default, doc, Scope.PRODUCER, effect=Effect.NONE, note=note)


def _level(codec: str, default: int, minimum: int, maximum: int, since: str = "3.8") -> Option:
    name = f"compression.{codec}.level"
    doc = f"Level used where batches are compressed with {codec}."
    return Option(
        name, Kind.INT, default, doc, Scope.PRODUCER, minimum=minimum, maximum=maximum, since=since,
        effect=Effect.NONE, note="the codec's usual level is used",
    )  # fmt: skip


OPTIONS: Final = (
    Option(
        "compression.type",
        Kind.STRING,
        None,
        "Codec of the batches on the target. Unset: batches keep the codec they have at the source, without "
        "being decompressed.",
        Scope.PRODUCER,
        mm2_default="none",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
    ),
    _level("gzip", -1, -1, 9),
    _level("lz4", 9, 1, 17),
    _level("zstd", 3, -131072, 22),
    Option(
        "max.request.size",
        Kind.INT,
        1048576,
        "Largest batch that is built anew; batches copied whole may be larger.",
        Scope.PRODUCER,
        minimum=0,
        effect=Effect.NONE,
        note=_WHOLE_BATCHES,
    ),
    Option(
        "max.in.flight.requests.per.connection",
        Kind.INT,
        5,
        "Unanswered requests for each broker; order is kept in any case.",
        Scope.PRODUCER,
        mm2_default="1",
        minimum=1,
        maximum=5,
        effect=Effect.NONE,
        note="requests follow each other without waiting; sequence numbers keep the order",
    ),
    Option(
        "delivery.timeout.ms",
        Kind.INT,
        120000,
        "Time after which a batch that could not be written is shown as trouble; it is still tried again.",
        Scope.PRODUCER,
        mm2_default="2147483647",
        minimum=0,
        effect=Effect.NONE,
        note="batches are tried until they are written; `status` shows what is held up",
    ),
    Option(
        "transaction.timeout.ms",
        Kind.INT,
        15000,
        "Time after which brokers abort a transaction that was left open. Short, because readers of "
        "committed data wait for it after a crash.",
        Scope.PRODUCER,
        mm2_default="60000",
        minimum=1,
    ),
    _idle("acks", Kind.STRING, "all", "Replicas that must have a batch.", _ALWAYS_SAFE),
    _idle("enable.idempotence", Kind.BOOLEAN, True, "Writes without repeats.", _ALWAYS_SAFE),
    _idle(
        "transactional.id",
        Kind.STRING,
        None,
        "Name of the producer's transactions.",
        "each lane has its own id, by flow and lane, so that predecessors are fenced",
    ),
    _idle("batch.size", Kind.INT, 16384, "Size of a batch.", _WHOLE_BATCHES),
    _idle("linger.ms", Kind.LONG, 5, "Wait for a batch to fill.", _WHOLE_BATCHES),
    _idle(
        "buffer.memory",
        Kind.LONG,
        33554432,
        "Memory for records that wait.",
        "a lane holds at most its fetches; their size is `fetch.max.bytes` of the consumer",
    ),
    _idle("max.block.ms", Kind.LONG, 60000, "Longest wait for that memory.", "nothing waits for memory"),
    _idle("retries", Kind.INT, 2147483647, "Tries for each batch.", "batches are tried until they are written"),
    _idle("metadata.max.idle.ms", Kind.LONG, 300000, "Idle time after which a topic is forgotten.", _RAW),
    _idle("partitioner.class", Kind.CLASS, None, "Java class that chooses partitions.", _SAME_PARTITION),
    _idle("partitioner.ignore.keys", Kind.BOOLEAN, False, "Choose without keys.", _SAME_PARTITION),
    _idle("partitioner.adaptive.partitioning.enable", Kind.BOOLEAN, True, "Choose by load.", _SAME_PARTITION),
    _idle("partitioner.availability.timeout.ms", Kind.LONG, 0, "Avoid slow brokers.", _SAME_PARTITION),
    _idle("key.serializer", Kind.CLASS, None, "Java class that writes keys.", _RAW),
    _idle("value.serializer", Kind.CLASS, None, "Java class that writes values.", _RAW),
    _idle(
        "interceptor.classes",
        Kind.LIST,
        (),
        "Java classes that see each record.",
        "Java classes cannot be loaded here; use `transforms`",
    ),
)
