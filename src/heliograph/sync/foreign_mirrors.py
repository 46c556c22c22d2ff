"""Signs of other mirrors that write to topics which a flow keeps the names of: what they bring would be mirrored on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from typing import Final

from heliograph.config.flow import FlowConfig
from heliograph.config.problem import Severity
from heliograph.errors import ClusterError, MalformedRecord
from heliograph.kafka import reading, records
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.groups import Groups
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import lately_written
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger.writers import FlowWriters
from heliograph.sync.fitness import Finding
from heliograph.sync.topics import mirrored_names, topics_beside

_OFFSETS: Final = re.compile(r"mm2-offsets\.(.+)\.internal")
_GROUP: Final = re.compile(r".*(mirror-?maker|replicator).*", re.IGNORECASE)
# By Confluent Replicator, Brooklin, and as guides for MirrorMaker 2 call it.
_KNOWN_HEADERS: Final = ("__replicator_id", "kafka-origin-cluster", "X-Replicated-From")
_NEWEST: Final = 20  # records of each partition
_NEWEST_POSITIONS: Final = 50_000
_MOST_TOPICS: Final = 50
_SHOWN: Final = 5


def examine_foreign_mirrors(flow: FlowConfig) -> list[Finding]:
    """What other mirrors have left on the clusters of a flow that keeps names; changes nothing."""
    if not (flow.enabled and flow.keeps_names):
        return []
    try:
        with ExitStack() as stack:
            return list(_Search(flow, stack).findings())
    except ClusterError as error:
        return [Finding(Severity.NOTE, flow.name, f"whether others mirror the same topics could not be seen: {error}")]


class _Search:
    """Looks at one flow: what is written to its source, and who reads its target."""

    def __init__(self, flow: FlowConfig, stack: ExitStack) -> None:
        self._flow = flow
        self._source = flow.source.alias
        self._topics = stack.enter_context(Admin(access_for(flow.source, "admin"))).topics()
        self._mirrored = sorted(mirrored_names(flow, self._topics))
        self._groups = stack.enter_context(Groups(access_for(flow.target, "admin")))
        self._loop, self._network = stack.enter_context(opened(access_for(flow.source, "consumer")))
        self._writers = self._own_writers()

    def findings(self) -> Iterator[Finding]:
        """Every sign."""
        yield from self._positions()
        yield from self._offset_syncs()
        yield from self._readers()
        yield from self._headers()

    # -- what MirrorMaker 2 writes down ----------------------------------------------------------------------------

    def _positions(self) -> Iterator[Finding]:
        for name, alias in self._strangers(_OFFSETS):
            self._network.refresh([name])
            # Nobody needs to have compacted it. A mirror that still runs writes again and again.
            found = lately_written(self._loop, self._network, name, alias, _NEWEST_POSITIONS)
            if topics := self._kept({where.topic for where in found}, alias):
                yield self._warning(topics, f"{name} has positions of {alias} for them")

    def _offset_syncs(self) -> Iterator[Finding]:
        """Ours are for the clusters of the file."""
        pattern = re.escape(self._flow.replication_policy.offset_syncs_topic("0")).replace("0", "(.+)")
        known = {alias for way, _ in self._flow.same_names.flows for alias in way}
        for name, alias in self._strangers(re.compile(pattern)):
            if alias not in known and (topics := self._kept(self._synced(name), alias)):
                yield self._warning(topics, f"{name} has offset syncs of them")

    def _synced(self, name: str) -> set[str]:
        try:
            found = reading.read_single(access_for(self._flow.source, "consumer"), name)
            return {OffsetSync.decode(record.key, record.value).source.topic for record in found if record.value}
        except MalformedRecord:
            return set()

    def _strangers(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
        """Topics of mirrors from clusters that no ledger of ours is kept for, and the aliases of those."""
        for name in sorted(self._topics):
            match = pattern.fullmatch(name)
            if match and topics_beside(self._flow, match[1]).ledger not in self._topics:
                yield name, match[1]

    def _kept(self, topics: Collection[str], alias: str) -> list[str]:
        """Those that the flow mirrors, and that did not get the alias before their names."""
        separator = str(self._flow.get("replication.policy.separator"))
        return [name for name in self._mirrored if name in topics and f"{alias}{separator}{name}" not in self._topics]

    # -- who else reads the target ---------------------------------------------------------------------------------

    def _readers(self) -> Iterator[Finding]:
        ours = self._flow.get("progress.group.id")
        names = [name for name in self._groups.list() if _GROUP.fullmatch(name) and name != ours]
        for group, places in sorted(self._groups.committed(names).items()):
            read = {where.topic for where in places}
            if topics := [name for name in self._mirrored if name in read]:
                yield self._warning(topics, f"the group {group} of {self._flow.target.alias} reads them")

    # -- what records say ------------------------------------------------------------------------------------------

    def _headers(self) -> Iterator[Finding]:
        chosen = self._flow.provenance_header
        known = {alias for way, _ in self._flow.same_names.flows for alias in way}
        seen: dict[tuple[str, str], list[str]] = {}
        for topic in self._mirrored[:_MOST_TOPICS]:
            for header in self._headers_of(topic, {chosen} if chosen else set(_KNOWN_HEADERS)):
                seen.setdefault(header, []).append(topic)
        for (name, value), topics in sorted(seen.items()):
            if not chosen:
                yield self._warning(topics, f"records have the header {name} ({value})")
            elif value not in known:
                where = f"the header {name} of records on {self._source}"
                message = f"{where} says {value}, which is no cluster of the file"
                yield Finding(Severity.WARNING, _listed(topics), message, "it must name clusters by their aliases")

    def _headers_of(self, topic: str, wanted: Collection[str]) -> set[tuple[str, str]]:
        """Headers of the newest records that others than our own lanes have written."""
        self._network.refresh([topic])
        numbers = self._network.partitions(topic)
        firsts = reading.list_offsets(self._network, topic, dict.fromkeys(numbers, EARLIEST))
        ends = reading.list_offsets(self._network, topic, dict.fromkeys(numbers, LATEST), READ_COMMITTED)
        starts = {number: max(firsts[number], ends[number] - _NEWEST) for number in numbers}
        found = set()
        for batch in reading.read_batches(self._loop, self._network, topic, starts, ends):
            if not any(writers.wrote(batch.header.producer_id) for writers in self._writers):
                for record in records.decode(batch.magic, batch.data):
                    found |= {(name, _text(value)) for name, value in record.headers if name in wanted}
        return found

    def _own_writers(self) -> list[FlowWriters]:
        """Those of all flows of ours to the source."""
        pattern = re.compile(re.escape(topics_beside(self._flow, "0").state).replace("0", "(.+)"))
        aliases = [found[1] for name in self._topics if (found := pattern.fullmatch(name))]
        return [FlowWriters(self._loop, self._network, topics_beside(self._flow, alias)) for alias in aliases]

    def _warning(self, topics: Collection[str], seen: str) -> Finding:
        flow = self._flow
        what = f"what it brings would go on to {flow.target.alias}"
        message = f"another mirror seems to write to {self._source}: {seen}; {what}"
        header = flow.provenance_header
        if header:
            hint = f"fine if its records name their cluster in the header {header}; else leave these topics out of it"
        else:
            hint = (
                "leave these topics out of one of both (topics.exclude), stop the other mirror, or name the header in "
                "which its records tell their cluster (provenance.header)"
            )
        return Finding(Severity.WARNING, _listed(topics), message, hint)


def _listed(topics: Collection[str]) -> str:
    names = sorted(topics)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")
