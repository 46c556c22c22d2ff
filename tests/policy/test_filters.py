import pytest

from heliograph.policy.filters import (
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    split_list,
)
from heliograph.policy.java_regex import JavaRegexError


def topic_filter(**lists: str) -> DefaultTopicFilter:
    built = DefaultTopicFilter()
    built.configure({key.replace("_", "."): value for key, value in lists.items()})
    return built


def group_filter(**lists: str) -> DefaultGroupFilter:
    built = DefaultGroupFilter()
    built.configure({key.replace("_", "."): value for key, value in lists.items()})
    return built


@pytest.mark.parametrize(
    ("topic", "mirrored"),
    [
        ("orders", True),
        ("team.internal", True),
        ("mm2-offsets.a.internal", False),
        ("orders.replica", False),
        ("__consumer_offsets", False),
    ],
)
def test_default_topic_lists(topic: str, mirrored: bool) -> None:
    assert DefaultTopicFilter().should_replicate_topic(topic) is mirrored


def test_exclusion_wins() -> None:
    chosen = topic_filter(topics="orders, pay.*", topics_exclude="pay.*-test")
    assert chosen.should_replicate_topic("orders")
    assert chosen.should_replicate_topic("payments")
    assert not chosen.should_replicate_topic("payments-test")
    assert not chosen.should_replicate_topic("orders2")


def test_a_blank_include_list_mirrors_nothing() -> None:
    assert not topic_filter(topics=" ").should_replicate_topic("orders")
    assert not group_filter(groups="").should_replicate_group("readers")


def test_a_blank_exclude_list_excludes_nothing() -> None:
    assert topic_filter(topics_exclude="").should_replicate_topic("orders.replica")


def test_lists_split_at_every_comma_also_inside_a_regex() -> None:
    assert split_list(" a , b,c ") == ["a", "b", "c"]
    assert split_list("  ") == []
    with pytest.raises(JavaRegexError, match="repetition"):
        topic_filter(topics="a{1,2}")


def test_look_ahead_in_an_include_list() -> None:
    chosen = topic_filter(topics=r"^(?!__.*)(?!.*\.internal).*")
    assert chosen.should_replicate_topic("orders")
    assert not chosen.should_replicate_topic("x.internal")


@pytest.mark.parametrize(
    ("group", "mirrored"),
    [("readers", True), ("console-consumer-123", False), ("connect-sink", False), ("__internal", False)],
)
def test_default_group_lists(group: str, mirrored: bool) -> None:
    assert DefaultGroupFilter().should_replicate_group(group) is mirrored


def test_group_lists_can_be_set() -> None:
    chosen = group_filter(groups="team-.*", groups_exclude="team-x")
    assert chosen.should_replicate_group("team-a")
    assert not chosen.should_replicate_group("team-x")
    assert not chosen.should_replicate_group("other")


@pytest.mark.parametrize(
    ("name", "mirrored"),
    [
        ("retention.ms", True),
        ("cleanup.policy", True),
        ("message.timestamp.before.max.ms", True),
        ("min.insync.replicas", False),
        ("message.timestamp.type", False),
        ("unclean.leader.election.enable", False),
        ("follower.replication.throttled.replicas", False),
        ("leader.replication.throttled.replicas", False),
        ("log.message.timestamp.after.max.ms", False),
    ],
)
def test_default_list_of_settings(name: str, mirrored: bool) -> None:
    assert DefaultConfigPropertyFilter().should_replicate_config_property(name) is mirrored


def test_settings_to_leave_out_can_be_set() -> None:
    chosen = DefaultConfigPropertyFilter()
    chosen.configure({"config.properties.exclude": r"delete\.retention\..*"})
    assert not chosen.should_replicate_config_property("delete.retention.ms")
    assert chosen.should_replicate_config_property("min.insync.replicas")


@pytest.mark.parametrize(("origin", "copied"), [("source", True), ("target", False), (None, False)])
def test_defaults_are_copied_only_from_the_source(origin: str | None, copied: bool) -> None:
    chosen = DefaultConfigPropertyFilter()
    chosen.configure({"use.defaults.from": origin} if origin else {})
    assert chosen.should_replicate_source_default("retention.ms") is copied


def test_a_filter_of_one_method_leaves_defaults_to_the_target() -> None:
    class Everything(ConfigPropertyFilter):
        def should_replicate_config_property(self, name: str) -> bool:
            return True

    assert not Everything().should_replicate_source_default("retention.ms")
