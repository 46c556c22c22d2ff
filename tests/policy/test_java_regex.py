import contextlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.policy import java_regex
from heliograph.policy.java_regex import JavaRegexError, matches_any


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("orders", "orders"),
        (".*", ""),
        (r"orders\.eu", "orders.eu"),
        (r"^(?!__.*)(?!.*\.internal).*", "orders"),
        (r"\Qa.b*\E", "a.b*"),
        (r"\Qa.b", "a.b"),
        (r"ab\Qcd\E+", "abcddd"),
        (r"a++b", "aaab"),
        (r"\p{Alpha}+\p{Digit}", "abc1"),
        (r"[\p{Lower}&&[^b]]+", "acd"),
        (r"[a-d&&c-z]+", "cd"),
        (r"[a-c[x-z]]+", "ax"),
        (r"[+--]", ","),
        (r"[a||b]+", "a|b"),
        (r"[~~#]", "~"),
        (r"[]a]+", "]a"),
        (r"(?<word>ab)-\k<word>", "ab-ab"),
        (r"(a)(b)\2\1", "abba"),
        (r"(a)\10", "aa0"),
        ("(?i)ORDERS|payments", "PAYMENTS"),
        ("x(?i:y)z", "xYz"),
        ("(?x) a b # a comment with (\n c", "abc"),
        ("(?s).", "\n"),
        (r"\x41\u0042\x{43}\0104", "ABCD"),
        (r"a\z", "a"),
        (r"\h\v", "\t\n"),
        ("a|", ""),
        ("}", "}"),
        (r"\p{L}+", "é"),
        (r"\p{javaLowerCase}", "a"),
        (r"\-\.\_", "-._"),
        ("(?:a|ab)c", "abc"),
    ],
)
def test_matches_what_java_matches(pattern: str, text: str) -> None:
    assert java_regex.compile(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("orders", "orders.eu"),
        ("rder", "orders"),
        ("a|b", "ab"),
        (r"a*+a", "aaa"),
        (r"(?>a|ab)c", "abc"),
        (r"\d", "٣"),
        (r"\w", "é"),
        (r"\p{Alpha}", "é"),
        ("x(?i:y)z", "XYZ"),
        ("(?:(?i)a)b", "AB"),
        (".", "\r"),
        (r"\1(a)", "aa"),
        (r"[^a]", "a"),
        (r"\Qa.b\E", "axb"),
    ],
)
def test_matches_nothing_that_java_does_not(pattern: str, text: str) -> None:
    assert not java_regex.compile(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "position", "reason"),
    [
        ("*.internal", 0, "nothing to repeat"),
        ("orders|*", 7, "nothing to repeat"),
        ("a**", 2, "nothing to repeat"),
        ("(?i)+", 4, "nothing to repeat"),
        ("(a", 0, "never closed"),
        ("a(b(c)", 1, "never closed"),
        ("a)", 1, "closes no group"),
        ("[a", 0, "never closed"),
        ("[b-a]", 1, "ends before"),
        ("[a&&]", 0, "&&"),
        ("a{", 1, "repetition"),
        ("a{,2}", 1, "repetition"),
        ("a{3,2}", 1, "repetition"),
        (r"\y", 0, "no escape"),
        (r"[\b]", 1, "no escape"),
        ("a\\", 1, "backslash"),
        (r"\p{Nonsense}", 0, "property"),
        (r"\p{Alpha", 0, "property"),
        (r"\k<a>", 0, "group"),
        ("(?P<a>b)", 0, "kind of group"),
        ("(?<a>b)(?<a>c)", 7, "exists already"),
        (r"\x{110000}", 0, "no such character"),
    ],
)
def test_refuses_what_java_refuses_and_says_where(pattern: str, position: int, reason: str) -> None:
    with pytest.raises(JavaRegexError) as caught:
        java_regex.compile(pattern)
    assert caught.value.pattern == pattern
    assert caught.value.position == position
    assert reason in caught.value.reason
    assert pickle.loads(pickle.dumps(caught.value)).position == position


def test_counted_repetition_of_nothing_is_allowed_as_in_java() -> None:
    assert java_regex.compile("{2}a").matches("a")


def test_no_pattern_matches_nothing_not_even_the_empty_name() -> None:
    assert not matches_any([]).matches("")
    assert not matches_any([]).matches("orders")


def test_patterns_are_joined_before_they_are_compiled() -> None:
    joined = matches_any(["(orders", "payments)"])
    assert joined.matches("orders")
    assert joined.matches("payments")
    assert matches_any(["(?i)orders", "payments"]).matches("PAYMENTS")


def test_a_compiled_pattern_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(java_regex.compile(r"a\.b"))).matches("a.b")


@given(st.text())
def test_quoted_text_matches_itself_only(text: str) -> None:
    quoted = java_regex.compile("\\Q" + text.replace("\\E", "") + "\\E")
    assert quoted.matches(text.replace("\\E", ""))
    assert not quoted.matches(text.replace("\\E", "") + "x")


@given(st.text(alphabet=r"ab.*+?|()[]^$-\{}1,&QEdwp<>!=:i~# ", max_size=12))
def test_any_text_either_compiles_or_is_refused(pattern: str) -> None:
    with contextlib.suppress(JavaRegexError):
        assert java_regex.compile(pattern).matches("ab1") in (True, False)
