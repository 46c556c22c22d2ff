"""Two flows of one mirror that face each other."""

from __future__ import annotations

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from tests.chaos.load import Load
from tests.chaos.stage import admin_of, await_growth, copies, expect_equal
from tests.flows.shared.both_ways import TOPIC
from tests.flows.shared.conftest import SharedMirror

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_PARTITIONS = 3


def test_both_directions_at_once(
    primary: EmbeddedCluster, backup: EmbeddedCluster, shared_mirror: SharedMirror
) -> None:
    for cluster in (primary, backup):
        with admin_of(cluster) as admin:
            admin.create_topics([NewTopic(TOPIC, _PARTITIONS, 1)])
    there, here = f"oslo.{TOPIC}", f"rome.{TOPIC}"
    with _load(primary) as out, _load(backup) as back:
        await_growth(backup, there)
        await_growth(primary, here)
    expect_equal(primary, backup, copies(TOPIC, there, _PARTITIONS), out.acknowledged, shared_mirror.log)
    expect_equal(backup, primary, copies(TOPIC, here, _PARTITIONS), back.acknowledged, shared_mirror.log)
    with admin_of(primary) as one, admin_of(backup) as other:
        names = {*one.topics(), *other.topics()}
    assert {name for name in names if name.endswith(TOPIC)} == {TOPIC, there, here}


def _load(cluster: EmbeddedCluster) -> Load:
    return Load(cluster.bootstrap_servers, TOPIC, _PARTITIONS, per_second=200)
