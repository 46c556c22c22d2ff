"""The questions of `MirrorClient` as functions, each over a client of its own: for one question now and then."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import overload

from heliograph.client.mirror_client import MirrorClient
from heliograph.client.offsets import GroupOffsets


def replication_hops(settings: Mapping[str, str], upstream_alias: str) -> int | None:
    """How many flows lie between a cluster and this one, by the shortest way; None if there is none."""
    with MirrorClient(settings) as client:
        return client.replication_hops(upstream_alias)


def heartbeat_topics(settings: Mapping[str, str]) -> set[str]:
    """The topics with heartbeats, the cluster's own and mirrored ones."""
    with MirrorClient(settings) as client:
        return client.heartbeat_topics()


def checkpoint_topics(settings: Mapping[str, str]) -> set[str]:
    """The topics with checkpoints, one for each cluster that is mirrored into this one."""
    with MirrorClient(settings) as client:
        return client.checkpoint_topics()


def upstream_clusters(settings: Mapping[str, str]) -> set[str]:
    """The clusters that records can come from, at any distance."""
    with MirrorClient(settings) as client:
        return client.upstream_clusters()


@overload
def translate_offsets(
    settings: Mapping[str, str], remote_alias: str, group: str, timeout: float = ...
) -> GroupOffsets: ...


@overload
def translate_offsets(
    settings: Mapping[str, str], remote_alias: str, group: re.Pattern[str], timeout: float = ...
) -> dict[str, GroupOffsets]: ...


def translate_offsets(
    settings: Mapping[str, str], remote_alias: str, group: str | re.Pattern[str], timeout: float = 30
) -> GroupOffsets | dict[str, GroupOffsets]:
    """Where a group of another cluster goes on reading here; for a pattern, by each group whose whole name fits."""
    with MirrorClient(settings) as client:
        return client.remote_consumer_offsets(group, remote_alias, timeout)
