"""The values of the chart and the schema that refuses wrong ones."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from heliograph import __version__

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "heliograph"
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


def mistakes(values: dict[str, Any]) -> list[str]:
    """The places that the schema complains of."""
    return [".".join(map(str, error.path)) for error in Draft7Validator(SCHEMA).iter_errors(values)]


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_the_defaults_fit() -> None:
    assert mistakes(VALUES) == []


def test_every_value_is_in_the_schema_and_has_a_default() -> None:
    assert SCHEMA["properties"].keys() - {"global"} == VALUES.keys()
    for name, value in VALUES.items():
        if isinstance(value, dict) and "properties" in SCHEMA["properties"][name]:
            assert SCHEMA["properties"][name]["properties"].keys() == value.keys(), name


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("replicas", 2, ""),  # a second mirror would take the flows over
        ("properties", "", "properties"),
        ("properties", "clusters = a, b\nlisteners = http://:8083\n", "properties"),
        ("image.pullPolicy", "Sometimes", "image.pullPolicy"),
        ("image.repository", "", "image.repository"),
        ("rest.port", 80, "rest.port"),
        ("rest.port", 8083, "rest.port"),
        ("rest.tls.secretName", "Not A Name", "rest.tls.secretName"),
        ("logFormat", "xml", "logFormat"),
        ("secretFiles", ["one", "one"], "secretFiles"),
        ("serviceMonitor.interval", "often", "serviceMonitor.interval"),
        ("podDisruptionBudget.maxUnavailable", 2, "podDisruptionBudget.maxUnavailable"),
        ("resources.limits", {"memory": "plenty"}, "resources.limits.memory"),
        ("terminationGracePeriodSeconds", 0, "terminationGracePeriodSeconds"),
    ],
)
def test_bad_values_are_refused(path: str, value: object, place: str) -> None:
    values = deepcopy(VALUES)
    *folders, name = path.split(".")
    part = values
    for folder in folders:
        part = part[folder]
    part[name] = value
    assert mistakes(values) == [place]


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
