"""A drill: the loss of a source, the move to its target and the way back, rehearsed with canaries and measured."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from heliograph.errors import HeliographError
from heliograph.recovery.drill.names import PARTITIONS
from heliograph.recovery.drill.report import DrillReport, digest, who
from heliograph.recovery.drill.scene import Scene
from heliograph.recovery.drill.signals import terminable, uninterrupted
from heliograph.recovery.drill.story import DrillOptions, DrillStory, Work
from heliograph.recovery.operation import HookRunner, StepReport, StepState

NAME = "drill"
_SHOWN = 3


class Drill:
    """One drill, from nothing to nothing."""

    def __init__(self, scene: Scene, options: DrillOptions, hooks: HookRunner | None = None) -> None:
        """`hooks`: those that the file has for drills; those of real moves are never run."""
        self._scene = scene
        self._options = options
        self._hooks = hooks
        self.report = _new_report(scene, options)
        self.story = DrillStory(scene, options, self.report)
        self.report.steps = [StepReport(name, title) for name, (title, _) in self.story.steps().items()]
        self.on_change: Callable[[DrillReport], None] = lambda _: None
        self.after_step: Callable[[str], None] = lambda _: None

    def run(self) -> DrillReport:
        """Do all steps, judge, and clean up, also after a failure or an interruption."""
        report, began = self.report, time.monotonic()
        report.began_at_ms = int(time.time() * 1000)
        try:
            with terminable():
                self._do_all()
        except (HeliographError, KeyboardInterrupt) as error:
            failed = next((step for step in report.steps if step.state is StepState.FAILED), None)
            where = f"stopped at step {failed.name}" if failed else "stopped"
            report.faults.insert(0, f"{where}: {str(error) or 'interrupted'}")
        finally:
            with uninterrupted():
                self._end()
        report.seconds = time.monotonic() - began
        self.on_change(report)
        return report

    def _do_all(self) -> None:
        for line, (_, work) in zip(self.report.steps, self.story.steps().values(), strict=True):
            self._do(line, work)
            self.after_step(line.name)

    def _do(self, line: StepReport, work: Work) -> None:
        began = time.monotonic()

        def tell(text: str) -> None:
            line.text, line.seconds = text, time.monotonic() - began
            self.on_change(self.report)

        line.state = StepState.RUNNING
        tell("")
        try:
            self._run_hooks("before", line)
            proof = work(tell)
            self._run_hooks("after", line)
        except BaseException as error:
            line.state = StepState.FAILED
            tell(str(error) or "interrupted")
            raise
        line.state = StepState.DONE
        tell(proof)

    def _run_hooks(self, when: str, line: StepReport) -> None:
        if self._hooks is not None:
            line.hooks.extend(f"{when}: {outcome}" for outcome in self._hooks.run(when, line.name, {}))

    def _end(self) -> None:
        """Stop everything, and delete what was created."""
        self.story.stop()
        if self._options.keeps:
            self.report.notes.append(f"everything was left as it is: all names contain {self._scene.drill.names.mark}")
        else:
            self._clean_up()
        log = self._scene.folder / "mirror.log"
        if not self.report.passed and log.exists():
            self._options.reports.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, self._options.reports / f"{self.report.stem}-mirror.log")

    def _clean_up(self) -> None:
        done = self._scene.clean_up()
        self.report.cleaned, self.report.left = done.deleted, done.left
        if done.left:
            self.report.faults.append(f"the drill left something behind: {'; '.join(done.left[:_SHOWN])}")


def _new_report(scene: Scene, options: DrillOptions) -> DrillReport:
    names = scene.drill.names
    return DrillReport(
        names.id,
        scene.kind,
        f"{names.source}->{names.target}",
        who(),
        scene.file_name,
        digest(scene.digest_of),
        [],
        settings={
            "seconds of load": options.seconds,
            "records a second": options.rate,
            "groups": len(names.groups),
            "canary topics": f"{len(names.topics)} of {PARTITIONS} partitions",
            "replication policy": str(scene.drill.flow.get("replication.policy.class")),
        },
    )
