"""Folders for the state of queries: new ones, and what is left of old ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from heliograph.engine.conflicts.driver import DetectionDriver
from heliograph.engine.mirror import Mirror
from heliograph.engine.session import start_session
from heliograph.engine.state_folders import StateFolders, remove


class Settings:
    """As much of the settings of detection as counts."""

    def __init__(self, topic: str = "progress", servers: tuple[str, ...] = ("a:1", "b:1")) -> None:
        self.progress_topic = topic
        self.access = self
        self.bootstrap_servers = servers
        self.name = "conflicts on a"


def folders(storage: object, *given: Any) -> StateFolders:
    return StateFolders(str(storage), cast(Any, Settings(*given)))


def test_each_is_new_and_tells_whose_it_is() -> None:
    first, second = folders("hdfs:///x/").new(), folders("hdfs:///x").new()
    assert first != second
    assert first.rpartition("-")[0] == second.rpartition("-")[0]
    assert first.startswith("hdfs:///x/heliograph-")


@pytest.mark.parametrize("other", [("other",), ("progress", ("a:1", "c:1"))])
def test_those_of_other_clusters_have_other_names(other: tuple[Any, ...]) -> None:
    assert folders("x").new().rpartition("-")[0] != folders("x", *other).new().rpartition("-")[0]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start_session(1, {}, tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    session.stop()


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_what_is_left_is_deleted_and_nothing_else(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    ours, theirs = folders(f"{scheme}{tmp_path}"), folders(f"{scheme}{tmp_path}", "other")
    kept = [Path(theirs.new().removeprefix(scheme)), tmp_path / "heliograph-0123456789abcdef", tmp_path / "other"]
    left = [Path(ours.new().removeprefix(scheme)) for _ in range(2)]
    for folder in (*left, *kept):
        (folder / "state" / "0").mkdir(parents=True)
        (folder / "state" / "0" / "1.delta").touch()
    ours.remove_all(spark)
    assert {*tmp_path.iterdir()} == {*kept}
    remove(spark, f"{scheme}{kept[0]}")
    assert {*tmp_path.iterdir()} == {*kept[1:]}
    ours.remove_all(spark)


@pytest.mark.spark
def test_where_nothing_was_ever_stored_there_is_nothing_to_delete(spark: SparkSession, tmp_path: Path) -> None:
    folders(tmp_path / "none").remove_all(spark)


@pytest.mark.spark
def test_a_query_of_detection_has_a_folder_as_long_as_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    left = Path(folders(shared).new())
    left.mkdir(parents=True)
    mirror = Mirror([], {"spark.sql.streaming.checkpointLocation": str(shared)})
    detection = object.__new__(DetectionDriver)
    detection.settings = cast(Any, Settings())
    with mirror._checkpoint_of(detection, spark) as folder:
        assert not left.exists()
        assert Path(folder).parent == shared
        (Path(folder) / "state").mkdir(parents=True)
    assert not [*shared.iterdir()]
    mirror.stop()


@pytest.mark.spark
def test_a_storage_that_refuses_to_delete_is_told(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mirror = Mirror([], {"spark.sql.streaming.checkpointLocation": "nowhere://x"})
    detection = object.__new__(DetectionDriver)
    detection.settings = cast(Any, Settings())
    with mirror._checkpoint_of(detection, spark) as folder:
        assert folder.startswith("nowhere://x/heliograph-")
    assert "the state of former queries cannot be deleted" in caplog.text
    mirror.stop()
