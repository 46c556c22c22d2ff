"""The user's query over `records`, made into one that the lanes of a flow can run.

Each record that the query lets pass must still be known by its place on the source. So every SELECT in the text gets
one more column, which carries that place, and what the query leaves out of a record. Only what makes at most one row of
each record, within one Spark task, is allowed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
)
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from heliograph.engine.tables import functions
from heliograph.engine.tables.columns import NUMBER, SCHEMA
from heliograph.engine.tables.lane_writer import COLUMNS
from heliograph.errors import QueryRefused

FLOW_SCHEMA = f"{SCHEMA}, {NUMBER} int"
VIEW = "records"
_QUERY_LOG = logging.getLogger("SQLQueryContextLogger")
OUTPUT = ("key", "value", "headers", "topic", "partition", "timestamp")
_IGNORED = ("offset", "timestampType")  # come along with `*`, and mean nothing on the target
_SOURCE = "_source"
_HEADERS = "array<struct<key:string,value:binary>>"
_ALLOWED = {
    "Project", "Filter", "SubqueryAlias", "View", "WithCTE", "CTERelationDef", "CTERelationRef",
    "StreamingRelationV2", "StreamingDataSourceV2Relation", "LocalRelation", "LogicalRDD",
}  # fmt: skip
_PARSED = {
    "Project", "Filter", "SubqueryAlias", "UnresolvedRelation", "UnresolvedWith", "UnresolvedSubqueryColumnAliases",
}  # fmt: skip
_RELATIONS = {"StreamingRelationV2", "StreamingDataSourceV2Relation", "LocalRelation", "LogicalRDD"}
_WHY = {
    "Aggregate": "groups records", "Distinct": "compares records with each other", "Deduplicate": "compares records",
    "Join": "joins records", "Union": "makes several streams one", "Sort": "sorts records",
    "GlobalLimit": "counts records", "LocalLimit": "counts records", "Window": "looks at several records at once",
    "Generate": "makes several rows of one record", "Offset": "counts records", "Tail": "counts records",
    "RepartitionByExpression": "moves records between tasks", "Repartition": "moves records between tasks",
    "UnresolvedHaving": "groups records", "UnresolvedInlineTable": "does not read FROM records",
    "UnresolvedHint": "moves records between tasks", "UnresolvedTableValuedFunction": "does not read FROM records",
    "OneRowRelation": "does not read FROM records", "Range": "reads something else than records",
    "Sample": "picks records by chance", "EventTimeWatermark": "keeps state between records",
}  # fmt: skip


def prepare(spark: SparkSession, sql: str, load: Callable[[], DataFrame]) -> DataFrame:
    """The rows for the writer (`COLUMNS`) that a query makes of the rows of a flow's source."""
    functions.register(spark)
    source = load()
    first = _analysed(spark, sql, source, ())
    outputs = _outputs(first)
    missing = [name for name in OUTPUT if name not in outputs]
    return _for_writer(_analysed(spark, sql, source, missing), outputs)


def check(spark: SparkSession, sql: str) -> list[str]:
    """Look at a query without running it; the names of what it puts into records. Raises QueryRefused."""
    empty = spark.createDataFrame([], FLOW_SCHEMA)
    prepared = prepare(spark, sql, lambda: empty)
    assert prepared is not None
    return [name for name in _outputs(_analysed(spark, sql, empty, ())) if name in OUTPUT]


def _analysed(spark: SparkSession, sql: str, source: DataFrame, carried: Iterable[str]) -> DataFrame:
    fields = [f"{NUMBER} AS number", "offset AS offset", "value IS NOT NULL AS had_value"]
    fields += [f"{name} AS {name}" for name in carried]
    visible = [name for name in source.columns if name != NUMBER]
    source.selectExpr(*visible, f"struct({', '.join(fields)}) AS {_SOURCE}").createOrReplaceTempView(VIEW)
    _QUERY_LOG.setLevel(logging.CRITICAL)  # it would print pages of Java; what matters is told by what is raised
    try:
        tree = _Tree(spark)
        parsed = tree.parse(sql)
        _check_parsed(parsed)
        _check_plan(tree.frame(parsed))
        rows = tree.frame(tree.carrying(parsed))
    except PySparkException as error:
        raise QueryRefused(f"transform.sql: {_message(error)}") from error
    _check_plan(rows)
    return rows


def _message(error: Exception) -> str:
    """What Spark says, without its codes, plans and the column that users know nothing of."""
    text = str(error).partition("SQLSTATE")[0].partition("JVM stacktrace")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines).replace(f"`{_SOURCE}`, ", "").replace(f", `{_SOURCE}`", "")


class _Tree:
    """Spark's own tree of a query, before names are resolved."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._session = spark._jsparkSession  # noqa: SLF001 - Spark's parser has no other door
        self._jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as above
        self._parser = self._session.sessionState().sqlParser()

    def parse(self, sql: str) -> Any:
        """The tree of one query."""
        return self._parser.parsePlan(sql.strip().rstrip(";"))

    def frame(self, plan: Any) -> DataFrame:
        """What the tree stands for, with all names resolved."""
        dataset = self._jvm.org.apache.spark.sql.classic.Dataset
        return DataFrame(dataset.ofRows(self._session, plan), self._spark)

    def carrying(self, node: Any) -> Any:
        """The same tree in which every SELECT passes the hidden column on."""
        name = node.nodeName()
        if name == "UnresolvedWith":
            return self._carrying_with(node)
        children = [self.carrying(child) for child in _elements(node.children())]
        if name == "Project":
            return node.copy(self._with_source(node.projectList()), children[0])
        return node.withNewChildren(self._sequence(children)) if children else node

    def _carrying_with(self, node: Any) -> Any:
        relations = []
        for item in _elements(node.cteRelations()):
            name, query, depth = (item.productElement(place) for place in range(3))
            relations.append(self._jvm.scala.Tuple3(name, self.carrying(query), depth))
        return node.copy(self.carrying(node.child()), self._sequence(relations), node.allowRecursion())

    def _with_source(self, chosen: Any) -> Any:
        items = list(_elements(chosen))
        if any(_is_star(item) for item in items):
            return chosen  # which has it already
        for item in items:
            if any(_is_star(part) for part in _descendants(item)):
                raise QueryRefused("transform.sql: `*` inside of an expression: name the columns instead")
        return self._sequence([*items, self._parser.parseExpression(_SOURCE)])

    def _sequence(self, items: list[Any]) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for item in items:
            listed.add(item)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(listed).toSeq()


def _elements(sequence: Any) -> Iterator[Any]:
    for index in range(sequence.size()):
        yield sequence.apply(index)


def _descendants(node: Any) -> Iterator[Any]:
    for child in _elements(node.children()):
        yield child
        yield from _descendants(child)


def _is_star(expression: Any) -> bool:
    return str(expression.nodeName()).startswith("UnresolvedStar")


def _refused(name: str) -> QueryRefused:
    why = _WHY.get(name, "does something else")
    return QueryRefused(
        f"transform.sql: {name} {why}; a query of a flow looks at one record after the other: it chooses and changes "
        "columns, and leaves out rows"
    )


def _check_parsed(node: Any) -> None:
    """Nothing but one SELECT: a command would be executed as soon as Spark looks at it."""
    name = str(node.nodeName())
    if name not in _PARSED:
        raise _refused(name)
    for child in _elements(node.children()):
        _check_parsed(child)
    if name == "UnresolvedWith":
        for item in _elements(node.cteRelations()):
            _check_parsed(item.productElement(1))


def _check_plan(rows: DataFrame) -> None:
    plan = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark has no other way to see a plan
    relations = 0
    for node in (plan, *_descendants(plan)):
        name = str(node.nodeName())
        if name not in _ALLOWED:
            raise _refused(name)
        relations += name in _RELATIONS
        if node.subqueries().size():
            raise QueryRefused("transform.sql: a query inside of an expression would read other rows than the record's")
    if relations != 1:
        raise QueryRefused(f"transform.sql: must read FROM {VIEW}, once")


def _outputs(rows: DataFrame) -> dict[str, DataType]:
    """The columns that the user has chosen, with their types."""
    names = [name for name in rows.columns if name != _SOURCE]
    if len(rows.columns) - len(names) != 1:
        raise QueryRefused(f"transform.sql: the name {_SOURCE} is taken")
    for name in names:
        if name not in (*OUTPUT, *_IGNORED):
            raise QueryRefused(
                f"transform.sql: the column {name} means nothing to a record; name it with AS: possible are "
                f"{', '.join(OUTPUT)}"
            )
        if names.count(name) > 1:
            raise QueryRefused(f"transform.sql: there are several columns named {name}")
    return {field.name: field.dataType for field in rows.schema.fields if field.name in OUTPUT}


def _for_writer(rows: DataFrame, outputs: dict[str, DataType]) -> DataFrame:
    def column(name: str, default: str = "") -> str:
        return name if name in outputs else default or f"{_SOURCE}.{name}"

    expressions = {
        "number": f"{_SOURCE}.number",
        "offset": f"{_SOURCE}.offset",
        "had_value": f"{_SOURCE}.had_value",
        "key": _bytes(column("key"), outputs.get("key", BinaryType())),
        "value": _bytes(column("value"), outputs.get("value", BinaryType())),
        "headers": _headers(column("headers"), outputs.get("headers")),
        "topic": _topic(outputs.get("topic")),
        "partition": _whole("partition", outputs.get("partition")),
        "time": _time(column("timestamp"), outputs.get("timestamp", TimestampType())),
    }
    return rows.selectExpr(*(f"{expressions[name]} AS {name}" for name in COLUMNS))


def _bytes(column: str, kind: DataType) -> str:
    if isinstance(kind, BinaryType):
        return column
    if isinstance(kind, (StructType, MapType, ArrayType)):
        return f"CAST(to_json({column}) AS BINARY)"
    return f"CAST(CAST({column} AS STRING) AS BINARY)"


def _headers(column: str, kind: DataType | None) -> str:
    if kind is None:
        return column
    if isinstance(kind, MapType):
        return f"CAST(map_entries({column}) AS {_HEADERS})"
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, StructType) and len(kind.elementType) == 2:
        return f"CAST({column} AS {_HEADERS})"
    raise QueryRefused(f"transform.sql: headers must be a map or {_HEADERS}, not {kind.simpleString()}")


def _topic(kind: DataType | None) -> str:
    """Empty means the record's own topic; NULL cannot be had."""
    if kind is None:
        return "''"
    if not isinstance(kind, StringType):
        raise QueryRefused(f"transform.sql: topic must be a string, not {kind.simpleString()}")
    return "nullif(topic, '')"


def _whole(column: str, kind: DataType | None) -> str:
    if kind is None:
        return "CAST(NULL AS INT)"
    if not isinstance(kind, NumericType):
        raise QueryRefused(f"transform.sql: {column} must be a number, not {kind.simpleString()}")
    return f"CAST({column} AS INT)"


def _time(column: str, kind: DataType) -> str:
    if isinstance(kind, TimestampType):
        return f"unix_millis({column})"
    if isinstance(kind, NumericType):
        return f"CAST({column} AS BIGINT)"
    raise QueryRefused(f"transform.sql: timestamp must be a timestamp or ms since 1970, not {kind.simpleString()}")


def map_in_arrow(rows: DataFrame, work: Callable[..., Any], schema: str) -> DataFrame:
    """`rows.mapInArrow(work, schema)`, which itself wants Pandas to be installed though it makes no use of it."""
    function = UserDefinedFunction(work, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    columns = function(*(rows[name] for name in rows.columns))
    mapped = rows._jdf.mapInArrow(columns._jc, False, None)  # noqa: SLF001 - what `mapInArrow` does
    return DataFrame(mapped, rows.sparkSession)
