"""The three connectors that MirrorMaker 2 runs for a flow. Here they are names for parts of one flow's work."""

from __future__ import annotations

from enum import Enum


class Connector(Enum):
    """What can be paused, resumed and looked at on its own."""

    SOURCE = "MirrorSourceConnector"  # records, topics and their settings, access rights, offset syncs
    CHECKPOINT = "MirrorCheckpointConnector"  # checkpoints and the offsets of groups
    HEARTBEAT = "MirrorHeartbeatConnector"


class RunState(Enum):
    """What a connector was told to do, in Kafka Connect's words."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
