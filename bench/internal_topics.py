"""Topics that a mirror and its brokers keep for themselves, by what they are for."""

from __future__ import annotations

import re
from enum import Enum

_BOOKS = re.compile(r"mm2-.+\.internal")
_OTHER = re.compile(r"__.+|(.+\.)?heartbeats|.+\.checkpoints\.internal")


class Kind(Enum):
    """What internal topics are for."""

    BOOKS = "ledger and positions"  # of either mirror, and its settings and states
    TRANSACTIONS = "transaction state"
    OTHER = "heartbeats, checkpoints, groups"


def kind_of(topic: str) -> Kind | None:
    """Which kind of internal topic this is, by its name; None for one with records of users."""
    if topic == "__transaction_state":
        return Kind.TRANSACTIONS
    if _BOOKS.fullmatch(topic):
        return Kind.BOOKS
    return Kind.OTHER if _OTHER.fullmatch(topic) else None
