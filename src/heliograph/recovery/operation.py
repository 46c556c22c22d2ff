"""Runs the steps of an operation: hooks around each, a line in the journal for each, and back again if one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from heliograph.errors import ClusterError, HeliographError, HookFailed, OperationFailed
from heliograph.recovery.journal import Journal
from heliograph.recovery.steps.step import Outlook, Step


class StepState(Enum):
    """How far a step is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNDONE = "put back"


@dataclass
class StepReport:
    """One step while an operation runs, and after."""

    name: str
    title: str
    state: StepState = StepState.WAITING
    text: str = ""  # what goes on; at the end the proof, or why not
    seconds: float = 0.0
    hooks: list[str] = field(default_factory=list)


@dataclass
class OperationReport:
    """An operation while it runs, and after."""

    operation: str
    flow: str
    steps: list[StepReport]
    id: str = ""
    began_at_ms: int = 0
    seconds: float = 0.0
    state: str = "waiting"
    error: str = ""

    @property
    def is_done(self) -> bool:
        """Whether all steps were done."""
        return self.state == "done"


@dataclass(frozen=True)
class PlannedStep:
    """What `--dry-run` shows of a step."""

    name: str
    title: str
    outlook: Outlook
    hooks: Sequence[str] = ()


class HookRunner(Protocol):
    """Runs what users want to happen before and after steps."""

    def run(self, when: str, step: str, facts: Mapping[str, str]) -> Sequence[object]:
        """Run all hooks of that moment; raises HeliographError if one fails that may not."""

    def planned(self, when: str, step: str) -> Sequence[str]:
        """Which hooks that would be."""


class Operation:
    """A list of steps for one flow."""

    def __init__(
        self, flow: str, steps: Sequence[Step], journal: Journal, hooks: Callable[[str], HookRunner], goes_back: bool
    ) -> None:
        """`hooks` makes the hooks of an operation with a certain id.

        `goes_back` puts back what was done when a step fails; else what is done stays done.
        """
        self._steps = steps
        self._journal = journal
        self._make_hooks = hooks
        self._hooks = hooks("")
        self._goes_back = goes_back
        self.report = OperationReport(journal.operation, flow, [StepReport(step.name, step.title) for step in steps])
        self.on_change: Callable[[OperationReport], None] = lambda _: None
        self._goes_on = False  # an earlier run was cut off

    def preview(self) -> list[PlannedStep]:
        """What would be done, and what stands in the way; changes nothing."""
        return [
            PlannedStep(step.name, step.title, _outlook(step), self._planned_hooks(step.name)) for step in self._steps
        ]

    def _planned_hooks(self, step: str) -> list[str]:
        return [
            f"{when}: {text}" for when in ("before", "after", "failed") for text in self._hooks.planned(when, step)
        ]  # fmt: skip

    def run(self) -> OperationReport:
        """Do all steps; raises OperationFailed with what was put back."""
        report, began = self.report, time.monotonic()
        try:
            self._begin()
            for step, line in zip(self._steps, report.steps, strict=True):
                self._do(step, line)
            report.seconds, report.state = time.monotonic() - began, "done"
            self._journal.finish(True, f"in {report.seconds:.1f} s")
        except (HeliographError, KeyboardInterrupt) as error:
            report.seconds = time.monotonic() - began
            self._fail(_why(error))
            raise OperationFailed(report.error) from error
        finally:
            self._close()
        self.on_change(report)
        return report

    def _begin(self) -> None:
        self._goes_on = self._journal.is_unfinished
        self._journal.begin()
        self._hooks = self._make_hooks(self._journal.id)
        self.report.id, self.report.began_at_ms = self._journal.id, self._journal.began_at_ms
        self.report.state = "running"

    def undo(self) -> OperationReport:
        """Put back what an unfinished or finished run has changed."""
        try:
            self._begin()
            self._undo(self._steps)
            self.report.state = "put back"
            self._journal.finish(False, "put back, as asked")
        finally:
            self._close()
        self.on_change(self.report)
        return self.report

    def details(self) -> dict[str, Any]:
        """All that the steps have found out."""
        found: dict[str, Any] = {}
        for step in self._steps:
            found |= step.details()
        return found

    def _do(self, step: Step, line: StepReport) -> None:
        began = time.monotonic()

        def tell(text: str) -> None:
            line.text, line.seconds = text, time.monotonic() - began
            self.on_change(self.report)

        line.state = StepState.RUNNING
        try:
            tell("")
            self._run_hooks("before", step, line)
            self._journal.note(step.name, "began", "")
            proof = step.do(tell)
            self._journal.note(step.name, "done", proof)
            self._run_hooks("after", step, line)
        except (HeliographError, KeyboardInterrupt) as error:
            line.state = StepState.FAILED
            tell(_why(error))
            raise
        line.state = StepState.DONE
        tell(proof)

    def _run_hooks(self, when: str, step: Step, line: StepReport) -> None:
        try:
            outcomes = self._hooks.run(when, step.name, step.facts())
        except HookFailed as error:
            line.hooks.extend(f"{when}: {outcome}" for outcome in error.outcomes)
            raise
        line.hooks.extend(f"{when}: {outcome}" for outcome in outcomes)

    def _close(self) -> None:
        for step in self._steps:
            step.close()
        self._journal.close()

    def _fail(self, why: str) -> None:
        report = self.report
        failed = next((line.name for line in report.steps if line.state is StepState.FAILED), "")
        text = f"{report.operation} of {report.flow} stopped{f' at step {failed}' if failed else ''}: {why}"
        try:
            self._journal.note(failed, "failed", why)
            if self._goes_back:
                text += "; " + (", ".join(self._undo(self._touched_steps())) or "there was nothing to put back")
            self._journal.finish(False, why)
        except ClusterError as error:
            text += f"; what was done could not be put back: {error}: run it again with --undo"
        report.error, report.state = text, "failed"
        self._hooks_of_failure(failed, why)
        self.on_change(report)

    def _hooks_of_failure(self, step: str, why: str) -> None:
        try:
            self._hooks.run("failed", step, {"error": why})
        except HeliographError as error:
            self.report.error += f"; {error}"

    def _touched_steps(self) -> Sequence[Step]:
        """Those that this run has begun, or that an earlier run of the same operation may have."""
        pairs = zip(self._steps, self.report.steps, strict=True)
        return [step for step, line in pairs if self._goes_on or line.state is not StepState.WAITING]

    def _undo(self, steps: Sequence[Step]) -> list[str]:
        """In the opposite order."""
        lines = {line.name: line for line in self.report.steps}
        told = []
        for step in reversed(steps):
            line = lines[step.name]
            if text := step.undo():
                line.state = StepState.UNDONE if line.state is not StepState.FAILED else line.state
                line.text = text if line.state is StepState.UNDONE else line.text
                self._journal.note(step.name, "undone", text)
                told.append(text)
        return told


def _outlook(step: Step) -> Outlook:
    try:
        return step.outlook()
    except HeliographError as error:
        return Outlook("", (str(error),))


def _why(error: BaseException) -> str:
    return str(error) or "interrupted"
