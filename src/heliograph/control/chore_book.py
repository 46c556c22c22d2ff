"""Writes into the flow's state how the chores of a flow are getting on, so that `status` shows it from any machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from heliograph.control.chores import Chore, ChoreReport
from heliograph.engine.flow import FlowDriver
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import TopicPartition

_LOOK_SECONDS = 2.0
_REPEAT_SECONDS = 30.0  # at least so often: a reader looks at the ledger's last minute


class ChoreBook(Closeable):
    """Notes every change for the worse or the better at once, and the rest now and then."""

    def __init__(self, flow: FlowDriver, reports: Callable[[], Sequence[ChoreReport]]) -> None:
        self._flow = flow
        self._reports = reports
        self._where = TopicPartition(flow.settings.topics.state, 0)
        self._writer = Writer(flow.settings.target)
        self._failures: dict[str, str] = {}
        self._written_at = -_REPEAT_SECONDS

    def chore(self) -> Chore:
        """The noting as periodic work."""
        return Chore("report", _LOOK_SECONDS, self.write, self.close)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    def write(self) -> str:
        """Write it down, if there is something new or it is time."""
        states = [report.state() for report in self._reports() if report.runs or report.failure]
        failures = {state.name: state.failure for state in states}
        now = time.monotonic()
        if states and (failures != self._failures or now - self._written_at >= _REPEAT_SECONDS):
            now_ms = int(time.time() * 1000)
            record = entries.chores_record(self._flow.name, self._flow.owner, now_ms, states)
            self._writer.append(self._where, [record])
            self._failures, self._written_at = failures, now
        return ""
