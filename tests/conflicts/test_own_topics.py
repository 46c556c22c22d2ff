"""Which topics are detection's own: flows leave those out, and detection does not read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.own_topics import OwnTopics, WithoutOwnTopics, progress_topic
from heliograph.policy.filters import TopicFilter

NAMES = st.text("ab.-_", min_size=1, max_size=6)


class Only(TopicFilter):
    """Takes topics whose names begin so."""

    def __init__(self, beginning: str) -> None:
        self._beginning = beginning

    def should_replicate_topic(self, topic: str) -> bool:
        return topic.startswith(self._beginning)


@pytest.mark.parametrize(
    ("patterns", "topic", "is_covered"),
    [
        (("orders",), "orders", True),
        (("orders",), "orders2", False),
        (("orders",), "my-orders", False),
        (("orders", "pay.*"), "payments", True),
        (("orders", "pay.*"), "users", False),
        ((), "orders", False),
    ],
)
def test_a_pattern_stands_for_whole_names(patterns: tuple[str, ...], topic: str, is_covered: bool) -> None:
    assert OwnTopics(patterns).covers(topic) is is_covered


@pytest.mark.parametrize(
    ("output", "view"),
    [("", ""), ("resolved", "resolved"), ("{topic}.resolved", "orders.resolved"), ("v-{topic}-v", "v-orders-v")],
)
def test_a_view_is_called_as_the_output_says(output: str, view: str) -> None:
    assert OwnTopics(("orders",), output).view_of("orders") == view


@pytest.mark.parametrize("output", ["", "resolved", "{topic}.resolved"])
def test_decisions_and_progress_are_always_its_own(output: str) -> None:
    assert OwnTopics(("orders",), output).has("conflict-resolutions")
    assert OwnTopics(("orders",), output).has(progress_topic("eu"))
    assert not OwnTopics((".*",), output).has("us.conflict-resolutions")


@pytest.mark.parametrize(
    ("output", "topic", "is_own"),
    [
        ("", "orders", False),
        ("", "orders.resolved", False),
        ("resolved", "resolved", True),
        ("resolved", "orders", False),
        ("{topic}.resolved", "orders.resolved", True),
        ("{topic}.resolved", "users.resolved", False),  # nobody looks for conflicts among users
        ("{topic}.resolved", ".resolved", False),
        ("{topic}.resolved", "orders.resolved.old", False),
        ("{topic}.resolved", "orders", False),
        ("view.{topic}", "view.orders", True),
        ("view.{topic}", "orders", False),
        ("view.{topic}.v2", "view.orders.v2", True),
        ("view.{topic}.v2", "view.v2", False),  # nothing between
        ("{topic}.and.{topic}", "orders.and.orders", True),
        ("{topic}.and.{topic}", "orders.and.users", False),
    ],
)
def test_a_view_is_its_own_if_it_is_one_of_a_topic_that_is_looked_at(output: str, topic: str, is_own: bool) -> None:
    assert OwnTopics(("orders",), output).has(topic) is is_own


@given(NAMES, NAMES, st.sampled_from([".*", "a.*", "[ab]+"]))
def test_every_view_that_is_written_is_known_as_such(topic: str, before: str, pattern: str) -> None:
    for output in (before + "{topic}", "{topic}" + before, before + "{topic}" + before):
        own = OwnTopics((pattern,), output)
        assert own.has(own.view_of(topic)) is own.covers(topic)


def test_a_filter_leaves_its_own_topics_out_and_asks_about_the_rest() -> None:
    found = WithoutOwnTopics(Only("o"), OwnTopics(("orders",), "{topic}.resolved"))
    topics = ["orders", "orders.resolved", "old.resolved", "users", "conflict-resolutions"]
    assert [topic for topic in topics if found.should_replicate_topic(topic)] == ["orders", "old.resolved"]
    assert not WithoutOwnTopics(Only(""), OwnTopics(("x",))).should_replicate_topic("conflict-resolutions")
