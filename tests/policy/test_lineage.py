import pytest

from heliograph.policy import lineage
from heliograph.policy.replication import DefaultReplicationPolicy, IdentityReplicationPolicy

POLICY = DefaultReplicationPolicy()
HEARTBEATS = [
    "topic1",
    "heartbeats",
    "source1.heartbeats",
    "source1.source2.heartbeats",
    "source3.heartbeats",
]


def identity(source: str) -> IdentityReplicationPolicy:
    policy = IdentityReplicationPolicy()
    policy.configure({"source.cluster.alias": source})
    return policy


@pytest.mark.parametrize(
    ("topic", "alias", "hops"),
    [
        ("topic", "source", None),
        ("source", "source", None),
        ("sourcetopic", "source", None),
        ("source1.topic", "source2", None),
        ("source1.topic", "source1", 1),
        ("source2.source1.topic", "source2", 1),
        ("source2.source1.topic", "source1", 2),
        ("source3.source2.source1.topic", "source1", 3),
        ("source3.source2.source1.topic", "source4", None),
    ],
)
def test_hops_are_counted_from_the_nearest_cluster(topic: str, alias: str, hops: int | None) -> None:
    assert lineage.count_hops(POLICY, topic, alias) == hops


def test_identity_names_tell_of_one_hop_only() -> None:
    assert list(lineage.hops(identity("primary"), "topic")) == ["primary"]
    assert lineage.count_hops(identity("primary"), "topic", "backup") is None


def test_replication_hops_takes_the_shortest_way() -> None:
    assert lineage.replication_hops(POLICY, HEARTBEATS, "source1") == 1
    assert lineage.replication_hops(POLICY, HEARTBEATS, "source2") == 2
    assert lineage.replication_hops(POLICY, [*HEARTBEATS, "source2.heartbeats"], "source2") == 1
    assert lineage.replication_hops(POLICY, HEARTBEATS, "source4") is None
    assert lineage.replication_hops(POLICY, ["source5.topic1"], "source5") is None


@pytest.mark.parametrize("policy", [POLICY, identity("source")])
def test_upstream_clusters_are_all_aliases_in_heartbeats(policy: DefaultReplicationPolicy) -> None:
    topics = ["topic1", "heartbeats", "source1.source2.heartbeats", "source3.source4.source5.heartbeats"]
    assert lineage.upstream_clusters(policy, topics) == {f"source{number}" for number in range(1, 6)}


def test_heartbeats_and_checkpoints_topics_are_found_by_name() -> None:
    topics = [*HEARTBEATS, "checkpoints.internal", "source1.checkpoints.internal"]
    assert lineage.heartbeats_topics(POLICY, topics) == set(HEARTBEATS) - {"topic1"}
    assert lineage.checkpoints_topics(POLICY, topics) == {"source1.checkpoints.internal"}


def test_remote_topics_have_a_source_and_are_not_internal() -> None:
    topics = [
        "topic1",
        "source1.topic4",
        "source1.source2.topic5",
        "source3.x",
        "source1.checkpoints.internal",
    ]
    assert lineage.remote_topics(POLICY, topics) == {"source1.topic4", "source1.source2.topic5", "source3.x"}
    assert lineage.remote_topics(POLICY, topics, "source3") == {"source3.x"}


def test_under_identity_every_topic_but_local_heartbeats_is_remote() -> None:
    topics = ["topic1", "heartbeats", "backup.heartbeats"]
    assert lineage.remote_topics(identity("source"), topics) == {"topic1", "backup.heartbeats"}
    assert lineage.remote_topics(identity("source"), topics, "backup") == {"backup.heartbeats"}
