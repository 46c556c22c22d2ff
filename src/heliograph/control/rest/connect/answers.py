"""What Kafka Connect answers: the shapes. Fields that are not set are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

SOURCE = "source"  # the type of all three connectors, in Connect's sense


class ServerAnswer(BaseModel):
    """The process that answers, and the cluster where it keeps its books."""

    version: str
    commit: str
    kafka_cluster_id: str


class HealthAnswer(BaseModel):
    """Whether the process can do its work."""

    status: str
    message: str


class TaskIdAnswer(BaseModel):
    """Which task of which connector."""

    connector: str
    task: int


class InfoAnswer(BaseModel):
    """A connector with its settings and the numbers of its tasks."""

    name: str
    config: Mapping[str, str]
    tasks: Sequence[TaskIdAnswer]
    type: str


class ConnectorStateAnswer(BaseModel):
    """How a connector is; `trace` says why it fails."""

    state: str
    worker_id: str
    trace: str = ""
    version: str


class TaskStateAnswer(ConnectorStateAnswer):
    """How a task is."""

    id: int


class StatusAnswer(BaseModel):
    """A connector and all its tasks."""

    name: str
    connector: ConnectorStateAnswer
    tasks: Sequence[TaskStateAnswer]
    type: str


class ExpandedAnswer(BaseModel):
    """As much of a connector as was asked for."""

    status: StatusAnswer | None = None
    info: InfoAnswer | None = None


class TaskAnswer(BaseModel):
    """A task and what it was told."""

    id: TaskIdAnswer
    config: Mapping[str, str]


class OffsetAnswer(BaseModel):
    """How far a place of the source is done."""

    partition: Mapping[str, Any] | None
    offset: Mapping[str, Any]


class OffsetsAnswer(BaseModel):
    """All positions of a connector."""

    offsets: Sequence[OffsetAnswer]


class MessageAnswer(BaseModel):
    """What was done."""

    message: str


class TopicsAnswer(BaseModel):
    """Topics that a connector has written to."""

    topics: Sequence[str]


class PluginAnswer(BaseModel):
    """A class that can be named in settings."""

    class_name: str = Field(alias="class")
    type: str
    version: str


class DefinitionAnswer(BaseModel):
    """What one setting is."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: Sequence[str]


class ValueAnswer(BaseModel):
    """What one setting would be, and what is wrong with that."""

    name: str
    value: str | None
    recommended_values: Sequence[str]
    errors: Sequence[str]
    visible: bool


class ConfigAnswer(BaseModel):
    """A setting: what it is, and what it would be."""

    definition: DefinitionAnswer | None
    value: ValueAnswer


class ValidationAnswer(BaseModel):
    """All settings of a connector, checked."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[ConfigAnswer]


class LoggerAnswer(BaseModel):
    """How much a logger tells, and when that was last changed, in ms since 1970."""

    level: str
    last_modified: int | None
