"""Several flows in one process: both directions, two targets, and a target that is down."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine.mirror import Mirror
from heliograph.engine.settings import FlowSettings
from heliograph.errors import BrokerUnavailable
from heliograph.kafka.access import Access
from heliograph.kafka.topics import NewTopic
from tests.chaos.forms import short_and_long
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.outages import SOON_MISSED, bring_back
from tests.chaos.stage import (
    PATIENCE_SECONDS,
    admin_of,
    await_growth,
    copies,
    expect_equal,
    write_settings,
)
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_PARTITIONS = 3
_LONGEST_PAUSE = 10


@pytest.fixture(scope="module")
def spare() -> Iterator[EmbeddedCluster]:
    """A third cluster, whose broker a test may kill."""
    with running_clusters(ClusterSpec("spare", settings=SOON_MISSED)) as (cluster,):
        yield cluster


def test_both_directions_at_once(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> None:
    settings, log = tmp_path / "mm2.properties", tmp_path / "mirror.log"
    options = {"topics": r".*both-ways", "tasks.max": "1"}
    write_settings(settings, {"oslo": primary, "rome": backup}, ["oslo->rome", "rome->oslo"], options)
    for cluster in (primary, backup):
        _create(cluster, "both-ways")
    mirror = MirrorProcess(settings, log)
    try:
        with _load(primary, "both-ways") as out, _load(backup, "both-ways") as back:
            await_growth(backup, "oslo.both-ways")
            await_growth(primary, "rome.both-ways")
        expect_equal(primary, backup, copies("both-ways", "oslo.both-ways", _PARTITIONS), out.acknowledged, log)
        expect_equal(backup, primary, copies("both-ways", "rome.both-ways", _PARTITIONS), back.acknowledged, log)
        with admin_of(primary) as one, admin_of(backup) as other:
            names = {*one.topics(), *other.topics()}
        copied = {"oslo.both-ways", "rome.both-ways"}
        assert {name for name in names if name.endswith("both-ways")} == {"both-ways", *copied}
        assert mirror.stop() == 0
    finally:
        mirror.kill()


@short_and_long("attempts", 2, 5)
def test_a_target_that_is_down_at_the_start_holds_up_nobody_and_gets_all_later(
    primary: EmbeddedCluster, backup: EmbeddedCluster, spare: EmbeddedCluster, tmp_path: Path, attempts: int
) -> None:
    topic, copy = _names("fan-out")
    settings, log = tmp_path / "mm2.properties", tmp_path / "mirror.log"
    clusters = {"hub": primary, "near": backup, "far": spare}
    write_settings(settings, clusters, ["hub->near", "hub->far"], {"topics": topic, "tasks.max": "1"})
    _create(primary, topic)
    spare.brokers[0].process.kill()
    mirror = MirrorProcess(settings, log)
    try:
        with _load(primary, topic) as load:
            await_growth(backup, copy)
            wait_until(lambda: len(_pauses(log)) >= attempts, f"{attempts} attempts in vain", PATIENCE_SECONDS)
            assert max(_pauses(log)) <= _LONGEST_PAUSE
            bring_back(spare)
            await_growth(spare, copy)
        for target in (backup, spare):
            expect_equal(primary, target, copies(topic, copy, _PARTITIONS), load.acknowledged, log)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def test_a_target_that_dies_holds_up_neither_the_other_flow_nor_the_end(
    primary: EmbeddedCluster, backup: EmbeddedCluster, spare: EmbeddedCluster, tmp_path: Path
) -> None:
    """The flow that lives is stopped in good order; what the other could not commit comes with the next start."""
    settings, log = tmp_path / "mm2.properties", tmp_path / "mirror.log"
    clusters = {"hub": primary, "near": backup, "far": spare}
    options = {"topics": "half", "tasks.max": "1", "task.shutdown.graceful.timeout.ms": "5000"}
    write_settings(settings, clusters, ["hub->near", "hub->far"], options)
    _create(primary, "half")
    with _load(primary, "half") as load:
        mirror = MirrorProcess(settings, log)
        try:
            await_growth(backup, "hub.half")
            await_growth(spare, "hub.half")
            spare.brokers[0].process.kill()
            for _ in range(5):
                await_growth(backup, "hub.half", 20)
            assert mirror.stop(30) == 0
        finally:
            mirror.kill()
            bring_back(spare)
    again = MirrorProcess(settings, log)
    try:
        for target in (backup, spare):
            expect_equal(primary, target, copies("half", "hub.half", _PARTITIONS), load.acknowledged, log)
        assert again.stop() == 0
    finally:
        again.kill()


class _Hurry(threading.Event):
    """Notes how long it should have waited, and is set after the eighth time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) == 8:
            self.set()
        return self.is_set()


class _OutOfReach:
    """A flow whose target is down."""

    name = "hub->far"
    was_taken_over = False
    settings = FlowSettings("hub->far", Access("hub", []), Access("far", []), "offsets", "ledger")

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.failed = self.failures.append

    def take_over(self) -> None:
        raise BrokerUnavailable("nobody answers")

    confirm_owner = take_over


def test_pauses_between_attempts_grow_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    flow, hurry = _OutOfReach(), _Hurry()
    mirror = Mirror([flow], {})
    try:
        mirror._stopping = hurry
        mirror._run(flow)
    finally:
        mirror._control.close()
    assert flow.failures == ["nobody answers"] * len(hurry.waits)
    assert hurry.waits == [1, 2, 4, 8, *[_LONGEST_PAUSE] * 4]


def _names(prefix: str) -> tuple[str, str]:
    """A topic that no other test uses, and its copy."""
    topic = fresh_name(prefix)
    return topic, f"hub.{topic}"


def _pauses(log: Path) -> list[float]:
    """How long a flow has waited before each new attempt, in seconds."""
    return [float(found) for found in re.findall(r"hub->far: .*starting again in ([\d.]+) s", log.read_text())]


def _create(cluster: EmbeddedCluster, topic: str) -> None:
    with admin_of(cluster) as admin:
        admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])


def _load(cluster: EmbeddedCluster, topic: str) -> Load:
    return Load(cluster.bootstrap_servers, topic, _PARTITIONS, per_second=200)
