"""What the configuration of a flow means to the engine."""

from __future__ import annotations

from functools import partial

from heliograph.config.flow import FlowConfig
from heliograph.engine.settings import NEVER, FlowSettings, LaneSettings
from heliograph.engine.start import NOWHERE
from heliograph.engine.transforming import TransformSettings
from heliograph.kafka.access import access_for
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.sync.topics import dead_letters_topic, flow_topics, left_out

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # in the order of their numbers in a batch's attributes
_SHOWN = {"full": True, "none": False, "auto": None}
_STARTS = {"earliest": EARLIEST, "latest": LATEST, "none": NOWHERE}


def flow_settings(flow: FlowConfig) -> FlowSettings:
    """The engine's settings of a flow."""
    return FlowSettings(
        name=flow.name,
        source=access_for(flow.source, "consumer"),
        target=access_for(flow.target, "producer"),
        topics=flow_topics(flow),
        left_out=partial(left_out, flow),
        max_lanes=flow.number("tasks.max"),
        refresh_seconds=_refresh_seconds(flow),
        lane=_lane_settings(flow),
    )


def _refresh_seconds(flow: FlowConfig) -> float:
    seconds = flow.number("refresh.topics.interval.seconds")
    return seconds if flow.get("refresh.topics.enabled") and seconds > 0 else NEVER


def _lane_settings(flow: FlowConfig) -> LaneSettings:
    return LaneSettings(
        limits=_fetch_limits(flow),
        start=_start(flow),
        start_group=str(flow.get("start.group.id") or ""),
        goes_on_after_loss=flow.get("on.data.loss") == "continue",
        is_exactly_once=flow.get("exactly.once.source.support") != "disabled",
        by_sequences=flow.get("exactly.once.commit") == "sequences",
        bytes_per_second=float(flow.number("bandwidth.limit.bytes.per.second")),
        compression=_compression(flow),
        transaction_timeout_ms=int(str(flow.target.client_settings("producer")["transaction.timeout.ms"])),
        transforms=_transforms(flow),
    )


def _transforms(flow: FlowConfig) -> TransformSettings:
    return TransformSettings(
        flow.transforms,
        dead_letters_topic(flow),
        _SHOWN[str(flow.get("errors.deadletterqueue.content"))],
        flow.get("errors.tolerance") == "none",
        flow.number("errors.retry.timeout"),
        flow.number("errors.retry.delay.max.ms"),
        flow.number("replication.factor"),
    )


def _compression(flow: FlowConfig) -> int | None:
    name = flow.target.client_settings("producer")["compression.type"]
    return None if name is None else _CODECS.index(str(name))


def _fetch_limits(flow: FlowConfig) -> FetchLimits:
    consumer = flow.source.client_settings("consumer")
    return FetchLimits(
        max_wait_ms=int(str(consumer["fetch.max.wait.ms"])),
        min_bytes=int(str(consumer["fetch.min.bytes"])),
        max_bytes=int(str(consumer["fetch.max.bytes"])),
        partition_max_bytes=int(str(consumer["max.partition.fetch.bytes"])),
        rack=str(consumer["client.rack"] or ""),
    )


def _start(flow: FlowConfig) -> int:
    timestamp = flow.get("start.timestamp.ms")
    if isinstance(timestamp, int):
        return timestamp
    return _STARTS[str(flow.source.client_settings("consumer")["auto.offset.reset"])]
