"""What a file may not ask of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.errors import ConfigError

FILE = """clusters = a, b
a.bootstrap.servers = a:9092
b.bootstrap.servers = b:9092
a->b.enabled = true
b->a.enabled = true
a->b.topics = orders
b->a.topics = orders
"""
DETECTION = "conflicts.topics = orders\n"


def problems(folder: Path, more: str) -> str:
    (folder / "mm2.properties").write_text(FILE + more)
    try:
        load(folder / "mm2.properties", {})
    except ConfigError as error:
        return str(error)
    return ""


def test_spark_connect_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, "spark.master = sc://there:15002\n")
    assert "mm2.properties:8: error: spark.master: Spark Connect" in found
    assert "spark://…" in found


def test_detection_on_a_cluster_needs_a_shared_folder(tmp_path: Path) -> None:
    found = problems(tmp_path, DETECTION + "spark.master = yarn\n")
    assert "mm2.properties:9: error: spark.master: detection of conflicts keeps state" in found
    shared = "spark.sql.streaming.checkpointLocation = hdfs:///heliograph\n"
    assert problems(tmp_path, DETECTION + "spark.master = yarn\n" + shared) == ""


@pytest.mark.parametrize("master", ["local[4]", "spark://there:7077", "yarn", "k8s://https://there:6443"])
def test_clusters_are_fine(tmp_path: Path, master: str) -> None:
    assert problems(tmp_path, f"spark.master = {master}\n") == ""
    assert problems(tmp_path, DETECTION) == ""
