"""What rounds of a trickle have shown: median and range of each figure, as a table, as Markdown and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from bench.internal_topics import Kind
from bench.trickle import LANES, PARTITIONS, RATE, RECORD_BYTES, Trickle

_CONDITIONS = (
    f"Lanes or tasks of each: {LANES}. All run between the same brokers, every other round in reverse order, each "
    "after a warm-up; a round before the first does not count. Exactly once of MirrorMaker 2 is with linger.ms 5."
)


@dataclass(frozen=True)
class Spread:
    """The median of several rounds, and between what they lie."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one round."""
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{_number(self.median)} ({_number(self.lowest)} to {_number(self.highest)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _bytes_of(kind: Kind) -> Callable[[Trickle], float]:
    return lambda trickle: trickle.bytes_per_record(kind)


FIGURES: Mapping[str, Callable[[Trickle], float]] = {
    "latency p50, ms": lambda trickle: trickle.p50,
    "latency p90, ms": lambda trickle: trickle.p90,
    "latency p99, ms": lambda trickle: trickle.p99,
    "latency, longest, ms": lambda trickle: trickle.longest,
    "CPU of the mirror, share of a core": lambda trickle: trickle.mirror_share,
    "CPU of the target's broker, share of a core": lambda trickle: trickle.broker_share,
    **{f"internal bytes per record: {kind.value}": _bytes_of(kind) for kind in Kind},
    "internal bytes per record, on the source": lambda trickle: trickle.source_bytes_per_record,
    "records written each second": lambda trickle: trickle.written_per_second,
}


@dataclass(frozen=True)
class TrickleReport:
    """The results of all counted rounds by contestant."""

    seconds: float
    results: Mapping[str, Sequence[Trickle]]

    @property
    def title(self) -> str:
        """What was measured."""
        return (
            f"(r) trickle: {RATE} records/s of {RECORD_BYTES} B over {PARTITIONS} partitions for {self.seconds:.0f} s; "
            f"median and range, rounds: {min(map(len, self.results.values()))}"
        )

    def spreads(self) -> dict[str, dict[str, Spread]]:
        """By figure and contestant."""
        return {
            figure: {name: Spread.of([pick(round_) for round_ in rounds]) for name, rounds in self.results.items()}
            for figure, pick in FIGURES.items()
        }

    def table(self) -> Table:
        """For a terminal."""
        table = Table(box=None, pad_edge=False, title=self.title, title_justify="left")
        for column in ("figure", *self.results):
            table.add_column(column)
        for cells in self._lines():
            table.add_row(*cells)
        return table

    def markdown(self) -> list[str]:
        """The lines of a section."""
        return [
            "## Trickle",
            "",
            f"{self.title}. {_CONDITIONS}",
            "",
            _markdown_row(["figure", *self.results]),
            "|" + "---|" * (len(self.results) + 1),
            *map(_markdown_row, self._lines()),
            "",
        ]

    def as_json(self) -> dict[str, Any]:
        """All figures, and all that they were made of."""
        return {
            "records_per_second": RATE,
            "record_bytes": RECORD_BYTES,
            "partitions": PARTITIONS,
            "seconds": self.seconds,
            "figures": {
                figure: {name: asdict(spread) for name, spread in by_name.items()}
                for figure, by_name in self.spreads().items()
            },
            "rounds": {name: [asdict(round_) for round_ in rounds] for name, rounds in self.results.items()},
        }

    def _lines(self) -> Iterator[list[str]]:
        for figure, by_name in self.spreads().items():
            yield [figure, *(str(by_name[name]) for name in self.results)]


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
