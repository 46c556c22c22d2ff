"""A second driver takes over from the first, on clusters that ask for passwords, which come out nowhere.

The second one is started by spark-submit, on a machine that has Python and Spark and one package of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.kafka.topics import NewTopic
from tests.chaos.forms import LONG
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import admin_of, await_growth, copies, expect_equal, write_settings
from tests.spark_cluster.guarded import ALIASES, contents, expect_no_secret, guarded_options, pages, process_list
from tests.spark_cluster.standalone import SPARK_HOME, StandaloneCluster, bare_environment

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos, *LONG]

TOPIC = "guarded"
PARTITIONS = 4
TAKEN_OVER = 5


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
    events, file = tmp_path / "events", tmp_path / "mm2.properties"
    [page] = free_ports(1)
    near, there = (clusters[alias] for alias in ALIASES)
    with admin_of(near) as admin:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    room_for_two = {"topics": TOPIC, "spark.cores.max": "2"}
    write_settings(file, clusters, ["->".join(ALIASES)], {**guarded_options(clusters, events), **room_for_two})
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
            shown = [*pages(f"http://127.0.0.1:{page}"), *process_list()]
        pairs = copies(TOPIC, f"near.{TOPIC}", PARTITIONS)
        expect_equal(near, there, pairs, load.acknowledged, tmp_path / "second.log")
    finally:
        for process in started:
            process.kill()
    assert "now belongs to another mirror" in first.log_text()
    logs = [first.log_text(), second.log_text()]
    expect_no_secret([*shown, *logs, *contents(events), *contents(spark.folder)])
