"""Writes summaries of the offsets topic to the state, so that a start need not read all of it.

A summary tells what a committed beginning of a log holds. So one that a mirror writes which has lost the flow since is
as true as any other; it only tells less than a newer one.
"""

from __future__ import annotations

import time

from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.kafka import writing
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import NO_SUMMARIES, Summary, summarized
from heliograph.ledger.summaries import read_summaries, summary_record
from heliograph.model import TopicPartition

_INTERVAL = 60.0
_LEAST = 5_000  # offsets of a partition of the topic: fewer are read in no time
_LONGEST_MS = 3_600_000  # after it a summary is written again, for it does not count for ever


class PositionSummaries:
    """Keeps the summaries of one flow near the ends of its offsets topic."""

    def __init__(self, flow: FlowDriver, least: int = _LEAST) -> None:
        self._flow = flow
        self._least = least
        self._summaries = NO_SUMMARIES
        self._written: dict[int, Summary] = {}

    def chore(self) -> Chore:
        """The summarizing as periodic work."""
        return Chore("positions", _INTERVAL, self.summarize)

    def summarize(self) -> str:
        """Read on, and write down what is far ahead of what is written down."""
        settings = self._flow.settings
        topics, where = settings.topics, TopicPartition(settings.topics.state, 0)
        with opened(settings.target, [topics.state, topics.offsets]) as (loop, network):
            if not self._summaries:
                self._summaries = read_summaries(loop, network, topics.state)
                self._written = dict(self._summaries)
            now_ms = int(time.time() * 1000)
            alias = settings.source.alias
            self._summaries = summarized(loop, network, topics.offsets, alias, self._summaries, now_ms)
            due = {number: summary for number, summary in self._summaries.items() if self._is_due(number, summary)}
            for number, summary in due.items():  # one by one: a batch of all may be larger than brokers take
                writing.append(loop, network, where, [summary_record(number, summary)])
                self._written[number] = summary
        return f"{len(due)} partitions of {topics.offsets} summarized" if due else ""

    def _is_due(self, number: int, summary: Summary) -> bool:
        before = self._written.get(number)
        if before is None or before.topic_id != summary.topic_id:
            return summary.read_to >= self._least
        is_far = abs(summary.read_to - before.read_to) >= self._least
        return is_far or summary.at_ms - before.at_ms >= _LONGEST_MS
