"""`heliograph demo`: two real clusters and a mirror between them, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.output import Data, Format, FormatOption
from heliograph.errors import DifferenceFound

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.demo.demonstration import DemoReport


def demo(
    seconds: Annotated[
        float | None,
        typer.Option(help="End by itself after so many seconds, and report.", min=1, show_default=False),
    ] = None,
    rate: Annotated[int, typer.Option(help="Orders a second that the shop takes.", min=20, max=20_000)] = 400,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the clusters' data, and go on with it next time.")
    ] = False,
    folder: Annotated[Path, typer.Option(help="Where --keep leaves it.")] = Path(".heliograph/demo"),
    report_format: FormatOption = Format.TABLE,
) -> None:
    """Start two real Kafka clusters, a live producer, and mirror one into the other.

    Ends with Ctrl-C, or after --seconds; then compares source and target record by record. Exit code 0 only if
    they are equal.

    \b
    heliograph demo
    heliograph demo --seconds 20
    heliograph demo --keep --rate 5000
    """
    from heliograph.demo.demonstration import Demonstration

    report = Demonstration(seconds, rate, folder if keep else None, output.message_console()).run()
    output.show(DemoResult(report), report_format)
    if not report.comparison.is_equal:
        raise DifferenceFound("; ".join(str(difference) for difference in report.comparison.differences))


class DemoResult:
    """The report at the end of the demo."""

    def __init__(self, report: DemoReport) -> None:
        self._report = report

    def data(self) -> Data:
        """The report as plain values."""
        report = self._report
        return {
            "equal": report.comparison.is_equal,
            "records": report.comparison.records,
            "partitions": len(report.comparison.partitions),
            "differences": [str(difference) for difference in report.comparison.differences],
            "mirrored_records_per_second": round(report.records_per_second, 1),
            "median_latency_ms": report.median_latency_ms,
            "transactions": report.transactions,
            "kafka_version": report.kafka_version,
            "folder": report.folder,
        }

    def view(self) -> RenderableType:
        """The report in a few lines."""
        from rich.text import Text

        report = self._report
        verdict = "equal, record by record" if report.comparison.is_equal else "DIFFERENT"
        lines = [
            f"source and target are {verdict}: {report.comparison.records:,} records "
            f"in {len(report.comparison.partitions)} partitions compared",
            f"mirrored {report.records_per_second:,.0f} records/s in {report.transactions:,} transactions, "
            f"median latency {report.median_latency_ms} ms, Kafka {report.kafka_version}",
            *(f"  {difference}" for difference in report.comparison.differences),
        ]
        if report.folder:
            lines.append(f"data kept in {report.folder}; run again with --keep to go on with it")
        return Text("\n".join(lines))
