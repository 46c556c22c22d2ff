"""Java's replacements; where topics go with them is compared with Java in the tests of RegexRouter."""

from __future__ import annotations

import pickle

import pytest

from heliograph.policy.java_regex import JavaRegexError
from heliograph.policy.java_replacement import FirstReplacement


@pytest.mark.parametrize(
    ("pattern", "replacement", "expected"),
    [
        ("(a)(b)", "$2-$1", "b-a"),
        ("(a)(b)", "$12", "a2"),
        ("(?<first>a)b", "${first}!", "a!"),
        ("(a)(b)", r"\$1\\", "$1\\"),
        ("(z)?ab", "[$1]", "[]"),
        ("a|ab", "X", "Xb"),
        ("b", "X", "ab"),
    ],
)
def test_the_first_match_is_replaced_if_the_whole_matches(pattern: str, replacement: str, expected: str) -> None:
    assert FirstReplacement(pattern, replacement).replaced("ab") == expected


@pytest.mark.parametrize(
    ("replacement", "reason"),
    [
        ("$3", "'\\$3', character 2: the regular expression has 2 groups, and not a group 3"),
        ("x${y}", "'x\\${y}', character 2: the regular expression has no group named 'y'"),
        ("${y", "needs the name of a group and '}' after it"),
        ("$", "a group must follow"),
        ("\\", "nothing follows the backslash"),
    ],
)
def test_a_replacement_that_cannot_work_is_refused_with_the_place(replacement: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        FirstReplacement("(a)(b)", replacement)


def test_a_wrong_expression_is_refused_as_such() -> None:
    with pytest.raises(JavaRegexError):
        FirstReplacement("(", "a")


def test_it_can_travel_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(FirstReplacement("(a)b", "$1"))).replaced("ab") == "a"
