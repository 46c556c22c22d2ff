"""The source's log as the target should have it, where transforms change records on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from heliograph.engine.provenance import HeaderRule
from heliograph.engine.transforming import Transformer, transformer_of
from heliograph.kafka import batches, records
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.model import Assignment, TopicPartition
from heliograph.policy.replication import ReplicationPolicy
from heliograph.policy.same_names import SameNames, Way
from heliograph.transforms.chain import ChainSpec


@dataclass(frozen=True)
class SourceView:
    """The transforms of a flow, and how its policy names topics before they begin."""

    chain: ChainSpec
    policy: ReplicationPolicy
    source_alias: str
    header: str = ""  # which names the cluster that records came from
    way: Way | None = None
    same_names: SameNames = field(default_factory=SameNames)  # of the whole file, if there is such a header

    def header_rule(self, topic: str) -> HeaderRule | None:
        """What tells records of a topic that are not passed on, beside the ids of producers."""
        if self.way is None:
            return None
        return HeaderRule(self.header, self.same_names.origins_left_out(topic, self.way))

    def transformer(self, source: TopicPartition, target: TopicPartition) -> Transformer | None:
        """What changes the records of a partition; None if nothing does."""
        if not self.chain.is_active:
            return None
        from heliograph.transforms.formats.choice import RecordFormats  # few flows need all that it imports

        remote = self.policy.format_remote_topic(self.source_alias, source.topic)
        formats = self.chain.formats
        keys, values = RecordFormats(formats, is_key=True), RecordFormats(formats, is_key=False)
        return transformer_of(self.chain.build(), Assignment(source, target, remote_topic=remote), keys, values)


def without_returning(log: Iterator[CommittedBatch], header: HeaderRule) -> Iterator[CommittedBatch]:
    """The batches without the records that a header tells to be left out."""
    for batch in log:
        if batch.magic < 2 or not header.hides_some_of(batch.data):
            yield batch
        elif kept := [record for record in records.decode(batch.magic, batch.data) if not header.hides(record)]:
            yield _batch(batch.partition, kept)


def transformed(log: Iterator[CommittedBatch], transformer: Transformer) -> Iterator[CommittedBatch]:
    """The batches with what of their records goes to the partition's own target, in the offsets of the source."""
    for batch in log:
        results = transformer.run(list(records.decode(batch.magic, batch.data)))
        kept = [item for item in results if isinstance(item, Record)]
        if kept:
            yield _batch(batch.partition, kept)


def _batch(partition: int, kept: list[Record]) -> CommittedBatch:
    data = memoryview(records.encode_apart(kept))
    return CommittedBatch(partition, 2, batches.read_header(data), data)
