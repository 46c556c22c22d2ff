"""`heliograph check`: would the flows of a file run? Asks the clusters, and changes nothing there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, chosen_flows
from heliograph.cli.output import Data, Format, FormatOption, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from heliograph.config.conflict_config import ConflictConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.sync.preflight import FlowReport

_UNREACHABLE = 3


def check(file: FileArgument, flow: FlowOption = None, output: FormatOption = Format.TABLE) -> None:
    """Ask both sides of each flow whether mirroring would work: connections, rights, fitting topics.

    Exit code: 0 all is well, 1 something would fail, 2 the file is wrong, 3 a cluster is out of reach.

    \b
    heliograph check mm2.properties
    heliograph check mm2.properties --flow 'primary->dr' -o yaml
    """
    from heliograph.config.mirror_config import load

    config = load(file)
    chosen = chosen_flows(config, flow)
    targets = {one.target.alias for one in chosen}
    detections = [one for one in config.conflicts if one.cluster.alias in targets]
    reports = (*(_report(one) for one in chosen), *(_detection_report(one) for one in detections))
    result = CheckResult(config.file, reports)
    show(result, output)
    raise typer.Exit(result.exit_code)


def _report(flow: FlowConfig) -> FlowReport:
    from heliograph.sync.acls import examine_acls
    from heliograph.sync.foreign_mirrors import examine_foreign_mirrors
    from heliograph.sync.preflight import examine

    report = examine(flow)
    if not report.clusters:
        return report
    return replace(report, findings=(*report.findings, *examine_acls(flow), *examine_foreign_mirrors(flow)))


def _detection_report(config: ConflictConfig) -> FlowReport:
    from heliograph.sync.conflict_preflight import examine_conflicts

    return examine_conflicts(config)


@dataclass(frozen=True)
class CheckResult:
    """The reports of all chosen flows."""

    file: str
    flows: tuple[FlowReport, ...]

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if any(flow.is_unreachable for flow in self.flows):
            return _UNREACHABLE
        return int(any(flow.would_fail for flow in self.flows))

    def data(self) -> Data:
        """The result as plain values."""
        return {
            "file": self.file,
            "ok": self.exit_code == 0,
            "flows": [_flow_data(flow) for flow in self.flows],
        }

    def view(self) -> RenderableType:
        """A paragraph for each flow: its clusters, what was found, and the commands to run."""
        from rich.console import Group
        from rich.text import Text

        return Group(*(Text(line) for flow in self.flows for line in _flow_lines(flow)))


def _flow_data(flow: FlowReport) -> Data:
    return {
        "name": flow.flow,
        "ok": not flow.would_fail,
        "reachable": not flow.is_unreachable,
        "clusters": [
            {
                "alias": cluster.alias,
                "id": cluster.cluster_id,
                "versions": list(cluster.versions),
                "brokers": cluster.brokers,
            }
            for cluster in flow.clusters
        ],
        "findings": [
            {
                "severity": finding.severity.value,
                "subject": finding.subject,
                "message": finding.message,
                "hint": finding.hint,
            }
            for finding in flow.findings
        ],
        "grants": list(flow.grants),
    }


def _flow_lines(flow: FlowReport) -> Iterator[str]:
    verdict = "unreachable" if flow.is_unreachable else "would fail" if flow.would_fail else "ok"
    yield f"{flow.flow}: {verdict}"
    for cluster in flow.clusters:
        versions = ", ".join(cluster.versions)
        yield f"  {cluster.alias}: Kafka {versions}, brokers: {cluster.brokers}, id {cluster.cluster_id}"
    for finding in flow.findings:
        yield f"  {finding}"
    if flow.grants:
        yield "  to grant what is missing:"
    for command in flow.grants:
        yield f"    {command}"
