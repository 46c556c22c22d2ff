"""`heliograph.records` as Spark users see it: reading and writing, in batches and streams."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka import TopicPartition as ClientPartition
from kafka.partitioner.default import murmur2
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import write_transactions

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

FORMAT = "heliograph.records"
HEADERS = "headers array<struct<key:string,value:binary>>"
BEGIN = datetime(2024, 5, 1, tzinfo=UTC)


def numbered(numbers: Iterable[int]) -> list[Record]:
    first = int(BEGIN.timestamp() * 1000)
    return [Record(0, first + n, b"k%d" % n, b"v%d" % n, [("h", b"1"), ("n", None)] if n == 0 else []) for n in numbers]


@pytest.fixture
def servers(primary: EmbeddedCluster) -> str:
    """Where the cluster is."""
    return primary.bootstrap_servers


@pytest.fixture
def topic(servers: str) -> str:
    """Two partitions with five records each."""
    name = create_topic(servers, fresh_name("rows"), 2)
    for partition in range(2):
        raw.append(servers, TopicPartition(name, partition), [raw.batch_of(numbered(range(5)), compression=3)])
    return name


def reading_of(spark: SparkSession, servers: str, **options: str) -> Any:
    return spark.read.format(FORMAT).option("kafka.bootstrap.servers", servers).options(**options)


def read(spark: SparkSession, servers: str, **options: str) -> list[Row]:
    rows: list[Row] = reading_of(spark, servers, **options).load().orderBy("topic", "partition", "offset").collect()
    return rows


def on_cluster(servers: str, topic: str) -> dict[int, list[Record]]:
    with raw.network(servers, topic) as (loop, network):
        starts = reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), EARLIEST))
        found: dict[int, list[Record]] = {number: [] for number in starts}
        for number, record in reading.read_to_end(loop, network, topic, starts):
            found[number].append(record)
    return found


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_columns_of_sparks_own_source(spark: SparkSession, servers: str, topic: str) -> None:
    rows = read(spark, servers, subscribe=topic)
    assert len(rows) == 10
    first = rows[0]
    assert (bytes(first.key), bytes(first.value), first.topic, first.partition, first.offset) == (
        b"k0", b"v0", topic, 0, 0,
    )  # fmt: skip
    assert first.timestamp == BEGIN.replace(tzinfo=None)
    assert rows[4].timestamp == BEGIN.replace(tzinfo=None) + timedelta(milliseconds=4)
    assert first.timestampType == 0
    assert [(header.key, header.value and bytes(header.value)) for header in first.headers] == [
        ("h", b"1"),
        ("n", None),
    ]
    assert rows[1].headers == []


def test_times_that_the_broker_set_are_told_apart(spark: SparkSession, servers: str) -> None:
    name = create_topic(servers, fresh_name("rows"), 1, {"message.timestamp.type": "LogAppendTime"})
    raw.append(servers, TopicPartition(name, 0), [raw.batch_of(numbered([1]))])
    [row] = read(spark, servers, subscribe=name)
    assert row.timestampType == 1
    assert row.timestamp > BEGIN.replace(tzinfo=None) + timedelta(days=1)


def test_only_what_is_committed_is_read(spark: SparkSession, servers: str) -> None:
    name = create_topic(servers, fresh_name("rows"))
    committed = write_transactions(servers, TopicPartition(name, 0), count=6)
    rows = read(spark, servers, assign=json.dumps({name: [0]}))
    assert [bytes(row.key) for row in rows] == [b"kept"] * committed


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({"startingOffsets": '{"T": {"0": 3, "1": -1}}'}, [3, 4]),
        ({"startingOffsets": '{"T": {"0": 3, "1": -2}}', "endingOffsets": '{"T": {"0": 4, "1": 2}}'}, [3, 0, 1]),
        ({"startingTimestamp": str(int(BEGIN.timestamp() * 1000) + 3)}, [3, 4, 3, 4]),
        ({"startingOffsets": "latest"}, []),
        ({"minPartitions": "5"}, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]),
    ],
)
def test_where_a_batch_begins_and_ends(
    spark: SparkSession, servers: str, topic: str, options: dict[str, str], offsets: list[int]
) -> None:
    given = {name: value.replace("T", topic) for name, value in options.items()}
    assert [row.offset for row in read(spark, servers, subscribe=topic, **given)] == offsets


def test_topics_can_be_chosen_by_a_pattern(spark: SparkSession, servers: str, topic: str) -> None:
    assert {row.topic for row in read(spark, servers, subscribePattern=f"{topic[:-1]}.?{topic[-1]}")} == {topic}


def test_records_that_are_gone_are_an_error_unless_told_otherwise(
    spark: SparkSession, servers: str, topic: str
) -> None:
    wanted = {"startingOffsets": json.dumps({topic: {"0": 0, "1": 0}})}
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        admin.delete_records({ClientPartition(topic, 0): 2})
    with pytest.raises(PySparkException, match="offsets 0 to 1 are gone"):
        read(spark, servers, subscribe=topic, **wanted)
    found = read(spark, servers, subscribe=topic, failOnDataLoss="false", **wanted)
    assert [row.offset for row in found] == [2, 3, 4, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": "a", "kafka.sasl.jaas.config": "x"}, "no secret may be one"),
        ({"subscribe": "a", "kafka.ssl.keystore.password": "x"}, "no secret may be one"),
        ({"subscribe": "a", "startingOfsets": "earliest"}, "there is no such option"),
        ({}, "exactly one of subscribe"),
        ({"subscribe": "no-such-topic"}, "there is no topic no-such-topic"),
        ({"subscribe": "a", "configFile": "x"}, "one needs the other"),
        ({"subscribe": "a", "startingOffsets": "x"}, "is no JSON"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    spark: SparkSession, servers: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        read(spark, servers, **options)


def test_a_cluster_of_a_file_is_read_and_its_secrets_show_nowhere(
    spark: SparkSession, servers: str, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"clusters = a, b\na.bootstrap.servers = {servers}\nb.bootstrap.servers = {servers}\n"
                    "a.ssl.truststore.password = hidden-word\na->b.enabled = false\n")  # fmt: skip
    rows = spark.read.format(FORMAT).options(configFile=str(file), cluster="a", subscribe=topic).load()
    assert rows.count() == 10
    assert "hidden-word" not in rows._jdf.queryExecution().toString()


# -- writing ---------------------------------------------------------------------------------------------------------


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
    return spark.createDataFrame(rows, schema)


def write(rows: DataFrame, servers: str, **options: str) -> None:
    rows.write.format(FORMAT).option("kafka.bootstrap.servers", servers).options(**options).mode("append").save()


def test_what_is_written_keeps_times_headers_and_partitions(spark: SparkSession, servers: str) -> None:
    name = create_topic(servers, fresh_name("rows"), 3)
    rows = [(b"k", b"v", name, 2, BEGIN, [("h", b"1")]), (None, None, name, 1, BEGIN + timedelta(milliseconds=7), None)]
    schema = "key binary, value binary, topic string, partition int, timestamp timestamp, " + HEADERS
    write(frame(spark, rows, schema), servers)
    found = on_cluster(servers, name)
    first = int(BEGIN.timestamp() * 1000)
    assert [tuple(record[1:]) for record in found[2]] == [(first, b"k", b"v", [("h", b"1")])]
    assert [tuple(record[1:]) for record in found[1]] == [(first + 7, None, None, [])]


def test_keys_go_where_javas_producer_puts_them(spark: SparkSession, servers: str) -> None:
    name = create_topic(servers, fresh_name("rows"), 5)
    write(frame(spark, [(f"key-{n}", f"v{n}") for n in range(100)], "key string, value string"), servers, topic=name)
    for number, records in on_cluster(servers, name).items():
        assert all((murmur2(record.key) & 0x7FFFFFFF) % 5 == number for record in records)
    assert sum(map(len, on_cluster(servers, name).values())) == 100


def test_a_topic_can_be_copied_with_all_that_it_has(spark: SparkSession, servers: str, topic: str) -> None:
    copy = create_topic(servers, fresh_name("rows"), 2)
    write(reading_of(spark, servers, subscribe=topic).load().drop("topic"), servers, topic=copy, compression="zstd")
    assert on_cluster(servers, copy) == on_cluster(servers, topic)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("key string", "a column named value"),
        ("value string", "a column named topic"),
        ("value string, topic string, colour string", "colour means nothing"),
        ("value int, topic string", "value cannot be int"),
    ],
)
def test_rows_that_are_no_records_are_refused(spark: SparkSession, servers: str, columns: str, message: str) -> None:
    with pytest.raises(PySparkException, match=message):
        write(spark.createDataFrame([], columns), servers)


def test_a_batch_whose_task_dies_after_its_commit_is_written_once(
    spark: SparkSession, servers: str, faults: Path
) -> None:
    name = create_topic(servers, fresh_name("rows"), 1)
    (faults / "committed").touch()
    write(frame(spark, [(f"v{n}",) for n in range(50)], "value string").coalesce(1), servers, topic=name)
    assert not (faults / "committed").exists()
    assert len(on_cluster(servers, name)[0]) == 50


# -- streams ---------------------------------------------------------------------------------------------------------


def reading_stream(spark: SparkSession, servers: str, topic: str, **options: str) -> DataFrame:
    rows = spark.readStream.format(FORMAT).option("kafka.bootstrap.servers", servers)
    return rows.options(subscribe=topic, startingOffsets="earliest", **options).load()


def sink_of(rows: DataFrame, servers: str, copy: str, folder: Path) -> DataStreamWriter:
    sink = rows.writeStream.format(FORMAT).option("kafka.bootstrap.servers", servers)
    return sink.options(topic=copy, checkpointLocation=str(folder)).trigger(availableNow=True)


def copying(spark: SparkSession, servers: str, topic: str, copy: str, folder: Path, **options: str) -> StreamingQuery:
    rows = reading_stream(spark, servers, topic, **options).drop("topic")
    return sink_of(rows, servers, copy, folder).start()


def test_a_stream_goes_on_where_its_checkpoint_is(
    spark: SparkSession, servers: str, topic: str, tmp_path: Path
) -> None:
    copy = create_topic(servers, fresh_name("rows"), 2)
    assert copying(spark, servers, topic, copy, tmp_path).awaitTermination(60)
    raw.append(servers, TopicPartition(topic, 1), [raw.batch_of(numbered(range(5, 9)))])
    query = copying(spark, servers, topic, copy, tmp_path, maxOffsetsPerTrigger="2")
    assert query.awaitTermination(60)
    assert len([item for item in query.recentProgress if item["numInputRows"]]) == 2
    assert [r[1:] for r in on_cluster(servers, copy)[1]] == [r[1:] for r in on_cluster(servers, topic)[1]]
    assert [r[1:] for r in on_cluster(servers, copy)[0]] == [r[1:] for r in on_cluster(servers, topic)[0]]


@pytest.mark.parametrize("point", ["fenced", "bookkeeping-written"])
def test_a_stream_whose_task_dies_writes_everything_once(
    spark: SparkSession, servers: str, topic: str, tmp_path: Path, faults: Path, point: str
) -> None:
    copy = create_topic(servers, fresh_name("rows"), 2)
    (faults / point).touch()
    assert copying(spark, servers, topic, copy, tmp_path).awaitTermination(90)
    assert not (faults / point).exists()
    for number in range(2):
        assert [r[1:] for r in on_cluster(servers, copy)[number]] == [r[1:] for r in on_cluster(servers, topic)[number]]


@pytest.mark.parametrize("tasks", ["2", "5"])
def test_a_micro_batch_that_spark_has_forgotten_is_not_written_again(
    spark: SparkSession, servers: str, topic: str, tmp_path: Path, tasks: str
) -> None:
    """As if the query had died after its last task and before it could write that down; also with other tasks."""
    copy = create_topic(servers, fresh_name("rows"), 2)
    assert copying(spark, servers, topic, copy, tmp_path, minPartitions="2").awaitTermination(60)
    for file in (tmp_path / "commits").iterdir():
        file.unlink()
    assert copying(spark, servers, topic, copy, tmp_path, minPartitions=tasks).awaitTermination(60)
    assert sum(map(len, on_cluster(servers, copy).values())) == 10


def test_a_stream_of_which_a_task_fails_for_good_writes_nothing(
    spark: SparkSession, servers: str, topic: str, tmp_path: Path
) -> None:
    copy = create_topic(servers, fresh_name("rows"), 2)
    rows = reading_stream(spark, servers, topic).selectExpr("value", "IF(partition = 1, 7, 0) AS partition")
    with pytest.raises(PySparkException, match="none with the number 7"):
        sink_of(rows, servers, copy, tmp_path).start().awaitTermination(90)
    assert sum(map(len, on_cluster(servers, copy).values())) == 0
    with Admin(Access("primary", servers.split(","))) as admin:
        assert not admin.open_transactions([TopicPartition(copy, 0), TopicPartition(copy, 1)])


def test_the_markers_topic_is_compacted(spark: SparkSession, primary: EmbeddedCluster, topic: str) -> None:
    servers = primary.bootstrap_servers
    write(frame(spark, [("v",)], "value string"), servers, topic=topic)
    with Admin(Access("primary", servers.split(","))) as admin:
        settings = admin.topic_settings(["mm2-tables.internal"])["mm2-tables.internal"]
    assert settings["cleanup.policy"].value == "compact"
