"""What a cluster tells about topics and rights, and what a change to it came to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID


class Operation(Enum):
    """What one may be allowed to do, by the codes that brokers use and the names that `kafka-acls` takes."""

    Read = 3
    Write = 4
    Create = 5
    Delete = 6
    Alter = 7
    Describe = 8
    ClusterAction = 9
    DescribeConfigs = 10
    AlterConfigs = 11
    IdempotentWrite = 12


Operations = frozenset[Operation]


class SettingSource(Enum):
    """Where the value of a topic's setting comes from."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_BROKER_DEFAULT = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    OTHER = 6


@dataclass(frozen=True)
class TopicInfo:
    """A topic as its cluster describes it."""

    name: str
    topic_id: UUID
    partitions: int
    replication_factor: int
    is_internal: bool = False


@dataclass(frozen=True)
class TopicSetting:
    """The value of one setting of a topic, and where it comes from."""

    value: str | None
    source: SettingSource = SettingSource.TOPIC
    is_sensitive: bool = False
    is_read_only: bool = False

    @property
    def is_default(self) -> bool:
        """Whether nobody has chosen the value: neither for the topic nor for the brokers."""
        return self.source is SettingSource.DEFAULT


LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
SIZE_LIMIT = "max.message.bytes"
LARGEST_FENCE = 78  # bytes of the batch that ends a transaction


def is_fence(name: str, value: str | None) -> bool:
    """Whether a setting is there to keep producers out: no topic with such a limit can be put to use."""
    return name == SIZE_LIMIT and value is not None and value.isdecimal() and int(value) <= LARGEST_FENCE


@dataclass(frozen=True)
class NewTopic:
    """A topic to be created; -1 leaves a number to the brokers."""

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that has written to a partition and has not ended; a name that we may not see is empty."""

    topic: str
    partition: int
    producer_id: int
    transactional_id: str = ""

    def __str__(self) -> str:
        who = self.transactional_id or f"producer {self.producer_id}"
        return f"{who} in {self.topic}-{self.partition}"


class Status(Enum):
    """How a change went."""

    DONE = "done"
    ALREADY = "already there"
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of one change; `settings` are those of a created or tried topic, if we may see them."""

    status: Status
    reason: str = ""
    code: int = 0
    settings: Mapping[str, str | None] = field(default_factory=dict)
