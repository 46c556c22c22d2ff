"""The report of a drill, for people and for machines: enough for somebody who was not there to judge it."""

from __future__ import annotations

import getpass
import hashlib
import json
import platform
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from heliograph import __version__
from heliograph.config.cluster import ClusterConfig
from heliograph.errors import ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.recovery.drill.account import Account
from heliograph.recovery.operation import OperationReport, StepReport, StepState
from heliograph.recovery.wording import counted

RTO_LIMIT_SECONDS = 30.0


@dataclass
class DrillReport:
    """A drill while it runs, and after."""

    id: str
    kind: str
    flow: str
    by: str
    file: str
    file_sha256: str
    steps: list[StepReport]
    began_at_ms: int = 0
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)  # how the drill was asked for
    rto_seconds: float | None = None
    account: Account | None = None
    failover: OperationReport | None = None
    failback: OperationReport | None = None
    verified_records: int | None = None
    known_missing: int | None = None  # what the failover itself said to be missing
    tail_file: str = ""
    notes: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """The verdict."""
        return not self.faults and all(step.state is StepState.DONE for step in self.steps)

    @property
    def began_at(self) -> str:
        """In UTC."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began_at_ms / 1000))

    @property
    def stem(self) -> str:
        """What its files are called, but for their ends."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.began_at_ms / 1000))
        return f"drill-{stamp}-{self.id}"

    def data(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "drill": self.id,
            "verdict": "pass" if self.passed else "fail",
            "reasons": self.faults,
            "kind": self.kind,
            "flow": self.flow,
            "by": self.by,
            "began_at": self.began_at,
            "seconds": round(self.seconds, 1),
            "file": self.file,
            "file_sha256": self.file_sha256,
            "settings": self.settings,
            "versions": self.versions,
            "figures": self.figures(),
            "steps": [_step(step) for step in self.steps],
            "failover": _operation(self.failover),
            "failback": _operation(self.failback),
            "groups": [asdict(item) for item in self.account.groups] if self.account else [],
            "tail_file": self.tail_file,
            "notes": self.notes,
            "cleaned_up": self.cleaned,
            "left_behind": self.left,
        }

    def figures(self) -> dict[str, Any]:
        """What was measured."""
        found: dict[str, Any] = {
            "rto_seconds": None if self.rto_seconds is None else round(self.rto_seconds, 2),
            "rto_limit_seconds": RTO_LIMIT_SECONDS,
            "records_known_to_be_missing_at_failover": self.known_missing,
            "records_verified": self.verified_records,
        }
        account = self.account
        if account is None:
            return found
        readings = [reading for item in account.groups for reading in (item.failover, item.failback)]
        return found | {
            "rpo_records": account.lost,
            "rpo_seconds": account.rpo_seconds,
            "acknowledged": account.acked,
            "mirrored": account.mirrored,
            "saved_in_tail": account.in_tail,
            "acknowledged_during_outage": account.acked_meanwhile,
            "groups": len(account.groups),
            "records_skipped": sum(reading.skipped for reading in readings),
            "records_read_again": sum(reading.again for reading in readings),
            "records_read_again_as_reported_at_most": sum(reading.told for reading in readings),
            "records_read_again_beyond_the_reports": sum(reading.beyond for reading in readings),
        }

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both forms; returns the Markdown's and the JSON's path."""
        folder.mkdir(parents=True, exist_ok=True)
        page, data = folder / f"{self.stem}.md", folder / f"{self.stem}.json"
        page.write_text(markdown(self.data()), encoding="utf-8")
        data.write_text(json.dumps(self.data(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return page, data


def who() -> str:
    """Who runs the drill, and where."""
    user = "somebody"
    with suppress(KeyError, OSError):  # a container may run as a user without a name
        user = getpass.getuser()
    return f"{user}@{socket.gethostname()}"


def digest(file: Path) -> str:
    """The SHA-256 of a file as it is."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def versions(clusters: Mapping[str, ClusterConfig]) -> dict[str, str]:
    """What takes part, and in which release."""
    found = {"heliograph": __version__, "python": platform.python_version(), "spark": metadata.version("pyspark")}
    return found | {f"kafka of {name}": _release(cluster) for name, cluster in clusters.items()}


def _release(cluster: ClusterConfig) -> str:
    """As the brokers tell; a newer one than is known shows as the newest that is."""
    try:
        with Admin(access_for(cluster, "admin")) as admin:
            brokers = counted(admin.broker_count(), "broker")
            return f"{', '.join(admin.versions())} ({brokers}, cluster id {admin.cluster_id()})"
    except ClusterError as error:
        return f"not known: {error}"


def _step(step: StepReport) -> dict[str, Any]:
    return {**asdict(step), "state": step.state.value, "seconds": round(step.seconds, 2)}


def _operation(report: OperationReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {
        "id": report.id,
        "state": report.state,
        "seconds": round(report.seconds, 2),
        "error": report.error,
        "steps": [_step(step) for step in report.steps],
    }


# -- the page ---------------------------------------------------------------------------------------------------------


def markdown(data: Mapping[str, Any]) -> str:
    """The report as a page, made from the same values as the JSON."""
    return "\n".join(_page(data)) + "\n"


def _page(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Disaster recovery drill {data['drill']}: {data['verdict'].upper()}"
    yield ""
    yield from (f"- {reason}" for reason in data["reasons"])
    yield from ("",) if data["reasons"] else ()
    facts = {
        "kind": data["kind"], "flow": data["flow"], "begun": data["began_at"], "took": f"{data['seconds']} s",
        "by": data["by"], "configuration": data["file"], "SHA-256 of it": data["file_sha256"],
        **data["settings"], **data["versions"],
    }  # fmt: skip
    yield from _table(("", ""), facts.items())
    yield "\n## Figures\n"
    yield from _table(("", ""), ((name.replace("_", " "), _shown(value)) for name, value in data["figures"].items()))
    yield from _steps("Steps", data["steps"])
    for name in ("failover", "failback"):
        if data[name]:
            yield from _steps(f"Steps of the {name} ({data[name]['id']}, {data[name]['state']})", data[name]["steps"])
    yield "\n## Groups\n"
    yield "Records that a group had not read when the source was lost; then for each move: skipped, read again, and how"
    yield "many the operation's own report said would be read again at most.\n"
    columns = ("group", "unread at loss", "failover: skipped", "again", "said", "failback: skipped", "again", "said")
    yield from _table(columns, map(_group_row, data["groups"]))
    yield from _list("Notes", data["notes"])
    yield from _list("Deleted after the drill", data["cleaned_up"])
    yield from _list("Left behind", data["left_behind"])


def _steps(title: str, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"\n## {title}\n"
    rows = ((item["title"], item["state"], f"{item['seconds']:.2f}", _with_hooks(item)) for item in steps)
    yield from _table(("step", "", "seconds", "proof"), rows)


def _with_hooks(step: Mapping[str, Any]) -> str:
    return "; ".join(text for text in (step["text"], *step["hooks"]) if text)


def _group_row(item: Mapping[str, Any]) -> tuple[object, ...]:
    readings = (item["failover"], item["failback"])
    return (
        item["group"],
        item["waiting_at_loss"],
        *(reading[name] for reading in readings for name in ("skipped", "again", "told")),
    )


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n## {title}\n"
        yield from (f"- {line}" for line in lines)


def _table(columns: Sequence[str], rows: Any) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(_cell(value) for value in row)} |"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _shown(value: object) -> str:
    return "not measured" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
