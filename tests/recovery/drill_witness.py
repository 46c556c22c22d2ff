"""A witness of a drill: looks at both clusters with a stock client, and judges by that alone."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition
from heliograph.recovery.drill.drill import Drill
from tests.checker.stock_reader import read_committed

Log = dict[TopicPartition, list[tuple[int, int]]]  # offsets and numbers
Places = dict[str, dict[TopicPartition, int]]


@dataclass(frozen=True)
class Sight:
    """What a cluster held at a moment."""

    log: Log
    places: Places

    def numbers(self, group: str = "", since: Mapping[TopicPartition, int] | None = None) -> set[int]:
        """All numbers; or those from some offsets on; or those from a group's places on."""
        starts = since if since is not None else self.places.get(group, {}) if group else {}
        return {
            number for where, items in self.log.items() for offset, number in items if offset >= starts.get(where, 0)
        }

    def before(self, group: str) -> set[int]:
        """What a group has left behind it."""
        ends = self.places.get(group, {})
        return {number for where, items in self.log.items() for offset, number in items if offset < ends.get(where, 0)}


class Witness:
    """Looks after each step; `see` is given to the drill."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, topics: Collection[str], mark: str) -> None:
        self._source = source
        self._target = target
        self._topics = topics
        self._mark = mark
        self.sights: dict[str, Sight] = {}
        self.times: dict[str, float] = {}

    def see(self, step: str) -> None:
        """After the failover and the outage the target counts, later the source."""
        self.times[step] = time.monotonic()
        if step in ("failover", "outage"):
            self.sights[step] = look(self._target, self._topics, self._mark)
        if step in ("return", "home"):
            self.sights[step] = look(self._source, self._topics, self._mark)


def look(cluster: EmbeddedCluster, topics: Collection[str], mark: str) -> Sight:
    """Read all canary topics and their mirrors, and where groups stand."""
    servers = cluster.bootstrap_servers
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        described = admin.describe_topics([name for name in admin.list_topics() if name.endswith(tuple(topics))])
        offsets = _offsets(admin, mark)
    partitions = [
        TopicPartition(topic["name"], item["partition_index"]) for topic in described for item in topic["partitions"]
    ]
    log = {
        where: [(seen.offset, int(seen.content.key or b"-1")) for seen in read_committed(servers, where)]
        for where in partitions
    }
    places = {
        group: {TopicPartition(where.topic, where.partition): item.offset for where, item in items.items()}
        for group, items in offsets.items()
    }
    return Sight(log, places)


def _offsets(admin: KafkaAdminClient, mark: str) -> dict[str, Any]:
    """A broker that has just started must load its groups first."""
    deadline = time.monotonic() + 30
    while True:
        try:
            groups = [item["group_id"] for item in admin.list_groups() if mark in item["group_id"]]
            return admin.list_group_offsets(groups) if groups else {}
        except (CoordinatorLoadInProgressError, CoordinatorNotAvailableError):
            assert time.monotonic() < deadline, "the groups were never loaded"
            time.sleep(0.1)


@dataclass(frozen=True)
class Case:
    """What the witness has seen, and what the operations have said."""

    sights: Mapping[str, Sight]
    copies: Mapping[str, str]
    acked: Collection[int]
    acked_meanwhile: Collection[int]
    tail: list[int]
    failover_rows: list[Mapping[str, Any]]
    failback_rows: list[Mapping[str, Any]]

    @classmethod
    def of(cls, witness: Witness, drill: Drill, copies: Mapping[str, str]) -> Case:
        """Of the drill itself it takes only what clusters acknowledged, and what its operations said."""
        evidence = drill.story.evidence
        return cls(
            witness.sights,
            copies,
            set(drill.story.load.acked),
            evidence.acked_meanwhile,
            tail_numbers(drill.story.tail),
            list(evidence.failover_rows),
            list(evidence.failback_rows),
        )

    @property
    def lost(self) -> set[int]:
        """What was acknowledged by the source and is not on the target."""
        return set(self.acked) - self._mirrored

    @property
    def _mirrored(self) -> set[int]:
        """Nothing else was on the target at that time."""
        return self.sights["failover"].numbers()

    def judge(self) -> None:
        """Fails with the first thing that is wrong."""
        self._judge_records()
        groups = sorted({row["group"] for row in self.failover_rows})
        assert groups, "no group was set"
        for group in groups:
            self._judge_failover(group)
            self._judge_failback(group)

    def _judge_records(self) -> None:
        at_loss = {
            number
            for where, items in self.sights["return"].log.items()
            if where.topic in self.copies
            for _, number in items
        }
        assert set(self.acked) <= at_loss, "the source has lost acknowledged records"
        assert at_loss - self._mirrored == set(self.tail), "the tail is not what the target lacks"
        assert max(Counter(self.tail).values(), default=1) == 1, "the tail repeats records"
        for name in ("failover", "outage", "home"):
            counts = Counter(number for items in self.sights[name].log.values() for _, number in items)
            assert max(counts.values()) == 1, f"records are repeated ({name})"
        assert set(self.acked_meanwhile) | set(self.acked) <= self.sights["home"].numbers(), "not all came home"

    def known(self, step: str, group: str) -> set[int]:
        """What a group had really read, on whichever cluster, before the move of that step."""
        on_source = self.sights["return"].before(group)
        if step == "failover":
            return on_source
        there = self.sights["outage"]
        return on_source | (there.before(group) & there.numbers(since=self.sights["failover"].places[group]))

    def _judge_failover(self, group: str) -> None:
        there, home = self.sights["failover"], self.sights["return"]
        read_before = self.known("failover", group)
        rest = there.numbers(group)
        assert self._mirrored - read_before <= rest, f"{group} skips records at the failover"
        for row in self.failover_rows:
            if row["group"] != group:
                continue
            source = TopicPartition(row["source_topic"], row["partition"])
            target = TopicPartition(row["target_topic"], row["partition"])
            assert there.places[group][target] == row["target_offset"]
            again = _again(there, group, target, read_before)
            said = home.places[group][source] - row["source_offset"] if row["exact"] else row["waiting"]
            assert again <= max(0, said), f"{group} {target} reads {again} again, {said} were said"

    def _judge_failback(self, group: str) -> None:
        there, home = self.sights["outage"], self.sights["home"]
        read_there = there.before(group)
        unread = home.numbers() - self.known("home", group)
        assert unread <= home.numbers(group), f"{group} skips records at the failback"
        said = {
            TopicPartition(row["target_topic"], row["partition"]): 0 if row["exact"] else row["waiting"]
            for row in self.failback_rows
            if row["group"] == group
        }
        assert said, f"{group} was not set on the source"
        for where in home.log:
            again = _again(home, group, where, read_there)
            assert again <= said.get(where, 0), f"{group} {where} reads {again} again, {said.get(where, 0)} were said"


def _again(sight: Sight, group: str, where: TopicPartition, known: set[int]) -> int:
    place = sight.places[group].get(where, 0)
    return sum(offset >= place and number in known for offset, number in sight.log[where])


def tail_numbers(file: Path) -> list[int]:
    """The numbers in a saved tail."""
    return [int(json.loads(line)["key"]) for line in file.read_text().splitlines()] if file.exists() else []
