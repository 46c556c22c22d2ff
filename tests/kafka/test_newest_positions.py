"""Positions that are wanted, read from the end of a topic that holds many more."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions, writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import PositionReader, all_positions, newest_positions
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
