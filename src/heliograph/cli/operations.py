"""`heliograph switchover`, `failover` and `failback`: move between clusters, step by step, each with its proof."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.flows import one_flow
from heliograph.cli.output import Data, Format, FormatOption
from heliograph.cli.steps import steps_shown, steps_view
from heliograph.errors import OperationFailed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.config.flow import FlowConfig
    from heliograph.recovery.operation import Operation, OperationReport, PlannedStep
    from heliograph.recovery.switchover import MoveOptions


class Fencing(Enum):
    """What `--fence` accepts."""

    ACL = "acl"
    TOPIC = "topic"


OneFlowOption = Annotated[str | None, typer.Option("--flow", help="The flow, as A->B (quote it).")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the steps and what stands in their way; change nothing.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before beginning.")]
UndoOption = Annotated[bool, typer.Option("--undo", help="Put back what an interrupted run has changed, and end.")]
FenceOption = Annotated[
    Fencing | None,
    typer.Option("--fence", help="Keep producers out, by an ACL or a topic setting. Without: wait until they stop."),
]
QuietOption = Annotated[
    float, typer.Option("--quiet", help="Seconds without a new record: then producers have stopped.")
]
PatienceOption = Annotated[
    float, typer.Option("--patience", help="Seconds to wait for producers, mirror and consumers.")
]
LeaveOption = Annotated[bool, typer.Option("--leave-consumers", help="Go on although groups are still consuming.")]
VerifyOption = Annotated[
    float, typer.Option("--verify", help="Compare the records of so many seconds before the beginning; 0: none.")
]
TailOption = Annotated[
    Path | None,
    typer.Option("--tail", help="The file for what was never mirrored. Without: named after the operation."),
]
TailTopicOption = Annotated[
    str | None, typer.Option("--tail-topic", help="Keep what was never mirrored in this topic of the target instead.")
]


def switchover(
    file: FileArgument,
    flow: OneFlowOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    undo: UndoOption = False,
    fence: FenceOption = None,
    quiet: QuietOption = 10.0,
    patience: PatienceOption = 600.0,
    leave_consumers: LeaveOption = False,
    verify: VerifyOption = 600.0,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Move from the source of a flow to its target, as planned: nothing lost, nothing read twice.

    \b
    heliograph switchover mm2.properties --flow 'primary->backup' --dry-run
    heliograph switchover mm2.properties --flow 'primary->backup' --fence topic
    heliograph switchover mm2.properties --flow 'primary->backup' --undo
    """
    from heliograph.config.mirror_config import load
    from heliograph.recovery.switchover import switchover as steps

    config, wishes = load(file), Wishes(dry_run, yes, undo, output_format)
    chosen = wishes.confirmed("switchover", one_flow(config, flow))
    _perform(steps(config, chosen, _move_options(fence, quiet, patience, leave_consumers, verify)), wishes)


def failover(
    file: FileArgument,
    flow: OneFlowOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Move to the target of a flow in an emergency: its source may be gone.

    \b
    heliograph failover mm2.properties --flow 'primary->backup' --dry-run
    heliograph failover mm2.properties --flow 'primary->backup' --yes
    """
    from heliograph.config.mirror_config import load
    from heliograph.recovery.failover import failover as steps

    config, wishes = load(file), Wishes(dry_run, yes, False, output_format)
    _perform(steps(config, wishes.confirmed("failover", one_flow(config, flow))), wishes)


def failback(
    file: FileArgument,
    flow: OneFlowOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    undo: UndoOption = False,
    fence: FenceOption = None,
    quiet: QuietOption = 10.0,
    patience: PatienceOption = 600.0,
    leave_consumers: LeaveOption = False,
    verify: VerifyOption = 600.0,
    tail: TailOption = None,
    tail_topic: TailTopicOption = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Move back to the source of a flow, which has returned; FLOW is the flow that failed over, not the one back.

    \b
    heliograph failback mm2.properties --flow 'primary->backup' --dry-run
    heliograph failback mm2.properties --flow 'primary->backup' --fence topic --tail lost.jsonl
    """
    from heliograph.config.mirror_config import load
    from heliograph.recovery.failback import TailOptions
    from heliograph.recovery.failback import failback as steps

    if tail and tail_topic:
        raise typer.BadParameter("--tail and --tail-topic: one of both")
    config, wishes = load(file), Wishes(dry_run, yes, undo, output_format)
    chosen = wishes.confirmed("failback", one_flow(config, flow))
    options = _move_options(fence, quiet, patience, leave_consumers, verify)
    _perform(steps(config, chosen, options, TailOptions(tail, tail_topic)), wishes)


@dataclass(frozen=True)
class Wishes:
    """What was asked for beside the operation itself."""

    is_dry_run: bool
    is_sure: bool
    is_undo: bool
    output_format: Format

    def confirmed(self, operation: str, flow: FlowConfig) -> FlowConfig:
        """The flow, once whoever sits there is sure: at three in the morning one should know what one is moving."""
        if self.is_dry_run or self.is_sure:
            return flow
        if not sys.stdin.isatty():
            raise typer.BadParameter(f"{operation} changes clusters: confirm it with --yes, or look with --dry-run")
        typer.confirm(f"{operation} of {flow.name}: begin?", abort=True, err=True)
        return flow


def _move_options(
    fence: Fencing | None, quiet: float, patience: float, leave_consumers: bool, verify: float
) -> MoveOptions:
    from heliograph.recovery.producers.fence import FenceWay
    from heliograph.recovery.switchover import MoveOptions

    way = FenceWay(fence.value) if fence else None
    return MoveOptions(way, quiet, patience, leave_consumers, verify)


def _perform(operation: Operation, wishes: Wishes) -> None:
    if wishes.is_dry_run:
        result = PreviewResult(
            operation.report.operation, operation.report.flow, operation.preview(), operation.details()
        )
        output.show(result, wishes.output_format)
        raise typer.Exit(1 if result.problems else 0)
    with steps_shown(operation, wishes.output_format):
        try:
            report = operation.undo() if wishes.is_undo else operation.run()
        except OperationFailed:
            if wishes.output_format is not Format.TABLE:
                output.show(OperationResult(operation.report, operation.details()), wishes.output_format)
            raise
    output.show(OperationResult(report, operation.details()), wishes.output_format)


@dataclass(frozen=True)
class PreviewResult:
    """What an operation would do."""

    operation: str
    flow: str
    steps: Sequence[PlannedStep]
    details: Mapping[str, Any]

    @property
    def problems(self) -> list[str]:
        """All that stands in the way."""
        return [f"{step.name}: {problem}" for step in self.steps for problem in step.outlook.problems]

    def data(self) -> Data:
        """The result as plain values."""
        steps: list[Data] = [
            {
                "step": step.name, "title": step.title, "would": step.outlook.text,
                "problems": list(step.outlook.problems), "hooks": list(step.hooks),
            }
            for step in self.steps
        ]  # fmt: skip
        return {
            "operation": self.operation, "flow": self.flow, "can_begin": not self.problems, "steps": steps,
            **self.details,
        }  # fmt: skip

    def view(self) -> RenderableType:
        """One line a step, and the verdict."""
        from rich.console import Group
        from rich.text import Text

        table = output.table("", "step", "")
        for step in self.steps:
            problems = [f"problem: {problem}" for problem in step.outlook.problems]
            lines = "\n".join(line for line in (step.outlook.text, *problems, *step.hooks) if line)
            output.add_row(table, "✗" if problems else "✓", step.title, lines)
        verdict = f"{len(self.problems)} problems: it would stop" if self.problems else "it can begin"
        return Group(table, *_detail_views(self.details), Text(f"dry run of {self.operation} {self.flow}: {verdict}"))


@dataclass(frozen=True)
class OperationResult:
    """What an operation has done."""

    report: OperationReport
    details: Mapping[str, Any]

    def data(self) -> Data:
        """The result as plain values."""
        fields = asdict(self.report)
        for step in fields["steps"]:
            step["state"] = step["state"].value
        return {**fields, **self.details}

    def view(self) -> RenderableType:
        """Steps with proofs, then what they have found out."""
        from rich.console import Group
        from rich.text import Text

        report = self.report
        verdict = f"{report.operation} {report.flow}: {report.state} in {report.seconds:.1f} s ({report.id})"
        return Group(steps_view(report.steps), *_detail_views(self.details), Text(verdict))


def _detail_views(details: Mapping[str, Any]) -> Iterator[RenderableType]:
    if missing := [row for row in details.get("partitions", ()) if row["missing"]]:
        table = output.table("missing: topic", "partition", "mirrored to", "known end", "records")
        for row in missing:
            output.add_row(
                table, row["topic"], row["partition"], row["mirrored_to"], row["known_end"], f"{row['missing']:,}"
            )
        yield table
    if groups := details.get("groups"):
        table = output.table(
            "group", "topic", "partition", "was at", "target topic", "goes on at", "exact", "waiting", ""
        )
        for row in groups:
            output.add_row(
                table, row["group"], row["source_topic"], row["partition"], row["source_offset"], row["target_topic"],
                row["target_offset"], "yes" if row["exact"] else f"no: up to {row['waiting']:,} again",
                f"{row['waiting']:,}", row["outcome"],
            )  # fmt: skip
        yield table
