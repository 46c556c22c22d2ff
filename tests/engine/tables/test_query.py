"""Which queries a flow may have, and what they make of records."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from heliograph.engine.tables.query import FLOW_SCHEMA, check, prepare
from heliograph.errors import QueryRefused

pytestmark = pytest.mark.spark

TIME = datetime(2024, 5, 1, tzinfo=UTC)
RECORD = (b"key", b'{"a":1}', "A.orders", 3, 17, TIME, 0, [("h", b"1")], 8)


def result(spark: SparkSession, sql: str, *records: tuple[Any, ...]) -> list[Row]:
    source = spark.createDataFrame(list(records) or [RECORD], FLOW_SCHEMA)
    rows: list[Row] = prepare(spark, sql, lambda: source).collect()
    return rows


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT DISTINCT value FROM records", "Distinct"),
        ("SELECT count(*) AS value FROM records", "Aggregate"),
        ("SELECT value FROM records GROUP BY value", "Aggregate"),
        ("SELECT value FROM records LIMIT 3", "Limit"),
        ("SELECT value FROM records ORDER BY value", "Sort"),
        ("SELECT a.value FROM records a JOIN records b ON a.offset = b.offset", "Join"),
        ("SELECT value FROM records UNION ALL SELECT value FROM records", "Union"),
        ("SELECT value FROM records LATERAL VIEW explode(array(1, 2)) t AS x", "Generate"),
        ("SELECT explode(array(value, key)) AS value FROM records", "Generate"),
        ("SELECT value, row_number() OVER (ORDER BY offset) AS partition FROM records", "Window"),
        ("SELECT value FROM records WHERE offset = (SELECT max(offset) FROM records)", "a query inside"),
        ("SELECT value FROM records WHERE EXISTS (SELECT 1 FROM records)", "a query inside"),
        ("SELECT 1 AS value", "OneRowRelation"),
        ("SELECT id AS value FROM range(3)", "does not read FROM records"),
        ("SELECT value FROM text.`/etc/hostname`", "LogicalRelation"),
        ("DROP VIEW records", "Drop"),
        ("INSERT INTO x SELECT value FROM records", "InsertInto"),
        ("SELECT json(value) FROM records", "possible are key, value, headers, topic, partition, timestamp"),
        ("SELECT value, key AS value FROM records", "several columns named value"),
        ("SELECT to_json(struct(*)) AS value FROM records", "name the columns"),
        ("SELECT vlue FROM records", "`vlue` cannot be resolved"),
        ("SELECT value FROM record", "`record` cannot be found"),
        ("SELEC", "Syntax error"),
        ("SELECT value, array(1) AS headers FROM records", "headers must be"),
        ("SELECT value, 1 AS topic FROM records", "topic must be a string"),
        ("SELECT value, 'x' AS partition FROM records", "partition must be a number"),
        ("SELECT value, 'x' AS timestamp FROM records", "timestamp must be"),
        ("SELECT _source, value FROM records", "is taken"),
    ],
)
def test_what_a_query_of_a_flow_may_not_do_is_named(spark: SparkSession, sql: str, word: str) -> None:
    with pytest.raises(QueryRefused, match=r"^transform\.sql: ") as refusal:
        check(spark, sql)
    assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_command_is_refused_before_spark_would_run_it(spark: SparkSession) -> None:
    with pytest.raises(QueryRefused):
        check(spark, "CREATE TEMPORARY VIEW made_by_mistake AS SELECT 1")
    assert "made_by_mistake" not in [table.name for table in spark.catalog.listTables()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value FROM records",
        "SELECT * FROM records",
        "SELECT r.* FROM records AS r WHERE r.offset = 17;",
        "SELECT value FROM (SELECT value FROM records WHERE topic = 'A.orders') WHERE length(value) > 3",
        "WITH a AS (SELECT key, value FROM records), b AS (SELECT value FROM a) SELECT value FROM b",
        "SELECT * EXCEPT (offset) FROM records",
    ],
)
def test_what_a_query_does_not_mention_stays_as_it_was(spark: SparkSession, sql: str) -> None:
    [row] = result(spark, sql)
    assert (row.number, row.offset, row.had_value) == (8, 17, True)
    assert (bytes(row.key), bytes(row.value), row.time) == (b"key", b'{"a":1}', int(TIME.timestamp() * 1000))
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("h", b"1")]
    assert row.topic in ("", "A.orders")
    assert row.partition in (None, 3)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("json(value)", b'{"a":1}'),
        ("named_struct('b', get_json_object(json(value), '$.a'))", b'{"b":"1"}'),
        ("map('b', 2)", b'{"b":2}'),
        ("array(1, 2)", b"[1,2]"),
        ("5", b"5"),
        ("mask_json(value, 'a')", b'{"a":"*"}'),
        ("CAST(NULL AS BINARY)", None),
        ("CAST('x' AS INT)", None),
    ],
)
def test_values_of_all_types_become_bytes(spark: SparkSession, expression: str, value: bytes | None) -> None:
    [row] = result(spark, f"SELECT {expression} AS value FROM records")
    assert (row.value if row.value is None else bytes(row.value)) == value


def test_headers_can_be_a_map_and_times_milliseconds(spark: SparkSession) -> None:
    [row] = result(spark, "SELECT map('x', 'y') AS headers, 12345 AS timestamp, 7L AS partition FROM records")
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("x", b"y")]
    assert (row.time, row.partition) == (12345, 7)


def test_an_empty_topic_is_no_topic(spark: SparkSession) -> None:
    [row] = result(spark, "SELECT '' AS topic FROM records")
    assert row.topic is None


def test_a_tombstone_is_known_to_have_had_no_value(spark: SparkSession) -> None:
    [row] = result(spark, "SELECT value FROM records", (b"k", None, *RECORD[2:]))
    assert (row.had_value, row.value) == (False, None)
