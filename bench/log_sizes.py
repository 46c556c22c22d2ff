"""How large the logs of a cluster are, as its brokers tell, and by how much they have grown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafka.protocol.admin import DescribeLogDirsRequest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import check, opened
from heliograph.model import TopicPartition

LogSizes = Mapping[TopicPartition, int]

# A log that is compacted meanwhile would tell less than was appended to it. Cleaners look for work when their broker
# starts, find none, and then rest for this long, whatever the settings of single topics ask for: a day, which is longer
# than any benchmark. That spares brokers nothing that they would do otherwise: cleaners never touch active segments,
# and in minutes internal topics fill no other ones.
NO_COMPACTION = {"log.cleaner.backoff.ms": str(24 * 60 * 60 * 1000)}


def log_sizes(cluster: EmbeddedCluster) -> LogSizes:
    """Bytes of every partition's segments, over all brokers. Indexes, which brokers allocate ahead, are not in them."""
    access = Access(cluster.alias, [cluster.bootstrap_servers])
    with Admin(access) as admin:
        broker_ids = admin.broker_ids()
    sizes: Counter[TopicPartition] = Counter()
    with opened(access) as (_, network):
        for broker_id in broker_ids:
            answer = network.connection(broker_id).call(DescribeLogDirsRequest(topics=None))
            check(f"{cluster.alias}: describe log folders", answer.error_code)
            for folder in answer.results:
                check(f"{cluster.alias}: describe {folder.log_dir}", folder.error_code)
                for topic in folder.topics:
                    for partition in topic.partitions:
                        sizes[TopicPartition(topic.name, partition.partition_index)] += partition.partition_size
    return sizes


def appended(before: LogSizes, after: LogSizes) -> dict[str, int]:
    """Bytes by which each topic has grown; topics that have not are left out. None of them may have lost anything."""
    grown: Counter[str] = Counter()
    for where in {*before, *after}:
        difference = after.get(where, 0) - before.get(where, 0)
        if difference < 0:
            raise ValueError(f"{where} has become {-difference} bytes smaller: what was appended cannot be told")
        grown[where.topic] += difference
    return {topic: size for topic, size in sorted(grown.items()) if size}
