"""What applications ask a mirrored cluster: where it gets its records from, and where groups go on reading.

The same as MirrorMaker 2's `MirrorClient` and `RemoteClusterUtils`; light to import, for any Python program.
"""

from heliograph.client import remote_cluster_utils
from heliograph.client.mirror_client import MirrorClient
from heliograph.client.offsets import GroupOffsets, OffsetAndMetadata
from heliograph.errors import ClusterError, ConfigError, HeliographError
from heliograph.model import TopicPartition

__all__ = [
    "ClusterError",
    "ConfigError",
    "GroupOffsets",
    "HeliographError",
    "MirrorClient",
    "OffsetAndMetadata",
    "TopicPartition",
    "remote_cluster_utils",
]
