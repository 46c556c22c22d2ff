"""Steps that wait until a target has everything that its source has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from heliograph.config.flow import FlowConfig
from heliograph.control.status import FlowStatus, PartitionStatus, read_status
from heliograph.errors import StepFailed
from heliograph.model import TopicPartition
from heliograph.recovery.books import is_carried
from heliograph.recovery.flow_gate import FlowGate
from heliograph.recovery.mirroring import Mirroring
from heliograph.recovery.steps.step import Outlook, Step, Tell
from heliograph.recovery.wording import counted

_LOOK_SECONDS = 0.5
_NEARLY = 1000  # records behind; the rest takes no time


@dataclass(frozen=True)
class Behind:
    """How much of a flow is still to come."""

    records: int
    partitions: int
    set_aside: Mapping[TopicPartition, str]

    def __str__(self) -> str:
        if not self.records:
            return "nothing is behind"
        return f"{counted(self.records, 'record')} of {counted(self.partitions, 'partition')} to come"


def behind(flow: FlowConfig, status: FlowStatus | None = None) -> Behind:
    """Ask both clusters; heartbeats do not count, they never end."""
    carried = [item for item in (status or read_status(flow)).partitions if is_carried(flow, item.source.topic)]
    late = [item for item in carried if item.lag_records]
    return Behind(sum(item.lag_records for item in late), len(late), _set_aside(carried))


def _set_aside(partitions: list[PartitionStatus]) -> dict[TopicPartition, str]:
    return {item.source: item.set_aside for item in partitions if item.set_aside}


class Drain(Step):
    """Waits until nothing is behind."""

    name = "drain"
    title = "Wait until everything is mirrored"

    def __init__(self, flow: FlowConfig, mirroring: Mirroring, seconds: float) -> None:
        self._flow = flow
        self._mirroring = mirroring
        self._seconds = seconds

    def outlook(self) -> Outlook:
        """How much is behind now."""
        found = behind(self._flow)
        return Outlook(str(found), _problems(found))

    def do(self, tell: Tell) -> str:
        """Wait for whoever mirrors; begin to mirror if nobody does."""
        deadline = time.monotonic() + self._seconds
        while (found := behind(self._flow)).records > self._enough():
            _check(found)
            if time.monotonic() > deadline:
                raise StepFailed(f"{found} after {self._seconds:.0f} s")
            self._mirroring.ensure()
            tell(f"{found}{', mirrored by this process' if self._mirroring.is_ours else ''}")
            time.sleep(_LOOK_SECONDS)
        _check(found)
        return self._proof(found)

    def close(self) -> None:
        """Stop mirroring, if this process does."""
        self._mirroring.close()

    def _enough(self) -> int:
        return 0

    def _proof(self, found: Behind) -> str:
        return f"{self._flow.target.alias} has every record of {self._flow.source.alias}"


class CatchUp(Drain):
    """Waits until so little is behind that the rest takes no time."""

    name = "mirror"
    title = "Mirror what is new back"

    def do(self, tell: Tell) -> str:
        """Let the flow go on first, should an earlier operation have stopped it."""
        gate = FlowGate(self._flow)
        if gate.is_closed:
            gate.open()
        return super().do(tell)

    def _enough(self) -> int:
        return _NEARLY

    def _proof(self, found: Behind) -> str:
        rest = f" but for {counted(found.records, 'record')}" if found.records else ""
        return f"{self._flow.target.alias} is level with {self._flow.source.alias}{rest}"


def _check(found: Behind) -> None:
    if problems := _problems(found):
        raise StepFailed("; ".join(problems))


def _problems(found: Behind) -> tuple[str, ...]:
    return tuple(f"{where} is set aside: {reason}" for where, reason in sorted(found.set_aside.items()))
