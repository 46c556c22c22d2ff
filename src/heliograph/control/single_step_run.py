"""Work of one step that is asked for like an operation: with a look before, a report, and nothing to put back."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from heliograph.errors import HeliographError, OperationFailed
from heliograph.recovery.journal import operation_id
from heliograph.recovery.operation import OperationReport, PlannedStep, StepReport, StepState


class SingleStepRun(ABC):
    """Changes nothing that stays, so nothing of it is written into a journal."""

    def __init__(self, name: str, flow: str, step: str, title: str) -> None:
        self.report = OperationReport(name, flow, [StepReport(step, title)])
        self.on_change: Callable[[OperationReport], None] = lambda _: None

    @abstractmethod
    def preview(self) -> list[PlannedStep]:
        """What would be done, and what stands in the way."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """All that was found out."""

    @abstractmethod
    def _work(self) -> str:
        """Do it, telling with `_tell` how far it is; returns what came of it. Raises HeliographError."""

    def run(self) -> OperationReport:
        """Do it; raises OperationFailed, after which the report tells more."""
        report, line = self.report, self.report.steps[0]
        began = time.time()
        report.id = operation_id(report.operation, int(began * 1000))
        report.began_at_ms, report.state, line.state = int(began * 1000), "running", StepState.RUNNING
        try:
            line.text = self._work()
        except HeliographError as error:
            line.state, line.text = StepState.FAILED, str(error)
            report.state, report.error = "failed", f"{report.operation} of {report.flow}: {error}"
            raise OperationFailed(report.error) from error
        else:
            line.state, report.state = StepState.DONE, "done"
        finally:
            report.seconds = line.seconds = time.time() - began
            self.on_change(report)
        return report

    def undo(self) -> OperationReport:
        """There is nothing to put back."""
        raise OperationFailed(f"{self.report.operation} leaves nothing changed, so there is nothing to put back")

    def _tell(self, text: str, seconds: float) -> None:
        """How far it is; raises if it was told to stop."""
        line = self.report.steps[0]
        line.text, line.seconds = text, seconds
        self.on_change(self.report)
