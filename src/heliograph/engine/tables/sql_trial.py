"""Runs single records through the query of a flow, to see what it makes of them; writes nothing anywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import Row

from heliograph.engine.session import start_session
from heliograph.engine.tables.columns import CREATE_TIME
from heliograph.engine.tables.flow_query import query_settings
from heliograph.engine.tables.query import FLOW_SCHEMA, prepare
from heliograph.transforms.message import Header, Message
from heliograph.transforms.trial import Ending, Step, Trial, TrialBench, snapshot

_STAGE = "transform.sql"


def sql_trials(sql: str, bench: TrialBench, messages: Sequence[Message], settings: Mapping[str, str]) -> list[Trial]:
    """What becomes of each message; QueryRefused if the text is no query for a flow."""
    found = {row["number"]: row for row in _rows(sql, messages, settings)}
    return [_trial(bench, message, found.get(number)) for number, message in enumerate(messages)]


def _rows(sql: str, messages: Sequence[Message], settings: Mapping[str, str]) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="heliograph-try-") as folder:
        spark = start_session(
            1, {**query_settings(), **settings, "spark.master": "local[1]"}, Path(folder) / "spark.log"
        )
        try:
            source = spark.createDataFrame([_row(*item) for item in enumerate(messages)], FLOW_SCHEMA)
            rows: list[Row] = prepare(spark, sql, lambda: source).collect()
            return rows
        finally:
            spark.stop()


def _row(number: int, message: Message) -> tuple[Any, ...]:
    moment = datetime.fromtimestamp((message.timestamp or 0) / 1000, UTC)
    headers = [(header.name, header.value) for header in message.headers]
    place = (message.topic, message.partition, message.offset)
    return (message.key.raw_bytes, message.value.raw_bytes, *place, moment, CREATE_TIME, headers, number)


def _trial(bench: TrialBench, message: Message, row: Row | None) -> Trial:
    before = snapshot(message)
    where = (message.source_topic, message.partition, message.offset)
    if row is None:
        return Trial(*where, before, None, Ending.DROPPED, [Step(_STAGE, "SQL", "left it out")])
    failure = "made its value NULL" if row["had_value"] and row["value"] is None else ""
    failure = failure or ("made its topic NULL" if row["topic"] is None else "")
    if failure:
        return Trial(*where, before, None, Ending.FAILED, [Step(_STAGE, "SQL", f"failed: {failure}")])
    after = snapshot(_message(bench, message, row))
    changes = before.changes_to(after)
    told = f"changed {', '.join(changes)}" if changes else "changed nothing"
    return Trial(*where, before, after, Ending.PASSED, [Step(_STAGE, "SQL", told)])


def _message(bench: TrialBench, message: Message, row: Row) -> Message:
    partition = message.partition if row["partition"] is None else row["partition"]
    key, value = (None if data is None else bytes(data) for data in (row["key"], row["value"]))
    headers = [Header(name, None if data is None else bytes(data)) for name, data in row["headers"] or ()]
    topic = row["topic"] or message.topic
    return bench.message(topic, partition, row["time"], key, value, headers, message.source_topic, message.offset)
