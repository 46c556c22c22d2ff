"""Transforms that are plain Python classes: one by one, and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from heliograph.errors import DataError, RetryLater
from heliograph.policy.plugins import PluginError
from heliograph.transforms.message import Header, Message
from heliograph.transforms.python_transform import adapted
from heliograph.transforms.record import Record
from heliograph.transforms.record_table import SCHEMA
from heliograph.transforms.stage import StageOption, Transform
from heliograph.transforms.testing import Dropped, record, run


class Doubles:
    def configure(self, settings: Mapping[str, str]) -> None:
        self._field = settings["field"]

    def apply(self, record: Record) -> Record | None:
        if record.value is None:
            return None
        record.value[self._field] *= 2
        record.headers.add("doubled", "yes")
        return record


class Returns:
    """Returns what the test wants."""

    what: Any = None

    def apply(self, record: Record) -> Any:
        return type(self).what(record)


class Table:
    """Returns what the test makes of the table."""

    change: Any = None
    sizes: list[int] = []  # noqa: RUF012 - emptied by each test

    def apply_batch(self, table: pa.Table) -> Any:
        Table.sizes.append(table.num_rows)
        return Table.change(table)


def returning(what: Any) -> type:
    return type("Returning", (Returns,), {"what": staticmethod(what)})


def tables(change: Any) -> type:
    Table.change, Table.sizes = staticmethod(change), []
    return Table


def test_a_class_changes_and_drops_records() -> None:
    kept, dropped = run(Doubles, {"field": "n"}, record({"n": 2}, offset=4), record(None, offset=5))
    assert isinstance(kept, Record)
    assert kept.value_bytes == b'{"n":4}'
    assert kept.headers.get("doubled") == b"yes"
    assert dropped == Dropped(5)


def test_what_a_class_raises_is_told_without_its_text() -> None:
    (failed,) = run(Doubles, {"field": "n"}, record({"n": None, "secret": "4711"}))
    assert isinstance(failed, DataError)
    assert str(failed).startswith("Doubles: TypeError in test_python_transform.py, line ")
    (failed,) = run(returning(lambda item: item.value["4711"]), {}, record({}))
    assert "4711" not in str(failed)
    assert isinstance(failed, DataError)
    assert failed.__cause__ is None


def test_a_failed_record_is_as_it_was() -> None:
    def half_way(item: Record) -> Record:
        item.topic = "elsewhere"
        item.value["n"].clear()
        item.headers.add("x", "y")
        raise RetryLater("the service is away")

    message = record({"n": [1]}).finish()
    (outcome,) = adapted(returning(half_way)).apply_many([message])
    assert isinstance(outcome, RetryLater)
    assert str(outcome) == "the service is away"
    assert (message.topic, message.headers, message.value.encoded("t")) == ("topic", [], b'{"n":[1]}')
    assert Record(message).value == {"n": [1]}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda item: [item], "a list, but one record cannot become several"),
        (lambda item: (item,), "a tuple, but one record cannot become several"),
        (lambda item: iter([item]), "a list_iterator, but one record cannot become several"),
        (lambda item: {"a": 1}, "a dict, but one record cannot become several"),
        (lambda item: "text", "a str"),
        (lambda item: True, "a bool"),
        (lambda item: record(1), "the record of another call"),
    ],
)
def test_only_the_record_or_none_can_be_returned(what: Any, message: str) -> None:
    (failed,) = run(returning(what), {}, record({"n": 1}))
    assert isinstance(failed, DataError)
    assert str(failed).startswith(f"Returning: apply returned {message}")


def test_a_change_that_cannot_be_names_the_class() -> None:
    def nowhere(item: Record) -> Record:
        item.topic = ""
        return item

    (failed,) = run(returning(nowhere), {}, record({"n": 1}))
    assert str(failed) == "Returning: the topic of a record must be a name"


def test_settings_reach_the_class() -> None:
    class Open:
        def configure(self, settings: Mapping[str, str]) -> None:
            if settings["colour"] != "blue":
                raise ValueError("colour must be blue")

        def apply(self, record: Record) -> Record:
            return record

    class Closed(Open):
        OPTIONS = (StageOption("colour", "A colour.", default="blue", choices=("blue", "red")),)

    class Broken(Open):
        def configure(self, settings: Mapping[str, str]) -> None:
            1 / len(settings)

    run(Open, {"colour": "blue", "anything": "else"})
    run(Closed, {})
    for found, settings, message in [
        (Open, {}, "KeyError: 'colour'"),
        (Open, {"colour": "red"}, "^colour must be blue"),
        (Broken, {}, "ZeroDivisionError: "),
        (Closed, {"colour": "green"}, "colour must be one of blue, red"),
        (Closed, {"anything": "else"}, "there is no setting anything"),
    ]:
        with pytest.raises(ValueError, match=message):
            run(found, settings)


def test_classes_that_cannot_be_used_are_refused_at_once() -> None:
    class Nothing:
        pass

    class Both:
        def apply(self, record: Record) -> Record:
            return record

        def apply_batch(self, table: pa.Table) -> pa.Table:
            return table

    class Later:
        async def apply(self, record: Record) -> Record:
            return record

    class Many:
        def apply(self, record: Record) -> Any:
            yield record

    class Needy:
        def __init__(self, colour: str) -> None: ...

        def apply(self, record: Record) -> Record:
            return record

    for found, message in [
        (Nothing, "Nothing has neither apply"),
        (Both, "one of them must go"),
        (Later, "without async, without yield"),
        (Many, "without async, without yield"),
        (Needy, r"Needy\(\) fails: TypeError: .*colour"),
    ]:
        with pytest.raises(PluginError, match=message):
            adapted(found)


def test_a_transform_of_the_inner_kind_is_taken_as_it_is() -> None:
    class Inner(Transform):
        def apply(self, message: Message) -> Message | None:
            return message

    assert type(adapted(Inner)) is Inner


def test_a_failing_record_is_hidden_unless_the_class_says_otherwise() -> None:
    assert adapted(Doubles).hides_data is True
    assert adapted(type("Open", (Doubles,), {"hides_data": False})).hides_data is False


def test_it_goes_by_the_name_of_the_class() -> None:
    assert type(adapted(Doubles)).__name__ == "Doubles"


def three() -> list[Record]:
    return [record({"n": n}, key=f"k{n}", offset=10 + n, timestamp=n, headers={"h": str(n)}) for n in range(3)]


def values(results: list[Any]) -> list[Any]:
    return [item.value if isinstance(item, Record) else item for item in results]


def test_a_table_has_the_columns_of_sparks_source() -> None:
    seen: list[pa.Table] = []
    run(tables(lambda table: seen.append(table) or table), {}, *three(), record(None, offset=20, timestamp=None))
    (table,) = seen
    assert table.schema.to_string() == (
        "key: binary\nvalue: binary\ntopic: string\npartition: int32\noffset: int64\n"
        "timestamp: timestamp[ms, tz=UTC]\nheaders: list<item: struct<key: string, value: binary>>\n"
        "  child 0, item: struct<key: string, value: binary>\n      child 0, key: string\n      child 1, value: binary"
    )
    assert table["value"].to_pylist() == [b'{"n":0}', b'{"n":1}', b'{"n":2}', None]
    assert table["offset"].to_pylist() == [10, 11, 12, 20]
    assert table["timestamp"].cast(pa.int64()).to_pylist() == [0, 1, 2, None]
    assert table["headers"].to_pylist()[1] == [{"key": "h", "value": b"1"}]


def test_rows_that_are_missing_were_dropped_and_the_order_stays() -> None:
    results = run(tables(lambda table: table.filter(pc.not_equal(table["offset"], 11)).take([1, 0])), {}, *three())
    assert values(results) == [{"n": 0}, Dropped(11), {"n": 2}]
    assert values(run(tables(lambda table: table.slice(0, 0)), {}, *three())) == [Dropped(10), Dropped(11), Dropped(12)]


def test_changed_columns_take_effect_and_missing_ones_do_not() -> None:
    def change(table: pa.Table) -> pa.Table:
        return pa.table(
            {
                "offset": table["offset"],
                "value": pa.array(['{"z":1}', None, '{"z": 3}'], pa.large_string()),
                "topic": pa.array(["a", "topic", "c"]).dictionary_encode(),
                "partition": pa.array([5, 0, 0], pa.int64()),
                "timestamp": pa.array([7_000, 1_000, 2_000], pa.timestamp("us", tz="UTC")),
                "headers": pa.array([[], None, [("x", b"1"), ("x", None)]], table["headers"].type),
            }
        )

    messages = [item.finish() for item in three()]
    outcomes = adapted(tables(change)).apply_many(messages)
    assert outcomes == messages
    left = [(m.value.encoded("t"), m.key.encoded("t"), m.topic, m.partition, m.timestamp, m.headers) for m in messages]
    assert left == [
        (b'{"z":1}', b"k0", "a", 5, 7, []),
        (None, b"k1", "topic", 0, 1, []),
        (b'{"z": 3}', b"k2", "c", 0, 2, [Header("x", b"1"), Header("x", None)]),
    ]


def test_rows_are_told_by_their_offsets_alone() -> None:
    def swap(table: pa.Table) -> pa.Table:
        return pa.table({"offset": table["offset"].take([2, 1, 0]), "value": table["value"]})

    assert values(run(tables(swap), {}, *three())) == [{"n": 2}, {"n": 1}, {"n": 0}]


def test_one_bad_record_does_not_take_the_others_with_it() -> None:
    def fails_at_eleven(table: pa.Table) -> pa.Table:
        if 11 in table["offset"].to_pylist():
            raise ArithmeticError("4711")
        return table

    results = run(tables(fails_at_eleven), {}, *three())
    assert values(results)[::2] == [{"n": 0}, {"n": 2}]
    assert str(results[1]).startswith("Table: ArithmeticError in test_python_transform.py, line ")
    assert "4711" not in str(results[1])


def test_what_may_work_later_is_not_tried_in_halves() -> None:
    def away(table: pa.Table) -> pa.Table:
        raise RetryLater("away")

    results = run(tables(away), {}, *three())
    assert [type(item) for item in results] == [RetryLater] * 3
    assert Table.sizes == [3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: None, "NoneType, not a pyarrow.Table"),
        (lambda table: table.to_pylist(), "list, not a pyarrow.Table"),
        (lambda table: table.drop_columns(["offset"]), "a table without the column offset"),
        (lambda table: table.append_column("extra", table["key"]), "a table with the column extra; possible are key"),
        (lambda table: table.append_column("key", table["key"]), "a table with two columns of the same name"),
        (lambda table: table.take([0, 0]), "several rows with the same offset"),
        (lambda table: pa.table({"offset": [99]}), "rows with offsets that were not in the table"),
        (lambda table: pa.table({"offset": [10, None]}), "a table with no offset in some rows"),
        (
            lambda table: table.set_column(3, "partition", pa.array(["a", "b", "c"])),
            "a table whose column partition is string, not int32",
        ),
    ],
)
def test_tables_that_cannot_be_understood_fail_at_once(change: Any, message: str) -> None:
    results = run(tables(change), {}, *three())
    assert all(str(item).startswith(f"Table: apply_batch returned {message}") for item in results), results
    assert Table.sizes == [3]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("topic", pa.array(["a", None, "c"]), "a record without a topic"),
        ("partition", pa.array([0, -1, 0], pa.int32()), "a record without a partition"),
        ("partition", pa.array([0, None, 0], pa.int32()), "a record without a partition"),
        ("headers", pa.array([[], [(None, b"1")], []], SCHEMA.field("headers").type), "a header without a name"),
    ],
)
def test_rows_that_no_record_can_be_fail_alone(column: str, value: pa.Array, message: str) -> None:
    results = run(tables(lambda table: pa.table({"offset": table["offset"], column: value})), {}, *three())
    assert str(results[1]) == f"Table: apply_batch left {message}"
    assert all(isinstance(item, Record) for item in results[::2])


def test_records_that_one_table_could_not_tell_apart_come_in_several() -> None:
    items = [record({"n": n}, offset=offset, source_topic=topic) for n, (topic, offset) in enumerate(
        [("a", 1), ("a", 2), ("a", 2), ("b", 3), ("b", 4)]
    )]  # fmt: skip
    results = run(tables(lambda table: table), {}, *items)
    assert values(results) == [{"n": n} for n in range(5)]
    assert Table.sizes == [2, 1, 2]


def test_a_record_that_cannot_be_written_for_the_table_fails_alone() -> None:
    items = three()
    items[1].value = {"n": object()}
    results = run(tables(lambda table: table), {}, *items)
    assert isinstance(results[1], DataError)
    assert values(results)[::2] == [{"n": 0}, {"n": 2}]
    assert Table.sizes == [2]


def test_a_table_transform_also_takes_one_message() -> None:
    message = record({"n": 1}).finish()
    assert adapted(tables(lambda table: table)).apply(message) is message
    assert adapted(tables(lambda table: table.slice(0, 0))).apply(message) is None
    with pytest.raises(DataError, match="NoneType"):
        adapted(tables(lambda table: None)).apply(message)
