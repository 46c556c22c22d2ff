"""Proof on real brokers: every single fault is found and named, and nothing else is taken for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.model import Run
from heliograph.recovery.verification.plan import Scope, plan_verification
from heliograph.recovery.verification.verification import Verification, verify_locally, verify_slices
from tests.recovery.handmade_mirror import HandmadeMirror, in_batches, some_records
from tests.sync.moving import Moving, make_moving
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

Pair = tuple[EmbeddedCluster, EmbeddedCluster]
Maker = Callable[..., HandmadeMirror]


@pytest.fixture
def make(cluster_pair: Pair, tmp_path: Path) -> Maker:
    """Makes a partition that seems to be mirrored."""

    def make(settings: dict[str, str] | None = None) -> HandmadeMirror:
        topic = fresh_name("verified")
        return HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic, settings)

    return make


def verified(moving: Moving, scope: Scope | None = None) -> Verification:
    return verify_slices(plan_verification(moving.flow, scope))


def _altered(records: list[Record], place: int, **fields: object) -> list[Record]:
    spoilt = list(records)
    spoilt[place] = spoilt[place]._replace(**fields)  # type: ignore[arg-type]
    return spoilt


FAULTS: dict[str, tuple[Callable[[list[Record]], list[Record]], int, list[str]]] = {
    "a byte": (lambda r: _altered(r, 57, value=(r[57].value or b"")[:-1] + b"!"), 57, ["value"]),
    "a key": (lambda r: _altered(r, 57, key=b"other"), 57, ["key"]),
    "a header": (lambda r: _altered(r, 57, headers=[("header", b"x")]), 57, ["headers"]),
    "a time": (lambda r: _altered(r, 57, timestamp=r[57].timestamp + 1), 57, ["timestamp"]),
    "a deletion": (lambda r: _altered(r, 57, value=None), 57, ["value"]),
    "dropped": (lambda r: r[:57] + r[58:], 57, ["key", "value", "headers", "timestamp"]),
    "repeated": (lambda r: [*r[:57], r[57], *r[57:]], 58, ["key", "value", "headers", "timestamp"]),
    "swapped": (lambda r: [*r[:57], r[58], r[57], *r[59:]], 57, ["key", "value", "headers", "timestamp"]),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("deep", [False, True])
def test_every_single_fault_is_found_and_named(make: Maker, fault: str, deep: bool) -> None:
    spoil, place, fields = FAULTS[fault]
    mirror, records = make(), some_records(100)
    mirror.write(in_batches(records, 10), in_batches(spoil(records), 10))
    mirror.enter([Run(0, 0, 100)])
    result = verified(mirror.moving, Scope(opens_all=deep))
    [found] = result.differences
    assert not result.is_equal
    assert found.source_record is not None
    assert found.source_record.offset == place
    assert found.fields == fields
    assert f"{mirror.source} offset {place}" in str(found)


def test_copies_are_equal_and_all_is_counted(make: Maker) -> None:
    mirror, records = make(), some_records(100)
    mirror.write(in_batches(records, 10), in_batches(records, 10))
    mirror.enter([Run(0, 0, 100)])
    result = verify_locally(mirror.moving.config, mirror.moving.flow)
    assert result.is_equal
    assert (result.records, result.waiting, result.left_out) == (100, 0, [])
    assert result.bytes > 2000


def test_a_record_of_a_stranger_is_found_also_between_two_transactions(make: Maker) -> None:
    mirror, records = make(), some_records(20)
    stranger = Record(0, 5, b"stranger", b"was here")
    mirror.write(in_batches(records, 10), in_batches([*records[:10], stranger, *records[10:]], 1))
    mirror.enter([Run(0, 0, 10)])
    mirror.enter([Run(10, 11, 10)])
    [found] = verified(mirror.moving).differences
    assert found.target_record is not None
    assert (found.target_record.offset, found.target_record.key) == (10, b"stranger")
    scope = Scope(from_offsets={mirror.source: 10})
    assert [str(item) for item in verified(mirror.moving, scope).differences] == [str(found)]


def test_a_target_that_lost_its_last_records_is_different(make: Maker) -> None:
    mirror, records = make(), some_records(20)
    mirror.write(in_batches(records, 10), in_batches(records[:17], 10))
    mirror.enter([Run(0, 0, 20)])
    [found] = verified(mirror.moving).differences
    assert str(found) == f"{mirror.source} offset 17: missing at the end of {mirror.target}"


def test_records_that_were_never_mirrored_at_the_start_are_missed(make: Maker) -> None:
    mirror, records = make(), some_records(20)
    mirror.write(in_batches(records, 10), in_batches(records[5:], 10))
    mirror.enter([Run(5, 0, 15)])
    [found] = verified(mirror.moving).differences
    assert found.source_record is not None
    assert found.source_record.offset == 0


@pytest.mark.parametrize("megabytes", [8, pytest.param(1024, marks=pytest.mark.long)])
@pytest.mark.parametrize("fault", ["a byte", "dropped", "repeated", "swapped", "a time"])
def test_a_single_fault_is_found_in_a_large_topic(make: Maker, megabytes: int, fault: str) -> None:
    count, size = megabytes * 1024, 1000
    mirror, place = make(), megabytes * 1024 * 3 // 4 + 57
    step = 1024  # records are made and written in parts, so that a gigabyte need not be held
    for first in range(0, count, step):
        records = some_records(step, size, first)
        spoilt = FAULTS[fault][0](records) if first <= place < first + step else records
        mirror.write(in_batches(records, 60), in_batches(spoilt, 60))
    parts = range(0, count, count // 4)
    for first in parts:
        mirror.enter([Run(first, first, count // 4)], byte_count=megabytes * 1024 * 1024 // 4)
    result = verified(mirror.moving)
    found = result.differences[0]
    assert found.source_record is not None
    assert found.source_record.offset == place // step * step + FAULTS[fault][1]
