"""What a lane does on the target beside data: takes its ids, checks whose the flow is, keeps positions and ledger."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from heliograph.engine.past_writes import only_sources, other_partitions, producer_ids, reached_on
from heliograph.engine.settings import LaneSettings
from heliograph.errors import BrokerUnavailable, StaleLane, TakenOver
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.endings import Endings, can_describe, describe_ids
from heliograph.kafka.leftovers import Background, check_reached, end_leftovers, open_leftovers
from heliograph.kafka.network import Network
from heliograph.kafka.reading import LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.replicas import too_thin
from heliograph.kafka.transaction import (
    Gate,
    IdempotentProducer,
    Producer,
    TransactionalProducer,
    take_all,
    take_usable,
)
from heliograph.ledger import entries
from heliograph.ledger.entries import Deal, Owner
from heliograph.model import LanePlan, LedgerEntry, Position, TopicPartition

_FEWEST_IDS = 2  # one transaction is filled while the one before is committed
_UNTOLD = "it takes no word of how a transaction of ours has ended: does it lack replicas in sync?"
_OF_ANOTHER_LANE = "a transaction of an earlier lane is still open there; it is ended before the next epoch"


class LaneBooks:
    """Positions and ledger of a lane's flow, on its target."""

    def __init__(self, target: Network, plan: LanePlan, source_alias: str, endings: Endings | None = None) -> None:
        self._network = target
        self._plan = plan
        self._source_alias = source_alias
        self._announced = set(plan.announced)  # producer ids
        self._ledger, self._state, self._journal = (
            TopicPartition(topic, 0) for topic in (plan.topics.ledger, plan.topics.state, plan.topics.journal)
        )
        self.unreachable: dict[TopicPartition, str] = {}  # targets that must not be written to, and why
        self.gate: Gate | None = None
        self._endings = Endings(plan.endings) if endings is None else endings

    def take_ids(self, names: Sequence[str], settings: LaneSettings) -> list[Producer]:
        """Whoever writes for the lane; what earlier attempts under these names left open is ended, and they are out."""
        targets = {item.target for item in self._plan.assignments}
        topics = {where.topic for where in targets} | {self._plan.topics.offsets, *self._own_topics()}
        self._network.refresh(topics)
        if not settings.is_exactly_once:
            return [IdempotentProducer(self._network)]
        taken = self._take(names, settings.transaction_timeout_ms)
        if self._endings.untold:
            self._network.look_up(topics)  # replicas may have been lost meanwhile
        thin = too_thin(self._network, targets) if self.gate else {}
        self._end_leftovers(taken, targets - self.untold, settings)
        self.unreachable |= dict.fromkeys(self.untold & targets, _UNTOLD) | thin
        return list(taken)

    @property
    def untold(self) -> set[TopicPartition]:
        """Partitions that take no word of how a transaction of the lane has ended, and so would take nothing else."""
        return self._endings.partitions

    def _take(self, names: Sequence[str], timeout_ms: int) -> list[TransactionalProducer]:
        """The ids that write in turns; for those that are busy for long others that are not."""
        plan = self._plan
        gate = self._take_gate(timeout_ms)
        if gate is None:
            return take_all(self._network, names, timeout_ms)
        begun = describe_ids(self._network, plan.spare_ids)
        wanted = [*names, *(name for name in plan.spare_ids if name in begun)]
        taken = take_usable(self._network, wanted, timeout_ms, self._endings, self._books)
        missing = len(names) - len(taken)
        if missing > 0 and (spare := [name for name in plan.spare_ids if name not in wanted][:missing]):
            taken += take_all(self._network, spare, timeout_ms)
            gate.check()  # or somebody else has begun meanwhile, who does not know of these
        if len(taken) < min(_FEWEST_IDS, len(names)):
            untold = ", ".join(map(str, sorted(self.untold)))
            busy = f"{self._network.access.alias}: the transactional ids of the lane are busy, since they cannot tell"
            raise BrokerUnavailable(f"{busy} {untold} how transactions have ended")
        self.gate = gate
        return taken[: len(names)]

    def _take_gate(self, timeout_ms: int) -> Gate | None:
        """None where nobody leaves busy ids alone: SQL writes under one id, and old brokers do not tell why one is."""
        plan = self._plan
        if not plan.gate_id or not can_describe(self._network):
            return None
        return Gate(self._network, plan.gate_id, timeout_ms)

    @property
    def _books(self) -> set[TopicPartition]:
        offsets = {TopicPartition(self._plan.topics.offsets, number) for number in self._plan.offsets_read_to}
        return offsets | {self._ledger, self._journal}

    def _end_leftovers(
        self, taken: Sequence[TransactionalProducer], targets: set[TopicPartition], settings: LaneSettings
    ) -> None:
        plan, books = self._plan, self._books
        looks_elsewhere = plan.writes_elsewhere and settings.transforms.chain.is_active  # for SQL the driver looks
        elsewhere = other_partitions(self._network, targets | books) - self.untold if looks_elsewhere else set()
        # First what lanes share: a transaction that is open there hides the positions, by which others are judged.
        shared = Background(told_all=self._ledger, witnesses=targets)
        left = end_leftovers(self._network, taken, books, shared)
        check_reached(self._network, left.unreachable, books)
        own = Background(reached=self._reached, told_all=self._ledger, witnesses=books)
        self.unreachable = end_leftovers(self._network, taken, targets | elsewhere, own).unreachable
        if not plan.writes_elsewhere:  # or another lane may just be writing there too
            self.leave_to_the_driver(targets - self.unreachable.keys())

    @property
    def unusable(self) -> dict[TopicPartition, str]:
        """Source partitions whose targets must not be written to, and why."""
        return {
            item.source: f"its target cannot be used: {self.unreachable[item.target]}"
            for item in self._plan.assignments
            if item.target in self.unreachable
        }

    def leave_to_the_driver(self, targets: set[TopicPartition]) -> None:
        """Nothing is written where a transaction of another lane is open, which only the driver can end.

        It does so before it deals, so that is a partition that could not be asked then.
        """
        ids = partial(producer_ids, self._network, self._state.topic)
        found = open_leftovers(self._network, targets, ids, 0)
        self.unreachable |= found.unreachable
        self.unreachable |= dict.fromkeys(found.ended, _OF_ANOTHER_LANE)

    def _reached(self) -> dict[TopicPartition, int]:
        """How far targets are filled by what is committed."""
        return {} if self._plan.writes_elsewhere else reached_on(only_sources(self._plan.assignments), self.positions())

    def _own_topics(self) -> Sequence[str]:
        return self._ledger.topic, self._state.topic, self._journal.topic

    def find_unreachable(self) -> None:
        """For lanes without transactions, which leave nothing open: no target has been asked for anything yet."""
        targets = {item.target for item in self._plan.assignments}
        self.unreachable = reading.list_reachable(self._network, dict.fromkeys(targets, LATEST)).failures

    def check_targets(self) -> None:
        """Raise if something that was left open on a target may still be so."""
        check_reached(self._network, self.unreachable, self.unreachable.keys())

    def check_owner(self) -> None:
        """Raise if another mirror owns the flow by now, or if its partitions have been dealt again since."""
        plan = self._plan
        owner, newest = plan.owner, plan.deal
        starts = {0: plan.state_read_to}
        for _, record in reading.read_to_end(self._network.loop, self._network, self._state.topic, starts):
            told = entries.decode(record.value)
            if isinstance(told, Owner):
                owner = told.name
            elif isinstance(told, Deal) and told.owner == plan.owner:
                newest = max(newest, told.number)
        if owner != plan.owner:
            raise TakenOver(f"flow {plan.flow} now belongs to {owner}; this mirror ({plan.owner}) stops")
        if newest != plan.deal:
            raise StaleLane(f"flow {plan.flow}: lane {plan.lane} of deal {plan.deal} ends: deal {newest} has followed")

    def announce(self, producer: Producer) -> None:
        """Write down a producer id of ours before anything is written under it."""
        plan, producer_id = self._plan, producer.stamp.producer_id
        if producer_id not in self._announced:
            record = entries.producer_record(plan.flow, plan.owner, producer_id, int(time.time() * 1000))
            writing.append(self._network.loop, self._network, self._state, [record])
            self._announced.add(producer_id)

    def positions(self) -> dict[TopicPartition, Position]:
        """How far the partitions of the lane are, by what is committed now."""
        plan = self._plan
        current = dict(plan.positions)
        starts = plan.offsets_read_to
        topic = plan.topics.offsets
        for number, record in reading.read_to_end(self._network.loop, self._network, topic, starts):
            positions.take_in(current, self._source_alias, TopicPartition(topic, number), record)
        return current

    def partitions(self, sources: Iterable[TopicPartition]) -> set[TopicPartition]:
        """The partitions that a transaction with records of these sources writes its book-keeping to."""
        return {self._position_home(source) for source in sources} | {self._ledger}

    def records_of(
        self, entry: LedgerEntry, reached: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, Sequence[Record]]:
        """What a transaction writes down: its ledger entry, how far each partition is, and what happened."""
        plan, now = self._plan, entry.written_at_ms
        contents: dict[TopicPartition, list[Record]] = {
            self._ledger: [entries.record(plan.flow, now, entries.encode_entry(entry))]
        }
        if entry.events:
            happened = replace(entry, partitions=())
            contents[self._journal] = [entries.record(plan.flow, now, entries.encode_entry(happened))]
        return {**contents, **self.position_records(reached, now)}

    def position_records(
        self, reached: Mapping[TopicPartition, Position], now_ms: int | None = None
    ) -> dict[TopicPartition, Sequence[Record]]:
        """How far partitions are."""
        now = int(time.time() * 1000) if now_ms is None else now_ms
        contents: dict[TopicPartition, list[Record]] = {}
        for source, position in reached.items():
            key = positions.encode_key(self._source_alias, source)
            record = Record(0, now, key, positions.encode_value(position))
            contents.setdefault(self._position_home(source), []).append(record)
        return dict(contents)

    def _position_home(self, source: TopicPartition) -> TopicPartition:
        plan = self._plan
        number = positions.partition_for(positions.encode_key(self._source_alias, source), len(plan.offsets_read_to))
        return TopicPartition(plan.topics.offsets, number)
