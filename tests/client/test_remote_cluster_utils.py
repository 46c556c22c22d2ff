from __future__ import annotations

import re

import pytest

from heliograph.client import MirrorClient, remote_cluster_utils

pytestmark = pytest.mark.kafka


def test_each_function_answers_as_the_client_does(settings: dict[str, str]) -> None:
    with MirrorClient(settings) as client:
        assert remote_cluster_utils.heartbeat_topics(settings) == client.heartbeat_topics()
        assert remote_cluster_utils.checkpoint_topics(settings) == client.checkpoint_topics()
        assert remote_cluster_utils.upstream_clusters(settings) == {"west", "north"}
        assert remote_cluster_utils.replication_hops(settings, "west") == 1
        assert remote_cluster_utils.replication_hops(settings, "edge") is None


def test_offsets_are_translated_for_one_group_and_by_pattern(settings: dict[str, str]) -> None:
    offsets = remote_cluster_utils.translate_offsets(settings, "west", "billing", timeout=10)
    assert [translated.offset for _, translated in sorted(offsets.items())] == [110, 31]
    by_group = remote_cluster_utils.translate_offsets(settings, "west", re.compile("bill.*"), 10)
    assert by_group["billing"] == offsets
    assert set(by_group) == {"billing", "billing-eu"}
