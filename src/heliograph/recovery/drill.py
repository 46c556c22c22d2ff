"""A drill: the loss of a source, the move to its target and the way back, rehearsed with canaries and measured."""

from __future__ import annotations

import json
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heliograph.errors import HeliographError, StepFailed
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Groups
from heliograph.kafka.topics import NewTopic, Status
from heliograph.model import TopicPartition
from heliograph.recovery import drill_groups
from heliograph.recovery.drill_account import Evidence, draw_up
from heliograph.recovery.drill_config import flow_of
from heliograph.recovery.drill_content import Content, read_content
from heliograph.recovery.drill_groups import CanaryGroups, Offsets
from heliograph.recovery.drill_load import CanaryLoad
from heliograph.recovery.drill_mirror import DrillMirror
from heliograph.recovery.drill_names import PARTITIONS
from heliograph.recovery.drill_report import RTO_LIMIT_SECONDS, DrillReport, digest, versions, who
from heliograph.recovery.drill_scene import Scene
from heliograph.recovery.failback import TailOptions, failback, with_reverse
from heliograph.recovery.failover import failover
from heliograph.recovery.operation import HookRunner, Operation, StepReport, StepState
from heliograph.recovery.step import Tell
from heliograph.recovery.switchover import MoveOptions
from heliograph.recovery.verification import verify_locally
from heliograph.sync.topics import create_topics, mirrored_names

NAME = "drill"
_START_SECONDS = 120.0
_LOOK_SECONDS = 0.2
_QUIET_SECONDS = 1.0
_PATIENCE_SECONDS = 120.0
_VERIFY_SECONDS = 3600.0
_SHARE_DURING_OUTAGE = 0.2  # of the time of the load
_SHOWN = 3


@dataclass(frozen=True)
class DrillOptions:
    """How a drill is done."""

    seconds: float = 20.0  # of load before the loss
    rate: int = 500  # records a second
    keeps: bool = False  # leaves everything it has created
    reports: Path = Path("heliograph-drills")


_STEPS = {
    "prepare": "Create canary topics",
    "mirror": "Start the mirror",
    "load": "Produce and consume on the source",
    "loss": "Lose the source",
    "failover": "Fail over",
    "outage": "Go on at the target",
    "return": "Bring the source back",
    "verify": "Compare what was mirrored",
    "failback": "Fail back",
    "home": "Go on at the source",
}


class Drill:
    """One drill, from nothing to nothing."""

    def __init__(self, scene: Scene, options: DrillOptions, hooks: HookRunner | None = None) -> None:
        names = scene.drill.names
        self._scene = scene
        self._options = options
        self._hooks = hooks
        self._flow = scene.drill.flow
        self._chance = random.Random(names.id)  # noqa: S311 - lags, not secrets
        self._mirror: DrillMirror | None = None
        source = self._access(self._flow.source.alias, "producer")
        self.load = CanaryLoad(source, names.partitions, options.rate)
        self.groups = CanaryGroups(
            self._access(self._flow.source.alias, "admin"), names.groups, names.partitions, self._chance
        )
        self.evidence = Evidence(groups=self.groups.groups, copies=scene.drill.copies)
        self.on_change: Callable[[DrillReport], None] = lambda _: None
        self.after_step: Callable[[str], None] = lambda _: None
        self.report = DrillReport(
            names.id,
            scene.kind,
            f"{names.source}->{names.target}",
            who(),
            str(scene.digest_of),
            digest(scene.digest_of),
            [StepReport(name, title) for name, title in _STEPS.items()],
            settings={
                "seconds of load": options.seconds,
                "records a second": options.rate,
                "groups": len(names.groups),
                "canary topics": f"{len(names.topics)} of {PARTITIONS} partitions",
                "replication policy": str(self._flow.get("replication.policy.class")),
            },
        )

    @property
    def tail(self) -> Path:
        """The file with what was never mirrored; not there if everything was."""
        return self._options.reports / f"{self.report.stem}-tail.jsonl"

    def run(self) -> DrillReport:
        """Do all steps, judge, and clean up, also after a failure or an interruption."""
        report, began = self.report, time.monotonic()
        report.began_at_ms = int(time.time() * 1000)
        try:
            with _terminable():
                self._do_all()
        except (HeliographError, KeyboardInterrupt) as error:
            running = next((step for step in report.steps if step.state is StepState.FAILED), None)
            where = f"stopped at step {running.name}" if running else "stopped"
            report.faults.insert(0, f"{where}: {str(error) or 'interrupted'}")
        finally:
            with _uninterrupted():
                self._end()
        report.seconds = time.monotonic() - began
        self.on_change(report)
        return report

    # -- steps ----------------------------------------------------------------------------------------------------

    def _do_all(self) -> None:
        works: dict[str, Callable[[Tell], str]] = {
            "prepare": self._prepare, "mirror": self._start_mirror, "load": self._produce, "loss": self._lose,
            "failover": self._fail_over, "outage": self._go_on, "return": self._bring_back, "verify": self._verify,
            "failback": self._fail_back, "home": self._come_home,
        }  # fmt: skip
        for line in self.report.steps:
            self._do(line, works[line.name])
            self.after_step(line.name)

    def _do(self, line: StepReport, work: Callable[[Tell], str]) -> None:
        began = time.monotonic()

        def tell(text: str) -> None:
            line.text, line.seconds = text, time.monotonic() - began
            self.on_change(self.report)

        line.state = StepState.RUNNING
        tell("")
        try:
            self._run_hooks("before", line)
            proof = work(tell)
            self._run_hooks("after", line)
        except BaseException as error:
            line.state = StepState.FAILED
            tell(str(error) or "interrupted")
            raise
        line.state = StepState.DONE
        tell(proof)

    def _run_hooks(self, when: str, line: StepReport) -> None:
        if self._hooks is not None:
            line.hooks.extend(f"{when}: {outcome}" for outcome in self._hooks.run(when, line.name, {}))

    def _prepare(self, tell: Tell) -> str:
        names = self._scene.drill.names
        if problems := self._scene.problems():
            raise StepFailed("; ".join(problems))
        tell("asking both clusters")
        clusters = self._scene.drill.config.clusters
        self.report.versions = versions(
            {names.source: clusters[names.source_alias], names.target: clusters[names.target_alias]}
        )
        self.report.notes.extend(self._notes())
        self._create_topics(self._flow.source.alias)
        self.load.write_once()
        return f"{', '.join(names.topics)} on {names.source}"

    def _notes(self) -> Iterator[str]:
        yield "checkpoints of groups are written every second in the drill, whatever the file says"
        if self._flow.get("emit.checkpoints.enabled") is not True:
            yield "the file turns checkpoints off: a failover cannot know where groups were"
        yield "transactional ids of the drill's mirror stay known to the target until they expire there"

    def _create_topics(self, alias: str) -> None:
        replicas = self._flow.number("replication.factor")
        wanted = [NewTopic(topic, PARTITIONS, replicas) for topic in self._scene.drill.names.topics]
        with Admin(self._access(alias, "admin")) as admin:
            for applied in create_topics(wanted, admin):
                if applied.outcome.status is Status.REFUSED:
                    raise StepFailed(f"{alias} refused to create {applied.topic}: {applied.outcome.reason}")

    def _start_mirror(self, tell: Tell) -> str:
        tell("Spark takes a few seconds")
        self._mirror = mirror = DrillMirror(self._scene.drill.file, self._scene.folder)
        partitions = self._copies()
        deadline = time.monotonic() + _START_SECONDS
        with Admin(self._access(self._flow.target.alias, "admin")) as admin:
            while not _all_have_records(admin, partitions):
                mirror.ensure_running()
                if time.monotonic() > deadline:
                    raise StepFailed(f"nothing was mirrored within {_START_SECONDS:.0f} s")
                time.sleep(_LOOK_SECONDS)
        return f"records have arrived in all {len(partitions)} partitions"

    def _produce(self, tell: Tell) -> str:
        self.load.start()
        self.groups.start()
        deadline = time.monotonic() + self._options.seconds
        while (left := deadline - time.monotonic()) > 0:
            for failure in (self.load.failure, self.groups.failure):
                if failure is not None:
                    raise failure
            tell(f"{len(self.load.acked):,} records acknowledged, {left:.0f} s to go")
            time.sleep(min(left, _LOOK_SECONDS))
        return f"{len(self.load.acked):,} records acknowledged, {len(self.groups.groups)} groups have committed"

    def _lose(self, tell: Tell) -> str:
        assert self._mirror is not None
        told = self._scene.lose(self._mirror, self.load)
        self.evidence.lost_at_ms = int(time.time() * 1000)
        self.load.stop()
        self.groups.stop()
        self.evidence.acked = dict(self.load.acked)
        return f"{told}; {len(self.load.acked):,} records had been acknowledged"

    def _fail_over(self, tell: Tell) -> str:
        config = self._scene.config_after_loss
        began = time.monotonic()
        operation = failover(config, flow_of(config, self._scene.drill.names))
        self.report.failover = operation.report
        self._follow(operation, tell)
        operation.run()
        self.report.rto_seconds = time.monotonic() - began
        details = operation.details()
        self.report.known_missing = details.get("missing_records")
        self.evidence.failover_rows = details.get("groups", ())
        self.evidence.set_on_target = self._places(self._flow.target.alias)
        self.evidence.mirrored = self._content(self._flow.target.alias, self._scene.drill.copies.values())
        return f"groups were set {self.report.rto_seconds:.1f} s after the command"

    def _go_on(self, tell: Tell) -> str:
        """Applications write to the target under the names that they know, and groups read there."""
        assert self._mirror is not None
        self._mirror.kill()
        alias, names = self._flow.target.alias, self._scene.drill.names
        tell("writing to the target")
        self._create_topics(alias)
        load = CanaryLoad(self._access(alias, "producer"), names.partitions, self._options.rate, self.load.next_number)
        load.write_once()
        load.start()
        time.sleep(self._options.seconds * _SHARE_DURING_OUTAGE)
        load.stop()
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

    def _bring_back(self, tell: Tell) -> str:
        tell("waiting for the source")
        return self._scene.bring_back()

    def _verify(self, tell: Tell) -> str:
        found = verify_locally(self._scene.drill.config, self._flow)
        if not found.is_equal:
            text = "; ".join(str(item) for item in found.differences[:_SHOWN])
            raise StepFailed(f"{len(found.differences)} partitions differ: {text}")
        self.report.verified_records = found.records
        return f"{found.records:,} mirrored records are the same on both sides"

    def _fail_back(self, tell: Tell) -> str:
        self.tail.parent.mkdir(parents=True, exist_ok=True)
        options = MoveOptions(None, _QUIET_SECONDS, _PATIENCE_SECONDS, False, _VERIFY_SECONDS)
        operation = failback(self._scene.drill.config, self._flow, options, TailOptions(self.tail))
        self.report.failback = operation.report
        self._follow(operation, tell)
        operation.run()
        self.evidence.failback_rows = operation.details().get("groups", ())
        self.evidence.tail = _tail_numbers(self.tail)
        self.report.tail_file = self.tail.name if self.tail.exists() else ""
        return f"in {operation.report.seconds:.1f} s; {len(self.evidence.tail):,} records in the saved tail"

    def _come_home(self, tell: Tell) -> str:
        """Read everything on the source, and draw up the account."""
        _, reverse = with_reverse(self._scene.drill.config, self._flow)
        names = self._scene.drill.names
        topics = {*names.topics, *mirrored_names(reverse, names.topics).values()}
        self.evidence.on_source = self._content(self._flow.source.alias, topics)
        self.evidence.set_on_source = self._places(self._flow.source.alias)
        self.report.account = account = draw_up(self.evidence)
        self.report.faults.extend(account.faults)
        rto = self.report.rto_seconds
        if rto is not None and rto > RTO_LIMIT_SECONDS:
            self.report.faults.append(f"groups were set after {rto:.1f} s, not within {RTO_LIMIT_SECONDS:.0f} s")
        return f"{len(self.evidence.on_source.numbers):,} records read, {len(names.groups)} groups judged"

    # -- the end --------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Stop everything, and delete what was created."""
        self.load.cut()
        if self._mirror is not None:
            self._mirror.kill()
        self.load.stop()
        self.groups.stop()
        if self._options.keeps:
            self.report.notes.append(f"everything was left as it is: all names contain {self._scene.drill.names.mark}")
        else:
            done = self._scene.clean_up()
            self.report.cleaned, self.report.left = done.deleted, done.left
            if done.left:
                self.report.faults.append(f"the drill left something behind: {'; '.join(done.left[:_SHOWN])}")
        log = self._scene.folder / "mirror.log"
        if not self.report.passed and log.exists():
            self._options.reports.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, self._options.reports / f"{self.report.stem}-mirror.log")

    # -- asking ---------------------------------------------------------------------------------------------------

    def _access(self, alias: str, role: str) -> Access:
        return access_for(self._scene.drill.config.clusters[alias], role)

    def _copies(self) -> list[TopicPartition]:
        copies = self._scene.drill.copies.values()
        return [TopicPartition(topic, number) for topic in copies for number in range(PARTITIONS)]

    def _places(self, alias: str) -> dict[str, Offsets]:
        return drill_groups.places(self._access(alias, "admin"), self._scene.drill.names.groups)

    def _content(self, alias: str, topics: Any) -> Content:
        return read_content(self._access(alias, "consumer"), set(topics))

    def _follow(self, operation: Operation, tell: Tell) -> None:
        def show(report: Any) -> None:
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


@contextmanager
def _handled(handlers: Mapping[int, Any]) -> Iterator[None]:
    """Signals can only be handled in the main thread; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminable() -> Any:
    """SIGTERM ends a drill as Ctrl-C does: with its clean-up."""
    return _handled({signal.SIGTERM: signal.default_int_handler})


def _uninterrupted() -> Any:
    """Whoever is impatient during the clean-up would leave its rest behind."""
    return _handled({signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: signal.SIG_IGN})
