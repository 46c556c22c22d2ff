"""What a session on a cluster is started with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from heliograph.engine import spark_cluster
from heliograph.engine.spark_cluster import (
    cluster_settings,
    control_addresses,
    driver_host,
    executor_python,
    is_local,
)
from heliograph.engine.submission import is_submitted, submitted_settings

MASTER = {"spark.master": "spark://127.0.0.1:7077"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, True), ({"spark.master": "local[4,2]"}, True), ({"spark.master": "yarn"}, False), (MASTER, False)],
)
def test_where_tasks_run(settings: dict[str, str], expected: bool) -> None:
    assert is_local(settings) is expected


def test_the_driver_is_called_at_the_address_that_leads_to_the_master() -> None:
    assert driver_host("spark://127.0.0.1:7077,127.0.0.2:7077") == "127.0.0.1"
    assert control_addresses(MASTER) == ("127.0.0.1", "127.0.0.1")
    assert control_addresses({}) == ("127.0.0.1", "127.0.0.1")


def test_addresses_of_the_user_win() -> None:
    chosen = {"spark.master": "k8s://there", "spark.driver.host": "service", "spark.driver.bindAddress": "0.0.0.0"}
    assert control_addresses(chosen) == ("service", "0.0.0.0")
    assert control_addresses({"spark.master": "yarn", "spark.driver.host": "here"}) == ("here", "here")


def test_a_prepared_cluster_is_sent_nothing(tmp_path: Path) -> None:
    for prepared in ("spark.archives", "spark.pyspark.python"):
        settings = cluster_settings({**MASTER, prepared: "theirs"}, tmp_path, ())
        assert settings.keys() == {"spark.driver.host", "spark.driver.bindAddress"}
    assert not list(tmp_path.iterdir())
    assert executor_python({"spark.pyspark.python": "/opt/python"}) == "/opt/python"


def test_executors_find_what_they_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_cluster, "dependencies_zip", lambda: tmp_path / "others.zip")
    settings = cluster_settings(MASTER, tmp_path, ())
    folders = [entry.partition("#")[2] for entry in settings["spark.archives"].split(",")]
    assert settings["spark.executorEnv.PYTHONPATH"].split(":") == folders
    assert (tmp_path / "program.zip").is_file()
    assert executor_python(MASTER) == f"python3.{sys.version_info[1]}"


def test_under_spark_submit_planners_find_the_drivers_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_cluster, "dependencies_zip", lambda: tmp_path / "others.zip")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert is_submitted()
    found = cluster_settings(MASTER, tmp_path, ())["spark.executorEnv.PYTHONPATH"].split(":")
    assert set(found[2:]) >= {path for path in sys.path if path.endswith("site-packages")}


def test_without_spark_submit_there_is_nothing_to_read() -> None:
    assert not is_submitted()
    assert submitted_settings() == {}
