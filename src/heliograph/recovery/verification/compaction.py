"""Compares compacted topics: each side may have removed other old records, but the last value of every key is the same.

For each key only two numbers are kept, a hash and an offset. Where there are more keys than should be held in memory,
both sides are read several times, each time for another share of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from heliograph.kafka import records
from heliograph.kafka.batches import LOG_APPEND_TIME
from heliograph.kafka.records import Record
from heliograph.recovery.verification.difference import Difference
from heliograph.recovery.verification.pairing import Pairing, Stretch

MOST_KEYS = 1_000_000  # of a side at once, about 200 bytes each

Opener = Callable[[], Stretch]  # reads a side from its beginning


class _Last(NamedTuple):
    """The last record of a key: a hash of what it holds with and without its time, and where it is."""

    content: int
    content_without_time: int
    offset: int
    has_broker_time: bool


class _Share(NamedTuple):
    """Those keys whose hash leaves this remainder."""

    divisor: int
    remainder: int

    def halves(self) -> tuple[_Share, _Share]:
        """Two shares of about half the keys."""
        return _Share(self.divisor * 2, self.remainder), _Share(self.divisor * 2, self.remainder + self.divisor)


def compare_last_values(source: Opener, target: Opener, later: Callable[[], tuple[Stretch, Stretch]]) -> Pairing:
    """Compare the last value of every key; `later` reads what came behind on both sides, up to now.

    A record can be removed because of one that comes later, outside of what is compared. So a key that seems to differ
    counts only if neither side has written it since.
    """
    result = Pairing()
    shares = [_Share(1, 0)]
    while shares:
        share = shares.pop()
        result.records = result.bytes = 0
        ours, share = _last_values(source(), share, shares, result)
        theirs, narrower = _last_values(target(), share, shares)
        if narrower != share:
            ours = {key: last for key, last in ours.items() if key % narrower.divisor == narrower.remainder}
        suspects = {key for key in ours.keys() | theirs.keys() if not _same(ours.get(key), theirs.get(key))}
        for stretch in later() if suspects else ():
            suspects -= {hash(record.key) for record, _ in _records(stretch)}
        if suspects:
            result.difference = _first(suspects, ours, theirs, source, target)
            return result
    return result


def _last_values(
    stretch: Stretch, share: _Share, shares: list[_Share], result: Pairing | None = None
) -> tuple[dict[int, _Last | None], _Share]:
    """The last record of each key of a share; none for one that was deleted. Too many: halves the share."""
    found: dict[int, _Last | None] = {}
    divisor, remainder = share
    for record, has_broker_time in _records(stretch, result):
        key = hash(record.key)
        if record.key is None or key % divisor != remainder:
            continue
        found[key] = None if record.value is None else _last(record, has_broker_time)
        if len(found) > MOST_KEYS:
            share, other = share.halves()
            shares.append(other)
            divisor, remainder = share
            found = {key: last for key, last in found.items() if key % divisor == remainder}
    return found, share


def _records(stretch: Stretch, result: Pairing | None = None) -> Iterator[tuple[Record, bool]]:
    for batch in stretch.batches:
        has_broker_time = bool(batch.header.attributes & LOG_APPEND_TIME)
        if result is not None:
            result.bytes += len(batch.data)
            result.opened += 1
        for record in records.decode(batch.magic, batch.data):
            if stretch.first <= record.offset < stretch.end:
                if result is not None:
                    result.records += 1
                yield record, has_broker_time


def _last(record: Record, has_broker_time: bool) -> _Last:
    headers = tuple(record.headers)
    content = hash((record.value, headers, record.timestamp))
    return _Last(content, hash((record.value, headers)), record.offset, has_broker_time)


def _same(ours: _Last | None, theirs: _Last | None) -> bool:
    """A key that was deleted is as one that was never there: the deletion itself may be removed too."""
    if ours is None or theirs is None:
        return ours is theirs
    if theirs.has_broker_time:
        return ours.content_without_time == theirs.content_without_time
    return ours.content == theirs.content


def _first(
    suspects: set[int], ours: dict[int, _Last | None], theirs: dict[int, _Last | None], source: Opener, target: Opener
) -> Difference:
    """The differing key that comes first, with its last record on both sides."""

    def place(key: int) -> tuple[int, int]:
        last = ours.get(key)
        return (0, last.offset) if last else (1, getattr(theirs.get(key), "offset", 0))

    key = min(suspects, key=place)
    sides = source(), target()
    where = sides[0].where, sides[1].where
    mine, other = _find(sides[0], ours.get(key)), _find(sides[1], theirs.get(key))
    name = (mine or other or Record(0, 0, b"", None)).key or b""
    told = f"the last value of key {name[:80].decode(errors='backslashreplace')!r} is not the same"
    places = ", ".join(
        f"{partition} offset {record.offset}" if record else f"{partition} has none"
        for partition, record in zip(where, (mine, other), strict=True)
    )
    has_broker_time = bool((last := theirs.get(key)) and last.has_broker_time)
    return Difference(*where, mine, other, f"{places}: {told}", compares_times=not has_broker_time)


def _find(stretch: Stretch, last: _Last | None) -> Record | None:
    if last is None:
        return None
    return next((record for record, _ in _records(stretch) if record.offset == last.offset), None)
