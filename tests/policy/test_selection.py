import pytest

from heliograph.policy.filters import DefaultTopicFilter, TopicFilter
from heliograph.policy.replication import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)
from heliograph.policy.selection import is_cycle, should_replicate_topic


class Fixed(TopicFilter):
    def __init__(self, answer: bool) -> None:
        self._answer = answer

    def should_replicate_topic(self, topic: str) -> bool:
        return self._answer


def identity() -> IdentityReplicationPolicy:
    policy = IdentityReplicationPolicy()
    policy.configure({"source.cluster.alias": "source"})
    return policy


def mirrored(topic: str, policy: ReplicationPolicy, wanted: bool = True, heartbeats: bool = True) -> bool:
    return should_replicate_topic(topic, policy, Fixed(wanted), "source", "target", heartbeats)


@pytest.mark.parametrize(
    "topic",
    [
        "source.topic1",
        "target.topic1",
        "target.source.topic1",
        "source.target.topic1",
        "target.source.target.topic1",
        "source.target.source.topic1",
        "other.target.topic1",
        "other.source.topic1",
    ],
)
def test_a_topic_that_was_on_source_or_target_before_is_a_cycle(topic: str) -> None:
    assert is_cycle(topic, DefaultReplicationPolicy(), "source", "target")
    assert not mirrored(topic, DefaultReplicationPolicy())


@pytest.mark.parametrize("topic", ["topic1", "othersource.topic1", "othertarget.topic1", "other.another.topic1"])
def test_other_topics_are_no_cycle(topic: str) -> None:
    assert mirrored(topic, DefaultReplicationPolicy())


@pytest.mark.parametrize("topic", ["topic1", "source.topic1", "target.topic1", "target.source.topic1", "other.topic1"])
@pytest.mark.parametrize("policy", [identity(), IdentityReplicationPolicy()])
def test_identity_names_show_no_cycles(topic: str, policy: ReplicationPolicy) -> None:
    assert mirrored(topic, policy)


@pytest.mark.parametrize("policy", [identity(), IdentityReplicationPolicy()])
def test_identity_still_sees_cycles_of_heartbeats(policy: ReplicationPolicy) -> None:
    for topic in ("target.heartbeats", "target.source.heartbeats", "source.target.heartbeats"):
        assert not mirrored(topic, policy)
    assert mirrored("heartbeats", policy)
    assert mirrored("othersource.heartbeats", policy)


def test_heartbeats_need_not_pass_the_filter() -> None:
    assert mirrored("heartbeats", DefaultReplicationPolicy(), wanted=False)
    assert mirrored("us-west.heartbeats", DefaultReplicationPolicy(), wanted=False)
    assert not mirrored("orders", DefaultReplicationPolicy(), wanted=False)


def test_heartbeats_of_another_separator_are_plain_topics() -> None:
    policy = DefaultReplicationPolicy()
    policy.configure({"replication.policy.separator": "_"})
    assert mirrored("heartbeats", policy, wanted=False)
    assert not mirrored("us-west.heartbeats", policy, wanted=False)


def test_heartbeats_turned_off_are_left_to_the_filter() -> None:
    policy = DefaultReplicationPolicy()
    assert not mirrored("heartbeats", policy, wanted=False, heartbeats=False)
    assert not mirrored("us-west.heartbeats", policy, wanted=False, heartbeats=False)
    assert mirrored("us-west.heartbeats", policy, wanted=True, heartbeats=False)


def test_internal_topics_are_never_mirrored_even_if_the_filter_wants_them() -> None:
    for topic in ("__consumer_offsets", "mm2-offsets.a.internal", "a.checkpoints.internal", ".hidden"):
        assert not mirrored(topic, DefaultReplicationPolicy())


def test_internal_topics_of_users_are_mirrored_by_default() -> None:
    assert should_replicate_topic("team.internal", DefaultReplicationPolicy(), DefaultTopicFilter(), "source", "target")


def test_a_policy_without_upstream_names_ends_the_search() -> None:
    class NoUpstream(DefaultReplicationPolicy):
        def upstream_topic(self, topic: str) -> str | None:
            return None

    assert not is_cycle(".b", NoUpstream(), "source", "target")
    assert is_cycle("target.b", NoUpstream(), "source", "target")


def test_a_policy_whose_names_lead_in_a_circle_ends_the_search() -> None:
    class Circular(DefaultReplicationPolicy):
        def upstream_topic(self, topic: str) -> str | None:
            return {"x.a": "y.b", "y.b": "x.a"}[topic]

    assert not is_cycle("x.a", Circular(), "source", "target")
