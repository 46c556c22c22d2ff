"""`heliograph status` and `heliograph lag`: how the flows of a file stand, from any machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, chosen_flows
from heliograph.cli.output import Data, Format, FormatOption

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from heliograph.control.status import FlowStatus
    from heliograph.model import ChoreState

WatchOption = Annotated[bool, typer.Option("--watch", help="Show it again every two seconds, until Ctrl-C.")]

_WATCH_SECONDS = 2.0
_SHOWN_EVENTS = 10  # the newest; -o json gives all of the last day


def status(
    file: FileArgument, flow: FlowOption = None, watch: WatchOption = False, output_format: FormatOption = Format.TABLE
) -> None:
    """Show every flow: health, lag, rates, partitions set aside, events.

    \b
    heliograph status mm2.properties
    heliograph status mm2.properties --watch
    """
    _show(lambda: StatusResult(_read(file, flow)), watch, output_format)


def lag(
    file: FileArgument, flow: FlowOption = None, watch: WatchOption = False, output_format: FormatOption = Format.TABLE
) -> None:
    """Show every partition: how many records and seconds the target is behind.

    \b
    heliograph lag mm2.properties
    heliograph lag mm2.properties --flow 'primary->backup' -o json
    """
    _show(lambda: LagResult(_read(file, flow)), watch, output_format)


def _read(file: Path, wanted: str | None) -> Sequence[FlowStatus]:
    from heliograph.config.mirror_config import load
    from heliograph.control.status import read_status

    return [read_status(flow) for flow in chosen_flows(load(file), wanted) if flow.enabled]


def _show(read: Callable[[], output.Result], watch: bool, output_format: Format) -> None:
    if watch:
        output.show_again(read, output_format, _WATCH_SECONDS)
    output.show(read(), output_format)


@dataclass(frozen=True)
class StatusResult:
    """All flows in short."""

    flows: Sequence[FlowStatus]

    def data(self) -> Data:
        """The result as plain values."""
        return [
            {
                "flow": flow.flow,
                "health": flow.health.value,
                "owner": flow.owner,
                "lag_records": flow.lag_records,
                "lag_seconds": round(flow.lag_seconds, 3),
                "records_per_second": round(flow.records_per_second, 1),
                "bytes_per_second": round(flow.bytes_per_second, 1),
                "partitions": len(flow.partitions),
                "set_aside": [
                    {"topic": item.source.topic, "partition": item.source.partition, "reason": item.set_aside}
                    for item in flow.partitions
                    if item.set_aside
                ],
                "events": [str(event) for event in flow.events],
                "last_commit_ms": flow.last_commit_ms,
                "syncs": [asdict(state) for state in flow.chores],
            }
            for flow in self.flows
        ]

    def view(self) -> RenderableType:
        """One line a flow, then what needs attention."""
        from rich.console import Group
        from rich.text import Text

        table = output.table("flow", "health", "lag", "behind", "records/s", "MB/s", "partitions", "set aside")
        for flow in self.flows:
            aside = sum(bool(item.set_aside) for item in flow.partitions)
            table.add_row(
                flow.flow, flow.health.value, f"{flow.lag_records:,}", f"{flow.lag_seconds:.1f} s",
                f"{flow.records_per_second:,.0f}", f"{flow.bytes_per_second / 1e6:.1f}",
                str(len(flow.partitions)), str(aside),
            )  # fmt: skip
        notes = [
            Text(f"{flow.flow}: {item.source} is set aside: {item.set_aside}", style="red")
            for flow in self.flows
            for item in flow.partitions
            if item.set_aside
        ]
        notes += [
            Text(f"{flow.flow}: {state.name} fails {_since(state, flow.now_ms)}: {state.failure}", style="red")
            for flow in self.flows
            for state in flow.chores
            if state.failure
        ]
        events = [Text(f"{flow.flow}: {event}") for flow in self.flows for event in flow.events[-_SHOWN_EVENTS:]]
        return Group(table, *notes, *events)


def _since(state: ChoreState, now_ms: int) -> str:
    return f"for {max(0, now_ms - state.failing_since_ms) / 1000:.0f} s"


@dataclass(frozen=True)
class LagResult:
    """All partitions."""

    flows: Sequence[FlowStatus]

    def data(self) -> Data:
        """The result as plain values."""
        return [
            {
                "flow": flow.flow,
                "topic": item.source.topic,
                "partition": item.source.partition,
                "target": item.target.topic,
                "mirrored_to": item.position,
                "end": item.end,
                "lag_records": item.lag_records,
                "lag_seconds": round(item.lag_seconds, 3),
            }
            for flow in self.flows
            for item in flow.partitions
        ]

    def view(self) -> RenderableType:
        """One line a partition, the furthest behind first."""

        table = output.table("flow", "source", "target", "mirrored to", "end", "lag", "behind")
        for flow in self.flows:
            for item in sorted(flow.partitions, key=lambda item: -item.lag_records):
                table.add_row(
                    flow.flow, str(item.source), str(item.target), f"{item.position:,}", f"{item.end:,}",
                    f"{item.lag_records:,}", f"{item.lag_seconds:.1f} s",
                )  # fmt: skip
        return table
