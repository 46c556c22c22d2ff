"""Partitions that have too few replicas in sync to take anything.

To write to such a partition in a transaction would be refused, and yet make it part of the transaction, whose end it
could not be told until it has replicas again. So it is better not to try.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka.protocol.admin import DescribeConfigsRequest

from heliograph.kafka.network import Network
from heliograph.model import TopicPartition

_TOPIC = 2
_NEEDED = "min.insync.replicas"


def too_thin(network: Network, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
    """Those that take nothing although they have a leader, by what was looked up last, and why.

    Only topics that lack replicas are asked for how many they need. Those that we may not ask are left out.
    """
    lacking = network.lacking([where for where in partitions if network.has_leader(*where)])
    needed = _needed(network, {where.topic for where in lacking}) if lacking else {}
    return {
        where: f"has {found.in_sync} of the {wanted} replicas in sync that {_NEEDED} asks for"
        for where, found in lacking.items()
        if found.in_sync < (wanted := min(needed.get(where.topic, 0), found.all))
    }


def _needed(network: Network, topics: Collection[str]) -> dict[str, int]:
    resource_class = DescribeConfigsRequest.DescribeConfigsResource
    resources = [
        resource_class(resource_type=_TOPIC, resource_name=name, configuration_keys=[_NEEDED])
        for name in sorted(topics)
    ]
    connection = network.anyone()
    request = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
    answer = connection.call(request, connection.version(DescribeConfigsRequest, highest=4))
    return {
        result.resource_name: int(item.value)
        for result in answer.results
        if not result.error_code
        for item in result.configs
        if item.name == _NEEDED
    }
