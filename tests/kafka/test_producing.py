from __future__ import annotations

import pytest
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import producing
from heliograph.kafka.producing import Appended, Batch
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

VERSIONS = range(producing.LOWEST_VERSION, producing.HIGHEST_VERSION + 1)
TopicData = ProduceRequest.TopicProduceData
TopicResponse = ProduceResponse.TopicProduceResponse
PartitionResponse = TopicResponse.PartitionProduceResponse


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transactional_id", [None, "lane-1"])
def test_a_request_has_the_bytes_of_the_client_library(version: int, transactional_id: str | None) -> None:
    chosen = [Batch("a", 0, b"x" * 200), Batch("b", 7, b"y"), Batch("a", 3, bytearray(b"z"))]
    ours = b"".join(producing.encode(chosen, transactional_id, -1, 15_000))
    part = TopicData.PartitionProduceData
    topics = [
        TopicData(name="a", partition_data=[part(index=0, records=b"x" * 200), part(index=3, records=b"z")]),
        TopicData(name="b", partition_data=[part(index=7, records=b"y")]),
    ]
    theirs = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=15_000, topic_data=topics)
    assert ours == bytes(theirs.encode(version=version))


def test_batches_travel_without_a_copy() -> None:
    data = bytearray(b"batch")
    assert any(piece is data for piece in producing.encode([Batch("t", 0, data)], None, -1, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_names_the_fate_of_each_batch(version: int) -> None:
    faulty = PartitionResponse.BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message="odd record")
    fine = PartitionResponse(index=1, error_code=0, base_offset=2**40, log_append_time_ms=-1, log_start_offset=0)
    refused = PartitionResponse(
        index=2, error_code=87, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1,
        record_errors=[faulty], error_message="refused",
    )  # fmt: skip
    response = ProduceResponse(
        responses=[
            TopicResponse(name="t", partition_responses=[fine, refused]),
            TopicResponse(name="u", partition_responses=[fine]),
        ],
        throttle_time_ms=250,
    )
    body = b"\0\0\0\1\0" + bytes(response.encode(version=version))
    assert producing.decode(memoryview(body)) == (
        [
            Appended("t", 1, 0, 2**40, ""),
            Appended("t", 2, 87, -1, "odd record; refused"),
            Appended("u", 1, 0, 2**40, ""),
        ],
        250,
    )


@pytest.mark.kafka
def test_a_broker_appends_batches_to_several_partitions_of_one_request(primary: EmbeddedCluster) -> None:
    topic = create_topic(primary.bootstrap_servers, fresh_name("producing"), partitions=2)
    with raw.network(primary.bootstrap_servers, topic) as (loop, network):
        chosen = [Batch(topic, partition, raw.batch_of(numbered(partition + 1))) for partition in range(2)]
        answers = [raw.send(loop, network, chosen) for _ in range(2)]
    offsets = [{item.partition: item.base_offset for item in answer} for answer in answers]
    assert offsets == [{0: 0, 1: 0}, {0: 1, 1: 2}]


@pytest.mark.kafka
def test_a_broker_tells_why_it_refuses_a_batch(primary: EmbeddedCluster) -> None:
    topic = create_topic(primary.bootstrap_servers, fresh_name("producing"))
    damaged = raw.batch_of(numbered(3))
    damaged[-1] ^= 1
    with raw.network(primary.bootstrap_servers, topic) as (loop, network):
        [item] = raw.send(loop, network, [Batch(topic, 0, damaged)])
    assert (item.error_code, item.base_offset) == (2, -1)
