"""What docs/spark.md shows works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.tables.query import check
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PAGE = (Path(__file__).parents[3] / "docs" / "spark.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("sql", [text for block in blocks("sql") for text in block.split("\n--")])
def test_queries_of_the_page_are_accepted(spark: SparkSession, sql: str) -> None:
    assert check(spark, sql if "SELECT" in sql.splitlines()[0] else sql.partition("\n")[2])


def test_the_setting_of_the_page_is_accepted(spark: SparkSession) -> None:
    [block] = blocks("properties")
    assert check(spark, block.partition(" = ")[2]) == ["value"]


def test_programs_of_the_page_run(
    spark: SparkSession, primary: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = primary.bootstrap_servers
    for topic in ("orders", "orders-copy", "orders-loud"):
        create_topic(servers, topic)
    raw.append(servers, TopicPartition("orders", 0), [raw.batch_of(numbered(3))])
    (tmp_path / "mm2.properties").write_text(
        f"clusters = primary, backup\nprimary.bootstrap.servers = {servers}\nbackup.bootstrap.servers = {servers}\n"
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"spark": spark, "servers": servers, "checkpoint": str(tmp_path / "checkpoint")}
    for program in blocks("python"):
        exec(program.replace('"mm2.properties"', repr(str(tmp_path / "mm2.properties"))), names)
    query = names["query"]
    query.processAllAvailable()  # type: ignore[attr-defined]
    query.stop()  # type: ignore[attr-defined]
    loud = spark.read.format("heliograph.records").options(subscribe="orders-loud")
    assert loud.option("kafka.bootstrap.servers", servers).load().count() == 3
    assert names["rows"].count() == 3  # type: ignore[attr-defined]
