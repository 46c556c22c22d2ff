"""Consumers that move between two real clusters: flows with lanes that run when told, and stock consumers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import kafka
from kafka import KafkaConsumer, KafkaProducer

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.lane import Lane
from heliograph.engine.settings import LaneSettings
from heliograph.kafka import writing
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.network import Network
from heliograph.ledger import entries
from heliograph.model import Assignment, LanePlan, TopicPartition
from heliograph.sync.topics import (
    apply_topics,
    create_topics,
    flow_topics,
    internal_topics,
    left_out,
    read_plan,
)

QUICK = LaneSettings(commit_interval=0.05, limits=FetchLimits(max_wait_ms=50))
PATIENCE_SECONDS = 60.0
_numbers = count()


@dataclass
class Moving:
    """Two flows between the same clusters, under aliases that no other test uses."""

    file: Path
    config: MirrorConfig
    source: str
    target: str
    name: str
    _done: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)

    @property
    def flow(self) -> FlowConfig:
        """The flow from source to target."""
        return self._flow(f"{self.name}->shelter")

    @property
    def opposite(self) -> FlowConfig:
        """The flow back."""
        return self._flow(f"shelter->{self.name}")

    def _flow(self, name: str) -> FlowConfig:
        flow = self.config.flow(name)
        assert flow is not None
        return flow

    def mirror(self, flow: FlowConfig | None = None, takes_over: bool = True, lane: str = "") -> None:
        """Copy until all partitions are done up to their last stable offset; as a mirror that starts, or as before.

        A lane of another name has other transactional ids.
        """
        flow = flow or self.flow
        source_access, target_access = access_for(flow.source, "consumer"), access_for(flow.target, "producer")
        with Admin(source_access) as source, Admin(target_access) as target:
            create_topics(internal_topics(flow), target)
            plan = read_plan(flow, source, target)
            apply_topics(plan, target)
            state_end = target.end_offsets([TopicPartition(flow_topics(flow).state, 0)]).popitem()[1]
            ends = {where: end for where, end in source.end_offsets(plan.mirrored).items() if end}
        state_read_to = announce_owner(flow) if takes_over else state_end
        done = self._done.setdefault(flow.name, {})
        deadline = time.monotonic() + PATIENCE_SECONDS

        def is_done() -> bool:
            assert time.monotonic() < deadline, f"copied only {done} of {ends}"
            return all(done.get(where, 0) >= end for where, end in ends.items())

        assignments = [Assignment(where, plan.mirrored[where]) for where in plan.mirrored]
        for entry in Lane(
            lane_plan(flow, assignments, state_read_to, lane), source_access, target_access, QUICK, is_done
        ).run():
            done.update({progress.source: progress.last_offset + 1 for progress in entry.partitions})


def lane_plan(flow: FlowConfig, assignments: Sequence[Assignment], state_read_to: int, lane: str = "") -> LanePlan:
    """One lane that copies all."""
    partitions = flow.get("offset.storage.partitions")
    assert isinstance(partitions, int)
    return LanePlan(
        flow.name, 0, "test", 1, [f"{flow.name}-{lane}{turn}" for turn in "ab"], flow_topics(flow), assignments,
        offsets_read_to=dict.fromkeys(range(partitions), 0), state_read_to=state_read_to,
        left_out={item.source.topic: left_out(flow, item.source.topic) for item in assignments},
    )  # fmt: skip


def announce_owner(flow: FlowConfig) -> int:
    """Write down, as a mirror that starts does, that the flow is ours; returns at which offset of the ledger."""
    with closing(Loop()) as loop:
        network = Network(loop, access_for(flow.target, "producer"))
        network.refresh([flow_topics(flow).state])
        now_ms = int(time.time() * 1000)  # the ledger keeps nothing of 1970
        record = entries.owner_record(flow.name, "test", now_ms)
        return writing.append(loop, network, TopicPartition(flow_topics(flow).state, 0), [record])


def make_moving(
    folder: Path,
    pair: tuple[EmbeddedCluster, EmbeddedCluster],
    topics: str,
    settings: str = "",
    both_ways: bool = False,
) -> Moving:
    """Flows of the topics that match, between aliases of their own."""
    name = f"moving{next(_numbers)}"
    path = folder / f"{name}.properties"
    path.write_text(
        f"clusters={name},shelter\n{name}.bootstrap.servers={pair[0].bootstrap_servers}\n"
        f"shelter.bootstrap.servers={pair[1].bootstrap_servers}\n{name}->shelter.enabled=true\n"
        f"shelter->{name}.enabled={str(both_ways).lower()}\ntopics={topics}\nreplication.factor=1\n"
        f"shelter.offset.storage.partitions=2\n{name}.offset.storage.partitions=2\n"
        f"heartbeats.replication.enabled=false\ngroups={name}-.*\n{settings}"
    )
    return Moving(path, load(path), pair[0].bootstrap_servers, pair[1].bootstrap_servers, name)


def produce(bootstrap_servers: str, where: TopicPartition, values: Sequence[int]) -> None:
    """Append numbers."""
    with closing(KafkaProducer(bootstrap_servers=bootstrap_servers)) as producer:
        for value in values:
            producer.send(where.topic, str(value).encode(), partition=where.partition)
        producer.flush()


def consume(bootstrap_servers: str, group: str, where: TopicPartition, most: int = 1_000_000) -> list[bytes]:
    """What a stock consumer of the group reads from where it stands, to the end or so many; commits behind them."""
    partition = kafka.TopicPartition(*where)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap_servers, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
        isolation_level="read_committed", max_poll_records=1,
    )  # fmt: skip
    found: list[bytes] = []
    with closing(consumer):
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(found) < most and consumer.position(partition) < end:
            assert time.monotonic() < deadline, f"{group} read only {len(found)}"
            found += [record.value for records in consumer.poll(100).values() for record in records]
        consumer.commit({partition: kafka.OffsetAndMetadata(consumer.position(partition), f"read {len(found)}", -1)})
    return found
