"""The metrics that expressions of Prometheus speak of."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from heliograph.control.metrics.metric import Kind
from heliograph.control.metrics.table import GROUPS
from tests.deploy.prometheus import RULES

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "heliograph-dashboard.json"
TOLD_BY_OTHERS = {
    "up",  # by Prometheus
    "mirrormaker_monitor_up",  # by the lag monitor
    "mirrormaker_monitor_last_success_timestamp_seconds",
    "heliograph_verification_mismatches_total",  # by a verification, once there was one
}

_NAME = re.compile(r"\b(?:heliograph|kafka|mirrormaker|process)_\w+|\bup\b")


def rules() -> list[dict[str, Any]]:
    """All alert rules that we ship."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """The dashboard that we ship."""
    found: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return found


def panels() -> list[dict[str, Any]]:
    """Its panels, without the headings between them."""
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def names_in(expression: str) -> set[str]:
    """The metrics that an expression names; what stands in quotes is none."""
    return set(_NAME.findall(re.sub(r'"[^"]*"', "", expression)))


def declared() -> dict[str, tuple[str, ...]]:
    """Every name of the table, also those of a histogram's parts, with its labels."""
    return {
        f"{name}{part}": group.labels
        for group in GROUPS
        for metric in group.metrics
        for name in metric.names
        for part in (("_bucket", "_sum", "_count") if metric.kind is Kind.HISTOGRAM else ("",))
    }
