"""One record that may have met another of its key from elsewhere."""

from __future__ import annotations

import msgspec

from heliograph.transforms.message import Header

Identity = tuple[str, str, int, bytes | None]
Order = tuple[int, str, str, int, int, bool, bytes]


class Candidate(msgspec.Struct, frozen=True, array_like=True):
    """A record with the cluster where it was written, and the place where it was read here."""

    origin: str  # alias of the cluster that it was written on
    original_topic: str  # its topic there
    topic: str  # as read here, such as us-east.orders
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None
    headers: tuple[Header, ...] = ()

    @property
    def identity(self) -> Identity:
        """What is the same wherever the record is read, so that one that came twice counts once."""
        return self.origin, self.original_topic, self.timestamp_ms, self.value

    @property
    def order(self) -> Order:
        """Where the record stands among all of its key: by time, then by alias, alike on every cluster.

        Within one partition of one origin the log decides, since each mirror keeps its order, although not its
        offsets. Offsets of different origins are never compared.
        """
        place = self.origin, self.original_topic, self.partition, self.offset
        return self.timestamp_ms, *place, self.value is not None, self.value or b""

    def header(self, name: str) -> bytes | None:
        """The value of the last header with the name, as Kafka's clients see it."""
        return next((header.value for header in reversed(self.headers) if header.name == name), None)

    def preferred(self, other: Candidate) -> Candidate:
        """Of the same record read twice, the one that came the shorter way, and then the later one."""
        return max(self, other, key=lambda read: (-len(read.topic), read.topic, read.partition, read.offset))
