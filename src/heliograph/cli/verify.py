"""`heliograph verify`: proof that a target equals its source."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, chosen_flows
from heliograph.cli.output import Data, Format, FormatOption, message_console, show
from heliograph.cli.since import seconds_of
from heliograph.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.recovery.verification.difference import Difference
    from heliograph.recovery.verification.plan import Scope, VerificationPlan
    from heliograph.recovery.verification.verification import PartitionResult, Progress, Verification

_DIFFERENT = 4
_SPARK_FROM_BYTES = 2 * 1024**3  # less is done by one process before Spark has warmed up
_SHOWN_NOTES = 20

TopicsOption = Annotated[
    str | None, typer.Option("--topics", help="Only topics of the source whose whole name matches this expression.")
]
SinceOption = Annotated[
    str | None, typer.Option("--since", help="Only records of the last time: 30m, 1h, 2d. Without: all.")
]
FromOption = Annotated[
    list[str] | None,
    typer.Option("--from-offsets", help="Begin at topic:partition:offset of the source; may be given again."),
]
DeepOption = Annotated[
    bool, typer.Option("--deep", help="Decode every record and check every checksum, also where bytes are the same.")
]
PlanOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would be compared, and what not.")]
PartitionsOption = Annotated[bool, typer.Option("--partitions", "-v", help="One line for each partition.")]


def verify(
    file: FileArgument,
    flow: FlowOption = None,
    topics: TopicsOption = None,
    since: SinceOption = None,
    from_offsets: FromOption = None,
    deep: DeepOption = False,
    dry_run: PlanOption = False,
    partitions: PartitionsOption = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Compare what is mirrored with its source, on both clusters; changes nothing.

    Exit code: 0 equal, 1 could not compare, 2 the file is wrong, 4 something differs.

    \b
    heliograph verify mm2.properties
    heliograph verify mm2.properties --flow 'primary->backup' --topics 'orders|payments' --since 1h
    heliograph verify mm2.properties --from-offsets orders:0:15000 --deep
    heliograph verify mm2.properties --dry-run -o json
    """
    from heliograph.config.mirror_config import load
    from heliograph.recovery.verification.plan import plan_verification

    config = load(file)
    scope = _scope(topics, since, from_offsets or (), deep)
    chosen = [one for one in chosen_flows(config, flow) if one.enabled]
    if not chosen:
        raise typer.BadParameter("no flow that is asked for is enabled, so nothing is mirrored")
    plans = [plan_verification(one, scope) for one in chosen]
    if dry_run:
        show(PlanResult(plans), output_format)
        return
    result = VerifyResult([_verified(config, plan) for plan in plans], partitions)
    show(result, output_format)
    raise typer.Exit(0 if result.is_equal else _DIFFERENT)


def _scope(topics: str | None, since: str | None, from_offsets: Sequence[str], deep: bool) -> Scope:
    from heliograph.recovery.verification.plan import Scope

    if topics is not None:
        try:
            re.compile(topics)
        except re.error as error:
            raise typer.BadParameter(f"--topics {topics} is no regular expression: {error}") from error
    since_ms = None if since is None else int((time.time() - seconds_of(since)) * 1000)
    return Scope(topics, since_ms, dict(_place(text) for text in from_offsets), deep)


def _place(text: str) -> tuple[TopicPartition, int]:
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise typer.BadParameter(f"{text} is not topic:partition:offset, such as orders:0:1500")
    return TopicPartition(topic, int(partition)), int(offset)


def _verified(config: MirrorConfig, plan: VerificationPlan) -> Verification:
    """Small work is done here and now, large work by Spark."""
    from heliograph.recovery.verification.verification import verify_slices

    with _bar(plan.flow) as tell:
        if plan.bytes < _SPARK_FROM_BYTES:
            return verify_slices(plan, tell)
        from heliograph.engine.verify_source import VerifyingSession

        with VerifyingSession(config.spark, os.cpu_count() or 2) as session:
            return session.verify(plan, tell)


@contextmanager
def _bar(flow: str) -> Iterator[Callable[[Progress], None]]:
    """A bar with rate and remaining time, where people look."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TextColumn("{task.fields[rate]}"))
    with Bars(*columns, TimeRemainingColumn(), console=message_console(), transient=True) as bars:
        task = bars.add_task(f"verifying {flow}", total=None, rate="")

        def tell(state: Progress) -> None:
            rate = f"{state.bytes_per_second / 1e6:,.0f} MB/s"
            bars.update(task, completed=state.done_bytes, total=state.total_bytes, rate=rate)

        yield tell


@dataclass(frozen=True)
class PlanResult:
    """What would be compared."""

    plans: Sequence[VerificationPlan]

    def data(self) -> Data:
        """The result as plain values."""
        return [
            {
                "flow": plan.flow,
                "bytes": plan.bytes,
                "slices": len(plan.slices()),
                "left_out": list(plan.left_out),
                "partitions": [
                    {
                        "topic": item.source.topic,
                        "partition": item.source.partition,
                        "target": item.target.topic,
                        "by_key": item.by_key,
                        "ranges": [
                            {
                                "source": [part.begin.source, part.end.source],
                                "target": [part.begin.target, part.end.target],
                            }
                            for part in item.coverage.segments
                        ],
                        "not_yet_mirrored": item.coverage.waiting,
                        "left_out": list(item.coverage.left_out),
                    }
                    for item in plan.partitions
                ],
            }
            for plan in self.plans
        ]

    def view(self) -> RenderableType:
        """One line a partition, then what is left out."""
        from rich.console import Group

        table = output.table("flow", "source", "target", "from", "to", "about MB", "not yet mirrored", "how")
        for plan in self.plans:
            for item in plan.partitions:
                parts = item.coverage.segments
                table.add_row(
                    plan.flow, str(item.source), str(item.target),
                    f"{parts[0].begin.source:,}" if parts else "-", f"{parts[-1].end.source:,}" if parts else "-",
                    f"{sum(part.bytes for part in parts) / 1e6:,.1f}", f"{item.coverage.waiting:,}", _how(item.by_key),
                )  # fmt: skip
        notes = [
            note
            for plan in self.plans
            for note in (
                *plan.left_out,
                *(f"{i.source}: {note}" for i in plan.partitions for note in i.coverage.left_out),
            )
        ]
        return Group(table, *_left_out(notes))


@dataclass(frozen=True)
class VerifyResult:
    """What came of it."""

    flows: Sequence[Verification]
    shows_partitions: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether all flows are."""
        return all(flow.is_equal for flow in self.flows)

    def data(self) -> Data:
        """The result as plain values."""
        return {"equal": self.is_equal, "flows": [_flow_data(flow) for flow in self.flows]}

    def view(self) -> RenderableType:
        """One line a topic or partition, differences with both versions, what was left out, the verdict."""
        from rich.console import Group

        table = output.table("flow", "source", "target", "records", "MB", "verdict", "not yet mirrored", "how")
        for flow in self.flows:
            for rows in _grouped(flow.partitions, self.shows_partitions):
                self._add_row(table, flow.flow, rows)
        parts: list[RenderableType] = [table]
        for flow in self.flows:
            for difference in flow.differences:
                parts += _difference_lines(difference)
        parts += _left_out([note for flow in self.flows for note in flow.left_out])
        return Group(*parts, *(_verdict(flow) for flow in self.flows))

    def _add_row(self, table: Table, flow: str, rows: Sequence[PartitionResult]) -> None:
        name = str if self.shows_partitions else lambda where: where.topic
        different = sum(row.difference is not None for row in rows)
        compared = any(row.records or row.bytes for row in rows)
        verdict = f"[red]{different} different[/red]" if different else "equal" if compared else "nothing compared"
        table.add_row(
            flow, name(rows[0].source), name(rows[0].target), f"{sum(row.records for row in rows):,}",
            f"{sum(row.bytes for row in rows) / 1e6:,.1f}", verdict,
            f"{sum(row.waiting for row in rows):,}", _how(rows[0].by_key),
        )  # fmt: skip


def _how(by_key: bool) -> str:
    return "last value of each key" if by_key else "every record"


def _grouped(partitions: Sequence[PartitionResult], alone: bool) -> list[list[PartitionResult]]:
    """The partitions of each topic together, or each one alone."""
    groups: dict[object, list[PartitionResult]] = {}
    for item in partitions:
        groups.setdefault(item.source if alone else item.source.topic, []).append(item)
    return list(groups.values())


def _difference_lines(difference: Difference) -> Iterator[Text]:
    from rich.text import Text

    yield Text(str(difference), style="red")
    for name, (ours, theirs) in difference.versions().items():
        yield Text(f"  {name:<9} source: {ours}")
        yield Text(f"  {'':<9} target: {theirs}")


def _left_out(notes: Sequence[str]) -> Iterator[Text]:
    from rich.text import Text

    for note in notes[:_SHOWN_NOTES]:
        yield Text(f"left out: {note}", style="yellow")
    if len(notes) > _SHOWN_NOTES:
        yield Text(f"left out: {len(notes) - _SHOWN_NOTES} more; -o json shows all", style="yellow")


def _verdict(flow: Verification) -> Text:
    from rich.text import Text

    rate = flow.bytes / flow.seconds / 1e6 if flow.seconds else 0.0
    what = f"{flow.records:,} records, {flow.bytes / 1e6:,.1f} MB, {len(flow.partitions)} partitions"
    how = f"in {flow.seconds:.1f} s, {rate:,.0f} MB/s, {flow.records / max(flow.seconds, 1e-9):,.0f} records/s"
    if flow.is_equal:
        return Text(f"{flow.flow}: equal: {what} compared {how}", style="green")
    return Text(f"{flow.flow}: DIFFERENT in {len(flow.differences)} partitions: {what} compared {how}", style="red")


def _flow_data(flow: Verification) -> Data:
    return {
        "flow": flow.flow,
        "equal": flow.is_equal,
        "records": flow.records,
        "bytes": flow.bytes,
        "seconds": round(flow.seconds, 3),
        "not_yet_mirrored": flow.waiting,
        "left_out": list(flow.notes),
        "partitions": [
            {
                "topic": item.source.topic,
                "partition": item.source.partition,
                "target": item.target.topic,
                "records": item.records,
                "bytes": item.bytes,
                "batches_opened": item.opened,
                "by_key": item.by_key,
                "not_yet_mirrored": item.waiting,
                "left_out": list(item.left_out),
                "difference": _difference_data(item.difference),
            }
            for item in flow.partitions
        ],
    }


def _difference_data(difference: Difference | None) -> Data:
    if difference is None:
        return None
    source, target = difference.source_record, difference.target_record
    return {
        "message": str(difference),
        "source_offset": source.offset if source else None,
        "target_offset": target.offset if target else None,
        "fields": list(difference.fields),
        "versions": {
            name: {"source": ours, "target": theirs} for name, (ours, theirs) in difference.versions().items()
        },
    }
