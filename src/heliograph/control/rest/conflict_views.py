"""Conflicts as our API shows them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.decision import Decision, as_text
from heliograph.control.conflicts.book import MINUTE_MS, Bar, TopicKey
from heliograph.control.conflicts.delay import delay_seconds
from heliograph.control.conflicts.top_counts import Count
from heliograph.control.conflicts.watch import ClusterConflicts, Wanted
from heliograph.control.rest.conflict_answers import (
    BarAnswer,
    ClusterConflictsAnswer,
    CountAnswer,
    DecisionAnswer,
    DetectionAnswer,
    KeyCountAnswer,
    RecordAnswer,
)
from heliograph.control.running_conflicts import RunningConflicts

_LONGEST_VALUE = 2_000  # letters
_MOST_RECORDS = 20  # of one decision


@dataclass(frozen=True)
class Choice:
    """What someone wants to see, and may."""

    wanted: Wanted
    limit: int
    shows_values: bool


def cluster_view(found: ClusterConflicts, running: RunningConflicts, choice: Choice) -> ClusterConflictsAnswer:
    """One cluster; what is wanted narrows keys and decisions."""
    figures, config, wanted = found.figures, running.config, choice.wanted
    decisions = [item for item in figures.examples if wanted.fits(item)][: choice.limit]
    keys = [_key(item) for item in figures.keys]
    return ClusterConflictsAnswer(
        cluster=found.cluster,
        patterns=list(config.topics),
        resolver=config.resolver,
        window_ms=config.window_ms,
        detection=_detection(running),
        exists=found.exists,
        trouble=found.trouble,
        unreadable=found.unreadable,
        since_ms=figures.since_ms,
        last_ms=figures.last_ms,
        conflicts=figures.conflicts,
        last_minute=figures.last_minute,
        per_minute=figures.per_minute,
        bars=[_bar(bar) for bar in figures.bars],
        topics=_counts(figures.topics),
        rules=_counts(figures.rules),
        winners=_counts(figures.winners),
        keys=[item for item in keys if _fits(item, wanted)][: choice.limit],
        decisions=[_decision(item, choice.shows_values) for item in decisions],
    )


def _fits(item: KeyCountAnswer, wanted: Wanted) -> bool:
    return wanted.topic in (None, item.topic) and wanted.key in (None, item.key)


def _detection(running: RunningConflicts) -> DetectionAnswer:
    totals = running.totals
    return DetectionAnswer(
        records=totals.records,
        conflicts=totals.conflicts,
        late=totals.late,
        waiting=totals.waiting,
        delay_seconds=delay_seconds(totals, int(time.time() * 1000)),
        unreadable=totals.unreadable,
        passed_by=[str(item) for item in totals.passed_by],
        restarts=totals.restarts,
        trouble=totals.trouble,
    )


def _bar(bar: Bar) -> BarAnswer:
    per_minute = bar.conflicts * MINUTE_MS / bar.span_ms
    return BarAnswer(at_ms=bar.at_ms + bar.span_ms, conflicts=bar.conflicts, per_minute=per_minute)


def _counts(counts: Sequence[Count[str]]) -> list[CountAnswer]:
    return [CountAnswer(name=item.item, conflicts=item.count, is_exact=item.is_exact) for item in counts]


def _key(count: Count[TopicKey]) -> KeyCountAnswer:
    text, encoding = as_text(count.item.key)
    return KeyCountAnswer(
        topic=count.item.topic, key=text, key_encoding=encoding, conflicts=count.count, is_exact=count.is_exact
    )


def _decision(decision: Decision, shows_values: bool) -> DecisionAnswer:
    conflict, (winner, value, rule, note) = decision.conflict, decision.resolution
    key, key_encoding = as_text(conflict.key)
    merged, encoding = _text(value) if winner is None and shows_values else (None, "")
    candidates = _chosen(conflict.candidates, winner)
    return DecisionAnswer(
        topic=decision.logical_topic,
        key=key,
        key_encoding=key_encoding,
        rule=rule,
        note=note,
        window_ms=conflict.window_ms,
        decided_at_ms=decision.decided_at_ms,
        winner=None if winner is None else winner.origin,
        merged=merged,
        merged_encoding=encoding,
        records=[_record(item, item == winner, shows_values) for item in candidates],
        left_out=len(conflict.candidates) + decision.omitted - len(candidates),
        values_omitted=decision.values_omitted,
    )


def _chosen(candidates: Sequence[Candidate], winner: Candidate | None) -> list[Candidate]:
    """The first, but never without the winner."""
    first = list(candidates[:_MOST_RECORDS])
    return first if winner is None or winner in first else [*first[:-1], winner]


def _record(candidate: Candidate, won: bool, shows_values: bool) -> RecordAnswer:
    value, encoding = _text(candidate.value) if shows_values else (None, "")
    return RecordAnswer(
        cluster=candidate.origin,
        topic=candidate.topic,
        partition=candidate.partition,
        offset=candidate.offset,
        timestamp_ms=candidate.timestamp_ms,
        won=won,
        value=value,
        value_encoding=encoding,
        value_bytes=None if candidate.value is None else len(candidate.value),
    )


def _text(value: bytes | None) -> tuple[str | None, str]:
    if value is None:
        return None, ""
    text, encoding = as_text(value)
    return text[:_LONGEST_VALUE], encoding
