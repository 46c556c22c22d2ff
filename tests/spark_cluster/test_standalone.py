"""The mirror on a Spark cluster of a master and two workers, parts of which are killed while it copies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pyspark
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.engine.pulse import SILENCE_SECONDS
from heliograph.engine.watchdog import ANSWER_SECONDS
from heliograph.java import ensure_java, version_of
from tests.chaos.stage import PATIENCE_SECONDS, RECOVERY_SECONDS, Stage, await_growth, ends
from tests.running import Tell
from tests.spark_cluster.guarded import ALIASES, contents, expect_no_secret, guarded_options, pages, process_list
from tests.spark_cluster.standalone import FrozenMachine, StandaloneCluster, Worker, bare_environment
from tests.waiting import is_gone, wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

LANES = 4
BACK_SECONDS = 20


def test_lanes_survive_executors_and_workers_that_are_killed_and_no_secret_shows(
    clusters: Mapping[str, EmbeddedCluster], tmp_path: Path, spark: StandaloneCluster
) -> None:
    """What was lost goes on elsewhere, with fewer lanes where fewer fit, and with all of them when a worker joins.

    The clusters ask for passwords, which are neither in Spark's pages and files nor in any log or process list.
    """
    events = tmp_path / "events"
    [page] = free_ports(1)
    options = {
        **guarded_options(clusters, events),
        "tasks.max": str(LANES),
        "spark.master": spark.url,
        "spark.ui.enabled": "true",
        "spark.ui.port": str(page),
    }
    pair = [clusters[alias] for alias in ALIASES]
    stage = Stage(pair, tmp_path, fresh_name("spread"), ALIASES, options)
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            _await_lanes_on_all(spark)
            [executor] = spark.living[0].executors
            executor.kill()
            _expect_back_soon(stage)
            _await_lanes_on_all(spark)
            spark.living[0].kill()
            _expect_back_soon(stage)
            assert len(spark.living) == 1
            spark.add_worker()
            _await_lanes_on_all(spark)
            stage.await_progress()
            shown = [*pages(f"http://127.0.0.1:{page}"), *process_list()]
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0, mirror.log_text()
    finally:
        mirror.kill()
    expect_no_secret([*shown, mirror.log_text(), *contents(events), *contents(spark.folder)])
    assert "starting again" not in mirror.log_text(), "lanes that were not hit had to begin again"


def test_the_machines_of_the_cluster_have_nothing_of_ours(tmp_path: Path) -> None:
    """Else the other tests would not tell whether executors get all that they need."""
    found = subprocess.run(
        [f"python3.{sys.version_info[1]}", "-c", "import heliograph"],
        env=bare_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "No module named 'heliograph'" in found.stderr


def test_the_machines_of_the_cluster_have_our_java_and_our_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing that points elsewhere, whatever is set where the tests run."""
    java = ensure_java()
    for name in ("JAVASPARK_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON", "PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "/elsewhere")
    given = bare_environment(tmp_path)
    assert "/elsewhere" not in given.values()
    assert Path(given["JAVA_HOME"], "bin", "java").resolve() == java.resolve()
    told = subprocess.run(
        [f"{given['SPARK_HOME']}/bin/spark-submit", "--version"],
        env=given, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"version {pyspark.__version__}" in told.stderr
    assert version_of(java) in told.stderr


def _await_lanes_on_all(spark: StandaloneCluster) -> None:
    wait_until(lambda: all(worker.lanes for worker in spark.living), "lanes on all workers", PATIENCE_SECONDS)


def _expect_back_soon(stage: Stage) -> None:
    """The lanes that were not hit go on meanwhile, all others soon."""
    deadline, before = time.monotonic() + BACK_SECONDS, ends(stage.target, stage.copy)
    wait_until(lambda: ends(stage.target, stage.copy) != before, "the other lanes", BACK_SECONDS / 2)
    await_growth(stage.target, stage.copy, deadline - time.monotonic())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_frozen_lane_on_another_machine_is_locked_out(
    clusters: Mapping[str, EmbeddedCluster], tmp_path: Path, spark: StandaloneCluster
) -> None:
    """It cannot be ended from here, so the flow is taken over anew; when it wakes up it writes nothing more."""
    options = {**guarded_options(clusters, tmp_path / "events"), "tasks.max": "2", "spark.master": spark.url}
    stage = Stage([clusters[alias] for alias in ALIASES], tmp_path, fresh_name("frozen"), ALIASES, options)
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            frozen = next(lane for worker in spark.living for lane in worker.lanes)
            frozen.send_signal(signal.SIGSTOP)
            await_growth(stage.target, stage.copy, SILENCE_SECONDS + 2 * ANSWER_SECONDS + RECOVERY_SECONDS)
            with suppress(psutil.NoSuchProcess):  # Spark may have ended it
                frozen.send_signal(signal.SIGCONT)
            wait_until(lambda: is_gone(frozen.pid), "the end of the lane that woke up", PATIENCE_SECONDS)
            stage.await_progress()
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0, mirror.log_text()
    finally:
        mirror.kill()
    assert "cannot be ended: it is frozen, or out of reach" in mirror.log_text()


_FROZEN_SECONDS = 180


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_machine_that_stood_still_for_three_minutes_writes_nothing_more(
    clusters: Mapping[str, EmbeddedCluster], tmp_path: Path, spark: StandaloneCluster, tell: Tell
) -> None:
    """Its executor and lanes live, and know nothing of what has happened: others have copied their partitions since.

    The worker on that machine stands still too, for it would end the executor as soon as Spark misses it. First the
    lanes alone wake up, with requests half sent, and nobody to tell them that their deal is over.
    """
    options = {**guarded_options(clusters, tmp_path / "events"), "tasks.max": str(LANES), "spark.master": spark.url}
    stage = Stage([clusters[alias] for alias in ALIASES], tmp_path, fresh_name("paused"), ALIASES, options)
    mirror = stage.start()
    machine: FrozenMachine | None = None
    worker = spark.living[0]
    try:
        with stage.load() as load:
            stage.await_progress()
            _await_lanes_on_all(spark)
            machine = worker.freeze()
            thaws_at = time.monotonic() + _FROZEN_SECONDS
            slowest = _seconds_until_growth(stage, SILENCE_SECONDS + 2 * ANSWER_SECONDS + RECOVERY_SECONDS)
            while time.monotonic() < thaws_at:
                stage.await_recovery()
                time.sleep(min(1.0, max(0.0, thaws_at - time.monotonic())))
            assert machine.is_whole, f"{machine.still} are left, so that no lane wakes up"
            machine.wake_lanes()
            stage.await_recovery()
            machine.wake()
            wait_until(
                lambda: all(is_gone(lane.pid) for lane in machine.lanes),
                "the end of lanes that woke up",
                PATIENCE_SECONDS,
            )
            stage.await_progress()
            _replace(worker, spark)
            _await_lanes_on_all(spark)
            stage.await_progress()
        equal = stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0, mirror.log_text()
    finally:
        if worker.is_running:
            _replace(worker, spark)
        mirror.kill()
    tell(
        f"{len(machine.lanes)} lanes stood still for {_FROZEN_SECONDS} s; others had theirs in {slowest:.0f} s; {equal}"
    )


def _replace(worker: Worker, spark: StandaloneCluster) -> None:
    """As a service manager would: Spark's master has forgotten a worker that was silent for so long, and ignores it."""
    worker.kill()
    spark.add_worker()


def _seconds_until_growth(stage: Stage, limit: float) -> float:
    began = time.monotonic()
    await_growth(stage.target, stage.copy, limit)
    return time.monotonic() - began
