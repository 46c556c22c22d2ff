"""Deletes the oldest records of a partition."""

from __future__ import annotations

from kafka.protocol.admin import DeleteRecordsRequest

from heliograph.kafka.network import Network, check
from heliograph.model import TopicPartition


def trim(network: Network, where: TopicPartition, before: int) -> None:
    """Let a partition begin at an offset; raises BrokerRefused if we may not."""
    topic_class = DeleteRecordsRequest.DeleteRecordsTopic
    partition = topic_class.DeleteRecordsPartition(partition_index=where.partition, offset=before)
    topics = [topic_class(name=where.topic, partitions=[partition])]
    connection = network.connection(network.leader(*where).broker_id)
    version = connection.version(DeleteRecordsRequest, highest=2)
    request = DeleteRecordsRequest(topics=topics, timeout_ms=network.access.request_timeout_ms)
    answer = connection.call(request, version)
    check(f"{network.access.alias} {where}", answer.topics[0].partitions[0].error_code)
