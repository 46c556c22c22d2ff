"""Java's own `RemoteClusterUtils`, asked from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaGateway

from heliograph.client import GroupOffsets, OffsetAndMetadata, TopicPartition


def java_map(java: JavaGateway, settings: Mapping[str, str]) -> Any:
    """The settings as Java takes them."""
    found = java.jvm.java.util.HashMap()
    for key, value in settings.items():
        found.put(key, value)
    return found


def java_offsets(java: JavaGateway, settings: Mapping[str, str], remote_alias: str, group: str) -> GroupOffsets:
    """What `RemoteClusterUtils.translateOffsets` says of one group."""
    return _offsets(_translate(java, settings, remote_alias, group))


def java_offsets_by_group(
    java: JavaGateway, settings: Mapping[str, str], remote_alias: str, pattern: str
) -> dict[str, GroupOffsets]:
    """What `RemoteClusterUtils.translateOffsets` says of all groups that fit a pattern."""
    found = _translate(java, settings, remote_alias, java.jvm.java.util.regex.Pattern.compile(pattern))
    return {entry.getKey(): _offsets(entry.getValue()) for entry in found.entrySet()}


def _translate(java: JavaGateway, settings: Mapping[str, str], remote_alias: str, groups: Any) -> Any:
    utils = java.jvm.org.apache.kafka.connect.mirror.RemoteClusterUtils
    patience = java.jvm.java.time.Duration.ofSeconds(20)
    return utils.translateOffsets(java_map(java, settings), remote_alias, groups, patience)


def _offsets(found: Any) -> GroupOffsets:
    return {
        TopicPartition(entry.getKey().topic(), entry.getKey().partition()): OffsetAndMetadata(
            entry.getValue().offset(), entry.getValue().metadata()
        )
        for entry in found.entrySet()
    }
