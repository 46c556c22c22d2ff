"""What a user wants done at steps of an operation: a command, or a call of a webhook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias

from heliograph.config.secret import Secret

ANY_STEP: Final = "*"
STEPS: Final[Mapping[str, tuple[str, ...]]] = {  # of each operation, in their order
    "switchover": ("check", "producers", "drain", "consumers", "groups", "verify", "close"),
    "failover": ("check", "close", "survey", "groups"),
    "failback": (
        *("check", "close", "tail", "reopen", "mirror", "producers", "drain", "consumers", "groups", "verify"),
        *("release", "open"),
    ),
    "drill": ("prepare", "mirror", "load", "loss", "failover", "outage", "return", "verify", "failback", "home"),
}
OPERATIONS: Final = tuple(STEPS)
DEFAULT_OPERATIONS: Final = OPERATIONS[:-1]  # a rehearsal must ask for what touches the rest of the world


class When(Enum):
    """Where a hook stands to a step, or that the whole operation has failed."""

    BEFORE = "before"
    AFTER = "after"
    FAILED = "failed"


class OnFailure(Enum):
    """What becomes of an operation whose hook fails."""

    STOP = "stop"
    CONTINUE = "continue"


@dataclass(frozen=True)
class Moment:
    """When a hook runs: before or after a step (or every step, `*`), or when the operation has failed."""

    when: When
    step: str = ANY_STEP

    @classmethod
    def parse(cls, text: str) -> Moment:
        """The moment of `before STEP`, `after STEP` or `failed`; raises ValueError."""
        word, *rest = text.split() or [""]
        if word.lower() == When.FAILED.value and not rest:
            return cls(When.FAILED)
        if word.lower() in (When.BEFORE.value, When.AFTER.value) and len(rest) == 1:
            return cls(When(word.lower()), rest[0])
        raise ValueError("is not a list of before STEP, after STEP and failed")

    def covers(self, when: When, step: str) -> bool:
        """Whether this is such a moment."""
        return self.when is when and (self.step in (ANY_STEP, step) or when is When.FAILED)

    def __str__(self) -> str:
        return self.when.value if self.when is When.FAILED else f"{self.when.value} {self.step}"


@dataclass(frozen=True)
class Command:
    """A shell command and the folder that it runs in; `shown` is what the file says, before references are resolved."""

    text: Secret
    folder: Path
    shown: str


@dataclass(frozen=True)
class Webhook:
    """An address that is told of a step by POST; path and query of the address may be secret, as all headers are."""

    url: Secret
    headers: tuple[tuple[str, Secret], ...] = ()
    shown: str = ""


HookAction: TypeAlias = Command | Webhook


@dataclass(frozen=True)
class Hook:
    """One hook of the file. `secrets` must not be seen in what it puts out."""

    name: str
    moments: tuple[Moment, ...]
    action: HookAction
    operations: tuple[str, ...] = DEFAULT_OPERATIONS
    flows: tuple[str, ...] = ()  # none: all
    timeout_seconds: float = 60.0
    on_failure: OnFailure = OnFailure.STOP
    secrets: tuple[Secret, ...] = field(default=(), repr=False)

    def concerns(self, operation: str, flow: str) -> bool:
        """Whether it has to do with an operation on a flow."""
        return operation in self.operations and (not self.flows or flow in self.flows)

    def is_due(self, when: When, step: str) -> bool:
        """Whether it runs at such a moment."""
        return any(moment.covers(when, step) for moment in self.moments)

    def __str__(self) -> str:
        return f"{self.name}: {self.action.shown}"
