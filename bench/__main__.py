"""Runs the benchmarks and prints ratios: python -m bench [--workloads abcdeghikrstw] [--rounds 3] [--write]."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from bench import scale, settings, trickle
from bench.conflicts import NAME as CONFLICTS
from bench.conflicts import detection
from bench.group_sync import TOPICS as SYNCED_TOPICS
from bench.group_sync import group_sync
from bench.latency import PARTITIONS, latency
from bench.log_sizes import NO_COMPACTION
from bench.measure import CatchUp, Latency, catch_up, log_gigabytes
from bench.questions import questions
from bench.rivals import Heliograph, RealMirrorMaker2, Rival
from bench.topics import ManyTopics, many_topics
from bench.transforms import BOTH, ORDERS, OURS, Change
from bench.trickle_report import TrickleReport
from bench.verify import verification
from bench.wan import FAR_CLUSTERS, MEGABITS, MUST_SHARE, FarCluster
from bench.wan import ORDERS as FAR_ORDERS
from bench.workloads import CATCH_UP, PLAIN, TINY, Workload
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.jars import kafka_version
from heliograph.embedded.jvm import PEAK_SPEED
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic

RESULTS = Path(__file__).parent / "RESULTS.md"
RATES = (100, 500)
RIVALS = ("ours", "theirs")
MEMORY = Path("/dev/shm")
ROOM_BYTES = 10 * 2**30
WIDTH = 180  # of what is printed to a file, which is not narrow


@dataclass(frozen=True)
class Row:
    """One figure of both rivals."""

    workload: str
    figure: str
    ours: float
    theirs: float
    must: str
    unit: str = ""

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs if self.theirs else float("nan")


@dataclass
class Bench:
    """One run: clusters are new for every measurement, and brokers have seen the same data before it begins."""

    rounds: int
    folder: Path
    console: Console
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    trickles: list[TrickleReport] = field(default_factory=list)

    def catch_up(self, workload: Workload) -> None:
        """Workloads a, b and c."""
        ours, theirs = [], []
        for number in range(self.rounds):
            for rival, results in (("ours", ours), ("theirs", theirs)):
                result = self._catch_up_once(workload, rival, lanes=2 if rival == "ours" else 4)
                results.append(result)
                self.console.print(f"({workload.letter}) round {number + 1} {rival}: {result}")
                if result.counted != workload.records and rival == "ours":
                    raise AssertionError(f"{rival}: {result.counted} records arrived, not {workload.records}")
        must = {"a": "5 x", "b": "2 x", "c": "2 x"}[workload.letter]
        self._row(workload.letter, "records/s while copying", ours, theirs, lambda r: r.records_per_second, must)
        if workload.letter == "a":
            self._row(
                "a", "whole job, process start to last record", ours, theirs, lambda r: r.whole_seconds, "0.6 x", "s"
            )
            self._row(
                "f", "CPU seconds per GB while copying", ours, theirs, lambda r: r.cpu_seconds_per_gb, "0.2 x", "s"
            )
            lane = statistics.median(result.peak_lane_mb for result in ours)
            self.notes.append(f"peak memory of a lane (workload a): {lane:.0f} MB (must 250, aim 150)")
            self.notes.append(f"peak memory of all processes: {statistics.median(r.peak_mb for r in ours):.0f} MB")
            start = statistics.median(result.start_seconds for result in ours)
            other = statistics.median(result.start_seconds for result in theirs)
            self.notes.append(f"process start to first record: {start:.1f} s, MirrorMaker 2 {other:.1f} s")

    def variants(self, workload: Workload) -> None:
        """Heliograph against itself: lanes, and transactions off."""
        for lanes in (1, 2, 4):
            result = self._catch_up_once(workload, "ours", lanes)
            self.notes.append(f"({workload.letter}) {lanes} lanes: {result.records_per_second:,.0f} records/s")
            self.console.print(self.notes[-1])
        result = self._catch_up_once(workload, "ours", 2, exactly_once=False)
        self.notes.append(f"({workload.letter}) 2 lanes, transactions off: {result.records_per_second:,.0f} records/s")
        self.console.print(self.notes[-1])

    def latency(self, seconds: float) -> None:
        """Workload e. Brokers need minutes until they are warm, so both use the same ones, and round 0 does not count.

        MirrorMaker 2's producer waits 5 ms for more records by default; how it does without that is printed too.
        """
        results: dict[str, list[dict[int, Latency]]] = {name: [] for name in ("ours", "theirs", "theirs, linger.ms 0")}
        with self._clusters() as (source, target):
            for number in range(self.rounds + 1):
                for name, counted in results.items():
                    topic = f"ticks-{number}-{len(name)}"
                    with Admin(Access(source.alias, [source.bootstrap_servers])) as admin:
                        admin.create_topics([NewTopic(topic, PARTITIONS, 1, {})])
                    rival = self._rival(name, source, target, topic, 1, "none")
                    result = latency(rival, source, target, topic, RATES, seconds)
                    self.console.print(f"(e) round {number} {name}: {result}")
                    if number:
                        counted.append(result)
        for rate in RATES:
            for figure, must in (("p50", "1 x"), ("p99", "1.5 x")):
                mine, other, eager = (
                    statistics.median(getattr(result[rate], figure) for result in counted)
                    for counted in results.values()
                )
                self.rows.append(Row("e", f"latency {figure} at {rate} records/s", mine, other, must, "ms"))
                self.notes.append(f"(e) MirrorMaker 2 with linger.ms 0: {figure} at {rate} records/s {eager:.2f} ms")

    def many_topics(self, topics: int) -> None:
        """Workload d."""
        both: dict[str, ManyTopics] = {}
        for name in ("ours", "theirs"):
            with self._clusters() as (source, target):
                rival = self._rival(name, source, target, "many-.*", 2, "none")
                both[name] = many_topics(rival, source, target, topics, 2)
                self.console.print(f"(d) {name}: {both[name]}")
        mine, other = both["ours"], both["theirs"]
        self.rows.append(Row("d", f"time until all {topics} topics flow", mine.seconds, other.seconds, "1 x", "s"))
        self.rows.append(Row("d", "idle CPU, share of a core", mine.idle_share, other.idle_share, "1 x"))

    def group_sync(self) -> None:
        """Workload g: the group sync alone, on a copy that Heliograph has made."""
        with self._clusters() as (source, target):
            properties = settings.heliograph(settings.common(source, target, SYNCED_TOPICS, 2))
            properties["groups"] = SYNCED_TOPICS
            result = group_sync(properties, Path(tempfile.mkdtemp(dir=self.folder)), source, target)
        self.notes.append(f"(g) {result}")
        self.console.print(self.notes[-1])

    def questions(self, seconds: float) -> None:
        """Workload h: what it costs to be asked all the time."""
        with self._clusters() as (source, target):
            properties = settings.heliograph(settings.common(source, target, "asked-.*", 2))
            result = questions(properties, Path(tempfile.mkdtemp(dir=self.folder)), source, target, seconds)
        self.notes.append(f"(h) {result}")
        self.console.print(self.notes[-1])

    def verification(self) -> None:
        """Workload i: how fast a copy is proven to be one."""
        with self._clusters() as (source, target):
            properties = settings.heliograph(settings.common(source, target, PLAIN.topic, 2))
            result = verification(properties, Path(tempfile.mkdtemp(dir=self.folder)), source, target)
        self.notes.append(f"(i) {result}")
        self.console.print(self.notes[-1])

    def conflicts(self, seconds: float) -> None:
        """Workload k: what it costs to look for conflicts."""
        with self._clusters() as (source, target):
            properties = settings.heliograph(settings.common(source, target, CONFLICTS, 2))
            result = detection(properties, Path(tempfile.mkdtemp(dir=self.folder)), source, target, seconds)
        self.notes.append(f"(k) {result}")
        self.console.print(self.notes[-1])

    def scale(self, sizes: Sequence[int], seconds: float) -> None:
        """Workload s: what ever more partitions cost."""
        results = []
        for topics in sizes:
            with self._clusters(scale.BROKER_SETTINGS) as (source, target):
                properties = settings.heliograph(settings.common(source, target, scale.TOPICS, 2))
                folder = Path(tempfile.mkdtemp(dir=self.folder))
                results.append(scale.measure(properties, folder, source, target, topics, seconds))
            self._note(f"(s) {results[-1]}")
        for growth in scale.growth(results):
            self._note(f"(s) {growth}")

    def trickle(self, seconds: float, warm_up_seconds: float) -> None:
        """Workload r: what few records cost that come all the time."""
        with self._clusters(NO_COMPACTION) as (source, target):
            course = trickle.Course(source, target, self.folder, seconds, warm_up_seconds)
            results = course.rounds(self.rounds, self.console.print)
        self.trickles.append(TrickleReport(seconds, results))

    def wan(self) -> None:
        """Workload w: one lane over a long link, towards the mirror and away from it."""
        for far in FAR_CLUSTERS:
            figures = {name: statistics.median(self._over(far, name) for _ in range(self.rounds)) for name in RIVALS}
            title = f"one lane, {far}: share of {MEGABITS} Mbit/s"
            self.rows.append(Row("w", title, figures["ours"], figures["theirs"], f"{MUST_SHARE} ours"))

    def _over(self, far: FarCluster, name: str) -> float:
        with far.clusters() as clusters:
            source, target = clusters
            FAR_ORDERS.prepare(source, self.folder)
            FAR_ORDERS.warm_up(target, self.folder)
            gigabytes = log_gigabytes(source, FAR_ORDERS.topic)
            topic, codec = FAR_ORDERS.topic, FAR_ORDERS.codec
            rival = self._rival(name, source, target, topic, 1, codec, extra=far.settings(clusters))
            result = catch_up(rival, target, f"primary.{topic}", FAR_ORDERS.records, gigabytes)
        self.console.print(f"(w) {far}, {name}: {far.share(result, gigabytes):.2f} of the link, {result}")
        return far.share(result, gigabytes)

    def transforms(self) -> None:
        """Workload t: what MirrorMaker 2 can do too, side by side; and what it cannot."""
        for change in BOTH:
            figures = {
                name: statistics.median(self._changed(change, name, lanes) for _ in range(self.rounds))
                for name, lanes in (("ours", 2), ("theirs", 4))
            }
            self.rows.append(Row("t", f"{change.title}: records/s", figures["ours"], figures["theirs"], "1.5 x"))
        for change in OURS:
            rate = statistics.median(self._changed(change, "ours", change.lanes) for _ in range(self.rounds))
            self.notes.append(f"(t) {change.title}: {rate:,.0f} records/s (must {change.must:,.0f})")
            self.console.print(self.notes[-1])

    def _changed(self, change: Change, name: str, lanes: int) -> float:
        with self._clusters() as (source, target):
            ORDERS.prepare(source, self.folder)
            ORDERS.warm_up(target, self.folder)
            if not change.topic.startswith("primary."):  # MirrorMaker 2 does not create what it routes to
                with Admin(Access(target.alias, [target.bootstrap_servers])) as admin:
                    admin.create_topics([NewTopic(change.topic, ORDERS.partitions, 1, {})])
            rival = self._rival(name, source, target, ORDERS.topic, lanes, ORDERS.codec, extra=change.settings)
            result = catch_up(rival, target, change.topic, ORDERS.records, log_gigabytes(source, ORDERS.topic))
        self.console.print(f"(t) {change.title}, {name}: {result}")
        if result.counted != ORDERS.records and name == "ours":
            raise AssertionError(f"{result.counted} records arrived, not {ORDERS.records}")
        return result.records_per_second

    def _catch_up_once(self, workload: Workload, name: str, lanes: int, exactly_once: bool = True) -> CatchUp:
        with self._clusters() as (source, target):
            workload.prepare(source, self.folder)
            workload.warm_up(target, self.folder)
            gigabytes = log_gigabytes(source, workload.topic)
            rival = self._rival(name, source, target, workload.topic, lanes, workload.codec, exactly_once)
            return catch_up(rival, target, f"primary.{workload.topic}", workload.records, gigabytes)

    def _rival(
        self,
        name: str,
        source: EmbeddedCluster,
        target: EmbeddedCluster,
        topics: str,
        lanes: int,
        codec: str,
        exactly_once: bool = True,
        extra: Mapping[str, str] | None = None,
    ) -> Rival:
        base = settings.common(source, target, topics, lanes) | dict(extra or {})
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        if name == "ours":
            return Heliograph(settings.heliograph(base, exactly_once), folder)
        properties = settings.mirrormaker2(base, codec)
        return RealMirrorMaker2(settings.eager(properties) if name.endswith("linger.ms 0") else properties, folder)

    def _clusters(
        self, broker_settings: Mapping[str, str] | None = None
    ) -> AbstractContextManager[list[EmbeddedCluster]]:
        specs = [
            ClusterSpec(alias, heap="1g", tuning=PEAK_SPEED, settings=broker_settings or {})
            for alias in ("primary", "backup")
        ]
        return running_clusters(*specs)

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.console.print(text)

    def _row(
        self,
        workload: str,
        figure: str,
        ours: Sequence[CatchUp],
        theirs: Sequence[CatchUp],
        pick: Callable[[CatchUp], float],
        must: str,
        unit: str = "",
    ) -> None:
        medians = [statistics.median(pick(result) for result in results) for results in (ours, theirs)]
        self.rows.append(Row(workload, figure, medians[0], medians[1], must, unit))


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("", "figure", "Heliograph", "MirrorMaker 2", "ratio", "must"):
        table.add_column(column)
    for row in rows:
        table.add_row(f"({row.workload})", row.figure, _number(row.ours, row.unit), _number(row.theirs, row.unit),
                      f"{row.ratio:.2f} x", row.must)  # fmt: skip
    return table


def _number(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
    return f"{text} {unit}".strip()


def _markdown(bench: Bench, command: str, data: Path) -> str:
    memory = psutil.virtual_memory().total / 2**30
    lines = [
        "# Benchmark results",
        "",
        f"{time.strftime('%Y-%m-%d')}, {psutil.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, Kafka and MirrorMaker 2 {kafka_version()}. "
        f"Medians of {bench.rounds}. Both brokers, warmed up, and the mirror share the cores. MirrorMaker 2: 4 tasks, "
        "large fetches and batches, the data's codec, no transactions; Heliograph: 2 lanes, exactly once. "
        f"Brokers keep their logs in {data}. (d) is one round.",
        "",
        f"Command: `{command}`",
        "",
        "| | figure | Heliograph | MirrorMaker 2 | ratio | must |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.workload} | {row.figure} | {_number(row.ours, row.unit)} | {_number(row.theirs, row.unit)} "
            f"| {row.ratio:.2f} x | {row.must} |"
            for row in bench.rows
        ),
        "",
        *(f"- {note}" for note in bench.notes),
        "",
        *(line for report in bench.trickles for line in report.markdown()),
    ]
    return "\n".join(lines)


def _json(bench: Bench, command: str) -> dict[str, Any]:
    return {
        "command": command,
        "rounds": bench.rounds,
        "rows": [{**asdict(row), "ratio": row.ratio if row.theirs else None} for row in bench.rows],
        "notes": bench.notes,
        "trickle": [report.as_json() for report in bench.trickles],
    }


def _roomy_memory() -> Path:
    """A folder in memory that holds all data, if there is one: a slow disk would brake the faster of the rivals."""
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    return MEMORY if has_room else Path(tempfile.gettempdir())


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="heliograph bench", description=__doc__)
    parser.add_argument(
        "--workloads",
        default="abcdeghikrstw",
        help="letters: a catch-up, b tiny, c plain, d topics, e latency, g group sync, h questions over REST, "
        "i verification, k conflicts, r trickle, s scale, t transforms, w long links",
    )
    parser.add_argument("--rounds", type=int, default=3, help="medians of so many")
    parser.add_argument(
        "--variants", action="store_true", help="also 1, 2, 4 lanes and transactions off, on workload a"
    )
    parser.add_argument("--topics", type=int, default=1000, help="topics of workload d")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=scale.SIZES, help="topics of workload s, each of four partitions"
    )
    parser.add_argument("--seconds", type=float, default=20, help="length of each latency measurement")
    parser.add_argument(
        "--trickle-seconds", type=float, default=trickle.SECONDS, help="length of each measurement of workload r"
    )
    parser.add_argument(
        "--warm-up-seconds", type=float, default=trickle.WARM_UP_SECONDS, help="before each measurement of workload r"
    )
    parser.add_argument("--json", type=Path, help="write all figures to this file, relative to the clone")
    parser.add_argument("--write", action="store_true", help="write bench/RESULTS.md")
    parser.add_argument(
        "--data", type=Path, default=_roomy_memory(), help="where brokers keep their logs; in memory if there is room"
    )
    arguments = parser.parse_args()
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)
    with tempfile.TemporaryDirectory(prefix="heliograph-bench-", dir=arguments.data) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder  # also for all that is started
        bench = Bench(arguments.rounds, Path(folder), console)
        for letter, workload in (("a", CATCH_UP), ("b", TINY), ("c", PLAIN)):
            if letter in arguments.workloads:
                bench.catch_up(workload)
        if "d" in arguments.workloads:
            bench.many_topics(arguments.topics)
        if "e" in arguments.workloads:
            bench.latency(arguments.seconds)
        if "g" in arguments.workloads:
            bench.group_sync()
        if "h" in arguments.workloads:
            bench.questions(arguments.seconds)
        if "i" in arguments.workloads:
            bench.verification()
        if "k" in arguments.workloads:
            bench.conflicts(arguments.seconds)
        if "r" in arguments.workloads:
            bench.trickle(arguments.trickle_seconds, arguments.warm_up_seconds)
        if "s" in arguments.workloads:
            bench.scale(arguments.sizes, arguments.seconds)
        if "t" in arguments.workloads:
            bench.transforms()
        if "w" in arguments.workloads:
            bench.wan()
        if arguments.variants:
            bench.variants(CATCH_UP)
    if bench.rows:
        console.print(_table(bench.rows))
    for note in bench.notes:
        console.print(note)
    for report in bench.trickles:
        console.print(report.table())
    command = f"./heliograph bench {' '.join(sys.argv[1:])}"
    if arguments.write:
        RESULTS.write_text(_markdown(bench, command, arguments.data))
    if arguments.json:
        arguments.json.write_text(json.dumps(_json(bench, command), indent=2) + "\n")


if __name__ == "__main__":
    main()
