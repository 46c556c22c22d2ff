"""The demo from start to end: clusters, shop, mirror, live view, comparison."""

from __future__ import annotations

import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.demo.orders import TOPICS
from heliograph.demo.producer import OrderProducer
from heliograph.demo.reader import OrderReader
from heliograph.demo.view import DemoView, TopicState
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.jars import fetch_jars, kafka_version
from heliograph.engine.class_archive import is_ready
from heliograph.engine.flow import FlowDriver
from heliograph.errors import BrokerUnavailable, StartError
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic
from heliograph.recovery.verification import verification
from heliograph.recovery.verification.plan import Scope, plan_verification
from heliograph.recovery.verification.verification import Verification, verify_slices

_SETTINGS = """# Written by `heliograph demo`: an ordinary mm2.properties file.
clusters = primary, backup
primary.bootstrap.servers = {primary}
backup.bootstrap.servers = {backup}

primary->backup.enabled = true
primary->backup.topics = orders, payments
sync.group.offsets.enabled = true
sync.group.offsets.interval.seconds = 2
emit.checkpoints.interval.seconds = 5
refresh.groups.interval.seconds = 5
tasks.max = 2

# one broker each, so one copy of everything
replication.factor = 1
offset.storage.replication.factor = 1
config.storage.replication.factor = 1
ledger.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
checkpoints.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
"""
_LISTENER = "http://127.0.0.1:8083"
_ANY_PORT = "http://127.0.0.1:0"
_CATCH_UP_SECONDS = 60


@dataclass(frozen=True)
class DemoReport:
    """What the demo did, and whether both sides are equal."""

    comparison: Verification
    records_per_second: float
    median_latency_ms: int
    transactions: int
    kafka_version: str
    folder: str


class Demonstration:
    """One run of the demo."""

    def __init__(self, seconds: float | None, orders_per_second: int, folder: Path | None, console: Console) -> None:
        self._seconds = seconds
        self._orders_per_second = orders_per_second
        self._kept = folder
        self._console = console
        self._interrupted = False
        self._latencies: list[int] = []

    def run(self) -> DemoReport:
        """Run until the time is over or Ctrl-C, then compare."""
        with ExitStack() as stack:
            stack.enter_context(self._interruptible())
            folder = self._kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heliograph-demo-")))
            self._fetch_jars()
            self._console.print("starting two Kafka clusters, primary and backup …")
            specs = [ClusterSpec(alias, folder=folder.absolute() / alias) for alias in ("primary", "backup")]
            clusters = stack.enter_context(running_clusters(*specs, say=self._console.print))
            running = RunningMirror(load(self._write_settings(folder, clusters), environment={}))
            [flow] = running.drivers()
            with Admin(flow.settings.source) as admin:
                admin.create_topics([NewTopic(name, partitions, 1, {}) for name, partitions in TOPICS.items()])
            began = time.monotonic()
            self._mirror(running, flow, clusters, folder)
            elapsed = time.monotonic() - began
            comparison = self._compare(running.flows[flow.name].config)
        totals = flow.totals
        return DemoReport(
            comparison, totals.records / elapsed, int(statistics.median(self._latencies or [0])), totals.transactions,
            kafka_version(), str(self._kept or ""),
        )  # fmt: skip

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C asks for an orderly end instead of breaking off in the middle."""

        def interrupt(*_: object) -> None:
            self._interrupted = True

        before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _fetch_jars(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task(f"fetching Kafka {kafka_version()}", total=None)
            fetch_jars(lambda done, total: progress.update(task, completed=done, total=total))

    def _write_settings(self, folder: Path, clusters: list[EmbeddedCluster]) -> Path:
        path = folder / "mm2.properties"
        path.write_text(_SETTINGS.format(**{cluster.alias: cluster.bootstrap_servers for cluster in clusters}))
        return path

    def _mirror(self, running: RunningMirror, flow: FlowDriver, clusters: list[EmbeddedCluster], folder: Path) -> None:
        producer = OrderProducer(flow.settings.source, self._orders_per_second)
        reader = OrderReader(flow.settings.source)
        server = _serve(running)
        page = f"{server.addresses[0]}/ui/"
        self._console.print(f"web page, REST and metrics: {page}")
        addresses = {cluster.alias: cluster.bootstrap_servers for cluster in clusters}
        view = DemoView(page, addresses, str(folder))
        first_use = "" if is_ready() else " (first use: preparing it for quick starts takes half a minute more)"
        self._console.print(f"starting the mirror on Spark{first_use} …")
        running.start()
        try:
            producer.start()
            reader.start()
            with Live(console=self._console, auto_refresh=False, transient=False) as live:
                self._watch(flow, view, live, self._is_over(producer, reader))
                producer.stop()
                reader.stop()
                self._watch(flow, view, live, self._has_caught_up())
        finally:
            running.stop()
            server.stop()

    def _is_over(self, producer: OrderProducer, reader: OrderReader) -> Callable[[list[TopicState]], bool]:
        deadline = None if self._seconds is None else time.monotonic() + self._seconds

        def is_over(_: list[TopicState]) -> bool:
            for failure in (producer.failure, reader.failure):
                if failure is not None:
                    raise failure
            return self._interrupted or (deadline is not None and time.monotonic() >= deadline)

        return is_over

    def _has_caught_up(self) -> Callable[[list[TopicState]], bool]:
        deadline = time.monotonic() + _CATCH_UP_SECONDS

        def has_caught_up(topics: list[TopicState]) -> bool:
            if time.monotonic() > deadline:
                raise BrokerUnavailable(f"the mirror did not catch up within {_CATCH_UP_SECONDS} s, see the log above")
            return all(topic.lag == 0 for topic in topics)

        return has_caught_up

    def _watch(self, flow: FlowDriver, view: DemoView, live: Live, is_over: Callable[[list[TopicState]], bool]) -> None:
        with Admin(flow.settings.source) as admin:
            while True:
                topics = self._topics(flow, admin)
                live.update(view.draw(topics, flow.totals.latency_ms, flow.totals.transactions > 0), refresh=True)
                if flow.totals.transactions:
                    self._latencies.append(flow.totals.latency_ms)
                if is_over(topics):
                    return
                time.sleep(0.5 if self._console.is_terminal else 0.2)

    def _topics(self, flow: FlowDriver, admin: Admin) -> list[TopicState]:
        ends = admin.end_offsets([item.source for item in flow.assignments])
        mirrored = flow.mirrored_offsets()
        states = []
        for name in TOPICS:
            sources = [item for item in flow.assignments if item.source.topic == name]
            written = sum(ends[item.source] for item in sources)
            done = sum(mirrored.get(item.source, -1) + 1 for item in sources)
            states.append(TopicState(name, sources[0].target.topic if sources else "", written, done))
        return states

    def _compare(self, flow: FlowConfig) -> Verification:
        # Not heartbeats: they are written until the very end.
        plan = plan_verification(flow, Scope(topics="|".join(TOPICS)))
        with Progress(console=self._console, transient=True) as progress:
            task = progress.add_task("comparing source and target", total=None)

            def tell(state: verification.Progress) -> None:
                progress.update(task, completed=state.slices, total=state.total_slices)

            return verify_slices(plan, tell)


def _serve(running: RunningMirror) -> RestServer:
    """The port that people know from Kafka Connect, or any other one where that is taken."""
    server = RestServer(running, [_LISTENER])
    try:
        server.start()
    except StartError:
        server = RestServer(running, [_ANY_PORT])
        server.start()
    return server
