"""Positions of a connector as Kafka Connect's REST shows and changes them, in `mm2-offsets.A.internal` on the target.

Only the source connector's positions are ever read by a mirror. MirrorMaker 2 writes such records for the other two as
well; they are shown and changed all the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from heliograph.config.flow import FlowConfig
from heliograph.control.connector import Connector
from heliograph.errors import HeliographError
from heliograph.kafka import positions, reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from heliograph.sync.topics import offsets_topic

Place: TypeAlias = Mapping[str, Any]

_OFFSET = "offset"
_PARTITION = "partition"
_LARGEST_PARTITION = 2**31 - 1
_LARGEST_OFFSET = 2**63 - 1
# The keys of a place in the order in which Java writes them: whoever looks a position up compares bytes.
_PLACE_KEYS: Mapping[Connector, Sequence[str]] = {
    Connector.SOURCE: ("cluster", "partition", "topic"),
    Connector.CHECKPOINT: ("partition", "topic", "group"),
    Connector.HEARTBEAT: ("sourceClusterAlias", "targetClusterAlias"),
}
_CHECKED_FIRST: Mapping[Connector, Sequence[str]] = {
    Connector.SOURCE: ("cluster", "topic"),
    Connector.CHECKPOINT: ("group", "topic"),
    Connector.HEARTBEAT: ("sourceClusterAlias", "targetClusterAlias"),
}


class InvalidOffset(HeliographError):
    """A position that no connector of MirrorMaker 2 would take."""


@dataclass(frozen=True)
class ConnectorOffset:
    """A place of the source, and how far it is done; without an offset nothing of it is."""

    partition: Place | None
    offset: Mapping[str, Any] | None


class ConnectorOffsets:
    """All positions of one connector."""

    def __init__(self, flow: FlowConfig, connector: Connector) -> None:
        self._flow = flow
        self._connector = connector
        self._topic = offsets_topic(flow)

    def read(self) -> list[ConnectorOffset]:
        """Every position that is kept."""
        return [
            ConnectorOffset(place, {_OFFSET: value[_OFFSET]})
            for place, value in ((_decode_key(key)[1], value) for key, value in self._values().items())
        ]

    def alter(self, offsets: Sequence[ConnectorOffset]) -> list[TopicPartition]:
        """Write positions, acknowledged; returns the source partitions they are about. Raises InvalidOffset."""
        for item in offsets:
            check_offset(self._connector, item)
        known = {_canonical(_decode_key(key)[1]): key for key in self._values()}
        written = {
            known.get(_canonical(item.partition)) or self._encode_key(item.partition): item.offset for item in offsets
        }
        self._write(written)
        return self._source_partitions(written)

    def reset(self) -> list[TopicPartition]:
        """Forget all positions; returns the source partitions they were about."""
        written = dict.fromkeys(self._values())
        self._write(written)
        return self._source_partitions(written)

    def _values(self) -> dict[bytes, Mapping[str, Any]]:
        """What is kept for this connector, by the bytes of its keys."""
        found: dict[bytes, Mapping[str, Any]] = {}
        for record in self._records():
            key = record.key or b""
            if _decode_key(key)[0] != self._connector.value:
                continue
            value = _decode_value(record.value)
            if value is None:
                found.pop(key, None)
            else:
                found[key] = value
        return found

    def _records(self) -> Iterator[Record]:
        with Admin(access_for(self._flow.target, "admin")) as admin:
            topic = admin.topics([self._topic]).get(self._topic)
        if topic is None:
            return
        with opened(access_for(self._flow.target, "consumer"), [self._topic]) as (loop, network):
            everything = dict.fromkeys(network.partitions(self._topic), EARLIEST)
            starts = reading.list_offsets(network, self._topic, everything)
            for _, record in reading.read_to_end(loop, network, self._topic, starts):
                yield record

    def _write(self, values: Mapping[bytes, Mapping[str, Any] | None]) -> None:
        if not values:
            return
        now = int(time.time() * 1000)
        access = access_for(self._flow.target, "producer")
        with opened(access, [self._topic]) as (_, network):
            count = len(network.partitions(self._topic))
        by_partition: dict[int, list[Record]] = {}
        for key, value in values.items():
            encoded = None if value is None else _compact({_OFFSET: value[_OFFSET]})
            by_partition.setdefault(positions.partition_for(key, count), []).append(Record(0, now, key, encoded))
        with Writer(access) as writer:
            for number, records in sorted(by_partition.items()):
                writer.append(TopicPartition(self._topic, number), records)

    def _encode_key(self, place: Place | None) -> bytes:
        known = _PLACE_KEYS[self._connector]
        if place is not None and set(place) == set(known):
            place = {name: place[name] for name in known}
        return _compact([self._connector.value, place])

    def _source_partitions(self, keys: Mapping[bytes, object]) -> list[TopicPartition]:
        alias = self._flow.source.alias
        named = (positions.decode_key(key) for key in keys)
        return [item[1] for item in named if item is not None and item[0] == alias]


def check_offset(connector: Connector, item: ConnectorOffset) -> None:
    """Raise InvalidOffset where MirrorMaker 2's connector would; what is to be forgotten may look like anything."""
    place, offset = item.partition, item.offset
    if offset is None:
        return
    if place is None:
        raise InvalidOffset("Source partitions may not be null")
    for name in _CHECKED_FIRST[connector]:
        _check_text(place, name)
    if _PARTITION in _PLACE_KEYS[connector]:
        _check_partition(place)
    _check_number(place, offset, must_be_zero=connector is not Connector.SOURCE)


def _check_text(place: Place, name: str) -> None:
    if name not in place:
        raise InvalidOffset(f"Source partition {_java(place)} is missing the '{name}' key, which is required")
    if not isinstance(place[name], str):
        raise InvalidOffset(_bad_place(place, name, "which must be a string"))


def _check_partition(place: Place) -> None:
    if _PARTITION not in place:
        raise InvalidOffset(f"Source partition {_java(place)} is missing the '{_PARTITION}' key, which is required")
    number = place[_PARTITION]
    if not _is_whole(number) or number > _LARGEST_PARTITION:
        raise InvalidOffset(_bad_place(place, _PARTITION, "which must be an integer"))
    if number < 0:
        raise InvalidOffset(_bad_place(place, _PARTITION, "which cannot be negative"))


def _check_number(place: Place, offset: Mapping[str, Any], must_be_zero: bool) -> None:
    what = f"Source offset {_java(offset)} for source partition {_java(place)}"
    if _OFFSET not in offset:
        raise InvalidOffset(f"{what} is missing the '{_OFFSET}' key, which is required")
    number = offset[_OFFSET]
    bad = f"{what} has an invalid value {_java(number)} for the '{_OFFSET}' key"
    if not _is_whole(number) or number > _LARGEST_OFFSET:
        raise InvalidOffset(f"{bad}, which must be an integer")
    if must_be_zero and number:
        raise InvalidOffset(f"{bad}; the only accepted value is 0")
    if number < 0:
        raise InvalidOffset(f"{bad}, which cannot be negative")


def _bad_place(place: Place, name: str, why: str) -> str:
    return f"Source partition {_java(place)} has an invalid value {_java(place[name])} for the '{name}' key, {why}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _java(value: object) -> str:
    """A value as Java prints it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}={_java(item)}" for name, item in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _canonical(place: Place | None) -> bytes:
    return json.dumps(place, sort_keys=True).encode()


def _decode_key(key: bytes) -> tuple[str, Place | None]:
    """Whose position it is, and of what; of nobody if it is no position at all."""
    try:
        name, place = json.loads(key)
    except (ValueError, TypeError):
        return "", None
    is_position = isinstance(name, str) and (place is None or isinstance(place, dict))
    return (name, place) if is_position else ("", None)


def _decode_value(value: bytes | None) -> Mapping[str, Any] | None:
    try:
        fields = json.loads(value or b"null")
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and _OFFSET in fields else None
