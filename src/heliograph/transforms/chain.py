"""The transforms of a flow, one after the other, each perhaps only for some messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.config.secret import Secret
from heliograph.errors import DataError
from heliograph.transforms.message import Message
from heliograph.transforms.stage import Outcome, Predicate, Transform


class Failed(NamedTuple):
    """A message that could not pass, and where it got stuck."""

    stage: str
    class_name: str
    error: DataError

    def __str__(self) -> str:
        return f"{self.stage} ({self.class_name}): {self.error}"


_TARGET_REGISTRY = "target.schema.registry.url"

Passed = Message | None | Failed  # a message that leaves, None for one that was dropped, or a failure


@dataclass(frozen=True)
class Stage:
    """One transform under the name that the file gives it, and the predicate that it waits for."""

    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def is_meant(self, topic: str) -> bool | None:
        """Whether the stage works for all messages of a topic, or for none; None if that depends on the message."""
        if self.predicate is None:
            return True
        is_true = self.predicate.test_topic(topic)
        return None if is_true is None else is_true != self.negate

    def apply_many(self, messages: Sequence[Message]) -> list[Outcome]:
        """What becomes of each message."""
        if self.predicate is None:
            return self.transform.apply_many(messages)
        outcomes: list[Outcome] = list(messages)
        meant: list[int] = []
        for index, message in enumerate(messages):
            try:
                if self.predicate.test(message) != self.negate:
                    meant.append(index)
            except DataError as error:
                outcomes[index] = error
        changed = self.transform.apply_many([messages[index] for index in meant])
        for index, outcome in zip(meant, changed, strict=True):
            outcomes[index] = outcome
        return outcomes


@dataclass(frozen=True)
class Route:
    """What happens to the messages of one topic: where they go, and the stages that must look at each of them."""

    topic: str
    stages: tuple[Stage, ...] = ()
    drops_all: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether nobody need look at a message."""
        return not self.stages

    @property
    def hides_data(self) -> bool:
        """Whether a message that fails must not be shown on the target."""
        return any(stage.transform.hides_data for stage in self.stages)

    def run(self, messages: Sequence[Message]) -> list[Passed]:
        """What becomes of each message; stage by stage, so that those which do many at once get many."""
        passed: list[Passed] = list(messages)
        alive: Sequence[Message] = messages
        places: Sequence[int] = range(len(messages))  # of those that go on, in the list
        for stage in self.stages:
            outcomes = stage.apply_many(alive)
            survivors: list[Message] = []
            kept: list[int] = []
            for place, outcome in zip(places, outcomes, strict=True):
                if isinstance(outcome, Message):
                    passed[place] = outcome
                    survivors.append(outcome)
                    kept.append(place)
                else:
                    passed[place] = None if outcome is None else _failed(stage, outcome)
            alive, places = survivors, kept
        return passed


@dataclass(frozen=True)
class Chain:
    """All stages of a flow in their order."""

    stages: tuple[Stage, ...] = ()

    def route(self, topic: str) -> Route:
        """What is known of all messages of a topic (by its name on the target) before any of them is looked at.

        So topics that no stage is meant for, or that are only renamed, need not be decoded.
        """
        left: list[Stage] = []
        name: str | None = topic
        for stage in self.stages:
            is_meant = None if name is None else stage.is_meant(name)
            if is_meant is False:
                continue
            if is_meant and stage.transform.drops_all and not left:
                return Route(topic, drops_all=True)
            renamed = stage.transform.route(topic) if is_meant and not left else None
            if renamed is not None:
                topic = name = renamed
                continue
            left.append(stage)
            if stage.transform.may_reroute:
                name = None
        return Route(topic, tuple(left))


def _failed(stage: Stage, error: DataError) -> Failed:
    return Failed(stage.name, type(stage.transform).__name__, error)


@dataclass(frozen=True)
class StageSpec:
    """One transform as the file describes it, checked. Settings may be secret: they are not shown."""

    name: str
    class_name: str
    settings: Mapping[str, str] = field(repr=False)
    predicate: str = ""
    negate: bool = False


@dataclass(frozen=True)
class PredicateSpec:
    """One predicate as the file describes it, checked."""

    class_name: str
    settings: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class ChainSpec:
    """The transforms of a flow as plain data, which can travel to the processes that build and run them."""

    stages: tuple[StageSpec, ...] = ()
    predicates: Mapping[str, PredicateSpec] = field(default_factory=dict)
    formats: Mapping[str, str | Secret] = field(default_factory=dict, repr=False)  # how keys and values are written

    @property
    def is_active(self) -> bool:
        """Whether records must be looked at: to transform them, or to translate the ids of their schemas."""
        return bool(self.stages) or _TARGET_REGISTRY in self.formats

    def build(self) -> Chain:
        """The stages, ready to work; raises ValueError if one refuses its settings."""
        return Chain(tuple(self._stage(spec) for spec in self.stages))

    def _stage(self, spec: StageSpec) -> Stage:
        from heliograph.transforms.catalogue import make_predicate, make_transform  # most flows need none of them

        transform = make_transform(spec.class_name)
        transform.configure(spec.settings)
        predicate: Predicate | None = None
        if spec.predicate:
            found = self.predicates[spec.predicate]
            predicate = make_predicate(found.class_name)
            predicate.configure(found.settings)
        return Stage(spec.name, transform, predicate, spec.negate)
