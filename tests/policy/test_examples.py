from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heliograph.policy.filters import DefaultTopicFilter
from heliograph.policy.plugins import PluginError, load_replication_policy, load_topic_filter
from heliograph.policy.replication import ReplicationPolicy
from heliograph.policy.selection import is_cycle, should_replicate_topic

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PREFIX = "prefix_policy.PrefixReplicationPolicy"
SUFFIX = "suffix_policy.SuffixReplicationPolicy"
FILTER = "suffix_policy.SharedTopicFilter"
BOTH = pytest.mark.parametrize("class_name", [PREFIX, SUFFIX])


@pytest.fixture(autouse=True, scope="module")
def importable() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        yield


def load(class_name: str, *aliases: str, **settings: str) -> ReplicationPolicy:
    return load_replication_policy(class_name, {"clusters": ", ".join(aliases), **settings})


def test_prefix_policy_names() -> None:
    policy = load(PREFIX, "us-east", "eu")
    assert policy.format_remote_topic("us-east", "orders") == "replica-us-east-orders"
    assert policy.topic_source("replica-us-east-orders") == "us-east"
    assert policy.upstream_topic("replica-us-east-orders") == "orders"
    assert policy.topic_source("replica-asia-orders") is None
    assert policy.topic_source("replica-eu-") is None


def test_suffix_policy_names() -> None:
    policy = load(SUFFIX, "us-east", "eu")
    assert policy.format_remote_topic("us-east", "orders") == "orders-replica.us-east"
    assert policy.topic_source("orders-replica.us-east") == "us-east"
    assert policy.upstream_topic("orders-replica.us-east") == "orders"
    assert policy.topic_source("orders-replica.asia") is None
    assert policy.topic_source("orders-replica") is None


def test_suffix_policy_takes_the_separator_from_the_settings() -> None:
    policy = load(SUFFIX, "us", "eu", **{"replication.policy.separator": "_"})
    assert policy.format_remote_topic("us", "orders") == "orders-replica_us"
    assert policy.topic_source("orders-replica_us") == "us"


@BOTH
@given(
    aliases=st.lists(st.text(alphabet="ab-.", min_size=1), min_size=2, max_size=4, unique=True),
    topic=st.text(alphabet="ab-._", min_size=1),
    prefix=st.sampled_from(["", "replica-", "replica-a-", "x-replica."]),
)
def test_names_round_trip_whatever_aliases_and_topics_contain(
    class_name: str, aliases: list[str], topic: str, prefix: str
) -> None:
    try:
        policy = load(class_name, *aliases)
    except PluginError:
        assume(False)
    for alias in aliases:
        remote = policy.format_remote_topic(alias, prefix + topic)
        assert policy.topic_source(remote) == alias
        assert policy.upstream_topic(remote) == prefix + topic


@BOTH
@pytest.mark.parametrize("topic", ["orders", "us-east-orders", "replica", "a-b.c", "orders-replica.old", "heartbeats"])
def test_no_topic_ever_comes_back(class_name: str, topic: str) -> None:
    policy = load(class_name, "us-east", "eu-west")
    wanted = DefaultTopicFilter()
    assert should_replicate_topic(topic, policy, wanted, "us-east", "eu-west")
    assert should_replicate_topic(topic, policy, wanted, "eu-west", "us-east")
    there = policy.format_remote_topic("us-east", topic)
    back = policy.format_remote_topic("eu-west", topic)
    assert is_cycle(there, policy, "eu-west", "us-east")
    assert is_cycle(back, policy, "us-east", "eu-west")
    assert is_cycle(there, policy, "us-east", "eu-west")


@BOTH
def test_a_chain_of_three_ends_before_it_closes(class_name: str) -> None:
    policy = load(class_name, "a-1", "b-1", "c-1")
    on_b = policy.format_remote_topic("a-1", "orders")
    on_c = policy.format_remote_topic("b-1", on_b)
    assert not is_cycle(on_b, policy, "b-1", "c-1")
    assert is_cycle(on_c, policy, "c-1", "a-1")
    assert policy.original_topic(on_c) == "orders"


@BOTH
def test_heartbeats_are_recognised(class_name: str) -> None:
    policy = load(class_name, "us-east", "eu-west")
    assert policy.is_heartbeats_topic(policy.format_remote_topic("us-east", "heartbeats"))


@pytest.mark.parametrize(
    ("class_name", "aliases"), [(PREFIX, ["us", "us-east"]), (SUFFIX, ["east", "us-replica.east"])]
)
def test_ambiguous_aliases_are_refused(class_name: str, aliases: list[str]) -> None:
    with pytest.raises(PluginError, match="cannot be told apart"):
        load(class_name, *aliases)


def test_suffix_policy_can_tell_aliases_that_begin_alike() -> None:
    policy = load(SUFFIX, "us", "us-east", "east")
    for alias in ("us", "us-east", "east"):
        assert policy.topic_source(policy.format_remote_topic(alias, "orders")) == alias


@BOTH
def test_aliases_must_be_known(class_name: str) -> None:
    with pytest.raises(PluginError, match="clusters is not set"):
        load(class_name)


@pytest.mark.parametrize(
    ("topic", "mirrored"),
    [
        ("orders", True),
        ("orders-local", False),
        ("local.cache", False),
        ("orders-replica.us", False),
        ("orders-replica.asia", True),
        ("__consumer_offsets", False),
        ("payments", False),
    ],
)
def test_filter_keeps_local_topics_and_replicas_at_home(topic: str, mirrored: bool) -> None:
    shared = load_topic_filter(FILTER, {"clusters": "us,eu", "topics": "orders.*, local.*, __.*"})
    assert shared.should_replicate_topic(topic) is mirrored
