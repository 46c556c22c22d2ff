"""Filter beside Kafka's."""

from __future__ import annotations

import pytest

from heliograph.transforms.smt.filter import Filter
from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleRecord


@pytest.mark.parametrize("value", [None, b"1", b'{"a":1}'])
def test_drops_every_record(java_oracle: JavaOracle, value: bytes | None) -> None:
    assert assert_same(java_oracle, "Filter", {}, OracleRecord(value)) is None


def test_says_so_before_any_record_comes() -> None:
    assert Filter.drops_all
