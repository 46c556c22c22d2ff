"""What the topic of progress tells whoever takes over, whatever the tasks were before."""

from __future__ import annotations

import pytest

from heliograph.conflicts.bucket import BUCKETS, CutKey, Resumption
from heliograph.conflicts.timeline import Cut
from heliograph.engine.conflicts.progress import (
    KnownProgress,
    Progress,
    owner_record,
    progress_of,
    progress_record,
    run_of,
)
from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.conflicts.samples import record
from tests.engine.conflicts.samples import mark, written, written_by

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("us.orders", 3)


def places(one: int, other: int) -> dict[str, dict[int, int]]:
    return {"orders": {0: one}, "us.orders": {3: other}}


def test_in_the_beginning_nothing_is_known() -> None:
    known = KnownProgress([owner_record("me", 0)])
    assert not known.read_to()
    assert known.owner == "me"
    assert (known.read_to(), known.oldest_ms(), known.watermark_ms) == ({}, None, None)
    assert known.resumption(0) is None


def test_the_last_one_who_announced_himself_is_the_owner() -> None:
    records = [owner_record("one", 0), *written_by(2, places(1, 1), mark()), owner_record("other", 1)]
    assert KnownProgress(records).owner == "other"
    assert KnownProgress().owner == ""


def test_a_bucket_goes_on_where_its_task_had_read_to() -> None:
    order = record("eu", 5).order
    cut = CutKey("orders", b"k", Cut(order, order))
    known = KnownProgress(
        [
            written(0, places(10, 20), {0: mark(100), 2: mark(101)}),
            written(1, places(12, 19), {1: mark(102, cuts=[cut])}),
        ]
    )
    assert known.read_to()
    assert known.resumption(0) == Resumption(100, places(10, 20), [])
    assert known.resumption(2) == Resumption(101, places(10, 20), [])
    assert known.resumption(1) == Resumption(102, places(12, 19), [cut])
    assert known.resumption(3) is None


def test_read_to_tells_who_is_furthest_behind_and_who_furthest_ahead() -> None:
    known = KnownProgress([written(0, places(10, 20), {0: mark()}), written(1, places(12, 19), {1: mark()})])
    assert known.read_to() == {ONE: (10, 12), OTHER: (19, 20)}


def test_a_partition_that_only_some_have_read_is_known() -> None:
    known = KnownProgress([written(0, {"orders": {0: 7}}, {0: mark()}), written(1, places(9, 4), {1: mark()})])
    assert known.read_to() == {ONE: (7, 9), OTHER: (4, 4)}


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 4), (1, 3), (16, 1), (1, 16)])
def test_tasks_may_have_been_more_or_fewer(before: int, after: int) -> None:
    old, new = written_by(before, places(1, 1), mark(1)), written_by(after, places(5, 5), mark(5))
    known = KnownProgress([*old, *new])
    assert all(known.resumption(bucket) == Resumption(5, places(5, 5), []) for bucket in range(BUCKETS))
    assert known.read_to() == {ONE: (5, 5), OTHER: (5, 5)}
    assert known.watermark_ms == 5


def test_if_only_some_of_the_new_tasks_have_written_the_rest_counts_as_before() -> None:
    old, new = written_by(4, places(1, 1), mark(1)), written_by(2, places(5, 5), mark(5))
    known = KnownProgress([*old, new[0]])
    assert known.read_to() == {ONE: (1, 5), OTHER: (1, 5)}
    assert known.watermark_ms == 1
    for bucket in range(BUCKETS):
        found = known.resumption(bucket)
        assert found is not None
        assert found.watermark_ms == (1 if bucket % 2 else 5)


def test_the_watermark_is_that_of_the_bucket_that_is_furthest_behind_once_all_have_one() -> None:
    one, other = written_by(2, places(1, 1), mark(7))
    assert KnownProgress([one]).watermark_ms is None
    behind = written(1, places(1, 1), {bucket: mark(3 if bucket == 5 else 9) for bucket in range(1, BUCKETS, 2)})
    assert KnownProgress([one, other]).watermark_ms == 7
    assert KnownProgress([one, other, behind]).watermark_ms == 3


def test_the_oldest_that_waits_is_that_of_all_buckets() -> None:
    known = KnownProgress([written(0, {}, {0: mark(oldest_ms=50), 1: mark()}), written(1, {}, {2: mark(oldest_ms=40)})])
    assert known.oldest_ms() == 40
    known.add(written(1, {}, {2: mark()}, epoch=2))
    assert known.oldest_ms() == 50
    known.add(written(0, {}, {0: mark(), 1: mark()}, epoch=2))
    assert known.oldest_ms() is None


def test_the_oldest_may_be_of_the_year_1970() -> None:
    assert KnownProgress([written(0, {}, {0: mark(oldest_ms=0)})]).oldest_ms() == 0


def test_a_task_finds_its_own_progress_only() -> None:
    found = progress_of(written(1, places(1, 2), {1: mark(5)}, run="r", epoch=9), 1)
    assert found is not None
    assert (found.run, found.epoch, found.places, found.buckets) == ("r", 9, places(1, 2), {1: mark(5)})
    assert progress_of(written(1, {}, {}), 11) is None
    assert progress_of(written(11, {}, {}), 1) is None
    assert progress_of(owner_record("me", 0), 1) is None
    assert progress_of(Record(0, 0, b"task-1", None), 1) is None


def test_every_record_tells_whose_run_it_belongs_to() -> None:
    assert run_of(owner_record("me", 0)) == "me"
    assert run_of(written(1, {}, {}, run="mine")) == "mine"
    assert run_of(Record(0, 0, b"task-1", None)) == ""


def test_what_was_deleted_tells_nothing() -> None:
    assert KnownProgress([Record(0, 0, b"task-0", None), Record(0, 0, b"owner", None)]).read_to() == {}


def test_topics_that_were_made_anew_are_known_by_their_ids_and_forgotten() -> None:
    places = {"orders": {0: 7}, "users": {0: 9}}
    made = Progress("run", 1, places, dict.fromkeys(range(BUCKETS), mark(5)), {"orders": "1", "users": "2"})
    known = KnownProgress([progress_record(0, made, 0)])
    assert known.topics_made_anew({"orders": "1", "users": "2", "more": "3"}) == set()
    assert known.topics_made_anew({"orders": "4", "users": "2"}) == {"orders"}
    rest = known.without({"orders"})
    assert rest.read_to() == {TopicPartition("users", 0): (9, 9)}
    assert rest.watermark_ms == known.watermark_ms


def test_records_of_before_there_were_formats_are_read_and_newer_ones_refused() -> None:
    old = b'{"run":"r","epoch":9,"places":{},"buckets":{}}'
    found = progress_of(Record(0, 0, b"task-1", old), 1)
    assert found is not None
    assert found.epoch == 9
    assert run_of(Record(0, 0, b"owner", b'{"owner":"me"}')) == "me"
    for key, value in ((b"task-1", b'{"format":2,"all":"new"}'), (b"owner", b'{"format":2}')):
        with pytest.raises(NewerFormat, match=r"^offset 7: a record of format 2, written by a newer version"):
            KnownProgress([Record(7, 0, key, value)])
    for value in (b"{", b"[]", b'{"format":"x"}', b'{"owner":7}', b"\xff"):
        with pytest.raises(MalformedRecord, match=r"^offset 7: "):
            run_of(Record(7, 0, b"owner", value))
