"""Prometheus' text format, written fast: a page may hold tens of thousands of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from heliograph.control.metrics.metric import Distribution, Group, Metric

if TYPE_CHECKING:
    from heliograph.control.metrics.mirror_view import MirrorView

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SPECIAL = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_SPECIAL_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


def render(groups: Iterable[Group[Any]], view: MirrorView) -> str:
    """All metrics of all groups, as lines."""
    lines: list[str] = []
    for group in groups:
        rows = list(group.rows(view))
        labels = [label_text(group.labels, group.label_values(row)) for row in rows]
        for metric in group.metrics:
            lines += _lines(metric, labels, [metric.read(row) for row in rows])
    return "\n".join([*lines, ""])


def label_text(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """Names and values between braces; nothing for none."""
    if not names:
        return ""
    items = zip(names, values, strict=True)
    return "{" + ",".join(f'{name}="{value.translate(_SPECIAL)}"' for name, value in items) + "}"


def _lines(metric: Metric[Any], labels: list[str], values: list[Any]) -> Iterator[str]:
    shown = [(label, value) for label, value in zip(labels, values, strict=True) if value is not None]
    if not shown:
        return
    for name in metric.names:
        yield f"# HELP {name} {metric.help.translate(_SPECIAL_IN_HELP)}"
        yield f"# TYPE {name} {metric.kind.value}"
        for label, value in shown:
            if isinstance(value, Distribution):
                yield from _buckets(name, label, value)
            else:
                yield f"{name}{label} {value!r}"


def _buckets(name: str, label: str, value: Distribution) -> Iterator[str]:
    start = label[:-1] + "," if label else "{"
    bounds = [*(f"{bound:g}" for bound in value.bounds), "+Inf"]
    for bound, count in zip(bounds, accumulate(value.counts), strict=True):
        yield f'{name}_bucket{start}le="{bound}"}} {count}'
    yield f"{name}_sum{label} {value.total!r}"
    yield f"{name}_count{label} {sum(value.counts)}"
