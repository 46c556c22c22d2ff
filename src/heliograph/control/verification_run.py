"""A comparison of both sides that is asked for like an operation: with a look before, steps and a report."""

from __future__ import annotations

import time
from typing import Any

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.control.single_step_run import SingleStepRun
from heliograph.errors import HeliographError, OperationFailed
from heliograph.recovery.operation import PlannedStep
from heliograph.recovery.steps.step import Outlook
from heliograph.recovery.verification.plan import Scope, plan_verification
from heliograph.recovery.verification.verification import Progress, Verification, verify_locally

NAME = "verify"
_STEP, _TITLE = "compare", "Compare both sides"
_SHOWN = 3


class VerificationRun(SingleStepRun):
    """Compares in this process, and changes nothing."""

    def __init__(self, config: MirrorConfig, flow: FlowConfig, seconds: float | None) -> None:
        """`seconds`: how old the records may be that are compared; None: all are."""
        self._config = config
        self._flow = flow
        self._since_ms = None if seconds is None else int((time.time() - seconds) * 1000)
        self._found: Verification | None = None
        super().__init__(NAME, flow.name, _STEP, _TITLE)

    def preview(self) -> list[PlannedStep]:
        """How much there is to compare."""
        try:
            plan = plan_verification(self._flow, Scope(since_ms=self._since_ms))
        except HeliographError as error:
            return [PlannedStep(_STEP, _TITLE, Outlook("", (str(error),)))]
        text = f"about {plan.bytes / 1e6:.1f} MB of {len(plan.partitions)} partitions would be compared"
        return [PlannedStep(_STEP, _TITLE, Outlook("; ".join((text, *plan.left_out))))]

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

    def _work(self) -> str:
        found = self._found = verify_locally(self._config, self._flow, self._since_ms, self._tell_progress)
        if not found.is_equal:
            text = "; ".join(str(item) for item in found.differences[:_SHOWN])
            raise OperationFailed(f"{len(found.differences)} partitions differ: {text}")
        return f"{found.records:,} records ({found.bytes / 1e6:.1f} MB) are the same on both sides"

    def _tell_progress(self, at: Progress) -> None:
        self._tell(f"{at.done_bytes / 1e6:.1f} of {at.total_bytes / 1e6:.1f} MB", at.seconds)
