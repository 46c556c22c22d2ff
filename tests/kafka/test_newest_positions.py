"""Positions that are wanted, read from the end of a topic that holds many more."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import (
    PositionReader,
    Summaries,
    all_positions,
    lately_written,
    newest_positions,
    summarized,
)
from heliograph.kafka.records import Record
from heliograph.model import Position, TopicPartition
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

ORDERS, HEARTBEATS = TopicPartition("orders", 0), TopicPartition("heartbeats", 0)


@pytest.fixture
def topic(backup: EmbeddedCluster) -> str:
    """All positions share one partition."""
    return create_topic(backup.bootstrap_servers, fresh_name("offsets"))


def write(cluster: EmbeddedCluster, topic: str, found: Mapping[TopicPartition, int], alias: str = "a") -> None:
    written = [
        Record(0, 0, positions.encode_key(alias, where), positions.encode_value(Position(offset)))
        for where, offset in found.items()
    ]
    with opened(_access(cluster), [topic]) as (loop, network):
        writing.append(loop, network, TopicPartition(topic, 0), written)


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))


def test_what_is_not_wanted_is_left_out_wherever_it_lies(backup: EmbeddedCluster, topic: str) -> None:
    write(backup, topic, {HEARTBEATS: 7, ORDERS: 3})
    write(backup, topic, {ORDERS: 4, HEARTBEATS: 8})
    write(backup, topic, {ORDERS: 99}, alias="b")
    with opened(_access(backup), [topic]) as (loop, network):
        assert newest_positions(loop, network, topic, "a", {ORDERS}) == {ORDERS: Position(4)}
        assert newest_positions(loop, network, topic, "a", {TopicPartition("other", 0)}) == {}
        assert all_positions(loop, network, topic, "a") == {ORDERS: Position(4), HEARTBEATS: Position(8)}


def test_those_far_back_are_found(backup: EmbeddedCluster, topic: str) -> None:
    write(backup, topic, {ORDERS: 3})
    for _ in range(3):
        write(backup, topic, {TopicPartition("busy", number): 1 for number in range(1_000)})
    with opened(_access(backup), [topic]) as (loop, network):
        assert newest_positions(loop, network, topic, "a", {ORDERS}) == {ORDERS: Position(3)}


def test_what_is_wanted_later_is_found_though_it_is_old(backup: EmbeddedCluster, topic: str) -> None:
    """Or a topic that is mirrored again would begin at its first record."""
    write(backup, topic, {ORDERS: 3, HEARTBEATS: 1})
    for _ in range(3):
        write(backup, topic, {TopicPartition("busy", number): 1 for number in range(1_000)})
    reader = PositionReader("a", topic)
    with opened(_access(backup), [topic]) as (loop, network):
        reader.follow(loop, network, {TopicPartition("busy", 5)})
        assert ORDERS not in reader.known
        write(backup, topic, {HEARTBEATS: 2})
        reader.follow(loop, network, {TopicPartition("busy", 5), ORDERS})
        assert (reader.known[ORDERS], reader.known[HEARTBEATS]) == (Position(3), Position(2))
        write(backup, topic, {ORDERS: 4})
        reader.follow(loop, network, {ORDERS})
        assert reader.known[ORDERS] == Position(4)
        assert reader.read_to == {0: 3_004}


# -- summaries of what lies far back -----------------------------------------------------------------------------------

EMPTY = TopicPartition("empty", 0)  # of which no record was ever mirrored


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many offsets each read has covered."""
    covered: list[int] = []
    read_batches = reading.read_batches

    def note(loop: Any, network: Any, topic: str, starts: Any, ends: Any, *others: Any, **named: Any) -> Any:
        covered.append(sum(ends[number] - starts[number] for number in starts))
        return read_batches(loop, network, topic, starts, ends, *others, **named)

    monkeypatch.setattr(reading, "read_batches", note)
    return covered


@pytest.fixture
def summaries(backup: EmbeddedCluster, topic: str) -> Summaries:
    """Of a topic with 3,000 positions, of which two are of partitions that are quiet by now."""
    write(backup, topic, {ORDERS: 3, HEARTBEATS: 1})
    for _ in range(3):
        write(backup, topic, {TopicPartition("busy", number): 1 for number in range(1_000)})
    return summary_of(backup, topic)


def summary_of(cluster: EmbeddedCluster, topic: str, before: Summaries | None = None) -> Summaries:
    with opened(_access(cluster), [topic]) as (loop, network):
        return summarized(loop, network, topic, "a", before or {}, int(time.time() * 1000))


def found(cluster: EmbeddedCluster, topic: str, summaries: Summaries) -> dict[TopicPartition, Position]:
    with opened(_access(cluster), [topic]) as (loop, network):
        return newest_positions(loop, network, topic, "a", {ORDERS, HEARTBEATS, EMPTY}, summaries)


def test_what_a_summary_tells_is_not_read_again_not_even_for_a_partition_without_a_position(
    backup: EmbeddedCluster, topic: str, summaries: Summaries, spans: list[int]
) -> None:
    write(backup, topic, {ORDERS: 4})
    assert found(backup, topic, summaries) == {ORDERS: Position(4), HEARTBEATS: Position(1)}
    assert spans == [1]
    with opened(_access(backup), [topic]) as (loop, network):
        assert len(all_positions(loop, network, topic, "a", summaries)) == 1_002
    assert spans == [1, 1]


def test_a_summary_of_all_that_there_is_needs_nothing_else(
    backup: EmbeddedCluster, topic: str, summaries: Summaries, spans: list[int]
) -> None:
    assert found(backup, topic, summaries) == {ORDERS: Position(3), HEARTBEATS: Position(1)}
    assert spans == []


def test_a_summary_goes_on_where_the_last_one_ended(
    backup: EmbeddedCluster, topic: str, summaries: Summaries, spans: list[int]
) -> None:
    write(backup, topic, {HEARTBEATS: 2})
    later = summary_of(backup, topic, summaries)
    assert (later[0].read_to, later[0].known[HEARTBEATS], spans) == (3_003, Position(2), [1])
    assert later[0].known == summary_of(backup, topic)[0].known


def test_a_position_that_was_removed_after_a_summary_stays_removed(
    backup: EmbeddedCluster, topic: str, summaries: Summaries
) -> None:
    with opened(_access(backup), [topic]) as (loop, network):
        writing.append(loop, network, TopicPartition(topic, 0), [Record(0, 0, positions.encode_key("a", ORDERS), None)])
    assert found(backup, topic, summaries) == {HEARTBEATS: Position(1)}
    assert ORDERS not in summary_of(backup, topic, summaries)[0].known


@pytest.mark.parametrize(
    "change",
    [{"topic_id": uuid4()}, {"read_to": 9_999}, {"at_ms": 0}],
    ids=[
        "of a topic that had the name before",
        "of what the log has lost",
        "too old",
    ],
)
def test_a_summary_that_may_be_wrong_is_not_used(
    backup: EmbeddedCluster, topic: str, summaries: Summaries, spans: list[int], change: dict[str, Any]
) -> None:
    wrong = {0: replace(summaries[0], known={ORDERS: Position(77)}, **change)}
    assert found(backup, topic, wrong) == {ORDERS: Position(3), HEARTBEATS: Position(1)}
    assert max(spans) == 3_002


def test_one_that_follows_finds_what_is_wanted_later_in_the_summary(
    backup: EmbeddedCluster, topic: str, summaries: Summaries, spans: list[int]
) -> None:
    reader = PositionReader("a", topic)
    reader.summaries = summaries
    with opened(_access(backup), [topic]) as (loop, network):
        reader.follow(loop, network, {EMPTY})
        write(backup, topic, {ORDERS: 4})
        reader.follow(loop, network, {EMPTY, HEARTBEATS})
    assert (reader.known[ORDERS], reader.known[HEARTBEATS]) == (Position(4), Position(1))
    assert sum(spans) == 1


def test_of_what_was_written_lately_only_so_much_is_read(
    backup: EmbeddedCluster, topic: str, summaries: Summaries, spans: list[int]
) -> None:
    assert summaries
    write(backup, topic, {ORDERS: 4})
    spans.clear()
    with opened(_access(backup), [topic]) as (loop, network):
        assert ORDERS in lately_written(loop, network, topic, "a", 500)
    assert spans == [500]
