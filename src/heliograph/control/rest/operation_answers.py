"""What is asked of operations over our API, and what it answers. Times are ms since 1970."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class OptionsBody(BaseModel):
    """How an operation should go about it; each takes only those that mean something to it."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    fence: Literal["acl", "topic"] | None = Field(
        default=None, description="keep producers out, by an ACL or a topic setting; null: wait until they stop"
    )
    quiet_seconds: float = Field(
        default=10.0, gt=0, le=3600, description="without a new record for so long, producers have stopped"
    )
    patience_seconds: float = Field(
        default=600.0, gt=0, le=86_400, description="to wait for producers, mirror and consumers, each"
    )
    leave_consumers: bool = Field(default=False, description="go on although groups are still consuming")
    verify_seconds: float | None = Field(
        default=600.0,
        ge=0,
        le=365 * 86_400,
        description="compare the records of so long ago; 0: none; null, to verify: all",
    )
    tail_topic: str | None = Field(
        default=None,
        pattern=r"^[a-zA-Z0-9._-]{1,249}$",
        description="where on the target a failback keeps what was not mirrored",
    )
    drill_seconds: float = Field(default=20.0, ge=5, le=3600, description="of load before a drill loses the source")
    drill_groups: int = Field(default=20, ge=1, le=1000, description="consumer groups of a drill")


class OperationBody(BaseModel):
    """What should be done."""

    model_config = ConfigDict(extra="forbid", strict=True)

    operation: Literal["switchover", "failover", "failback", "verify", "drill"]
    flow: str = Field(description="A->B; of a failback the flow that failed over, not the one back")
    dry_run: bool = Field(default=False, description="only tell what would be done, and what stands in the way")
    undo: bool = Field(default=False, description="put back what an earlier run has changed")
    confirm: str | None = Field(
        default=None, description="the name of the flow, to begin something that changes clusters"
    )
    options: OptionsBody = Field(default_factory=OptionsBody)


class PlannedStepAnswer(BaseModel):
    """One step that would be done."""

    step: str
    title: str
    would: str
    problems: list[str]
    hooks: list[str]


class PreviewAnswer(BaseModel):
    """What an operation would do now."""

    operation: str
    flow: str
    can_begin: bool
    problems: list[str] = Field(description="all that stands in the way, of all steps")
    steps: list[PlannedStepAnswer]
    details: dict[str, Any] = Field(description="what was found out: groups, partitions")


class StepAnswer(BaseModel):
    """One step of an operation."""

    step: str
    title: str
    state: str = Field(description="waiting, running, done, failed, put back")
    text: str = Field(description="what goes on; at the end the proof, or why not")
    seconds: float
    hooks: list[str]


class OperationShortAnswer(BaseModel):
    """One operation in short."""

    id: str
    operation: str
    flow: str
    is_undo: bool
    state: str = Field(description="running, done, failed, put back; unfinished: begun elsewhere, or interrupted")
    error: str
    began_at_ms: int
    seconds: float
    by: str
    is_here: bool = Field(description="begun by this process; else only the journal tells of it")


class OperationAnswer(OperationShortAnswer):
    """One operation with its steps."""

    steps: list[StepAnswer]
    details: dict[str, Any] = Field(description="what was found out: groups, partitions, tail, differences")


class OperationsAnswer(BaseModel):
    """Operations, the newest first."""

    operations: list[OperationShortAnswer]
    unread: list[str] = Field(description="flows whose journal cannot be read now, and why")
