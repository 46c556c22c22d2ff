"""A second driver takes over from the first, on clusters that ask for passwords, which come out nowhere.

The second one is started by spark-submit, on a machine that has Python and Spark and one package of ours.
"""

from __future__ import annotations

import html
import re
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import sasl_plain
from heliograph.embedded.ports import free_ports
from heliograph.kafka.topics import NewTopic
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import admin_of, await_growth, copies, expect_equal, write_settings
from tests.spark_cluster.standalone import SPARK_HOME, StandaloneCluster, bare_environment

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

CANARIES = {"near": "canary-7c0a19", "there": "canary-e85f24"}
TOPIC = "guarded"
PARTITIONS = 4
TAKEN_OVER = 5


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, EmbeddedCluster]]:
    """Two clusters, each with its own password for alice."""
    specs = [
        ClusterSpec(name, listeners=[sasl_plain("SASL", {"alice": word})], heap="256m")
        for name, word in CANARIES.items()
    ]
    with running_clusters(*specs) as (near, there):
        with admin_of(near) as admin:
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        yield {"near": near, "there": there}


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The application file for spark-submit, with the package beside it."""
    folder = tmp_path_factory.mktemp("package")
    with pytest.raises(SystemExit) as ended:
        main(["package", str(folder)])
    assert ended.value.code == 0
    return folder / "heliograph-submit.py"


def test_the_second_driver_fences_the_first_and_no_secret_shows(
    clusters: Mapping[str, EmbeddedCluster], spark: StandaloneCluster, submit: Path, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    events.mkdir()
    [page] = free_ports(1)
    file = _settings(tmp_path, clusters, events)
    near, there = clusters["near"], clusters["there"]
    started: list[MirrorProcess] = []
    try:
        with Load(near.bootstrap_servers, TOPIC, PARTITIONS, per_second=200) as load:
            first = MirrorProcess(file, tmp_path / "first.log", options=["--master", spark.url])
            started.append(first)
            await_growth(there, f"near.{TOPIC}")
            second = MirrorProcess(
                file,
                tmp_path / "second.log",
                program=[
                    str(SPARK_HOME / "bin" / "spark-submit"), "--master", spark.url,
                    "--conf", "spark.ui.enabled=true", "--conf", f"spark.ui.port={page}", str(submit),
                ],
                environment=bare_environment(tmp_path),
            )  # fmt: skip
            started.append(second)
            assert first.wait(180) == TAKEN_OVER, first.log_text()
            await_growth(there, f"near.{TOPIC}")
            shown = [*_pages(f"http://127.0.0.1:{page}"), *_process_list()]
        pairs = copies(TOPIC, f"near.{TOPIC}", PARTITIONS)
        expect_equal(near, there, pairs, load.acknowledged, tmp_path / "second.log")
    finally:
        for process in started:
            process.kill()
    assert "now belongs to another mirror" in first.log_text()
    shown += [first.log_text(), second.log_text(), *_contents(events), *_contents(spark.folder)]
    assert any("SparkListenerEnvironmentUpdate" in text for text in shown), "the event log was not looked at"
    assert any("CoarseGrainedExecutorBackend" in text for text in shown), "executors were not looked at"
    for text in shown:
        assert not any(canary in text for canary in CANARIES.values()), text[:500]


def _settings(folder: Path, clusters: Mapping[str, EmbeddedCluster], events: Path) -> Path:
    options = {
        "topics": TOPIC,
        "offset.storage.partitions": "2",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "spark.cores.max": "2",  # so that there is room for the other driver
        "spark.executor.memory": "512m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    for alias, password in CANARIES.items():
        options[f"{alias}.bootstrap.servers"] = clusters[alias].addresses("SASL")
        options[f"{alias}.sasl.jaas.config"] = (
            f'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{password}";'
        )
    file = folder / "mm2.properties"
    write_settings(file, clusters, ["near->there"], options)
    return file


def _pages(root: str) -> Iterator[str]:
    """Spark's own pages, and those that they link to."""
    waiting, seen = ["/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/StreamingQuery/"], set()
    while waiting and len(seen) < 60:
        path = waiting.pop(0)
        seen.add(path)
        with urllib.request.urlopen(root + path) as answer:
            text = answer.read().decode(errors="replace")
        yield text
        linked = map(html.unescape, re.findall(r'href="(?:http://[^/"]+)?(/[^"#]+)"', text))
        waiting += [link for link in dict.fromkeys(linked) if link not in seen and not link.startswith("/static")]


def _process_list() -> Iterator[str]:
    for process in psutil.process_iter(["cmdline"]):
        yield " ".join(process.info["cmdline"] or ())


def _contents(folder: Path) -> Iterator[str]:
    """All files below a folder, but for the programs that executors were sent."""
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith("heliograph_") or part == "jars" for part in path.parts):
            yield path.read_text(errors="replace")
