"""Commits as bytes: the same as the client library writes and reads them."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchResponse,
)

from heliograph.kafka.commits import (
    COMMIT_VERSIONS,
    FETCH_VERSIONS,
    MANY_GROUPS,
    Committed,
    FetchedGroup,
    decode_commit,
    decode_fetch,
    encode_commit,
)
from heliograph.model import TopicPartition

LONG = "noted äöü " * 20
OFFSETS = {
    TopicPartition("orders", 0): Committed(17, LONG, 3),
    TopicPartition("payments", 7): Committed(2**40, "", -1),
    TopicPartition("orders", 1): Committed(0, "x", 0),
}
HEADER = b"\0\0\0\1\0"  # correlation id and no tags
TAGGED = b"\1\5\2hi"  # one field, number 5, two bytes


def versions(both: tuple[int, int]) -> range:
    return range(both[0], both[1] + 1)


def by_topic(offsets: dict[TopicPartition, Any]) -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = {}
    for (topic, partition), item in offsets.items():
        found.setdefault(topic, {})[partition] = item
    return found


@pytest.mark.parametrize("version", versions(COMMIT_VERSIONS))
def test_a_commit_is_written_as_the_client_library_does(version: int) -> None:
    topic_class = OffsetCommitRequest.OffsetCommitRequestTopic
    partition_class = topic_class.OffsetCommitRequestPartition
    topics = [
        topic_class(
            name=topic,
            partitions=[
                partition_class(
                    partition_index=number,
                    committed_offset=item.offset,
                    committed_leader_epoch=item.leader_epoch,
                    committed_metadata=item.metadata,
                )
                for number, item in items.items()
            ],
        )
        for topic, items in by_topic(OFFSETS).items()
    ]
    request = OffsetCommitRequest(
        group_id="billing", generation_id_or_member_epoch=-1, member_id="", group_instance_id=None, topics=topics
    )
    assert encode_commit("billing", OFFSETS) == request.encode(version=version)


@pytest.mark.parametrize("version", versions(COMMIT_VERSIONS))
def test_what_became_of_a_commit_is_read_as_the_client_library_writes_it(version: int) -> None:
    codes = {TopicPartition("orders", 0): 0, TopicPartition("orders", 1): 25, TopicPartition("payments", 7): 3}
    topic_class = OffsetCommitResponse.OffsetCommitResponseTopic
    partition_class = topic_class.OffsetCommitResponsePartition
    topics = [
        topic_class(
            name=topic,
            partitions=[partition_class(partition_index=number, error_code=code) for number, code in items.items()],
        )
        for topic, items in by_topic(codes).items()
    ]
    answer = OffsetCommitResponse(throttle_time_ms=5, topics=topics)
    assert decode_commit(memoryview(HEADER + answer.encode(version=version))) == codes


def fetched_topics(topic_class: Any, partition_class: Any) -> list[Any]:
    """The offsets, one that the group has not, one that is not told, and one without any text."""
    more = {TopicPartition("orders", 2): Committed(-1), TopicPartition("orders", 3): Committed(5)}
    return [
        topic_class(
            name=topic,
            partitions=[
                partition_class(
                    partition_index=number,
                    committed_offset=item.offset,
                    committed_leader_epoch=item.leader_epoch,
                    metadata=item.metadata or None,
                    error_code=3 if number == 3 else 0,
                )
                for number, item in items.items()
            ],
        )
        for topic, items in by_topic(OFFSETS | more).items()
    ]


@pytest.mark.parametrize("version", versions(FETCH_VERSIONS))
def test_committed_offsets_are_read_as_the_client_library_writes_them(version: int) -> None:
    if version < MANY_GROUPS:
        one = OffsetFetchResponse.OffsetFetchResponseTopic
        topics = fetched_topics(one, one.OffsetFetchResponsePartition)
        answer = OffsetFetchResponse(throttle_time_ms=5, topics=topics, error_code=16)
        wanted = [FetchedGroup("asked", OFFSETS, 16)]
    else:
        group_class = OffsetFetchResponse.OffsetFetchResponseGroup
        many = group_class.OffsetFetchResponseTopics
        topics = fetched_topics(many, many.OffsetFetchResponsePartitions)
        groups = [
            group_class(group_id="billing", topics=topics, error_code=0),
            group_class(group_id="gone", topics=[], error_code=69),
        ]
        answer = OffsetFetchResponse(throttle_time_ms=5, groups=groups)
        wanted = [FetchedGroup("billing", OFFSETS, 0), FetchedGroup("gone", {}, 69)]
    assert list(decode_fetch(memoryview(HEADER + answer.encode(version=version)), version, "asked")) == wanted


def test_fields_that_brokers_may_add_one_day_are_passed_over() -> None:
    taken = b"\0\0\0\0" + b"\2" + b"\2t" + b"\3" + b"\0\0\0\1\0\0" + TAGGED + b"\0\0\0\2\0\4\0" + TAGGED + b"\0"
    assert decode_commit(memoryview(HEADER + taken)) == {TopicPartition("t", 1): 0, TopicPartition("t", 2): 4}
    offset = b"\0\0\0\1" + b"\0" * 7 + b"\7" + b"\0\0\0\2" + b"\1" + b"\0\0"
    fetched = b"\0\0\0\0" + b"\2" + b"\2g" + b"\2" + b"\2t" + b"\2" + offset + TAGGED * 2 + b"\0\0" + TAGGED * 2
    [group] = decode_fetch(memoryview(HEADER + fetched), 9, "")
    assert group == FetchedGroup("g", {TopicPartition("t", 1): Committed(7, "", 2)}, 0)
