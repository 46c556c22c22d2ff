import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.policy.replication import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

SEPARATOR = "replication.policy.separator"
INTERNAL = "replication.policy.internal.topic.separator.enabled"


def default() -> DefaultReplicationPolicy:
    policy = DefaultReplicationPolicy()
    policy.configure({})
    return policy


def separated(separator: str, internal: str | None = None) -> DefaultReplicationPolicy:
    policy = DefaultReplicationPolicy()
    policy.configure({SEPARATOR: separator} | ({INTERNAL: internal} if internal else {}))
    return policy


def identity(source: str = "primary") -> IdentityReplicationPolicy:
    policy = IdentityReplicationPolicy()
    policy.configure({"source.cluster.alias": source})
    return policy


class Minimal(ReplicationPolicy):
    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{topic}@{source_alias}"

    def topic_source(self, topic: str) -> str | None:
        return topic.rpartition("@")[2] if "@" in topic else None

    def upstream_topic(self, topic: str) -> str | None:
        return topic.rpartition("@")[0] if "@" in topic else None


@pytest.mark.parametrize(
    ("topic", "source", "upstream", "original"),
    [
        ("topic", None, None, "topic"),
        ("source1.topic", "source1", "topic", "topic"),
        ("source2.source1.topic", "source2", "source1.topic", "topic"),
        ("a-b.topic", "a-b", "topic", "topic"),
        ("topic.", None, None, "topic."),
        ("topic..", None, None, "topic.."),
        (".", None, None, "."),
        ("", None, None, ""),
        (".topic", "", "topic", "topic"),
        ("a..b", "a", ".b", "b"),
    ],
)
def test_default_policy_takes_names_apart_at_the_first_separator(
    topic: str, source: str | None, upstream: str | None, original: str
) -> None:
    policy = default()
    assert policy.topic_source(topic) == source
    assert policy.upstream_topic(topic) == upstream
    assert policy.original_topic(topic) == original


def test_default_policy_puts_the_alias_in_front() -> None:
    assert default().format_remote_topic("primary", "orders") == "primary.orders"
    assert separated("__").format_remote_topic("primary", "orders") == "primary__orders"


def test_separator_of_several_characters() -> None:
    policy = separated("__")
    assert policy.topic_source("source1__source2__topic5") == "source1"
    assert policy.original_topic("source1__source2__topic5") == "topic5"
    assert policy.topic_source("source1.topic") is None


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(ValueError, match="separator is empty"):
        separated("")


@pytest.mark.parametrize("topic", ["heartbeats", "source1.heartbeats", "source2.source1.heartbeats"])
def test_heartbeats_are_recognised_at_any_distance(topic: str) -> None:
    assert default().is_heartbeats_topic(topic)


@pytest.mark.parametrize("topic", ["heartbeats!", "!heartbeats", "source1heartbeats", "source1-heartbeats"])
def test_other_names_are_no_heartbeats(topic: str) -> None:
    assert not default().is_heartbeats_topic(topic)


def test_checkpoints_topic_needs_an_alias() -> None:
    assert default().is_checkpoints_topic("source1.checkpoints.internal")
    for name in (
        "checkpoints.internal",
        "checkpoints-internal",
        "checkpoints.internal!",
        "!checkpoints.internal",
        "source1checkpointsinternal",
    ):
        assert not default().is_checkpoints_topic(name)


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("__consumer_offsets", True),
        (".hiddentopic", True),
        ("mm2-offsets.CLUSTER.internal", True),
        ("mm2-offset-syncs.backup.internal", True),
        ("source1.checkpoints.internal", True),
        ("mm2-offsets_CLUSTER_internal", False),
        ("my.team.internal", False),
        ("connect-internal", False),
        ("orders", False),
        ("heartbeats", False),
    ],
)
def test_internal_topics_are_those_of_kafka_and_mm2_only(topic: str, internal: bool) -> None:
    assert default().is_internal_topic(topic) is internal
    assert identity().is_internal_topic(topic) is internal
    assert Minimal().is_internal_topic(topic) is internal


def test_internal_names_follow_the_separator_unless_told_not_to() -> None:
    assert separated("__").offset_syncs_topic("CLUSTER") == "mm2-offset-syncs__CLUSTER__internal"
    assert separated("__", "true").checkpoints_topic("CLUSTER") == "CLUSTER__checkpoints__internal"
    assert separated("__", "false").offset_syncs_topic("CLUSTER") == "mm2-offset-syncs.CLUSTER.internal"
    assert separated("__", "false").checkpoints_topic("CLUSTER") == "CLUSTER.checkpoints.internal"
    assert separated("__", "False").is_checkpoints_topic("CLUSTER.checkpoints.internal")
    assert not separated("__").is_checkpoints_topic("CLUSTER.checkpoints.internal")
    assert separated("__").is_mm2_internal_topic("mm2-offset-syncs__CLUSTER__internal")
    assert separated("__", "false").heartbeats_topic() == separated("__").heartbeats_topic() == "heartbeats"


def test_identity_policy_keeps_names_and_takes_all_topics_from_the_source() -> None:
    policy = identity("primary")
    assert policy.format_remote_topic("primary", "topic1") == "topic1"
    assert policy.topic_source("topic1") == "primary"
    assert policy.upstream_topic("topic1") == "topic1"
    assert policy.original_topic("backup.topic1") == "backup.topic1"


def test_identity_policy_prefixes_heartbeats() -> None:
    policy = identity("primary")
    assert policy.format_remote_topic("backup", "heartbeats") == "backup.heartbeats"
    assert policy.topic_source("backup.heartbeats") == "backup"
    assert policy.topic_source("heartbeats") is None
    assert policy.upstream_topic("backup.heartbeats") == "heartbeats"
    assert policy.is_heartbeats_topic("a.b.heartbeats")


def test_identity_policy_without_a_source_knows_no_remote_topics() -> None:
    assert IdentityReplicationPolicy().topic_source("topic1") is None


def test_a_policy_of_three_methods_gets_the_rest() -> None:
    policy = Minimal()
    policy.configure({})
    assert policy.original_topic("orders@a@b") == "orders"
    assert policy.is_heartbeats_topic("heartbeats@a")
    assert policy.offset_syncs_topic("b") == "mm2-offset-syncs.b.internal"
    assert policy.checkpoints_topic("a") == "a.checkpoints.internal"


def test_original_topic_ends_even_if_names_lead_in_a_circle() -> None:
    class Circular(Minimal):
        def upstream_topic(self, topic: str) -> str | None:
            return {"a": "b", "b": "a"}[topic]

    assert Circular().original_topic("a") == "b"


aliases = st.text(alphabet="abz-_09", min_size=1)
topics = st.text(alphabet="abz-_.09", min_size=1).filter(lambda topic: topic.strip("."))


@given(aliases, topics)
def test_default_policy_round_trips(alias: str, topic: str) -> None:
    policy = default()
    remote = policy.format_remote_topic(alias, topic)
    assert policy.topic_source(remote) == alias
    assert policy.upstream_topic(remote) == topic


@given(st.lists(aliases, min_size=1, max_size=4), st.text(alphabet="ab-_", min_size=1))
def test_default_policy_finds_the_original_name_behind_any_number_of_hops(path: list[str], topic: str) -> None:
    policy = default()
    remote = topic
    for alias in path:
        remote = policy.format_remote_topic(alias, remote)
    assert policy.original_topic(remote) == topic
