"""The step that proves that the newest records arrived as they were."""

from __future__ import annotations

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.errors import StepFailed
from heliograph.recovery.books import read_books
from heliograph.recovery.journal import Journal
from heliograph.recovery.steps.step import Outlook, Step, Tell
from heliograph.recovery.verification.verification import verify_locally
from heliograph.recovery.wording import counted

_SHOWN = 3


class VerifyTail(Step):
    """Compares what was mirrored since some time before the operation began."""

    name = "verify"
    title = "Compare the newest records"

    def __init__(self, config: MirrorConfig, flow: FlowConfig, journal: Journal, seconds: float) -> None:
        """`seconds`: how long before the operation began."""
        self._config = config
        self._flow = flow
        self._journal = journal
        self._seconds = seconds

    def outlook(self) -> Outlook:
        """Nothing is read before the time."""
        if not self._seconds:
            return Outlook("nothing would be compared, as asked")
        return Outlook(f"the records of the last {self._seconds:.0f} s would be compared on both sides")

    def do(self, tell: Tell) -> str:
        """Compare."""
        if not self._seconds:
            return "nothing was compared, as asked"
        if not read_books(self._flow, must_have_run=False).positions:
            return "nothing was mirrored, so there is nothing to compare"
        since = self._journal.began_at_ms - int(self._seconds * 1000)
        found = verify_locally(
            self._config,
            self._flow,
            since,
            lambda at: tell(f"{at.done_bytes / 1e6:.1f} of {at.total_bytes / 1e6:.1f} MB"),
        )
        if not found.is_equal:
            text = "; ".join(str(item) for item in found.differences[:_SHOWN])
            raise StepFailed(f"{counted(len(found.differences), 'partition')} not the same: {text}")
        return f"{counted(found.records, 'record')} ({found.bytes / 1e6:.1f} MB) the same on both sides"
