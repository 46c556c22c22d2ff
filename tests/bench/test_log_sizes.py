"""Bytes that were appended, told from the sizes of logs before and after."""

from __future__ import annotations

import time

import pytest

from bench.log_sizes import appended, log_sizes
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import records, writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.zoo.topics import create_topic, fresh_name

BEFORE = {TopicPartition("old", 0): 100, TopicPartition("old", 1): 50, TopicPartition("still", 0): 7}


def test_growth_is_told_by_topic_and_new_topics_count_in_full() -> None:
    after = {
        TopicPartition("old", 0): 130,
        TopicPartition("old", 1): 55,
        TopicPartition("still", 0): 7,
        TopicPartition("new", 3): 11,
    }
    assert appended(BEFORE, after) == {"new": 11, "old": 35}


@pytest.mark.parametrize("size", [49, 0])
def test_a_log_that_has_lost_something_is_refused_even_if_its_topic_has_grown(size: int) -> None:
    after = {**BEFORE, TopicPartition("old", 0): 1000, TopicPartition("old", 1): size}
    with pytest.raises(ValueError, match=rf"old.*1.* {50 - size} bytes smaller"):
        appended(BEFORE, after)


def test_a_log_that_is_gone_is_refused() -> None:
    after = {where: size for where, size in BEFORE.items() if where.topic != "still"}
    with pytest.raises(ValueError, match=r"still.* 7 bytes smaller"):
        appended(BEFORE, after)


@pytest.mark.kafka
def test_a_broker_tells_every_byte_of_a_batch_as_soon_as_it_is_appended(primary: EmbeddedCluster) -> None:
    topic = fresh_name("sizes")
    create_topic(primary.bootstrap_servers, topic, partitions=2)
    written = [Record(number, int(time.time() * 1000), b"key", bytes(100)) for number in range(3)]
    with opened(Access(primary.alias, [primary.bootstrap_servers]), [topic]) as (loop, network):
        before = log_sizes(primary)
        for partition in (0, 1, 1):
            writing.append(loop, network, TopicPartition(topic, partition), written)
        after = log_sizes(primary)
    batch = len(records.encode(written))
    assert {where.partition: size for where, size in after.items() if where.topic == topic} == {0: batch, 1: 2 * batch}
    assert appended(before, after)[topic] == 3 * batch
