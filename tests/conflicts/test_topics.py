"""Which topics are one, and where records were written."""

from __future__ import annotations

import pytest

from heliograph.conflicts.topics import LogicalTopics
from heliograph.policy.replication import SEPARATOR_KEY, DefaultReplicationPolicy, IdentityReplicationPolicy

ALIASES = ["us-east", "eu-west", "ap"]


@pytest.fixture
def topics() -> LogicalTopics:
    return LogicalTopics(DefaultReplicationPolicy(), "eu-west", ALIASES)


@pytest.mark.parametrize(
    ("topic", "logical", "origin"),
    [
        ("orders", "orders", "eu-west"),
        ("us-east.orders", "orders", "us-east"),
        ("us-east.ap.orders", "orders", "ap"),
        ("team.orders", "team.orders", "eu-west"),
        ("us-east.team.orders", "team.orders", "us-east"),
    ],
)
def test_a_name_tells_the_logical_topic_and_the_origin(
    topics: LogicalTopics, topic: str, logical: str, origin: str
) -> None:
    assert topics.logical_topic(topic) == logical
    assert topics.origin(topic) == origin
    assert topics.is_part_of(topic, logical)
    assert not topics.is_part_of(topic, "payments")


def test_the_separator_of_the_policy_counts() -> None:
    policy = DefaultReplicationPolicy()
    policy.configure({SEPARATOR_KEY: "_"})
    topics = LogicalTopics(policy, "eu-west", ALIASES)
    assert topics.origin("us-east_orders") == "us-east"
    assert topics.origin("us-east.orders") == "eu-west"


def test_where_names_are_kept_provenance_tells_the_origin() -> None:
    policy = IdentityReplicationPolicy()
    policy.configure({"source.cluster.alias": "us-east"})
    topics = LogicalTopics(policy, "eu-west", ALIASES)
    assert topics.logical_topic("orders") == "orders"
    assert topics.origin("orders") == "eu-west"
    assert topics.origin("orders", provenance="us-east") == "us-east"
