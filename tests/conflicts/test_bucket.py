"""A bucket of many keys tells what timelines of its keys would, however often it is put away or begun anew."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.bucket import BUCKETS, Bucket, Resumption, bucket_of
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.timeline import Settled
from tests.conflicts.model import settled_of
from tests.conflicts.samples import record

_BOUNDS = Bounds(5)
_END = 10**6
KEYS = (b"k", b"l")

_writes = st.lists(
    st.tuples(st.sampled_from(("eu", "us")), st.sampled_from(KEYS), st.integers(0, 250), st.sampled_from((b"v", b"w"))),
    max_size=30,
)
_steps = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), max_size=8)


def _chain(chance: random.Random, length: int) -> list[tuple[str, bytes, int, bytes]]:
    """A conflict that lasts longer than one decision may, with a gap now and then."""
    times = accumulate(6 if chance.random() < 0.01 else chance.randint(0, 4) for _ in range(length))
    return [(("eu", "us")[number % 2], b"k", time_ms, b"v%d" % number) for number, time_ms in enumerate(times)]


_histories = st.one_of(_writes, st.builds(_chain, st.integers(0, 10**9).map(random.Random), st.integers(50, 120)))


def _records(writes: Sequence[tuple[str, bytes, int, bytes]]) -> list[Candidate]:
    """In the order in which they are read, each with the next offset of its topic."""
    offsets: Counter[str] = Counter()
    made = []
    for origin, key, time_ms, value in sorted(writes, key=lambda write: write[2]):
        made.append(record(origin, time_ms, value, offset=offsets[origin], key=key))
        offsets[origin] += 1
    return made


def _told(items: Iterable[Settled]) -> Counter[object]:
    return Counter(_name(item) for item in items)


def _name(item: Settled) -> object:
    if isinstance(item, Conflict):
        return item.key, tuple(one.identity for one in item.candidates), item.continues
    return item.key, item.identity


def _expected(records: Sequence[Candidate]) -> Counter[object]:
    """Records of a key that was read from one place only count each; others once for all that look the same."""
    found: list[Settled] = []
    for key in KEYS:
        found += settled_of([one for one in records if one.key == key], _BOUNDS)
    return Counter(dict.fromkeys(_told(found), 1))


def _places(records: Iterable[Candidate]) -> dict[str, dict[int, int]]:
    places: dict[str, dict[int, int]] = {}
    for one in records:
        places.setdefault(one.topic, {})[0] = one.offset + 1
    return places


@given(_histories, _steps)
def test_it_tells_what_the_model_tells_whatever_the_steps(
    writes: list[tuple[str, bytes, int, bytes]], steps: list[tuple[int, int]]
) -> None:
    records, bucket, found, done = _records(writes), Bucket(_BOUNDS), list[Settled](), 0
    for count, behind in steps:
        new, done = records[done : done + count], min(len(records), done + count)
        upto = records[done].timestamp_ms if done < len(records) else _END
        step = bucket.step(new, upto - behind)
        assert not step.late
        found += step.settled
        bucket = Bucket.from_bytes(_BOUNDS, bucket.to_bytes())
    found += bucket.step(records[done:], _END).settled
    assert len(bucket) == 0
    assert Counter(dict.fromkeys(_told(found), 1)) == _expected(records)
    assert max(_told(item for item in found if isinstance(item, Conflict)).values(), default=1) == 1


@given(_histories, st.integers(0, 120), st.integers(0, 20))
def test_one_that_is_begun_anew_from_the_log_goes_on_as_if_nothing_had_been(
    writes: list[tuple[str, bytes, int, bytes]], seen: int, behind: int
) -> None:
    records = _records(writes)
    seen = min(seen, len(records))
    upto = (records[seen].timestamp_ms if seen < len(records) else 300) - behind
    bucket = Bucket(_BOUNDS)
    before = bucket.step(records[:seen], upto).settled
    resumption = Resumption(bucket.watermark_ms, _places(records[:seen]), bucket.cuts)
    oldest = bucket.oldest_ms
    replayed = [one for one in records[:seen] if oldest is not None and one.timestamp_ms >= oldest]
    again = Bucket.resumed(_BOUNDS, resumption, filter(resumption.has_seen, replayed))
    after = again.step(records[seen:], _END).settled
    assert _told([*before, *after]).keys() == _told([*before, *bucket.step(records[seen:], _END).settled]).keys()
    conflicts = _told(item for item in (*before, *after) if isinstance(item, Conflict))
    assert max(conflicts.values(), default=1) == 1


def test_what_is_behind_the_watermark_is_late_and_conflicts_no_more() -> None:
    bucket = Bucket(_BOUNDS)
    assert bucket.step([record("eu", 10)], 10).late == []
    late = record("us", 9)
    step = bucket.step([late], 100)
    assert step.late == [late]
    assert step.settled == [record("eu", 10)]


def test_one_topic_with_records_of_two_origins_has_conflicts_too() -> None:
    one = record("eu", 10)
    other = Candidate("us", "orders", one.topic, 0, 1, 12, b"k", b"w")
    (found,) = Bucket(_BOUNDS).step([one, other], 100).settled
    assert isinstance(found, Conflict)
    assert found.candidates == (one, other)


def test_keys_of_different_topics_do_not_meet() -> None:
    other = Candidate("us", "payments", "us.payments", 0, 0, 10, b"k", b"w")
    assert {type(item) for item in Bucket(_BOUNDS).step([record("eu", 10), other], 100).settled} == {Candidate}


def test_every_bucket_gets_keys() -> None:
    assert {bucket_of("orders", f"key-{number}".encode()) for number in range(1000)} == set(range(BUCKETS))


@pytest.mark.parametrize("seed", range(60))
def test_a_conflict_without_end_goes_on_where_it_was_cut(seed: int) -> None:
    chance = random.Random(seed)
    records = _records(_chain(chance, 120))
    seen = chance.randrange(60, 120)
    bucket = Bucket(_BOUNDS)
    bucket.step(records[:seen], records[seen].timestamp_ms - chance.randrange(20))
    resumption = Resumption(bucket.watermark_ms, _places(records[:seen]), bucket.cuts)
    replayed = [one for one in records[:seen] if one.timestamp_ms >= (bucket.oldest_ms or 0)]
    again = Bucket.resumed(_BOUNDS, resumption, replayed)
    assert again.step(records[seen:], _END).settled == bucket.step(records[seen:], _END).settled
