"""Runs single records through the stages of a flow and notes what each of them does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from heliograph.errors import DataError
from heliograph.transforms.chain import ChainSpec, Stage
from heliograph.transforms.formats.choice import RecordFormats
from heliograph.transforms.message import Formats, Header, Message, Side

_REGISTRY = "schema.registry"
_WRITING = "writing"


class Ending(Enum):
    """How a record ends."""

    PASSED = "passed"
    DROPPED = "dropped"
    FAILED = "failed"


class Snapshot(NamedTuple):
    """A record at one moment: what its key and value say, not how they are written."""

    topic: str
    partition: int
    timestamp: int | None
    key: Any
    value: Any
    headers: tuple[Header, ...]

    def changes_to(self, other: Snapshot) -> list[str]:
        """The names of what is different."""
        return [
            name for name, mine, theirs in zip(self._fields, self, other, strict=True) if not _is_same(mine, theirs)
        ]


class Step(NamedTuple):
    """What one stage did, in words."""

    stage: str
    class_name: str
    what: str


@dataclass(frozen=True)
class Trial:
    """One record before and after, and the steps between; nothing is after one that was dropped or failed."""

    source_topic: str
    source_partition: int
    offset: int
    before: Snapshot
    after: Snapshot | None
    ending: Ending
    steps: Sequence[Step]


class TrialBench:
    """The stages of a flow, set up to be tried out: no schema is registered by it."""

    def __init__(self, spec: ChainSpec) -> None:
        self._stages = spec.build().stages
        unregistered = {f"{side}.converter.auto.register.schemas": "false" for side in ("key", "value")}
        formats = {**spec.formats, **unregistered}
        self._has_registry = any(_REGISTRY in name for name in spec.formats)
        self.keys: Formats = RecordFormats(formats, is_key=True)
        self.values: Formats = RecordFormats(formats, is_key=False)

    def message(
        self,
        topic: str,
        partition: int,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        source_topic: str,
        offset: int,
    ) -> Message:
        """A message to try; the topic is that on the target."""
        sides = Side(key, self.keys), Side(value, self.values)
        return Message(topic, partition, timestamp, *sides, list(headers), source_topic, offset)

    def run(self, message: Message) -> Trial:
        """What becomes of a message, stage by stage."""
        before = snapshot(message)
        source_partition = message.partition
        steps: list[Step] = []
        ending = Ending.PASSED
        for stage in self._stages:
            step, ending = _taken(stage, message)
            steps.append(step)
            if ending is not Ending.PASSED:
                break
        else:
            ending = self._written(message, steps)
        after = snapshot(message) if ending is Ending.PASSED else None
        return Trial(message.source_topic, source_partition, message.offset, before, after, ending, steps)

    def _written(self, message: Message, steps: list[Step]) -> Ending:
        try:
            message.key.encoded(message.topic)
            message.value.encoded(message.topic)
        except DataError as error:
            if self._has_registry:
                steps.append(Step(_WRITING, "", f"not tried, as that may register a schema: {error}"))
                return Ending.PASSED
            steps.append(Step(_WRITING, "", f"failed: {error}"))
            return Ending.FAILED
        return Ending.PASSED


def _taken(stage: Stage, message: Message) -> tuple[Step, Ending]:
    before = snapshot(message)
    name = type(stage.transform).__name__
    try:
        if stage.predicate is not None and stage.predicate.test(message) == stage.negate:
            return Step(stage.name, name, f"skipped, since {_predicate(stage)}"), Ending.PASSED
    except DataError as error:
        return Step(stage.name, name, f"failed: {error}"), Ending.FAILED
    (outcome,) = stage.transform.apply_many([message])
    if outcome is None:
        return Step(stage.name, name, "dropped it"), Ending.DROPPED
    if isinstance(outcome, DataError):
        return Step(stage.name, name, f"failed: {outcome}"), Ending.FAILED
    changes = before.changes_to(snapshot(message))
    return Step(stage.name, name, f"changed {', '.join(changes)}" if changes else "changed nothing"), Ending.PASSED


def _predicate(stage: Stage) -> str:
    return f"{type(stage.predicate).__name__} is {'true' if stage.negate else 'false'}"


def snapshot(message: Message) -> Snapshot:
    """A message as it is now."""
    key, value = (_said(side, message.topic) for side in (message.key, message.value))
    return Snapshot(message.topic, message.partition, message.timestamp, key, value, tuple(message.headers))


def _said(side: Side, topic: str) -> Any:
    """What a side says; its bytes, if that cannot be known."""
    try:
        return side.parsed(topic).value
    except DataError:
        return side.raw_bytes


def _is_same(mine: Any, theirs: Any) -> bool:
    return bool(mine == theirs) and repr(mine) == repr(theirs)  # 1 is equal to true, but not the same
