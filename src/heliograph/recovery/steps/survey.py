"""What of a lost source is missing on its target, as far as it can be known."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from heliograph.config.flow import FlowConfig
from heliograph.errors import ClusterError
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import opened
from heliograph.kafka.reading import LATEST
from heliograph.model import TopicPartition
from heliograph.recovery.books import Books, read_books
from heliograph.recovery.steps.step import Outlook, Step, Tell
from heliograph.recovery.wording import counted

_PROBE_MS = 1500


@dataclass(frozen=True)
class Missing:
    """One partition: how far it was mirrored, how far it is known to have reached."""

    source: TopicPartition
    target: TopicPartition
    mirrored_to: int  # the last offset that is safe
    known_end: int  # the offset after the last one that was seen
    seen_at_ms: int

    @property
    def records(self) -> int:
        """At least so many offsets are missing; what was written after the last look is not known."""
        return max(0, self.known_end - self.mirrored_to - 1)


@dataclass(frozen=True)
class Loss:
    """All partitions of a flow."""

    partitions: Sequence[Missing]
    is_source_there: bool  # then the figures are those of now
    seen_at_ms: int
    last_commit_ms: int

    @property
    def records(self) -> int:
        """Over all partitions."""
        return sum(item.records for item in self.partitions)

    def text(self, now_ms: int) -> str:
        """In one line."""
        late = [item for item in self.partitions if item.records]
        when = "which answers" if self.is_source_there else f"last seen {_ago(now_ms - self.seen_at_ms)}"
        if not late:
            found = f"nothing of the source ({when}) is known to be missing"
        else:
            what = f"{counted(self.records, 'record')} of {counted(len(late), 'partition')}"
            found = f"at least {what} of the source ({when}) missing"
        return f"{found}; last mirrored {_ago(now_ms - self.last_commit_ms)}"


def survey(books: Books) -> Loss:
    """By the source itself if it answers, and else by the last look that was written down."""
    ends = _ends_now(books.flow, set(books.positions))
    sight, tail = books.tail.sight, books.tail
    now = int(time.time() * 1000)
    seen_at = now if ends is not None else sight.at_ms if sight else 0
    known: Mapping[TopicPartition, int] = ends if ends is not None else sight.ends if sight else {}
    partitions = [
        Missing(
            where,
            books.targets[where],
            position.offset,
            max(known.get(where, 0), position.offset + 1),
            max(seen_at, 0 if where in known else tail.last_commit_ms),
        )
        for where, position in sorted(books.positions.items())
    ]
    return Loss(partitions, ends is not None, seen_at, tail.last_commit_ms)


def is_there(flow: FlowConfig) -> bool:
    """Whether the source answers at all; a question of a second or two."""
    access = replace(access_for(flow.source, "admin"), request_timeout_ms=_PROBE_MS, connect_timeout_ms=_PROBE_MS)
    with suppress(ClusterError), opened(access):
        return True
    return False


def _ends_now(flow: FlowConfig, partitions: set[TopicPartition]) -> dict[TopicPartition, int] | None:
    """None if the source does not tell."""
    if not is_there(flow):
        return None
    try:
        with opened(access_for(flow.source, "admin"), {where.topic for where in partitions}) as (_, network):
            return reading.list_many(network, dict.fromkeys(partitions, LATEST), READ_COMMITTED)
    except ClusterError:  # it is going, or has lost topics
        return None


def _ago(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    if seconds < 120:
        return f"{max(seconds, 0):.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 7200 else f"{seconds / 3600:.0f} h ago"


class Survey(Step):
    """Says what is missing."""

    name = "survey"
    title = "Find out what is missing"

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self.loss: Loss | None = None

    def outlook(self) -> Outlook:
        """The same as doing it."""
        return Outlook(self.do(lambda _: None))

    def do(self, tell: Tell) -> str:
        """Ask the books, and the source if it answers."""
        tell("reading the ledger")
        self.loss = survey(read_books(self._flow))
        return self.loss.text(int(time.time() * 1000))

    def details(self) -> dict[str, Any]:
        """Every partition of which something is missing, and how old the answer is."""
        loss = self.loss
        if loss is None:
            return {}
        return {
            "source_answers": loss.is_source_there,
            "source_seen_at_ms": loss.seen_at_ms,
            "last_commit_ms": loss.last_commit_ms,
            "missing_records": loss.records,
            "partitions": [
                {
                    "topic": item.source.topic,
                    "partition": item.source.partition,
                    "target_topic": item.target.topic,
                    "mirrored_to": item.mirrored_to,
                    "known_end": item.known_end,
                    "seen_at_ms": item.seen_at_ms,
                    "missing": item.records,
                }
                for item in loss.partitions
            ],
        }

    def facts(self) -> dict[str, str]:
        """For hooks: how much."""
        return {"missing_records": str(self.loss.records if self.loss else 0)}
