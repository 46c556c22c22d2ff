"""The stateful part: Spark keeps a bucket between micro-batches, and calls with what is new for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.bucket import Bucket, Found
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.held_pages import HeldKey, HeldPages
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.conflicts.settlement import Change, Settlement, Told
from heliograph.engine.collecting import collect_seldom
from heliograph.engine.conflicts import step
from heliograph.engine.conflicts.step import HeldRow, Mark, Outcome, Tick

OUTPUT = "data binary"
_PART = 2_000  # decisions or changes in one row


class BucketProcessor(StatefulProcessor):
    """One bucket at a time: takes it out of the state, lets it make a step, and puts it back."""

    def __init__(self, bounds: Bounds, make_resolver: Callable[[], Resolver], keeps_view: bool) -> None:
        self._bounds = bounds
        self._make_resolver = make_resolver
        self._keeps_view = keeps_view

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get hold of the state."""
        collect_seldom()
        self._bucket = handle.getValueState("bucket", "data binary")
        self._pages = handle.getMapState("held", "page int", "data binary")
        self._resolver = self._make_resolver()

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803 - Spark's name
    ) -> Iterator[Row]:
        """One step of one bucket."""
        tick, held, records = _sorted(rows)
        pages = HeldPages(self._load_page)
        for item in held:
            pages.put((item.topic, item.key), item.held)
        bucket, new = self._taken_out(tick, records)
        found = bucket.step(new, tick.watermark_ms)
        settlement = Settlement(self._resolver, pages if self._keeps_view else None)
        told, changes = settlement.settle(found, tick.planned_at_ms)
        self._bucket.update((bucket.to_bytes(),))
        for number, data in pages.changed():
            self._pages.updateValue((number,), (data,))
        mark = _mark(bucket, len(new), found)
        yield from _rows(int(key[0]), told, changes, tick, mark)

    def close(self) -> None:
        """Nothing is kept open."""

    def _taken_out(self, tick: Tick, records: list[Candidate]) -> tuple[Bucket, list[Candidate]]:
        """The bucket as it was, and what is new to it."""
        kept = self._bucket.get()
        if kept is not None:
            return Bucket.from_bytes(self._bounds, bytes(kept[0])), records
        before = tick.resumption
        if before is None:
            return Bucket(self._bounds), records
        bucket = Bucket.resumed(self._bounds, before, filter(before.has_seen, records))
        return bucket, [record for record in records if not before.has_seen(record)]

    def _load_page(self, number: int) -> bytes | None:
        kept = self._pages.getValue((number,))
        return None if kept is None else bytes(kept[0])


def stateful_rows(rows: DataFrame, spark: SparkSession, processor: BucketProcessor) -> DataFrame:
    """`rows.groupBy("bucket").transformWithState(…)`, which wants Pandas installed though it makes no use of it."""
    work = TransformWithStateInPandasUdfUtils(processor, "none").transformWithStateUDF
    kind = PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF
    function = UserDefinedFunction(work, OUTPUT, evalType=kind)
    columns = function(*(rows[name] for name in rows.columns))
    grouped = rows.groupBy("bucket")
    schema = spark._jsparkSession.parseDataType(spark._parse_ddl(OUTPUT).json())  # noqa: SLF001
    made = grouped._jgd.transformWithStateInPySpark(columns._jc, schema, "append", "none", None, "")  # noqa: SLF001
    return DataFrame(made, spark)


def _sorted(rows: Iterable[Row]) -> tuple[Tick, list[HeldKey], list[Candidate]]:
    tick: Tick | None = None
    held: list[HeldRow] = []
    records: list[Candidate] = []
    for row in rows:
        if row.kind == step.TICK:
            tick = step.decode_tick(row.data)
        elif row.kind == step.HELD:
            held.append(step.decode_held(row.data))
        else:
            records += step.decode_records(row.data)
    assert tick is not None  # every bucket gets one with every epoch
    held.sort(key=lambda part: part.place)  # Spark does not keep the order of rows
    return tick, [item for part in held for item in part.held], records


def _mark(bucket: Bucket, records: int, found: Found) -> Mark:
    return Mark(bucket.watermark_ms, bucket.oldest_ms, len(bucket), records, len(found.late), bucket.cuts)


def _rows(number: int, told: list[Told], changes: list[Change], tick: Tick, mark: Mark) -> Iterator[Row]:
    for first in range(0, max(len(told), len(changes)), _PART):
        part = Outcome(number, told[first : first + _PART], changes[first : first + _PART])
        yield Row(data=step.encode(part))
    yield Row(data=step.encode(Outcome(number, [], [], tick, mark)))
