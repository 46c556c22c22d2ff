"""Whether flows that keep topic names would bring records home, or anywhere twice.

Regular expressions cannot be compared, so each item of any flow's `topics` stands for a topic: flows that name it word
by word take it, and flows whose filter takes that text as a name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from heliograph.config.problem import Problem, Severity
from heliograph.policy.same_names import repetitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heliograph.config.flow import FlowConfig
    from heliograph.policy.same_names import Repetition, Way

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


def check_same_names(flows: Sequence[FlowConfig], file: str) -> Iterator[Problem]:
    """Every way by which records would circle, once; flows are all of the file that mirror records."""
    told: set[tuple[str, ...]] = set()
    for takers, topic in _graphs([flow for flow in flows if flow.enabled and flow.keeps_names]).items():
        for found in repetitions(takers):
            if (ring := _as_ring(found)) not in told:
                told.add(ring)
                last = next(flow for flow in flows if flow.way == found.way[-2:])
                yield _problem(found, topic, last, file)


def _graphs(flows: Sequence[FlowConfig]) -> dict[frozenset[Way], str]:
    """The flows that take the same topics, in all combinations that there are, with a topic for each."""
    found: dict[frozenset[Way], str] = {}
    for topic in dict.fromkeys(topic for flow in flows for topic in _topics(flow)):
        found.setdefault(frozenset(flow.way for flow in flows if _takes(flow, topic)), topic)
    return found


def _topics(flow: FlowConfig) -> tuple[str, ...]:
    topics = flow.get("topics")
    return topics if isinstance(topics, tuple) else ()


def _takes(flow: FlowConfig, topic: str) -> bool:
    is_expression = not _NAME.fullmatch(topic)
    return flow.topic_filter.should_replicate_topic(topic) or (is_expression and topic in _topics(flow))


def _as_ring(found: Repetition) -> tuple[str, ...]:
    """The same for all clusters of a ring, so that it is told once."""
    if not found.is_home:
        return found.way
    ring = found.way[:-1]
    start = ring.index(min(ring))
    return (*ring[start:], *ring[:start])


def _problem(found: Repetition, topic: str, last: FlowConfig, file: str) -> Problem:
    way = " -> ".join(found.way)
    if found.is_home:
        what = f"records of {topic} would go {way}, and come home"
    else:
        what = f"records of {topic} would come to {found.way[-1]} twice: {' -> '.join(found.first)}, and {way}"
    lines = ", ".join(f"{remedy}.enabled = true" for remedy in found.remedies())
    hint = (
        f"write {lines}, so that they go straight, or let one of these flows prefix names "
        f"({last.name}.replication.policy.class = DefaultReplicationPolicy)"
    )
    origin = last.setting("enabled").origin
    return Problem(Severity.ERROR, what, hint, file, origin.line, origin.key or f"{last.name}.enabled")
