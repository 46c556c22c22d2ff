"""What a flow does beside copying records, as the file asks for it: each duty a named chore with its own interval."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.control.chores import Chore
from heliograph.control.connector import Connector
from heliograph.control.meter import FlowMeter
from heliograph.control.verifier import Verifier
from heliograph.engine.flow import FlowDriver
from heliograph.errors import ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.sync.acls import AclSync
from heliograph.sync.checkpoints import Checkpoints
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.groups import GroupSync
from heliograph.sync.heartbeats import Heartbeats
from heliograph.sync.offset_sync_writer import OffsetSyncWriter
from heliograph.sync.progress_group import ProgressGroup
from heliograph.sync.topic_settings import TopicSettingsSync

log = logging.getLogger(__name__)

GROUP_OFFSETS = "group offsets"
VERIFICATION = "verification"
_OFFSET_SYNCS_SECONDS = 1.0
_RECORDS_FIRST = 10.0  # what looks at every topic waits until records flow; new topics have their settings already


def heartbeats(flow: FlowConfig) -> list[Chore]:
    """What a pair of clusters does even if its flow is not enabled."""
    seconds = _interval(flow, "emit.heartbeats")
    if not seconds:
        return []
    beats = Heartbeats(flow)
    return [Chore("heartbeats", seconds, beats.run, beats.close, connector=Connector.HEARTBEAT)]


def duties(
    config: MirrorConfig, flow: FlowConfig, driver: FlowDriver, groups: GroupOffsets, meter: FlowMeter
) -> list[Chore]:
    """All that a flow does beside copying and heartbeats, once it is ours."""
    return [
        *_settings(config, flow),
        *_rights(flow),
        *_offset_syncs(flow, driver),
        *_groups(flow, groups, meter),
        *_progress(flow, driver),
        *_verification(flow, driver, meter),
    ]


def _interval(flow: FlowConfig, name: str) -> float:
    """The seconds between two runs of what a pair of settings is about; 0 where it is not wanted."""
    is_enabled = flow.get(f"{name}.enabled") is True
    return max(0, flow.number(f"{name}.interval.seconds")) if is_enabled else 0


def _settings(config: MirrorConfig, flow: FlowConfig) -> Iterator[Chore]:
    seconds = _interval(flow, "sync.topic.configs")
    if not seconds:
        return
    opposite = config.opposite_of(flow)
    if opposite and _is_settled_by(opposite, flow) and not config.names_first(flow.source, flow.target):
        log.info("%s: topic settings are kept as on %s, by %s", flow.name, opposite.source.alias, opposite.name)
        return

    def run() -> str:
        with Admin(access_for(flow.source, "admin")) as source, Admin(access_for(flow.target, "admin")) as target:
            result = TopicSettingsSync(flow, source, target).run()
        if result.refused:
            raise ClusterError(_refusals(result.refused))
        return f"{len(result.changed)} topics changed, {result.unchanged} alike"

    delay = min(seconds, _RECORDS_FIRST)
    yield Chore("topic settings", seconds, run, delay=delay, connector=Connector.SOURCE)


def _is_settled_by(opposite: FlowConfig, flow: FlowConfig) -> bool:
    """Whether the settings of the same topics go both ways: two could be swapped for ever, so only one way may be."""
    return flow.keeps_names and opposite.keeps_names and _interval(opposite, "sync.topic.configs") > 0


def _rights(flow: FlowConfig) -> Iterator[Chore]:
    seconds = _interval(flow, "sync.topic.acls")
    if not seconds:
        return

    def run() -> str:
        with Admin(access_for(flow.source, "admin")) as source, Admin(access_for(flow.target, "admin")) as target:
            result = AclSync(flow, source, target).run()
        if result.refused:
            raise ClusterError(_refusals({str(acl): reason for acl, reason in result.refused.items()}))
        return result.skipped or f"{len(result.created)} created, {len(result.left_out)} left out"

    delay = min(seconds, _RECORDS_FIRST)
    yield Chore("access rights", seconds, run, delay=delay, connector=Connector.SOURCE)


def _offset_syncs(flow: FlowConfig, driver: FlowDriver) -> Iterator[Chore]:
    if flow.get("emit.offset-syncs.enabled") is True:
        writer = OffsetSyncWriter(flow)
        driver.followers.append(writer.mirrored)
        yield Chore(
            "offset syncs", _OFFSET_SYNCS_SECONDS, writer.run, writer.close,
            is_done_at_the_end=True, connector=Connector.SOURCE,
        )  # fmt: skip


def _groups(flow: FlowConfig, offsets: GroupOffsets, meter: FlowMeter) -> Iterator[Chore]:
    if seconds := _interval(flow, "emit.checkpoints"):
        checkpoints = Checkpoints(offsets, meter.wrote_checkpoints)
        yield Chore("checkpoints", seconds, checkpoints.run, checkpoints.close, connector=Connector.CHECKPOINT)
    if seconds := _interval(flow, "sync.group.offsets"):
        sync = GroupSync(offsets)

        def run() -> str:
            result = sync.run()
            if result.refused:
                raise ClusterError(_refusals(result.refused))
            return str(result)

        yield Chore(GROUP_OFFSETS, seconds, run, connector=Connector.CHECKPOINT)


def _progress(flow: FlowConfig, driver: FlowDriver) -> Iterator[Chore]:
    if seconds := _interval(flow, "progress.group"):
        progress = ProgressGroup(flow, driver.mirrored_offsets)
        yield Chore("progress group", seconds, progress.run, connector=Connector.SOURCE)


def _verification(flow: FlowConfig, driver: FlowDriver, meter: FlowMeter) -> Iterator[Chore]:
    seconds = _interval(flow, "verify.continuous")
    meter.verified.is_on = seconds > 0
    if seconds:
        budget = int(seconds * flow.number("verify.continuous.bytes.per.second"))
        verifier = Verifier(flow, driver, meter.verified, budget)
        driver.followers.append(verifier.mirrored)
        yield Chore(VERIFICATION, seconds, verifier.run, verifier.close)


def _refusals(refused: Mapping[str, str]) -> str:
    """The first refusal, and how many there are."""
    what, reason = next(iter(refused.items()))
    more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
    return f"{what}: {reason}{more}"
