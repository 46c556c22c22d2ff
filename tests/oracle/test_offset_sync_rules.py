"""Our rules for offset syncs and MirrorMaker 2's own classes decide the same, whatever was mirrored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import Run, TopicPartition
from heliograph.sync.offset_sync_store import OffsetSyncStore
from heliograph.sync.offset_syncs import OffsetSyncEmitter

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

_PACKAGE = "org.apache.kafka.connect.mirror"
_WHERE = TopicPartition("t", 0)


class JavaObject:
    """An object of a Java class that is not public, by reflection."""

    def __init__(self, java: JavaGateway, class_name: str, kinds: list[Any], arguments: list[Any]) -> None:
        self._java = java
        self._methods: dict[str, Any] = {}
        self._class = java.jvm.java.lang.Class.forName(f"{_PACKAGE}.{class_name}")
        constructor = self._class.getDeclaredConstructor(self._array(java.jvm.java.lang.Class, kinds))
        constructor.setAccessible(True)
        self._instance = constructor.newInstance(self._array(java.jvm.java.lang.Object, arguments))

    def set(self, field_name: str, value: bool) -> None:
        field = self._class.getDeclaredField(field_name)
        field.setAccessible(True)
        field.setBoolean(self._instance, value)

    def call(self, method_name: str, *arguments: Any) -> Any:
        if method_name not in self._methods:
            methods = self._class.getDeclaredMethods()
            self._methods[method_name] = next(method for method in methods if method.getName() == method_name)
            self._methods[method_name].setAccessible(True)
        array = self._array(self._java.jvm.java.lang.Object, arguments)
        return self._methods[method_name].invoke(self._instance, array)

    def _array(self, kind: Any, items: Any) -> Any:
        array = self._java.new_array(kind, len(items))
        for index, item in enumerate(items):
            array[index] = item
        return array


class JavaStore:
    """MirrorMaker 2's `OffsetSyncStore`, fed by hand."""

    def __init__(self, java: JavaGateway, must_read_to_end: bool) -> None:
        self._jvm = java.jvm
        self._store = JavaObject(java, "OffsetSyncStore", [], [])
        self._store.set("initializationMustReadToEnd", must_read_to_end)
        self._where = java.jvm.org.apache.kafka.common.TopicPartition(*_WHERE)

    def add(self, sync: OffsetSync) -> None:
        record_class = self._jvm.org.apache.kafka.clients.consumer.ConsumerRecord
        self._store.call("handleRecord", record_class("syncs", 0, 0, sync.encode_key(), sync.encode_value()))

    def reached_end(self) -> None:
        self._store.set("readToEnd", True)

    def translate(self, upstream_offset: int) -> int | None:
        offset = self._jvm.java.lang.Long.valueOf(str(upstream_offset))
        answer = self._store.call("translateDownstream", "group", self._where, offset)
        found = answer.getAsLong() if answer.isPresent() else -1
        return None if found < 0 else found


def walk(chance: random.Random) -> Iterator[tuple[int, int]]:
    """Offsets that grow in small and large steps, and now and then go back."""
    upstream = downstream = 0
    largest = chance.choice([3, 50, 10**4, 10**9])
    for _ in range(150):
        if chance.random() < 0.01:
            upstream, downstream = upstream // 2, chance.choice([downstream + 1, downstream // 2])
        else:
            step = chance.choice([1, 1, chance.randint(1, largest)])
            upstream, downstream = upstream + step, downstream + chance.randint(1, step)
        yield upstream, downstream


@pytest.mark.parametrize("must_read_to_end", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_offsets_are_translated_alike(java: JavaGateway, seed: int, must_read_to_end: bool) -> None:
    chance = random.Random(seed)
    syncs = [OffsetSync(_WHERE, *offsets) for offsets in walk(chance)]
    ours, theirs = OffsetSyncStore(must_read_to_end), JavaStore(java, must_read_to_end)
    end_of_loading = chance.choice([0, 20])
    for number, sync in enumerate(syncs):
        ours.add(sync)
        theirs.add(sync)
        if number == end_of_loading:
            assert ours.translate(_WHERE, sync.upstream_offset) is theirs.translate(sync.upstream_offset) is None
            ours.reached_end()
            theirs.reached_end()
        if number in (2, 3, 5, 10, 20, 40, 80, 149):
            asked = [
                one.upstream_offset + chance.choice([-1, 0, 0, 1]) for one in syncs[max(0, number - 20) : number + 1]
            ]
            assert [ours.translate(_WHERE, one) for one in asked] == [theirs.translate(one) for one in asked]


@pytest.mark.parametrize("max_lag", [0, 1, 100])
def test_syncs_are_due_alike(java: JavaGateway, max_lag: int) -> None:
    number = java.jvm.java.lang.Long.valueOf
    long_kind = java.jvm.java.lang.Long.TYPE
    theirs = JavaObject(java, "OffsetSyncWriter$PartitionState", [long_kind], [number(str(max_lag))])
    ours = OffsetSyncEmitter(max_lag)
    for upstream, downstream in walk(random.Random(max_lag)):
        ours.mirrored(_WHERE, Run(upstream, downstream, 1))
        is_due = theirs.call("update", number(str(upstream)), number(str(downstream)))
        theirs.call("reset")
        assert bool(ours.take_due()) is is_due, (upstream, downstream)
