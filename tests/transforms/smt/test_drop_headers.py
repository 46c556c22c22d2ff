"""DropHeaders beside Kafka's."""

from __future__ import annotations

import pytest

from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord

HEADERS = (("a", b"1"), ("b", None), ("a", b"\xff"), ("", b"x"), ("B", b""), ("a b", b"2"), ("é", b"3"))


@pytest.mark.parametrize("headers", [(), HEADERS, HEADERS[1:2]], ids=["none", "many", "one"])
@pytest.mark.parametrize("names", ["a", "b", "a,b", "a b", "A", "é, a ,B", "none"])
def test_drops_what_java_drops(
    java_oracle: JavaOracle, names: str, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    assert_same(java_oracle, "DropHeaders", {"headers": names}, OracleRecord(b"1", b"2", headers))


@pytest.mark.parametrize("settings", [{}, {"headers": ""}, {"headers": ","}, {"headers": "a,,b"}], ids=str)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "DropHeaders", settings, OracleRecord(b"1"))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"
