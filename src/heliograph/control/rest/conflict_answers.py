"""What our API answers about conflicts. Times are ms since 1970."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CountAnswer(BaseModel):
    """How many conflicts fall to a name."""

    name: str
    conflicts: int
    is_exact: bool = Field(description="if not, there are at least so many")


class KeyCountAnswer(BaseModel):
    """How many conflicts a key had."""

    topic: str
    key: str
    key_encoding: str = Field(description="base64 if the key is no text")
    conflicts: int
    is_exact: bool


class BarAnswer(BaseModel):
    """How many conflicts were settled in a slice of time."""

    at_ms: int = Field(description="its end")
    conflicts: int
    per_minute: float


class RecordAnswer(BaseModel):
    """A record that met others of its key."""

    cluster: str = Field(description="where it was written")
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    won: bool
    value: str | None = Field(description="its beginning if it is long; none: it deletes the key, or is not told")
    value_encoding: str
    value_bytes: int | None = Field(description="none: it deletes the key, or is not told")


class DecisionAnswer(BaseModel):
    """A conflict, and how it was settled."""

    topic: str
    key: str
    key_encoding: str
    rule: str
    note: str
    window_ms: int
    decided_at_ms: int
    winner: str | None = Field(description="cluster; none if values were merged")
    merged: str | None
    merged_encoding: str
    records: list[RecordAnswer]
    left_out: int = Field(description="records that are not listed, of very many")
    values_omitted: int = Field(description="values of records that were too long to be told")


class DetectionAnswer(BaseModel):
    """How detection gets on, since this process began."""

    records: int
    conflicts: int
    late: int = Field(description="records that came when their time had been settled already")
    waiting: int = Field(description="records that may still meet another")
    delay_seconds: float | None = Field(description="for how long the oldest of them may have waited")
    unreadable: int = Field(description="offsets that were passed by: nobody can read what is there")
    passed_by: list[str] = Field(description="the newest of them, and why each cannot be read")
    restarts: int
    trouble: str


class ClusterConflictsAnswer(BaseModel):
    """Conflicts of the last hour on one cluster."""

    cluster: str
    patterns: list[str] = Field(description="topics in which conflicts are looked for")
    resolver: str
    window_ms: int
    detection: DetectionAnswer
    exists: bool = Field(description="whether the cluster has the topic of decisions")
    trouble: str = Field(description="why decisions cannot be read; empty if they can")
    unreadable: int
    since_ms: int
    last_ms: int
    conflicts: int
    last_minute: int
    per_minute: float
    bars: list[BarAnswer]
    topics: list[CountAnswer]
    rules: list[CountAnswer]
    winners: list[CountAnswer]
    keys: list[KeyCountAnswer]
    decisions: list[DecisionAnswer] = Field(description="the newest first")


class ConflictsAnswer(BaseModel):
    """All clusters on which this mirror looks for conflicts."""

    now_ms: int
    shows_values: bool = Field(description="what records say is shown to operators")
    clusters: list[ClusterConflictsAnswer]
