"""HoistField beside Kafka's."""

from __future__ import annotations

import pytest

from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample, assert_same_on_both_sides

# Kafka writes what became a struct through a converter for texts or bytes as Java's toString, or not at all.
SOME = {name: sample for name, sample in SAMPLES.items() if sample.converter.startswith("json")}


@pytest.mark.parametrize("sample", SOME.values(), ids=SOME.keys())
@pytest.mark.parametrize("name", ["wrapped", "a", ""])
def test_wraps_what_java_wraps(java_oracle: JavaOracle, name: str, sample: Sample) -> None:
    assert_same_on_both_sides(java_oracle, "HoistField", {"field": name}, sample)


def test_needs_a_name(java_oracle: JavaOracle) -> None:
    assert isinstance(assert_same(java_oracle, "HoistField$Value", {}, OracleRecord(b"1")), OracleError)
