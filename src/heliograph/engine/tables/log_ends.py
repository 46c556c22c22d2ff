"""Where the partitions that a reader has chosen begin and end, and what an offset or a time stands for in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from heliograph.engine.tables.options import OptionRefused, Places, Selection
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition


class LogEnds:
    """Asks a cluster about the chosen partitions."""

    def __init__(self, access: Access, selection: Selection) -> None:
        self._access = access
        self._selection = selection

    def partitions(self) -> list[TopicPartition]:
        """The partitions that exist now."""
        chosen = self._selection
        if chosen.partitions:
            return sorted(chosen.partitions)
        with Admin(self._access) as admin:
            if chosen.pattern:
                found = {
                    name: info for name, info in admin.topics().items()
                    if re.fullmatch(chosen.pattern, name) and not info.is_internal
                }  # fmt: skip
            else:
                found = admin.topics(chosen.topics)
                if missing := set(chosen.topics) - found.keys():
                    raise OptionRefused(f"subscribe: there is no topic {', '.join(sorted(missing))}")
        return sorted(TopicPartition(name, n) for name, info in found.items() for n in range(info.partitions))

    def earliest(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offsets that are there."""
        return self._asked(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends for whoever reads committed records."""
        return self._asked(dict.fromkeys(partitions, LATEST))

    def resolved(self, partitions: Collection[TopicPartition], places: int | Places) -> dict[TopicPartition, int]:
        """Offsets for all partitions; where nothing is as new as a time, the end."""
        if isinstance(places, int):
            found = self._asked(dict.fromkeys(partitions, places))
            return {**found, **self.latest([where for where, offset in found.items() if offset < 0])}
        if missing := sorted(set(partitions) - places.keys()):
            raise OptionRefused(f"startingOffsets or endingOffsets: nothing is said about {missing[0]}")
        relative = {where: places[where] for where in partitions if places[where] < 0}
        return {**{where: places[where] for where in partitions}, **self._asked(relative)}

    def _asked(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        if not wanted:
            return {}
        with opened(self._access, {where.topic for where in wanted}) as (_, network):
            return _listed(network, wanted)


def _listed(network: Network, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return reading.list_many(network, wanted, READ_COMMITTED)
