"""Fifty questions a second over REST to a mirror of a thousand partitions: what they cost, and whom they hold up."""

from __future__ import annotations

import http.client
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.latency import PARTITIONS, await_flow, measured
from bench.measure import Latency, TargetView
from bench.rivals import Heliograph
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.topics import NewTopic

MUST_SHARE = 0.1
_PER_SECOND = 50
_RATE = 100
_TICKS = "asked-ticks"
_TOPIC_COUNT, _TOPIC_PARTITIONS = 100, 10
_PATHS = ("/metrics", "/connectors/MirrorSourceConnector/status")
_SETTLING_SECONDS = 20.0
_ROUNDS = 3


@dataclass(frozen=True)
class Answered:
    """Processor time as a share of one core, and latency, without and with questions; medians."""

    quiet_share: float
    asked_share: float
    quiet: Latency
    asked: Latency

    def __str__(self) -> str:
        cost = self.asked_share - self.quiet_share
        return (
            f"{_PER_SECOND} questions/s (metrics, status), {_TOPIC_COUNT * _TOPIC_PARTITIONS:,} partitions: "
            f"{cost:.3f} of a core (must {MUST_SHARE}); latency at {_RATE} records/s without them "
            f"p50 {self.quiet.p50:.2f} p99 {self.quiet.p99:.2f} ms, with them "
            f"p50 {self.asked.p50:.2f} p99 {self.asked.p99:.2f} ms"
        )


def questions(
    properties: Mapping[str, str], folder: Path, source: EmbeddedCluster, target: EmbeddedCluster, seconds: float
) -> Answered:
    """Measure a mirror alone, then while it is asked."""
    topics = [NewTopic(f"asked-{number:03}", _TOPIC_PARTITIONS, 1, {}) for number in range(_TOPIC_COUNT)]
    with Admin(Access(source.alias, [source.bootstrap_servers])) as admin:
        admin.create_topics([*topics, NewTopic(_TICKS, PARTITIONS, 1, {})])
    [port] = free_ports(1)
    loop = Loop()
    network = Network(loop, Access(source.alias, [source.bootstrap_servers]))
    network.refresh([_TICKS])
    with Heliograph({**properties, "listeners": f"http://127.0.0.1:{port}"}, folder) as mirror:
        view = TargetView(target, f"primary.{_TICKS}")
        await_flow(view, loop, network, _TICKS)
        measured(loop, network, target, _TICKS, _RATE, _SETTLING_SECONDS)

        def look() -> tuple[float, Latency]:
            began, cpu = time.monotonic(), mirror.usage().cpu_seconds
            found = measured(loop, network, target, _TICKS, _RATE, seconds)
            return (mirror.usage().cpu_seconds - cpu) / (time.monotonic() - began), found

        quiet, asked = [], []
        for _ in range(_ROUNDS):  # in turns: a mirror still gets quicker for minutes
            quiet.append(look())
            with _asked(port):
                asked.append(look())
        view.close()
    loop.close()
    return Answered(_median_share(quiet), _median_share(asked), _median_latency(quiet), _median_latency(asked))


def _median_share(looks: Sequence[tuple[float, Latency]]) -> float:
    return statistics.median(share for share, _ in looks)


def _median_latency(looks: Sequence[tuple[float, Latency]]) -> Latency:
    found = [latency for _, latency in looks]
    return Latency(
        statistics.median(item.p50 for item in found),
        statistics.median(item.p99 for item in found),
        sum(item.count for item in found),
    )


@contextmanager
def _asked(port: int) -> Iterator[None]:
    """Ask from a process of its own, so that its work is not counted."""
    process = subprocess.Popen([sys.executable, "-m", "bench.questions", str(port)])
    try:
        yield
        if process.poll() is not None:
            raise AssertionError("a question was not answered")
    finally:
        process.kill()
        process.wait()


def _ask(port: int) -> None:
    """Ask for ever, at a steady rate, as Prometheus does: over one connection, and with compression."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    began = time.monotonic()
    for number in itertools.count():
        time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
        connection.request("GET", _PATHS[number % len(_PATHS)], headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200 or not body:
            raise SystemExit(f"{_PATHS[number % len(_PATHS)]}: {answer.status}")


if __name__ == "__main__":
    _ask(int(sys.argv[1]))
