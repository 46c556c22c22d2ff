"""The table of all metrics: the page that Prometheus reads and docs/metrics.md are made from it."""

from __future__ import annotations

from typing import Any, Final

from heliograph.control.metrics import mm2_metrics, own_metrics
from heliograph.control.metrics.metric import Group

GROUPS: Final[tuple[Group[Any], ...]] = (*own_metrics.GROUPS, *mm2_metrics.GROUPS)
