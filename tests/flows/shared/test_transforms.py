"""Transforms on real brokers: what arrives, what does not, where it went, and where groups go on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.recovery.books import read_books
from heliograph.recovery.group_move import GroupPlace
from heliograph.recovery.last_commits import last_places
from heliograph.recovery.verification.plan import plan_verification
from heliograph.recovery.verification.verification import verify_slices
from tests.flows.shared.conftest import SharedMirror
from tests.flows.transform_stage import TransformStage
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_KAFKA = "org.apache.kafka.connect.transforms."
_GROUP = "reader-behind-transforms"
_PERSON = {"id": 7, "email": "jane.doe@example.com", "phone": "+1-555-0100", "ssn": "123-45-6789", "total": 1.10}
TIME = 1_700_000_000_000


def record(value: object, key: str = "k", headers: tuple[tuple[str, bytes | None], ...] = ()) -> Record:
    data = None if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
    return Record(0, TIME, key.encode(), data, headers)


@pytest.mark.transformed(
    {
        "transforms": "addHeaders,maskPII",
        "transforms.addHeaders.type": f"{_KAFKA}InsertHeader",
        "transforms.addHeaders.header": "X-Replicated-From",
        "transforms.addHeaders.value.literal": "source-cluster",
        "transforms.maskPII.type": "com.example.transforms.MaskPIITransform",
        "transforms.maskPII.fields": "email,phone,ssn",
        "transforms.maskPII.mask.char": "*",
        "predicates": "isProduction",
        "predicates.isProduction.type": f"{_KAFKA}predicates.RecordIsTombstone",
        "transforms.addHeaders.predicate": "isProduction",
        "transforms.addHeaders.negate": "true",
    }
)
def test_the_usual_file_works_as_it_stands(stage: TransformStage) -> None:
    """A header except on tombstones; email, phone and ssn masked."""
    given = (("trace", b"\x00\xff"),)
    stage.write("orders", [record(_PERSON, headers=given), record(None), record({"id": 8, "email": None})])
    masked, tombstone, empty = stage.await_arrived(stage.copy("orders"), 3)
    assert json.loads(masked.value or b"") == _PERSON | {
        "email": "ja****************om", "phone": "+1*******00", "ssn": "12*******89",
    }  # fmt: skip
    assert list(masked.headers) == [*given, ("X-Replicated-From", b"source-cluster")]
    assert (masked.key, masked.timestamp) == (b"k", TIME)
    assert (tombstone.value, list(tombstone.headers)) == (None, [])
    assert json.loads(empty.value or b"") == {"id": 8, "email": None}
    assert not stage.arrived(stage.dead_letters)
    proof = verify_slices(plan_verification(stage.flow))
    assert (proof.records, proof.differences, proof.left_out) == (3, [], [])
    stage.file.write_text(stage.file.read_text().replace("email,phone,ssn", "email,phone"))
    [difference] = verify_slices(plan_verification(stage.flow)).differences
    assert difference.offset == 0


@pytest.mark.transformed(
    {
        "transforms": "wrap",
        "transforms.wrap.type": f"{_KAFKA}Cast$Value",
        "transforms.wrap.spec": "id:string",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.log.enable": "true",
        "errors.log.include.messages": "true",
    }
)
def test_bad_records_are_dead_letters_and_hold_nobody_up(stage: TransformStage, shared_mirror: SharedMirror) -> None:
    stage.write("orders", [record({"id": 1}), record(b"{broken"), record({"id": 3})])
    assert [item.value for item in stage.await_arrived(stage.copy("orders"), 2)] == [b'{"id":"1"}', b'{"id":"3"}']
    [letter] = stage.await_arrived(stage.dead_letters, 1)
    told = f"{stage.topic('orders')}-0, from offset 1 on: 1 record could not be transformed: wrap (Cast): "
    wait_until(lambda: told in shared_mirror.process.log_text(), "the failure in the log", 10, 0.1)
    causes = dict(letter.headers)
    assert letter.value == b"{broken"
    assert causes["__connect.errors.topic"] == stage.topic("orders").encode()
    assert causes["__connect.errors.offset"] == b"1"
    assert causes["__connect.errors.stage"] == b"wrap"


@pytest.mark.transformed(
    {
        "transforms": "mask",
        "transforms.mask.type": "MaskPII",
        "transforms.mask.fields": "email",
        "errors.tolerance": "none",
    }
)
def test_told_to_stop_a_bad_record_stops_its_partition_only(stage: TransformStage, shared_mirror: SharedMirror) -> None:
    stage.write("orders", [record({"email": "a@b.example"}), record(b"no object"), record({"email": "c@d.example"})])
    stage.write("orders", [record({"email": "e@f.example"})], partition=1)
    stage.await_arrived(stage.copy("orders"), 1, partition=1)
    told = re.compile(rf"{stage.topic('orders')}-0\b.*offset 1 cannot be transformed")
    wait_until(lambda: told.search(shared_mirror.process.log_text()) is not None, "the reason in the log", 60, 0.2)
    assert len(stage.arrived(stage.copy("orders"))) == 1
    assert not stage.arrived(stage.dead_letters)


@pytest.mark.transformed(
    {
        "transforms": "thin, move",
        "transforms.thin.type": f"{_KAFKA}Filter",
        "transforms.thin.predicate": "third",
        "transforms.move.type": f"{_KAFKA}RegexRouter",
        "transforms.move.regex": "(.*)",
        "transforms.move.replacement": "$1-odd",
        "transforms.move.predicate": "odd",
        "predicates": "third, odd",
        "predicates.third.type": "FieldMatches",
        "predicates.third.path": "rest",
        "predicates.third.operator": "equals",
        "predicates.third.value": "0",
        "predicates.odd.type": "FieldMatches",
        "predicates.odd.path": "odd",
        "predicates.odd.operator": "equals",
        "predicates.odd.value": "true",
        "groups": _GROUP,
        "sync.group.offsets.enabled": "true",
    }
)
def test_groups_go_on_exactly_behind_filters_and_routes(stage: TransformStage) -> None:
    """Every third record is dropped, the others go to two topics by content; a group has read half of them."""
    wanted = [{"n": n, "rest": n % 3, "odd": n % 2 == 1} for n in range(60)]
    stage.write("orders", [record(item) for item in wanted[:40]])
    where = TopicPartition(stage.topic("orders"), 0)
    with Groups(Access("source", stage.source.bootstrap_servers.split(","))) as groups:
        groups.commit({_GROUP: {where: Committed(31)}})
    kept = [item for item in wanted if item["rest"]]
    even, odd = ([item["n"] for item in kept if item["odd"] is is_odd] for is_odd in (False, True))
    home, other = stage.copy("orders"), f"{stage.copy('orders')}-odd"
    stage.write("orders", [record(item) for item in wanted[40:]])
    assert _numbers(stage.await_arrived(home, len(even))) == even
    assert _numbers(stage.await_arrived(other, len(odd))) == odd
    rests = {home: [n for n in even if n >= 31], other: [n for n in odd if n >= 31]}

    def goes_on() -> bool:
        with Groups(Access("target", stage.target.bootstrap_servers.split(","))) as groups:
            committed = groups.committed([_GROUP]).get(_GROUP, {})
        found = {
            topic: _numbers([item for item in stage.arrived(topic) if item.offset >= committed[place].offset])
            for topic in rests
            if (place := TopicPartition(topic, 0)) in committed
        }
        return found == rests

    wait_until(goes_on, "the group to stand where it goes on", 60, 0.5)
    proof = verify_slices(plan_verification(stage.flow))
    assert (proof.records, proof.differences) == (len(even), [])
    # Without the source, as in a failover: by what the target knows alone.
    moved: dict[str, GroupPlace] = {}

    def is_written_down() -> bool:
        """The sync of groups does not wait for checkpoints, which is what the target knows of them."""
        moved.update({place.target.topic: place for place in last_places(read_books(stage.flow))})
        return rests.keys() <= moved.keys()

    wait_until(is_written_down, "checkpoints of the group", 60, 0.5)
    for topic, rest in rests.items():
        assert moved[topic].is_exact
        assert _numbers([item for item in stage.arrived(topic) if item.offset >= moved[topic].target_offset]) == rest


@pytest.mark.transformed(
    {
        "transforms": "discard, drop, rename",
        "transforms.discard.type": f"{_KAFKA}Filter",
        "transforms.discard.predicate": "isUnwanted",
        "predicates.isUnwanted.type": f"{_KAFKA}predicates.TopicNameMatches",
        "predicates.isUnwanted.pattern": ".*unwanted.*",
        "transforms.drop.type": f"{_KAFKA}Filter",
        "transforms.drop.predicate": "isGone",
        "predicates": "isGone, isPlain, isUnwanted",
        "predicates.isGone.type": f"{_KAFKA}predicates.RecordIsTombstone",
        "transforms.rename.type": f"{_KAFKA}RegexRouter",
        "transforms.rename.regex": "(.*)plain(.*)",
        "transforms.rename.replacement": "renamed$2",
        "predicates.isPlain.type": f"{_KAFKA}predicates.TopicNameMatches",
        "predicates.isPlain.pattern": ".*plain.*",
        "transforms.drop.negate": "false",
    },
    topics=("orders", "plain", "unwanted"),
)
def test_a_filtered_tail_does_not_come_again(stage: TransformStage) -> None:
    """Nobody would read again what was dropped, and topics that are only renamed keep their batches."""
    stage.write("unwanted", [record({"n": 9})])
    stage.write("orders", [record({"n": 1}), record(None), record(None)])
    stage.await_arrived(stage.copy("orders"), 1)
    stage.write("plain", [record({"n": 5})])
    stage.await_arrived(f"renamed{stage.topic('plain').removeprefix('plain')}", 1)
    wait_until(lambda: _position(stage) == 2, "the position behind the tail", 30, 0.2)
    assert [item.value for item in stage.arrived(stage.copy("orders"))] == [b'{"n": 1}']
    assert not stage.arrived(stage.copy("unwanted"))
    proof = verify_slices(plan_verification(stage.flow))
    assert (proof.records, proof.differences) == (1, [])  # what was sent elsewhere is not compared


def _position(stage: TransformStage) -> int | None:
    position = read_books(stage.flow).positions.get(TopicPartition(stage.topic("orders"), 0))
    return None if position is None else position.offset


def _numbers(found: list[Record]) -> list[int]:
    return [json.loads(item.value or b"")["n"] for item in found]


@pytest.mark.transformed(
    {
        "transform.sql": (
            "SELECT regexp_replace(CAST(value AS STRING), '(\"email\": *\")[^\"]*', '$1***') AS value, "
            "IF(get_json_object(CAST(value AS STRING), '$.n') % 2 = 1, concat(topic, '-odd'), topic) AS topic "
            "FROM records WHERE get_json_object(CAST(value AS STRING), '$.n') % 3 <> 0"
        )
    }
)
def test_a_query_masks_leaves_out_and_sends_elsewhere(stage: TransformStage) -> None:
    wanted = [{"n": n, "email": f"person{n}@example.com"} for n in range(30)]
    stage.write("orders", [record(item) for item in wanted])
    even, odd = ([n for n in range(30) if n % 3 and n % 2 == rest] for rest in (0, 1))
    home, other = stage.copy("orders"), f"{stage.copy('orders')}-odd"
    found = stage.await_arrived(home, len(even)) + stage.await_arrived(other, len(odd))
    assert _numbers(found) == even + odd
    assert {json.loads(item.value or b"")["email"] for item in found} == {"***"}
    assert (found[0].key, found[0].timestamp) == (b"k", TIME)
    wait_until(lambda: _position(stage) == 29, "the position of the last record", 30, 0.2)
    proof = verify_slices(plan_verification(stage.flow))
    assert (proof.records, [note.partition(":")[0] for note in proof.left_out]) == (0, ["all of it"])


def test_a_query_that_cannot_be_used_is_refused_with_the_reason(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    query = "SELECT key, count(*) AS value FROM records GROUP BY key"
    stage = TransformStage(primary, backup, tmp_path, {"transform.sql": query})
    with stage.mirror() as mirror:
        assert mirror.wait(60) == 2
        assert "transform.sql: Aggregate" in mirror.log_text()


_OUR_TRANSFORMS = """
import pyarrow as pa
import pyarrow.compute as pc


class Double:
    def configure(self, settings):
        self._field = settings["field"]

    def apply(self, record):
        if record.value[self._field] == 7:
            return None
        record.value[self._field] *= 2
        return record


class Shout:
    def apply_batch(self, table):
        keys = pc.utf8_upper(table["key"].cast(pa.string())).cast(pa.binary())
        return table.set_column(table.schema.get_field_index("key"), "key", keys)
"""


@pytest.mark.transformed(
    {
        "transforms": "double, shout",
        "transforms.double.type": "our_transforms.Double",
        "transforms.double.field": "n",
        "transforms.shout.type": "our_transforms.Shout",
    },
    classes=_OUR_TRANSFORMS,
)
def test_classes_of_ones_own_work_row_by_row_and_many_rows_at_once(stage: TransformStage) -> None:
    stage.write("orders", [record({"n": n}, key=f"key-{n}") for n in range(20)])
    found = stage.await_arrived(stage.copy("orders"), 19)
    assert _numbers(found) == [2 * n for n in range(20) if n != 7]
    assert found[0].key == b"KEY-0"
