"""The records of one source partition on their way through the flow's transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.errors import DataError
from heliograph.kafka.records import Record
from heliograph.model import Assignment, TopicPartition
from heliograph.transforms.chain import Chain, ChainSpec, Failed, Route
from heliograph.transforms.message import ForeignFormats, Formats, Header, Message, Side

_WRITING = "writing"


@dataclass(frozen=True)
class TransformSettings:
    """What a flow does with its records on the way, and with those that it cannot be done with."""

    chain: ChainSpec = field(default_factory=ChainSpec)
    dead_letters: str = ""  # the topic on the target
    shows_content: bool | None = None  # whether dead letters have what failed; None: unless a stage hides data
    stops_on_failure: bool = False
    retry_ms: int = 0  # how long what may work in a moment is tried again; negative: for ever
    longest_pause_ms: int = 60_000  # between two such tries
    replication_factor: int = 1  # of topics that records are routed to


class Placed(NamedTuple):
    """A record that leaves for another partition than its own; it still has its offset on the source."""

    target: TopicPartition
    record: Record


Result = Record | Placed | Failed | None  # a record alone goes to the partition's own target


class Transformer:
    """Runs records of one source partition through the stages that are meant for its topic."""

    def __init__(self, assignment: Assignment, route: Route, keys: Formats, values: Formats) -> None:
        self._source = assignment.source
        self._home = TopicPartition(route.topic, assignment.target.partition)
        self._route = route
        self._keys = keys
        self._values = values
        self._foreign_keys = _foreign(keys)
        self._foreign_values = _foreign(values)

    @property
    def drops_all(self) -> bool:
        """Whether no record of the topic passes."""
        return self._route.drops_all

    @property
    def hides_data(self) -> bool:
        """Whether what fails must not be shown."""
        return self._route.hides_data

    def run(self, wanted: Sequence[Record]) -> list[Result]:
        """What becomes of each record. One that no stage has changed is the same object again."""
        if self.drops_all:
            return [None] * len(wanted)
        (topic, partition), source, keys, values = self._home, self._source.topic, self._keys, self._values
        messages = [
            Message(
                topic, partition, timestamp, Side(key, keys), Side(value, values),
                [Header(*header) for header in headers] if headers else [], source, offset,
            )
            for offset, timestamp, key, value, headers in wanted
        ]  # fmt: skip
        return [
            self._result(record, item) if isinstance(item, Message) else item
            for record, item in zip(wanted, self._route.run(messages), strict=True)
        ]

    def _result(self, record: Record, message: Message) -> Result:
        topic, timestamp, headers = message.topic, message.timestamp, message.headers
        try:
            key = _encoded(message.key, topic, self._foreign_keys)
            value = _encoded(message.value, topic, self._foreign_values)
        except DataError as error:
            return Failed(_WRITING, type(error).__name__, error)
        has_same_headers = (not headers and not record.headers) or headers == list(record.headers)
        is_same = key is record.key and value is record.value and timestamp == record.timestamp and has_same_headers
        if not is_same:
            moment = record.timestamp if timestamp is None else timestamp
            record = Record(record.offset, moment, key, value, [(name, content) for name, content in headers])
        if topic == self._home.topic and message.partition == self._home.partition:
            return record
        return Placed(TopicPartition(topic, message.partition), record)


def transformer_of(chain: Chain, assignment: Assignment, keys: Formats, values: Formats) -> Transformer | None:
    """What changes the records of a partition; None if they all leave as they come."""
    route = chain.route(assignment.remote_topic or assignment.target.topic)
    is_translated = _foreign(keys) is not None or _foreign(values) is not None
    if route.is_plain and not route.drops_all and not is_translated:
        return None
    return Transformer(assignment, route, keys, values)


def _foreign(formats: Formats) -> ForeignFormats | None:
    return formats if isinstance(formats, ForeignFormats) and formats.translates else None


def _encoded(side: Side, topic: str, foreign: ForeignFormats | None) -> bytes | None:
    data = side.encoded(topic)
    if foreign is None or side.is_changed or data is None:
        return data
    return foreign.translated(topic, data)
