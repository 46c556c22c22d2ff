"""What our own API answers: the shapes, from which its OpenAPI description is made. Times are ms since 1970."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field


class CallerAnswer(BaseModel):
    """Who is asking, as the server knows them."""

    name: str
    role: str


class MirrorAnswer(BaseModel):
    """The process that answers."""

    version: str
    file: str
    started_at_ms: int
    now_ms: int
    is_ready: bool
    caller: CallerAnswer
    flows: list[str]


class FlowAnswer(BaseModel):
    """One flow in short."""

    name: str
    source: str
    target: str
    health: str
    is_good: bool
    trouble: str = Field(description="what holds it up at present")
    states: dict[str, str]
    lag_records: int
    lag_seconds: float = Field(description="how long the oldest record has waited that is not mirrored yet")
    lag_known_age_seconds: float = Field(description="how long ago the source was last asked where it ends")
    records_per_second: float
    bytes_per_second: float
    latency_avg_ms: float
    latency_max_ms: float
    partitions: int
    set_aside: int
    lanes: int
    last_commit_ms: int
    records_total: int
    bytes_total: int
    transactions_total: int
    failing_chores: int


class ChoreAnswer(BaseModel):
    """Something that a flow does again and again beside copying."""

    name: str
    connector: str | None
    seconds: float
    runs: int
    failures: int
    last_success_ms: int
    last_seconds: float
    running_seconds: float = Field(description="of the run that is under way; 0 if none is")
    failure: str
    failing_since_ms: int
    summary: str


class PlaceAnswer(BaseModel):
    """A partition of the source."""

    topic: str
    partition: int


class LaneAnswer(BaseModel):
    """A lane and what it copies."""

    number: int
    partitions: list[PlaceAnswer]
    failures: Sequence[str]
    doing: str = Field(description="what the lane said last that it does, or waits for")


class FlowDetailAnswer(FlowAnswer):
    """One flow with its lanes and chores."""

    owner: str
    chores: list[ChoreAnswer]
    lane_states: list[LaneAnswer]


class ClusterAnswer(BaseModel):
    """A cluster of the file."""

    alias: str
    bootstrap_servers: Sequence[str]


class TopologyAnswer(BaseModel):
    """All clusters and flows."""

    clusters: list[ClusterAnswer]
    flows: list[FlowAnswer]


class PartitionAnswer(BaseModel):
    """One partition; rates and latencies over the last minute, totals since this process began."""

    topic: str
    partition: int
    target_topic: str
    mirrored_to: int = Field(description="the last source offset that is safe on the target; -1: none")
    end: int
    lag_records: int
    lag_seconds: float
    records: int
    bytes: int
    records_per_second: float
    bytes_per_second: float
    latency_avg_ms: float
    latency_max_ms: float
    set_aside: str = Field(description="why it does not go on; empty if it does")
    lane: int | None


class TopicAnswer(BaseModel):
    """One topic: its partitions together."""

    topic: str
    target_topic: str
    partitions: int
    lag_records: int
    lag_seconds: float
    records: int
    bytes: int
    records_per_second: float
    bytes_per_second: float
    set_aside: int


class EventAnswer(BaseModel):
    """Something that happened to a partition beside being copied."""

    at_ms: int
    kind: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    reason: str


class GroupPlaceAnswer(BaseModel):
    """Where a group stands in one partition, on both sides."""

    topic: str
    partition: int
    source_offset: int
    source_lag: int
    target_topic: str
    target_offset: int | None = Field(description="what the group has committed on the target")
    translated_offset: int | None = Field(description="where it should go on there; none: not mirrored")
    is_exact: bool
    target_lag: int | None


class GroupAnswer(BaseModel):
    """One group of the source."""

    group: str
    partitions: list[GroupPlaceAnswer]


class GroupsAnswer(BaseModel):
    """All groups that a flow follows, as they were when the clusters were asked."""

    read_at_ms: int
    groups: list[GroupAnswer]


class RangeAnswer(BaseModel):
    """Records in a row that went from consecutive source offsets to consecutive target offsets."""

    source_offset: int
    target_offset: int
    length: int
    written_at_ms: int
    lane: int


class PlannedTopicAnswer(BaseModel):
    """A topic that is mirrored or will be."""

    topic: str
    target_topic: str
    partitions: int
    state: str


class LeftOutAnswer(BaseModel):
    """A topic that is not mirrored."""

    topic: str
    reason: str


class PlanAnswer(BaseModel):
    """What a flow mirrors."""

    topics: list[PlannedTopicAnswer]
    left_out: list[LeftOutAnswer]
    problems: list[str]


class SettingAnswer(BaseModel):
    """One setting of a flow, and where it comes from."""

    group: str
    name: str
    value: str
    default: str
    origin: str = Field(description="file, variable, default, derived, or changed over REST")
    line: int | None
    doc: str
    acts: bool
