"""A comparison of both sides that is asked for like an operation: with a look before, steps and a report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.errors import HeliographError, OperationFailed
from heliograph.recovery.journal import operation_id
from heliograph.recovery.operation import OperationReport, PlannedStep, StepReport, StepState
from heliograph.recovery.steps.step import Outlook
from heliograph.recovery.verification.plan import Scope, plan_verification
from heliograph.recovery.verification.verification import Progress, Verification, verify_locally

NAME = "verify"
_STEP, _TITLE = "compare", "Compare both sides"
_SHOWN = 3


class VerificationRun:
    """Changes nothing, so nothing of it is written into a journal and nothing needs to be put back."""

    def __init__(self, config: MirrorConfig, flow: FlowConfig, seconds: float | None) -> None:
        """`seconds`: how old the records may be that are compared; None: all are."""
        self._config = config
        self._flow = flow
        self._since_ms = None if seconds is None else int((time.time() - seconds) * 1000)
        self._found: Verification | None = None
        self.report = OperationReport(NAME, flow.name, [StepReport(_STEP, _TITLE)])
        self.on_change: Callable[[OperationReport], None] = lambda _: None

    def preview(self) -> list[PlannedStep]:
        """How much there is to compare."""
        try:
            plan = plan_verification(self._flow, Scope(since_ms=self._since_ms))
        except HeliographError as error:
            return [PlannedStep(_STEP, _TITLE, Outlook("", (str(error),)))]
        text = f"about {plan.bytes / 1e6:.1f} MB of {len(plan.partitions)} partitions would be compared"
        return [PlannedStep(_STEP, _TITLE, Outlook("; ".join((text, *plan.left_out))))]

    def run(self) -> OperationReport:
        """Compare; raises OperationFailed if something differs, or cannot be compared."""
        report, line = self.report, self.report.steps[0]
        began = time.time()
        report.id = operation_id(NAME, int(began * 1000))
        report.began_at_ms, report.state, line.state = int(began * 1000), "running", StepState.RUNNING
        try:
            line.text = self._compare()
        except HeliographError as error:
            line.state, line.text = StepState.FAILED, str(error)
            report.state, report.error = "failed", f"{NAME} of {report.flow}: {error}"
            raise OperationFailed(report.error) from error
        else:
            line.state, report.state = StepState.DONE, "done"
        finally:
            report.seconds = line.seconds = time.time() - began
            self.on_change(report)
        return report

    def undo(self) -> OperationReport:
        """There is nothing to put back."""
        raise OperationFailed("a verification changes nothing, so there is nothing to put back")

    def details(self) -> dict[str, Any]:
        """What was compared, what differs, and what was left out."""
        found = self._found
        if found is None:
            return {}
        return {
            "compared_records": found.records,
            "compared_bytes": found.bytes,
            "not_mirrored_yet": found.waiting,
            "differences": [str(item) for item in found.differences],
            "left_out": found.left_out,
        }

    def _compare(self) -> str:
        found = self._found = verify_locally(self._config, self._flow, self._since_ms, self._tell)
        if not found.is_equal:
            text = "; ".join(str(item) for item in found.differences[:_SHOWN])
            raise OperationFailed(f"{len(found.differences)} partitions differ: {text}")
        return f"{found.records:,} records ({found.bytes / 1e6:.1f} MB) are the same on both sides"

    def _tell(self, at: Progress) -> None:
        line = self.report.steps[0]
        line.text, line.seconds = f"{at.done_bytes / 1e6:.1f} of {at.total_bytes / 1e6:.1f} MB", at.seconds
        self.on_change(self.report)
