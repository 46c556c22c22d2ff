"""What one metric is: its name, type and meaning, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from heliograph.control.metrics.mirror_view import MirrorView

Row = TypeVar("Row")


class Kind(Enum):
    """Prometheus' types, as far as they are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Distribution:
    """How often values up to each bound were seen; the last count is of those above all bounds."""

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


Value: TypeAlias = "float | Distribution | None"
"""What a metric shows of a row; None: it has no series of its own there."""


@dataclass(frozen=True)
class Metric(Generic[Row]):
    """One metric, and the other names under which the same values are shown."""

    name: str
    kind: Kind
    help: str
    read: Callable[[Row], Value]
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All its names."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Group(Generic[Row]):
    """Metrics that are about the same things, each of which is a row: a flow, a partition, a chore."""

    title: str
    labels: tuple[str, ...]
    rows: Callable[[MirrorView], Iterable[Row]]
    label_values: Callable[[Row], tuple[str, ...]]
    metrics: tuple[Metric[Row], ...]
