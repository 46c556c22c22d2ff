"""Keys of MirrorMaker 2's heartbeat connector."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "emit.heartbeats.enabled",
        Kind.BOOLEAN,
        True,
        "Write heartbeats to the target, also for pairs of clusters whose flow is not enabled.",
        Scope.HEARTBEAT,
    ),
    Option(
        "emit.heartbeats.interval.seconds",
        Kind.LONG,
        1,
        "Time between heartbeats; negative: none.",
        Scope.HEARTBEAT,
        zero_allowed=False,
    ),
    Option(
        "heartbeats.topic.replication.factor",
        Kind.SHORT,
        3,
        "Replication factor of the `heartbeats` topic; -1: the broker's default.",
        Scope.HEARTBEAT,
        minimum=-1,
        zero_allowed=False,
    ),
)
