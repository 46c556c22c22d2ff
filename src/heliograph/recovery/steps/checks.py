"""Steps that look before anything is changed."""

from __future__ import annotations

from heliograph.config.flow import FlowConfig
from heliograph.config.problem import Severity
from heliograph.control.status import Health, read_status
from heliograph.errors import StepFailed
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.recovery.books import read_books
from heliograph.recovery.flow_gate import FlowGate
from heliograph.recovery.steps.draining import behind
from heliograph.recovery.steps.step import Outlook, Step, Tell
from heliograph.recovery.wording import counted
from heliograph.sync.preflight import examine


class _Check(Step):
    """Looks, and stops the operation if something stands in its way."""

    name = "check"

    def do(self, tell: Tell) -> str:
        """Look once more: much can have happened since the plan."""
        tell("asking the clusters")
        found = self.outlook()
        if found.problems:
            raise StepFailed("; ".join(found.problems))
        return found.text


class CheckFlow(_Check):
    """Both clusters are there, we may do all that is needed, and the flow is well."""

    title = "Check both clusters and the flow"

    def __init__(self, flow: FlowConfig, must_run: bool = True) -> None:
        """`must_run`: it must run already; else it is begun, or let go on, by a later step."""
        self._flow = flow
        self._must_run = must_run

    def outlook(self) -> Outlook:
        """Everything that is in the way, not only the first."""
        report = examine(self._flow)
        problems = [f"{item.subject}: {item.message}" for item in report.findings if item.severity is Severity.ERROR]
        if report.is_unreachable:
            return Outlook("", tuple(problems))
        status = read_status(self._flow)
        found = behind(self._flow, status)
        if status.health is Health.NEVER_RAN and self._must_run:
            problems.append(f"{self._flow.name} has never run")
        if self._must_run and found.records and FlowGate(self._flow).is_closed:
            problems.append(f"{self._flow.name} was stopped by an operation: let it go on first, with --undo")
        problems += [f"{where} is set aside: {reason}" for where, reason in sorted(found.set_aside.items())]
        clusters = ", ".join(f"{item.alias} ({counted(item.brokers, 'broker')})" for item in report.clusters)
        return Outlook(f"{clusters} answer; {self._flow.name}: {status.health.value}, {found}", tuple(problems))


class CheckTarget(_Check):
    """The cluster that is left is well, and knows enough to go on."""

    title = "Check the target"

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow

    def outlook(self) -> Outlook:
        """The source is not asked: it may be gone."""
        books = read_books(self._flow)
        with Admin(access_for(self._flow.target, "admin")) as admin:
            brokers = admin.broker_count()
            topics = admin.topics({where.topic for where in books.targets.values()})
        lost = sorted({str(where) for where in books.targets.values() if where.topic not in topics})
        problems = tuple(f"{where} has gone from {self._flow.target.alias}" for where in lost)
        alias, partitions = self._flow.target.alias, counted(len(books.targets), "mirrored partition")
        text = f"{alias} answers ({counted(brokers, 'broker')}) and has {partitions}"
        return Outlook(text, problems)
