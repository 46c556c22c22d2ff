"""The story of a drill: what happens in each step, and the evidence that is gathered on the way."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from heliograph.errors import StepFailed
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Groups
from heliograph.kafka.topics import NewTopic, Status
from heliograph.model import TopicPartition
from heliograph.recovery.drill import groups as drill_groups
from heliograph.recovery.drill.account import Evidence, draw_up
from heliograph.recovery.drill.config import flow_of
from heliograph.recovery.drill.content import Content, read_content
from heliograph.recovery.drill.groups import CanaryGroups, Offsets
from heliograph.recovery.drill.load import CanaryLoad
from heliograph.recovery.drill.mirror import DrillMirror
from heliograph.recovery.drill.names import PARTITIONS
from heliograph.recovery.drill.report import RTO_LIMIT_SECONDS, DrillReport, versions
from heliograph.recovery.drill.scene import Scene
from heliograph.recovery.failback import TailOptions, failback, with_reverse
from heliograph.recovery.failover import failover
from heliograph.recovery.operation import Operation, OperationReport, StepState
from heliograph.recovery.steps.step import Tell
from heliograph.recovery.switchover import MoveOptions
from heliograph.recovery.verification.verification import verify_locally
from heliograph.sync.topics import create_topics, mirrored_names

_START_SECONDS = 120.0
_LOOK_SECONDS = 0.2
_LOST_SECONDS = 10.0
_QUIET_SECONDS = 1.0
_PATIENCE_SECONDS = 120.0
_VERIFY_SECONDS = 3600.0
_SHARE_AT_REST = 0.4  # of the time of the load, some groups no longer read
_SHARE_DURING_OUTAGE = 0.2  # of the time of the load
_SHOWN = 3

Work = Callable[[Tell], str]


@dataclass(frozen=True)
class DrillOptions:
    """How a drill is done."""

    seconds: float = 20.0  # of load before the loss
    rate: int = 500  # records a second
    keeps: bool = False  # leaves everything it has created
    reports: Path = Path("heliograph-drills")


class DrillStory:
    """The steps of one drill; figures go into its report."""

    def __init__(self, scene: Scene, options: DrillOptions, report: DrillReport) -> None:
        names = scene.drill.names
        self._scene = scene
        self._options = options
        self._report = report
        self._flow = scene.drill.flow
        self._chance = random.Random(names.id)  # noqa: S311 - lags, not secrets
        self.mirror: DrillMirror | None = None
        source = self._flow.source.alias
        self.load = CanaryLoad(self._access(source, "producer"), names.partitions, options.rate)
        self._loads = [self.load]
        self.groups = CanaryGroups(self._access(source, "admin"), names.groups, names.partitions, self._chance)
        self.evidence = Evidence(groups=self.groups.groups, copies=scene.drill.copies)

    @property
    def tail(self) -> Path:
        """The file with what was never mirrored; not there if everything was."""
        return self._options.reports / f"{self._report.stem}-tail.jsonl"

    def steps(self) -> dict[str, tuple[str, Work]]:
        """Names, titles and works, in their order."""
        return {
            "prepare": ("Create canary topics", self.prepare),
            "mirror": ("Start the mirror", self.start_mirror),
            "load": ("Produce and consume on the source", self.produce),
            "loss": ("Lose the source", self.lose),
            "failover": ("Fail over", self.fail_over),
            "outage": ("Go on at the target", self.go_on),
            "return": ("Bring the source back", self.bring_back),
            "verify": ("Compare what was mirrored", self.verify),
            "failback": ("Fail back", self.fail_back),
            "home": ("Go on at the source", self.come_home),
        }

    def stop(self) -> None:
        """End whatever is still at work."""
        for load in self._loads:
            load.cut()
        if self.mirror is not None:
            self.mirror.kill()
        for load in self._loads:
            load.stop()
        self.groups.stop()

    def prepare(self, tell: Tell) -> str:
        """Make sure that nobody else would carry the canaries on, and create them."""
        names = self._scene.drill.names
        if problems := self._scene.problems():
            raise StepFailed("; ".join(problems))
        tell("asking both clusters")
        clusters = self._scene.drill.config.clusters
        self._report.versions = versions(
            {names.source: clusters[names.source_alias], names.target: clusters[names.target_alias]}
        )
        self._report.notes.extend(self._scene.notes())
        self._create_topics(self._flow.source.alias)
        self.load.write_once()
        return f"{', '.join(names.topics)} on {names.source}"

    def _create_topics(self, alias: str) -> None:
        replicas = self._flow.number("replication.factor")
        wanted = [NewTopic(topic, PARTITIONS, replicas) for topic in self._scene.drill.names.topics]
        with Admin(self._access(alias, "admin")) as admin:
            for applied in create_topics(wanted, admin):
                if applied.outcome.status is Status.REFUSED:
                    raise StepFailed(f"{alias} refused to create {applied.topic}: {applied.outcome.reason}")

    def start_mirror(self, tell: Tell) -> str:
        """Start the real command, and wait for the first records on the target."""
        tell("Spark takes a few seconds")
        self.mirror = mirror = DrillMirror(self._scene.drill.file, self._scene.folder)
        partitions = self._copies()
        deadline = time.monotonic() + _START_SECONDS
        with Admin(self._access(self._flow.target.alias, "admin")) as admin:
            while not _all_have_records(admin, partitions):
                mirror.ensure_running()
                if time.monotonic() > deadline:
                    raise StepFailed(f"nothing was mirrored within {_START_SECONDS:.0f} s")
                time.sleep(_LOOK_SECONDS)
        return f"records have arrived in all {len(partitions)} partitions"

    def produce(self, tell: Tell) -> str:
        """Write and read on the source for a while."""
        self.load.start()
        self.groups.start()
        deadline = time.monotonic() + self._options.seconds
        while (left := deadline - time.monotonic()) > 0:
            for failure in (self.load.failure, self.groups.failure):
                if failure is not None:
                    raise failure
            if left < self._options.seconds * _SHARE_AT_REST:
                self.groups.rest()
            tell(f"{len(self.load.acked):,} records acknowledged, {left:.0f} s to go")
            time.sleep(min(left, _LOOK_SECONDS))
        return f"{len(self.load.acked):,} records acknowledged, {len(self.groups.groups)} groups have committed"

    def lose(self, tell: Tell) -> str:
        """Lose the source in mid-load."""
        assert self.mirror is not None
        told = self._scene.lose(self.mirror, self.load)
        self.evidence.lost_at_ms = int(time.time() * 1000)
        self.load.await_end(_LOST_SECONDS)
        self.load.stop()
        self.groups.stop()
        self.evidence.acked = dict(self.load.acked)
        return f"{told}; {len(self.load.acked):,} records had been acknowledged"

    def fail_over(self, tell: Tell) -> str:
        """The very code of `heliograph failover`, and a look at what it left."""
        config = self._scene.config_after_loss
        began = time.monotonic()
        operation = failover(config, flow_of(config, self._scene.drill.names))
        self._report.failover = operation.report
        self._follow(operation, tell)
        operation.run()
        self._report.rto_seconds = time.monotonic() - began
        details = operation.details()
        self._report.known_missing = details.get("missing_records")
        self.evidence.failover_rows = details.get("groups", ())
        self.evidence.set_on_target = self._places(self._flow.target.alias)
        self.evidence.mirrored = self._content(self._flow.target.alias, self._scene.drill.copies.values())
        return f"groups were set {self._report.rto_seconds:.1f} s after the command"

    def go_on(self, tell: Tell) -> str:
        """Applications write to the target under the names that they know, and groups read there."""
        assert self.mirror is not None
        self.mirror.kill()
        alias, names = self._flow.target.alias, self._scene.drill.names
        tell("writing to the target")
        self._create_topics(alias)
        first = self.load.next_number
        load = CanaryLoad(self._access(alias, "producer"), names.partitions, self._options.rate, first)
        self._loads.append(load)
        load.write_once()
        load.start()
        time.sleep(self._options.seconds * _SHARE_DURING_OUTAGE)
        load.stop()
        if load.failure is not None:
            raise load.failure
        self.evidence.acked_meanwhile = frozenset(load.acked)
        self.evidence.on_target = self._content(alias, {*names.topics, *self._scene.drill.copies.values()})
        self.evidence.left_target_at = self._read_on()
        return f"{len(load.acked):,} new records acknowledged; all groups have read on, each to a place of its own"

    def _read_on(self) -> dict[str, Offsets]:
        """Every group reads some of what it finds behind its places, and commits."""
        content, alias = self.evidence.on_target, self._flow.target.alias
        wanted = {
            name: {where: self._somewhere(content, where, places.get(where, 0)) for where in content.partitions}
            for name, places in self.evidence.set_on_target.items()
        }
        with Groups(self._access(alias, "admin")) as groups:
            drill_groups.commit(groups, wanted)
        return wanted

    def _somewhere(self, content: Content, where: TopicPartition, place: int) -> int:
        """The offset after some record, or the place itself."""
        rest = [found.offset + 1 for found in content.partitions[where] if found.offset >= place]
        read = self._chance.choice((0, len(rest), self._chance.randint(0, len(rest))))
        return rest[read - 1] if read else place

    def bring_back(self, tell: Tell) -> str:
        """The source returns."""
        tell("waiting for the source")
        return self._scene.bring_back()

    def verify(self, tell: Tell) -> str:
        """Compare what was mirrored, record by record."""
        found = verify_locally(self._scene.drill.config, self._flow)
        if not found.is_equal:
            text = "; ".join(str(item) for item in found.differences[:_SHOWN])
            raise StepFailed(f"{len(found.differences)} partitions differ: {text}")
        self._report.verified_records = found.records
        return f"{found.records:,} mirrored records are the same on both sides"

    def fail_back(self, tell: Tell) -> str:
        """The very code of `heliograph failback`."""
        self.tail.parent.mkdir(parents=True, exist_ok=True)
        options = MoveOptions(None, _QUIET_SECONDS, _PATIENCE_SECONDS, False, _VERIFY_SECONDS)
        operation = failback(self._scene.drill.config, self._flow, options, TailOptions(self.tail))
        self._report.failback = operation.report
        self._follow(operation, tell)
        operation.run()
        self.evidence.failback_rows = operation.details().get("groups", ())
        self.evidence.tail = _tail_numbers(self.tail)
        self._report.tail_file = self.tail.name if self.tail.exists() else ""
        return f"in {operation.report.seconds:.1f} s; {len(self.evidence.tail):,} records in the saved tail"

    def come_home(self, tell: Tell) -> str:
        """Read everything on the source, and draw up the account."""
        _, reverse = with_reverse(self._scene.drill.config, self._flow)
        names = self._scene.drill.names
        topics = {*names.topics, *mirrored_names(reverse, names.topics).values()}
        self.evidence.on_source = self._content(self._flow.source.alias, topics)
        self.evidence.set_on_source = self._places(self._flow.source.alias)
        self._report.account = account = draw_up(self.evidence)
        self._report.faults.extend(account.faults)
        rto = self._report.rto_seconds
        if rto is not None and rto > RTO_LIMIT_SECONDS:
            self._report.faults.append(f"groups were set after {rto:.1f} s, not within {RTO_LIMIT_SECONDS:.0f} s")
        return f"{len(self.evidence.on_source.numbers):,} records read, {len(names.groups)} groups judged"

    # -- asking ---------------------------------------------------------------------------------------------------

    def _access(self, alias: str, role: str) -> Access:
        return access_for(self._scene.drill.config.clusters[alias], role)

    def _copies(self) -> list[TopicPartition]:
        copies = self._scene.drill.copies.values()
        return [TopicPartition(topic, number) for topic in copies for number in range(PARTITIONS)]

    def _places(self, alias: str) -> dict[str, Offsets]:
        return drill_groups.places(self._access(alias, "admin"), self._scene.drill.names.groups)

    def _content(self, alias: str, topics: Iterable[str]) -> Content:
        return read_content(self._access(alias, "consumer"), set(topics))

    def _follow(self, operation: Operation, tell: Tell) -> None:
        def show(report: OperationReport) -> None:
            running = [step for step in report.steps if step.state is StepState.RUNNING]
            tell("; ".join(f"{step.title.lower()}: {step.text}".rstrip(": ") for step in running))

        operation.on_change = show


def _all_have_records(admin: Admin, partitions: list[TopicPartition]) -> bool:
    topics = {where.topic for where in partitions}
    if len(admin.topics(topics)) < len(topics):
        return False
    return all(admin.stable_offsets(partitions).values())


def _tail_numbers(file: Path) -> list[int]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8") as lines:
        return [int(json.loads(line)["key"]) for line in lines]
