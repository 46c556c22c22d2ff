"""Records to look at, from real topics: committed ones, also behind gaps."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaProducer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import ClusterError
from heliograph.kafka.access import Access
from heliograph.kafka.sample import newest_records, records_from
from heliograph.model import TopicPartition
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def where(primary: EmbeddedCluster) -> TopicPartition:
    """Ten records, then seven transactions of which only the first was committed."""
    made = TopicPartition(create_topic(primary.bootstrap_servers, fresh_name("sampled")), 0)
    with closing(KafkaProducer(bootstrap_servers=primary.bootstrap_servers, transactional_id=str(made))) as producer:
        producer.init_transactions()
        for number in range(8):
            producer.begin_transaction()
            for index in range(10 if number == 0 else 1):
                producer.send(made.topic, b"%d/%d" % (number, index), partition=0)
            producer.flush()
            if number < 2:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    return made


@pytest.fixture(scope="module")
def access(primary: EmbeddedCluster) -> Access:
    return Access("primary", [primary.bootstrap_servers])


def test_the_newest_records_are_found_behind_markers_and_aborted_ones(access: Access, where: TopicPartition) -> None:
    found = newest_records(access, where.topic, 2)
    assert [(item.where, item.record.value) for item in found] == [(where, b"0/9"), (where, b"1/0")]
    assert len(newest_records(access, where.topic, 100)) == 11


def test_records_are_read_from_an_offset_on(access: Access, where: TopicPartition) -> None:
    values = [item.record.value for item in records_from(access, where, 8, 2)]
    assert values == [b"0/8", b"0/9"]
    assert [item.record.value for item in records_from(access, where, 9, 5)] == [b"0/9", b"1/0"]
    assert records_from(access, where, 15, 5) == []  # only what was aborted


def test_what_is_not_there_is_told(access: Access, where: TopicPartition) -> None:
    with pytest.raises(ClusterError, match="has no offset 1000; there are 0 to"):
        records_from(access, where, 1000, 1)
    with pytest.raises(ClusterError, match=f"has no partition {where.topic}-5"):
        newest_records(access, where.topic, 1, 5)
