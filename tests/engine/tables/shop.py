"""Orders with personal data on the source, and what a query makes of them on the target."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from heliograph.config.mirror_config import load
from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.producing import Batch
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import LedgerEntry, Position, TopicPartition
from heliograph.sync.topics import dead_letters_topic, ledger_topic, offsets_topic
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name

EMAIL = "somebody@example.org"


def order(number: int) -> Record:
    """Every third is noise, every fifth comes from Germany."""
    kind = "noise" if number % 3 == 0 else "order"
    country = "de" if number % 5 == 0 else "fr"
    value = {"id": number, "email": EMAIL, "kind": kind, "country": country}
    text = json.dumps(value, separators=(",", ":")).encode()
    return Record(0, 1_700_000_000_000 + number, b"key-%d" % number, text, [("origin", b"shop")])


def number_of(record: Record) -> int:
    """The number of an order."""
    return int(json.loads(record.value or b"{}")["id"])


class Shop:
    """One topic of orders, mirrored by a flow of its own."""

    def __init__(
        self, stations: Stations, folder: Path, partitions: int = 2, more: str = "", with_heartbeats: bool = False
    ) -> None:
        self._stations = stations
        self.partitions = partitions
        self.topic = create_topic(stations.source, fresh_name("shop"), partitions)
        self.heartbeats = f"{self.topic}.heartbeats"
        alias = self.topic.replace("-", "")
        self.copy = f"{alias}.{self.topic}"
        self.copy_of_heartbeats = f"{alias}.{self.heartbeats}"
        self.settings = folder / "mm2.properties"
        self.settings.write_text(
            f"clusters = {alias}, there\n"
            f"{alias}.bootstrap.servers = {stations.source}\nthere.bootstrap.servers = {stations.target}\n"
            f"{alias}->there.enabled = true\n{alias}->there.topics = {self.topic}, {self.heartbeats}\n"
            f"emit.heartbeats.enabled = false\nheartbeats.replication.enabled = {str(with_heartbeats).lower()}\n"
            "replication.factor = 1\noffset.storage.replication.factor = 1\noffset.storage.partitions = 2\n"
            "ledger.topic.replication.factor = 1\n"
            f"errors.deadletterqueue.topic.replication.factor = 1\ntasks.max = 2\n{more}\n"
        )
        self._flow = load(self.settings).flows[0]
        self.flow_name = self._flow.name
        self._alias = alias
        self._sent = 0
        self._codecs = [0] * partitions

    def send(self, records: Iterable[Record], partition: int) -> None:
        """Append records to a partition of the source, as one batch; with another codec each time."""
        self._codecs[partition] = 3 - self._codecs[partition]
        data = raw.batch_of(records, compression=self._codecs[partition])
        with raw.network(self._stations.source, self.topic) as (loop, network):
            [answer] = raw.send(loop, network, [Batch(self.topic, partition, data)])
        assert answer.error_code == 0

    def send_orders(self, count: int) -> None:
        """The next orders, spread over all partitions."""
        for partition in range(self.partitions):
            numbers = range(self._sent + partition, self._sent + count, self.partitions)
            self.send([order(number) for number in numbers], partition)
        self._sent += count

    def on_source(self, partition: int) -> list[Record]:
        """What the source has."""
        return [record for _, record in read_topic(self._stations.source, self.topic, [partition])]

    def on_target(self, partition: int, topic: str | None = None) -> list[Record]:
        """What the target has."""
        return [record for _, record in read_topic(self._stations.target, topic or self.copy, [partition])]

    def forget(self, topic: str, copy: str) -> None:
        """Delete a topic of the source and its copy."""
        for servers, name in ((self._stations.source, topic), (self._stations.target, copy)):
            with Admin(Access("shop", servers.split(","))) as admin:
                admin.delete_topics([name])

    def letters(self) -> list[Record]:
        """The dead letters."""
        return [record for _, record in read_topic(self._stations.target, dead_letters_topic(self._flow))]

    def positions(self) -> dict[TopicPartition, Position]:
        """How far each partition is."""
        known: dict[TopicPartition, Position] = {}
        for _, record in read_topic(self._stations.target, offsets_topic(self._flow)):
            positions.apply(known, self._alias, record.key, record.value)
        return known

    def entries(self) -> list[LedgerEntry]:
        """The ledger."""
        found = [record.value or b"{}" for _, record in read_topic(self._stations.target, ledger_topic(self._flow))]
        return [entry for entry in map(entries.decode, found) if isinstance(entry, LedgerEntry)]

    def await_all(self, seconds: float = 90) -> None:
        """Wait until the positions are at the ends of the source."""

        with raw.network(self._stations.source, self.topic) as (_, network):
            ends = reading.list_offsets(network, self.topic, dict.fromkeys(range(self.partitions), reading.LATEST))

        def is_done() -> bool:
            known = self.positions()
            return all(
                known.get(TopicPartition(self.topic, number), Position(-1)).offset + 1 >= end
                for number, end in ends.items()
            )

        wait_until(is_done, f"all of {self.topic} to be mirrored", seconds, 0.2)


def read_topic(servers: str, topic: str, partitions: Collection[int] = ()) -> Iterator[tuple[int, Record]]:
    """All committed records of a topic or some of its partitions, which come along; none if there is no such topic."""
    with raw.network(servers) as (loop, network):
        if network.look_up([topic]):
            return
        wanted = partitions or network.partitions(topic)
        starts = reading.list_offsets(network, topic, dict.fromkeys(wanted, EARLIEST))
        yield from reading.read_to_end(loop, network, topic, starts)
