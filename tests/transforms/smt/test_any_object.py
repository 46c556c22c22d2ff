"""All transforms of fields beside Kafka's, on objects that nobody has thought of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.transforms.java_oracle import JavaOracle
from tests.transforms.smt.samples import JSON_OBJECTS, assert_same_on_both_sides, plain

STAGES = [
    ("ExtractField", {"field": "a"}),
    ("HoistField", {"field": "a"}),
    ("InsertField", {"topic.field": "a", "static.field": "b", "static.value": "x"}),
    ("MaskField", {"fields": "a,b"}),
    ("MaskField", {"fields": "a,b", "replacement": "7"}),
    ("ReplaceField", {"exclude": "a", "renames": "b:é"}),
]


@pytest.mark.parametrize(("name", "stage"), STAGES, ids=str)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(value=JSON_OBJECTS)
def test_any_object_becomes_what_java_makes_of_it(
    java_oracle: JavaOracle, name: str, stage: dict[str, str], value: dict[str, Any]
) -> None:
    if name == "ReplaceField":
        value.pop("é", None)  # two of one name: which of them stays, is a matter of hash codes in Java
    assert_same_on_both_sides(java_oracle, name, stage, plain(value))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100)
@given(value=JSON_OBJECTS)
def test_any_object_is_flattened_as_by_java(java_oracle: JavaOracle, value: dict[str, Any]) -> None:
    """With a delimiter that is in no name: of two fields that get one name, Java keeps one by their hash codes."""
    assert_same_on_both_sides(java_oracle, "Flatten", {"delimiter": "/"}, plain(value))
