"""What one configuration key is: its type, default, meaning, and where it may stand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from heliograph.config.secret import Secret

Value: TypeAlias = str | int | float | bool | tuple[str, ...] | Secret | None


class Kind(Enum):
    """The types that Kafka's configuration knows, and `regexes`: a list of Java regular expressions."""

    STRING = "string"
    LIST = "list"
    REGEXES = "regexes"
    BOOLEAN = "boolean"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    PASSWORD = "password"  # noqa: S105
    CLASS = "class"


class Scope(Enum):
    """Which part of the system reads a key; decides before what prefix it may stand."""

    DRIVER = "driver"
    CONNECTOR = "connector"
    SOURCE = "source"
    CHECKPOINT = "checkpoint"
    HEARTBEAT = "heartbeat"
    OWN = "own"
    CONFLICTS = "conflicts"
    WORKER = "worker"
    REST = "rest"
    CLIENT = "client"
    CONSUMER = "consumer"
    PRODUCER = "producer"
    ADMIN = "admin"


FLOW_SCOPES: Final = (Scope.CONNECTOR, Scope.SOURCE, Scope.CHECKPOINT, Scope.HEARTBEAT, Scope.OWN)
CLIENT_SCOPES: Final = (Scope.CLIENT, Scope.CONSUMER, Scope.PRODUCER, Scope.ADMIN)


class Effect(Enum):
    """Whether setting a key does something here."""

    ACTS = "acts"
    NONE = "accepted, no effect"
    UNSUPPORTED = "not supported"


@dataclass(frozen=True)
class Option:
    """One key of the table from which parsing, checking and the reference are made.

    `mm2_default` is given only where MirrorMaker 2's default is another one. `note` says why a key has no
    effect and what does its job instead. `pattern` is what each item must look like, as in `example`.
    `dropped_at_top` marks keys that MirrorMaker 2 silently ignores when they stand without a prefix.
    """

    name: str
    kind: Kind
    default: Value
    doc: str
    scope: Scope
    mm2_default: str = ""
    choices: tuple[str, ...] = ()
    pattern: str = ""
    example: str = ""
    minimum: float | None = None
    maximum: float | None = None
    zero_allowed: bool = True
    required: bool = False
    since: str = ""
    removed: str = ""
    replaced_by: str = ""
    effect: Effect = Effect.ACTS
    note: str = ""
    dropped_at_top: bool = False

    @property
    def secret(self) -> bool:
        """Whether values must never be shown."""
        return self.kind is Kind.PASSWORD


@dataclass(frozen=True)
class Family:
    """Keys that share a prefix and are free after it, such as `transforms.<name>.…`."""

    prefix: str
    doc: str
    scope: Scope
    effect: Effect = Effect.ACTS
    note: str = ""
    dropped_at_top: bool = False
