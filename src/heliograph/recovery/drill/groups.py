"""The consumer groups of a drill: each stands somewhere else, and remembers what it has read."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.errors import ClusterError
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Change, Committed, Groups
from heliograph.model import TopicPartition

_PAUSE_SECONDS = 0.25

Offsets = dict[TopicPartition, int]


@dataclass
class CanaryGroup:
    """One group; `share` is how much of what there is it has read at most."""

    name: str
    share: float
    read_to: Offsets = field(default_factory=dict)  # before the loss; read first, committed then
    is_resting: bool = False  # has stopped: its last commit is known wherever commits are

    def advance(self, ends: Mapping[TopicPartition, int], chance: random.Random) -> None:
        """Read a little further, in each partition another bit."""
        for where, end in ends.items():
            wanted = int(end * self.share * chance.uniform(0.8, 1.0))
            self.read_to[where] = max(self.read_to.get(where, 0), wanted)


class CanaryGroups:
    """Lets all groups read on and commit, in a thread, until the cluster is gone or they are stopped."""

    def __init__(
        self, access: Access, names: Sequence[str], partitions: Collection[TopicPartition], chance: random.Random
    ) -> None:
        self._access = access
        self._partitions = partitions
        self._chance = chance
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drill groups", daemon=True)
        self.groups = [CanaryGroup(name, chance.uniform(0.05, 1.0)) for name in names]
        self.failure: ClusterError | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def rest(self) -> None:
        """Let every second group stop, as some always have."""
        for group in self.groups[::2]:
            group.is_resting = True

    def stop(self) -> None:
        """No more commits after this."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with Groups(self._access) as groups, Admin(self._access) as admin:
                while not self._stopping.is_set():
                    self._round(groups, admin)
                    self._stopping.wait(_PAUSE_SECONDS)
        except ClusterError as error:
            self.failure = error

    def _round(self, groups: Groups, admin: Admin) -> None:
        """At first all groups, later some, each with what it has read till then."""
        ends = admin.end_offsets(self._partitions)
        awake = [group for group in self.groups if not group.is_resting]
        moving = [group for group in awake if not group.read_to or self._chance.random() < 0.5]
        for group in moving:
            group.advance(ends, self._chance)
        commit(groups, {group.name: group.read_to for group in moving})


def commit(groups: Groups, offsets: Mapping[str, Offsets]) -> None:
    """Commit for several groups; raises ClusterError if one is refused."""
    wanted = {name: {where: Committed(offset) for where, offset in items.items()} for name, items in offsets.items()}
    for name, results in groups.commit(wanted).items():
        for where, result in results.items():
            if result.change is not Change.DONE:
                raise ClusterError(f"the commit of {name} for {where} failed: {result.reason or result.change.value}")


def places(access: Access, names: Collection[str]) -> dict[str, Offsets]:
    """Where groups stand on a cluster."""
    with Groups(access) as groups:
        found = groups.committed(names)
    return {name: {where: item.offset for where, item in found.get(name, {}).items()} for name in names}
