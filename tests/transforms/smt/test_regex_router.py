"""RegexRouter beside Kafka's."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from heliograph.transforms.smt.regex_router import RegexRouter
from tests.transforms.comparison import assert_same, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord

TOPICS = ["ab", "A.orders", "A.orders-2024", "x", "a1b2"]
RULES = [
    ("(a)(b)", "$12"),
    ("(a)(b)", "$2$1"),
    ("(?<x>a)b", "${x}.new"),
    ("(?<x1>a)b", "${x1}!"),
    (r"A\.(.*)", "$1"),
    (r"A\.(.*)", r"\$1\\$0"),
    (r"(.*)-(\d+)", "$2-$1"),
    ("a|ab", "X"),
    (".*?", "X"),
    (".*", ""),
    ("(z)?ab", "[$1]"),
    ("ab", "$0$00"),
    ("(a)(b)", "$01"),
    ("(?=a)(.)(.)", "$2"),
    ("no match", "x"),
    ("(?i)a\\.ORDERS", "upper"),
    ("((((((((((a))))))))))b", "$10$11"),
    (r"\Qab\E", "quoted"),
]


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize(("regex", "replacement"), RULES)
def test_routes_where_java_routes(java_oracle: JavaOracle, regex: str, replacement: str, topic: str) -> None:
    stage = {"regex": regex, "replacement": replacement}
    record = OracleRecord(b"not parsed", topic=topic)
    answer = assert_same(java_oracle, "RegexRouter", stage, record, "bytes", "bytes")
    assert isinstance(answer, OracleRecord)
    router = new_stage("RegexRouter", stage)
    assert isinstance(router, RegexRouter)
    assert router.route(topic) == answer.topic


@pytest.mark.parametrize("replacement", ["$3", "${x}", "${", "${}", "${1}", "${x", "\\", "$", "$x", "$1$", "$é", "$١"])
def test_a_replacement_that_java_fails_with_is_refused_at_once(java_oracle: JavaOracle, replacement: str) -> None:
    stage = {"regex": "(a)(b)", "replacement": replacement}
    answer = java_oracle.apply("RegexRouter", stage, OracleRecord(b"1", topic="ab"), "bytes", "bytes")
    assert isinstance(answer, OracleError)
    with pytest.raises(ValueError, match=r"^replacement: "):
        new_stage("RegexRouter", stage)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(replacement=strategies.text("$\\{}abx0123 ", max_size=8))
def test_any_replacement_is_read_as_by_java(java_oracle: JavaOracle, replacement: str) -> None:
    stage = {"regex": "(?<a>x)(?<b0>y)?(.*?)", "replacement": replacement.strip()}
    answer = java_oracle.apply("RegexRouter", stage, OracleRecord(b"1", topic="xz"), "bytes", "bytes")
    try:
        router = new_stage("RegexRouter", stage)
    except ValueError:
        assert isinstance(answer, OracleError)
    else:
        assert isinstance(router, RegexRouter)
        assert isinstance(answer, OracleRecord)
        assert router.route("xz") == answer.topic


@pytest.mark.parametrize(
    "stage", [{}, {"regex": "a"}, {"regex": "(", "replacement": "a"}, {"regex": "*", "replacement": ""}]
)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, stage: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "RegexRouter", stage, OracleRecord(b"1"))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"


def test_a_wrong_expression_is_named_by_its_key() -> None:
    with pytest.raises(ValueError, match=r"^regex: .*never closed"):
        new_stage("RegexRouter", {"regex": "(", "replacement": "a"})
