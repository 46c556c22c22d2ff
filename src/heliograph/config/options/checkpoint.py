"""Keys of MirrorMaker 2's checkpoint connector."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Kind, Option, Scope
from heliograph.policy import filters

OPTIONS: Final = (
    Option(
        "groups",
        Kind.REGEXES,
        (".*",),
        "Consumer groups to follow: names or Java regular expressions.",
        Scope.CHECKPOINT,
    ),
    Option(
        "groups.exclude",
        Kind.REGEXES,
        tuple(filters.split_list(filters.GROUPS_EXCLUDE_DEFAULT)),
        "Groups to leave out; wins over `groups`.",
        Scope.CHECKPOINT,
    ),
    Option(
        "groups.blacklist",
        Kind.REGEXES,
        None,
        "Old name of `groups.exclude`.",
        Scope.CHECKPOINT,
        removed="4.0",
        replaced_by="groups.exclude",
    ),
    Option(
        "group.filter.class",
        Kind.CLASS,
        "org.apache.kafka.connect.mirror.DefaultGroupFilter",
        "Decides which groups are followed: the default, or a Python class.",
        Scope.CHECKPOINT,
    ),
    Option("refresh.groups.enabled", Kind.BOOLEAN, True, "Look for new consumer groups.", Scope.CHECKPOINT),
    Option(
        "refresh.groups.interval.seconds",
        Kind.LONG,
        5,
        "Time between looks for new groups; negative: never.",
        Scope.CHECKPOINT,
        mm2_default="600",
        zero_allowed=False,
    ),
    Option(
        "emit.checkpoints.enabled",
        Kind.BOOLEAN,
        True,
        "Write checkpoints: translated offsets of the groups, on the target.",
        Scope.CHECKPOINT,
    ),
    Option(
        "emit.checkpoints.interval.seconds",
        Kind.LONG,
        60,
        "Time between checkpoints; negative: none.",
        Scope.CHECKPOINT,
        zero_allowed=False,
    ),
    Option(
        "sync.group.offsets.enabled",
        Kind.BOOLEAN,
        False,
        "Set the translated offsets for the groups on the target, where they have no live members.",
        Scope.CHECKPOINT,
        since="2.7",
    ),
    Option(
        "sync.group.offsets.interval.seconds",
        Kind.LONG,
        60,
        "Time between these syncs; negative: none.",
        Scope.CHECKPOINT,
        since="2.7",
        zero_allowed=False,
    ),
    Option(
        "checkpoints.topic.replication.factor",
        Kind.SHORT,
        3,
        "Replication factor of the checkpoints topic; -1: the broker's default.",
        Scope.CHECKPOINT,
        minimum=-1,
        zero_allowed=False,
    ),
    Option(
        "task.assigned.groups",
        Kind.LIST,
        None,
        "MirrorMaker 2 hands its tasks their groups in this key.",
        Scope.CHECKPOINT,
        effect=Effect.NONE,
        note="internal to MirrorMaker 2; which groups are followed is said by `groups`",
    ),
)
