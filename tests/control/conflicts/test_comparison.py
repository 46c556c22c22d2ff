"""Whether clusters decide alike: matched by essence, the young left out, the old edge forgiven."""

from __future__ import annotations

from heliograph.control.conflicts.comparison import UNDER_WAY_MS, Comparison, Kind
from tests.control.conflicts.stage import WINDOW_MS, decided

NOW = 1_800_000_000_000
SINCE = NOW - 3_600_000
OLD = NOW - 600_000


def everything(_: str) -> bool:
    return True


def comparing(*aliases: str) -> Comparison:
    return Comparison(dict.fromkeys(aliases or ("eu", "us"), everything))


def test_the_same_decision_read_from_other_topics_at_another_time_agrees() -> None:
    comparison = comparing()
    comparison.add("eu", decided(OLD, on="eu", written_ms=OLD - 9_000))
    comparison.add("us", decided(OLD + 4_000, on="us", written_ms=OLD - 9_000))
    result = comparison.result(SINCE, NOW)
    assert (result.agreed, result.under_way, result.is_equal) == (1, 0, True)


def test_another_winner_is_a_difference_that_shows_both() -> None:
    comparison = comparing()
    comparison.add("eu", decided(OLD, on="eu"))
    comparison.add("us", decided(OLD, on="us", winner=0))
    result = comparison.result(SINCE, NOW)
    [difference] = result.differences
    assert (result.agreed, result.is_equal) == (0, False)
    assert difference.kind is Kind.DIFFERENT
    assert [found[0].resolution.winner.origin for found in difference.by_cluster.values()] == ["us", "eu"]  # type: ignore[union-attr]


def test_a_record_that_only_one_has_seen_is_a_difference_not_two() -> None:
    comparison = comparing("eu", "us")
    comparison.add("eu", decided(OLD, values=(b"1", b"2", b"3"), origins=("eu", "us", "eu")))
    comparison.add("us", decided(OLD, values=(b"1", b"2"), origins=("eu", "us")))
    [difference] = comparison.result(SINCE, NOW).differences
    assert difference.kind is Kind.DIFFERENT
    assert difference.by_cluster.keys() == {"eu", "us"}


def test_what_one_cluster_lacks_is_missing_there() -> None:
    comparison = comparing()
    comparison.add("eu", decided(OLD, b"a"))
    comparison.add("eu", decided(OLD, b"b"))
    comparison.add("us", decided(OLD, b"b", on="us"))
    result = comparison.result(SINCE, NOW)
    [difference] = result.differences
    assert (result.agreed, difference.kind, list(difference.by_cluster)) == (1, Kind.MISSING, ["eu"])


def test_what_one_of_three_lacks_is_one_difference() -> None:
    comparison = comparing("ap", "eu", "us")
    comparison.add("eu", decided(OLD))
    comparison.add("us", decided(OLD, on="us"))
    [difference] = comparison.result(SINCE, NOW).differences
    assert (difference.kind, set(difference.by_cluster)) == (Kind.MISSING, {"eu", "us"})


def test_a_decision_made_twice_is_a_difference_also_when_all_have_it() -> None:
    comparison = comparing()
    comparison.add("eu", decided(OLD))
    comparison.add("us", decided(OLD, on="us"))
    assert comparison.result(SINCE, NOW).is_equal
    comparison.add("eu", decided(OLD))
    result = comparison.result(SINCE, NOW)
    assert (result.agreed, [item.kind for item in result.differences]) == (0, [Kind.TWICE])


def test_the_young_may_be_under_way_until_the_window_and_a_minute_are_over() -> None:
    age = WINDOW_MS + UNDER_WAY_MS
    for at_ms, expected in [(NOW - age + 1, (1, 0)), (NOW - age, (0, 1))]:
        comparison = comparing()
        comparison.add("eu", decided(at_ms))
        result = comparison.result(SINCE, NOW)
        assert (result.under_way, len(result.differences)) == expected


def test_what_was_decided_before_the_time_that_is_asked_for_only_serves_to_match() -> None:
    comparison = comparing()
    comparison.add("eu", decided(SINCE - 1_000, b"a", written_ms=1))
    comparison.add("us", decided(SINCE + 1_000, b"a", written_ms=1, on="us"))
    comparison.add("eu", decided(SINCE - 1_000, b"b"))
    result = comparison.result(SINCE, NOW)
    assert (result.agreed, result.is_equal) == (1, True)


def test_only_clusters_that_look_at_the_topic_are_expected_to_decide() -> None:
    comparison = Comparison({"eu": everything, "us": lambda topic: topic == "orders"})
    comparison.add("eu", decided(OLD, topic="carts"))
    comparison.add("us", decided(OLD, topic="carts", on="us", winner=0))
    assert comparison.result(SINCE, NOW).is_equal
    comparison.add("eu", decided(OLD, topic="orders"))
    assert not comparison.result(SINCE, NOW).is_equal
