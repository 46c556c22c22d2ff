"""`heliograph drill`: rehearse the loss of a cluster, and measure it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.flows import one_flow
from heliograph.cli.operations import OneFlowOption
from heliograph.cli.output import Data, Format, FormatOption
from heliograph.cli.steps import steps_shown, steps_view

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.recovery.drill.report import DrillReport
    from heliograph.recovery.drill.scene import Scene
    from heliograph.recovery.hooks.hooks import Hooks

_FAILED = 4
# A dead broker is missed, and let back in, after 4 s and not only after 9.
_SOON_MISSED = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"}

FileOption = Annotated[
    Path | None, typer.Argument(help="An mm2.properties file; with --for-real it may be left out.", show_default=False)
]
ForRealOption = Annotated[
    bool, typer.Option("--for-real", help="On two clusters of this machine, of which one is killed with kill -9.")
]


def drill(
    file: FileOption = None,
    flow: OneFlowOption = None,
    for_real: ForRealOption = False,
    seconds: Annotated[float, typer.Option(help="Seconds of load before the loss.", min=5, max=3600)] = 20.0,
    groups: Annotated[int, typer.Option(help="Consumer groups.", min=1, max=1000)] = 20,
    rate: Annotated[int, typer.Option(help="Records a second.", min=20, max=20_000)] = 500,
    report: Annotated[Path, typer.Option(help="The folder for the report.")] = Path("heliograph-drills"),
    keep: Annotated[bool, typer.Option("--keep", help="Leave what the drill creates, to look at it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be created, and what stands in the way.")
    ] = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Rehearse failover and failback with canary topics and groups; exit with 0 if all is well, and else with 4.

    Topics, groups and books of production are not touched. The report says how much would have been lost (RPO), how
    long it took (RTO), and what every group skipped or read again.

    \b
    heliograph drill mm2.properties --flow 'primary->backup' --dry-run
    heliograph drill mm2.properties --flow 'primary->backup' --report audits
    heliograph drill --for-real
    """
    from heliograph.recovery.drill.drill import Drill
    from heliograph.recovery.drill.story import DrillOptions

    wishes = _Wishes(file, flow, groups, report if keep else None, dry_run)
    with _for_real_scene(wishes) if for_real else _rehearsal_scene(wishes) as (scene, hooks):
        if dry_run:
            preview = DrillPreview.of(scene)
            output.show(preview, output_format)
            raise typer.Exit(1 if preview.problems else 0)
        rehearsal = Drill(scene, DrillOptions(seconds, rate, keep, report), hooks)
        with steps_shown(rehearsal, output_format):
            result = rehearsal.run()
    files = result.write(report)
    output.show(DrillResult(result, files), output_format)
    raise typer.Exit(0 if result.passed else _FAILED)


@dataclass(frozen=True)
class _Wishes:
    """What was asked for beside the drill itself."""

    file: Path | None
    flow: str | None
    groups: int
    kept_in: Path | None
    is_dry_run: bool


@contextmanager
def _rehearsal_scene(wishes: _Wishes) -> Iterator[tuple[Scene, Hooks | None]]:
    from heliograph.config.mirror_config import load
    from heliograph.recovery.drill.drill import NAME
    from heliograph.recovery.drill.names import DrillNames
    from heliograph.recovery.drill.scene import Rehearsal, drill_folder
    from heliograph.recovery.hooks.hooks import Hooks

    if wishes.file is None:
        raise typer.BadParameter("give an mm2.properties file, or --for-real")
    config = load(wishes.file)
    chosen = one_flow(config, wishes.flow)
    names = DrillNames.fresh(chosen.source.alias, chosen.target.alias, wishes.groups)
    with drill_folder() as folder:
        yield Rehearsal(config, names, folder), Hooks(config.hooks, NAME, chosen, names.id)


@contextmanager
def _for_real_scene(wishes: _Wishes) -> Iterator[tuple[Scene, Hooks | None]]:
    from heliograph.config.mirror_config import load
    from heliograph.embedded.cluster import ClusterSpec, running_clusters
    from heliograph.recovery.drill.names import DrillNames
    from heliograph.recovery.drill.scene import ForReal, drill_folder

    aliases = ("primary", "backup")
    if wishes.file is not None:
        chosen = one_flow(load(wishes.file), wishes.flow)
        aliases = (chosen.source.alias, chosen.target.alias)
    names = DrillNames.fresh(*aliases, wishes.groups)
    say = output.message_console().print
    with ExitStack() as stack:
        folder = stack.enter_context(drill_folder())
        data = wishes.kept_in.absolute() / names.mark if wishes.kept_in else folder
        say(f"starting two Kafka clusters, {aliases[0]} and {aliases[1]} …")
        specs = [ClusterSpec(alias, settings=_SOON_MISSED, folder=data / f"cluster-{alias}") for alias in aliases]
        clusters = stack.enter_context(running_clusters(*specs))
        yield ForReal(wishes.file, names, dict(zip(aliases, clusters, strict=True)), folder), None


@dataclass(frozen=True)
class DrillPreview:
    """What a drill would create, and what stands in its way."""

    flow: str
    creates: Sequence[str]
    problems: Sequence[str]

    @classmethod
    def of(cls, scene: Scene) -> DrillPreview:
        """Ask both clusters; changes nothing."""
        from heliograph.config.problem import Severity
        from heliograph.sync.preflight import examine

        drill = scene.drill
        found = examine(drill.flow).findings
        errors = [f"{item.subject}: {item.message}" for item in found if item.severity is Severity.ERROR]
        names = drill.names
        creates = [
            *(f"topic {topic} on {names.source} and {names.target}" for topic in names.topics),
            *(f"topic {copy} on {names.target}" for copy in drill.copies.values() if copy not in names.topics),
            f"internal topics of {names.flow} and back, on both",
            f"groups {names.groups[0]} … {names.groups[-1]} on both",
        ]
        return cls(f"{names.source}->{names.target}", creates, [*scene.problems(), *errors])

    def data(self) -> Data:
        """The preview as plain values."""
        return {
            "flow": self.flow, "can_begin": not self.problems, "creates": list(self.creates),
            "problems": list(self.problems),
        }  # fmt: skip

    def view(self) -> RenderableType:
        """One line for each."""
        from rich.text import Text

        verdict = f"{len(self.problems)} problems: it would stop" if self.problems else "it can begin"
        lines = [
            *(f"would create, and delete at the end: {item}" for item in self.creates),
            *(f"problem: {item}" for item in self.problems),
            f"dry run of drill {self.flow}: {verdict}",
        ]
        return Text("\n".join(lines))


@dataclass(frozen=True)
class DrillResult:
    """The verdict of a drill."""

    report: DrillReport
    files: tuple[Path, ...]

    def data(self) -> Data:
        """The whole report as plain values."""
        return {**self.report.data(), "files": [str(file) for file in self.files]}

    def view(self) -> RenderableType:
        """Steps, figures, verdict."""
        from rich.console import Group
        from rich.text import Text

        report = self.report
        figures = output.table("figure", "")
        for name, value in report.figures().items():
            output.add_row(figures, name.replace("_", " "), "not measured" if value is None else value)
        lines = [
            *(f"fault: {fault}" for fault in report.faults),
            f"report: {', '.join(map(str, self.files))}",
            f"drill {report.id} of {report.flow}: {'pass' if report.passed else 'FAIL'} in {report.seconds:.0f} s",
        ]
        return Group(steps_view(report.steps), figures, Text("\n".join(lines)))
