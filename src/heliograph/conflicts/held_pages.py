"""What the views hold for the keys of a bucket, in pages: whoever keeps them keeps few large things, not many small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from zlib import crc32

import msgspec

from heliograph.conflicts.bucket import BUCKETS, Key
from heliograph.conflicts.view import Held

PAGES = 32  # of a bucket


class HeldKey(msgspec.Struct, frozen=True, array_like=True):
    """What the view of a logical topic holds for a key."""

    topic: str
    key: bytes
    held: Held


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[HeldKey]).decode


class HeldPages:
    """Reads pages when they are needed; `changed` gives back those that must be kept anew."""

    def __init__(self, load: Callable[[int], bytes | None]) -> None:
        self._load = load
        self._pages: dict[int, dict[Key, Held]] = {}
        self._changed: set[int] = set()

    def get(self, place: Key) -> Held | None:
        """What the view holds for a key."""
        return self._page(_page_of(place)).get(place)

    def put(self, place: Key, held: Held) -> None:
        """Remember what the view holds from now on."""
        number = _page_of(place)
        self._page(number)[place] = held
        self._changed.add(number)

    def changed(self) -> Iterator[tuple[int, bytes]]:
        """The pages that have changed."""
        for number in sorted(self._changed):
            yield number, _encode([HeldKey(*place, held) for place, held in self._pages[number].items()])

    def _page(self, number: int) -> dict[Key, Held]:
        if number not in self._pages:
            kept = self._load(number)
            self._pages[number] = {(item.topic, item.key): item.held for item in _decode(kept)} if kept else {}
        return self._pages[number]


def _page_of(place: Key) -> int:
    topic, key = place
    return crc32(key, crc32(topic.encode())) // BUCKETS % PAGES
