"""What the groups of a source have committed, and which places on the target stand for it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.config.flow import FlowConfig
from heliograph.due import Due
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Committed, Groups, Offsets
from heliograph.model import TopicPartition
from heliograph.sync.progress_group import progress_group_id
from heliograph.sync.translation import Ledgers, Offset, Translation, Translator


@dataclass(frozen=True)
class GroupPlaces:
    """The commits of each group, and the places of those that have one."""

    committed: Mapping[str, Offsets]
    places: Mapping[Offset, Translation]
    elsewhere: Mapping[Offset, Sequence[Translation]] = field(default_factory=dict)  # where transforms sent records
    left_out: Mapping[TopicPartition, str] = field(default_factory=dict)  # of the target: cannot be asked now, and why

    def translated(self) -> Iterator[tuple[str, TopicPartition, Committed, Translation]]:
        """Each group, source partition and commit that has a place, with the place.

        Where transforms let several partitions meet in one, the earliest place is the one that misses nothing. So a
        partition that was left out once has no place at all: the earliest might be missing.
        """
        for group, offsets in self.committed.items():
            found: dict[TopicPartition, tuple[str, TopicPartition, Committed, Translation]] = {}
            for where, item in offsets.items():
                for place in self._places_of((where, item.offset)):
                    if place.target in self.left_out:
                        continue
                    before = found.get(place.target)
                    if before is None or place.offset < before[3].offset:
                        found[place.target] = (group, where, item, place)
            yield from found.values()

    def _places_of(self, offset: Offset) -> Iterator[Translation]:
        if (place := self.places.get(offset)) is not None:
            yield place
        yield from self.elsewhere.get(offset, ())


class GroupOffsets:
    """The groups that a flow follows; shared by all that write their places down, so that the ledger is read once."""

    def __init__(self, flow: FlowConfig, opposite: FlowConfig | None = None, ledgers: Ledgers | None = None) -> None:
        """`ledgers`: those that others of this process read too."""
        self.flow = flow
        self._source = access_for(flow.source, "admin")
        self._target = access_for(flow.target, "admin")
        self._translator = Translator(flow, opposite, ledgers, leaves_out=True)
        self._names: list[str] | None = None
        self.group_count = 0  # followed, when last looked
        refresh = flow.number("refresh.groups.interval.seconds")
        self._refresh = Due(refresh) if refresh > 0 and flow.get("refresh.groups.enabled") is True else None
        self._lock = threading.Lock()

    def read(self) -> GroupPlaces:
        """Ask both clusters; one at a time, for the translator learns as it reads."""
        with self._lock, self._translator.locked():
            with Groups(self._source) as groups:
                committed = groups.committed(self._followed(groups))
            self.group_count = len(committed)
            with Admin(self._source) as source, Admin(self._target) as target:
                # After the commits: so that what these have consumed is in the ledger as far as it is mirrored.
                self._translator.read(source, target)
                pairs = [(where, item.offset) for offsets in committed.values() for where, item in offsets.items()]
                places = self._translator.translate(pairs, source, target)
                elsewhere = self._translator.translate_elsewhere(pairs, target)
                return GroupPlaces(committed, places, elsewhere, dict(self._translator.left_out))

    def vanished(self, names: Collection[str]) -> set[str]:
        """Those of the groups that the source has no longer.

        A list of groups lacks those whose coordinator is just moving; so each one's coordinator must say that it has
        nothing of it.
        """
        if not names:
            return set()
        with Groups(self._source) as groups:
            listed = groups.list()
            committed = groups.committed([name for name in names if name not in listed])
        return {name for name, offsets in committed.items() if not offsets}

    def target_of(self, where: TopicPartition) -> TopicPartition | None:
        """The place on the target of a partition of the source, in either direction."""
        return self._translator.target_of(where)

    def _followed(self, groups: Groups) -> list[str]:
        if self._names is None or (self._refresh is not None and self._refresh.is_due()):
            ours = progress_group_id(self.flow)
            wanted = self.flow.group_filter.should_replicate_group
            self._names = [name for name in groups.list() if wanted(name) and name != ours]
        return self._names
