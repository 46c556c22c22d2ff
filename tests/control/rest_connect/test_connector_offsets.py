"""Positions: what is allowed, and under which bytes they are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.connector import Connector
from heliograph.control.connector_offsets import ConnectorOffset, ConnectorOffsets, InvalidOffset, check_offset
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from tests.chaos.stage import write_settings
from tests.zoo.topics import create_topic, fresh_name

_SOURCE = {"cluster": "a", "partition": 0, "topic": "t"}
_GROUP = {"group": "g", "partition": 0, "topic": "t"}
_PAIR = {"sourceClusterAlias": "a", "targetClusterAlias": "b"}


@pytest.mark.parametrize(
    ("connector", "place", "offset"),
    [
        (Connector.SOURCE, _SOURCE, {"offset": 0}),
        (Connector.SOURCE, _SOURCE, {"offset": 2**40, "more": 1}),
        (Connector.SOURCE, {"any": "thing"}, None),
        (Connector.SOURCE, None, None),
        (Connector.CHECKPOINT, _GROUP, {"offset": 0}),
        (Connector.HEARTBEAT, _PAIR, {"offset": 0}),
    ],
)
def test_what_mirrormaker_would_take_is_taken(connector: Connector, place: Any, offset: Any) -> None:
    check_offset(connector, ConnectorOffset(place, offset))


@pytest.mark.parametrize(
    ("connector", "place", "offset", "message"),
    [
        (Connector.SOURCE, None, {"offset": 1}, "Source partitions may not be null"),
        (Connector.SOURCE, {"topic": "t", "partition": 0}, {"offset": 1}, "missing the 'cluster' key"),
        (Connector.SOURCE, {"cluster": "a", "partition": 0}, {"offset": 1}, "missing the 'topic' key"),
        (Connector.SOURCE, {"cluster": "a", "topic": "t"}, {"offset": 1}, "missing the 'partition' key"),
        (
            Connector.SOURCE,
            {**_SOURCE, "topic": 5},
            {"offset": 1},
            "invalid value 5 for the 'topic' key, which must be",
        ),
        (Connector.SOURCE, {**_SOURCE, "topic": None}, {"offset": 1}, "invalid value null for the 'topic' key"),
        (Connector.SOURCE, {**_SOURCE, "partition": "0"}, {"offset": 1}, "'partition' key, which must be an integer"),
        (Connector.SOURCE, {**_SOURCE, "partition": True}, {"offset": 1}, "value true for the 'partition' key"),
        (Connector.SOURCE, {**_SOURCE, "partition": 2**31}, {"offset": 1}, "'partition' key, which must be an integer"),
        (Connector.SOURCE, {**_SOURCE, "partition": -1}, {"offset": 1}, "'partition' key, which cannot be negative"),
        (Connector.SOURCE, _SOURCE, {}, "Source offset {} for source partition {cluster=a, partition=0, topic=t} is"),
        (Connector.SOURCE, _SOURCE, {"offset": "1"}, "'offset' key, which must be an integer"),
        (Connector.SOURCE, _SOURCE, {"offset": None}, "'offset' key, which must be an integer"),
        (Connector.SOURCE, _SOURCE, {"offset": 1.5}, "invalid value 1.5 for the 'offset' key"),
        (Connector.SOURCE, _SOURCE, {"offset": 2**63}, "'offset' key, which must be an integer"),
        (Connector.SOURCE, _SOURCE, {"offset": -1}, "'offset' key, which cannot be negative"),
        (Connector.CHECKPOINT, _GROUP, {"offset": 1}, "the only accepted value is 0"),
        (Connector.CHECKPOINT, {"topic": "t", "partition": 0}, {"offset": 0}, "missing the 'group' key"),
        (Connector.HEARTBEAT, _PAIR, {"offset": -1}, "the only accepted value is 0"),
        (Connector.HEARTBEAT, {"sourceClusterAlias": "a"}, {"offset": 0}, "missing the 'targetClusterAlias' key"),
    ],
)
def test_what_it_would_not_take_is_told_in_its_words(
    connector: Connector, place: Any, offset: Any, message: str
) -> None:
    with pytest.raises(InvalidOffset) as caught:
        check_offset(connector, ConnectorOffset(place, offset))
    assert message in str(caught.value)


class _Book:
    """The offsets topic of a flow that never ran."""

    def __init__(self, cluster: EmbeddedCluster, folder: Path) -> None:
        self.alias = fresh_name("book")
        self.topic = f"mm2-offsets.{self.alias}.internal"
        self._access = Access("backup", cluster.bootstrap_servers.split(","))
        file = folder / "mm2.properties"
        write_settings(file, {self.alias: cluster, "backup": cluster}, [f"{self.alias}->backup"], {})
        self._flow = load(file).flows[0]

    def of(self, connector: Connector) -> ConnectorOffsets:
        """The positions of a connector."""
        return ConnectorOffsets(self._flow, connector)

    def keep(self, key: bytes, value: bytes | None) -> None:
        """What another program wrote."""
        with Writer(self._access) as writer:
            writer.append(TopicPartition(self.topic, 0), [Record(0, 0, key, value)])

    def records(self) -> list[tuple[bytes | None, bytes | None]]:
        """All that is kept."""
        with opened(self._access, [self.topic]) as (loop, network):
            starts = reading.list_offsets(network, self.topic, dict.fromkeys(network.partitions(self.topic), EARLIEST))
            found = reading.read_to_end(loop, network, self.topic, starts)
            return [(record.key, record.value) for _, record in found]


@pytest.fixture
def book(backup: EmbeddedCluster, tmp_path: Path) -> _Book:
    """One whose topic has one partition."""
    found = _Book(backup, tmp_path)
    create_topic(backup.bootstrap_servers, found.topic, 1)
    return found


@pytest.mark.kafka
def test_positions_are_kept_under_the_bytes_that_java_looks_for(book: _Book) -> None:
    place = {"topic": "t", "partition": 3, "cluster": book.alias}
    changed = book.of(Connector.SOURCE).alter([ConnectorOffset(place, {"offset": 7, "more": 1})])
    book.of(Connector.CHECKPOINT).alter([ConnectorOffset(_GROUP, {"offset": 0})])
    book.of(Connector.HEARTBEAT).alter([ConnectorOffset(dict(reversed(_PAIR.items())), {"offset": 0})])
    assert changed == [TopicPartition("t", 3)]
    assert book.records() == [
        (f'["MirrorSourceConnector",{{"cluster":"{book.alias}","partition":3,"topic":"t"}}]'.encode(), b'{"offset":7}'),
        (b'["MirrorCheckpointConnector",{"partition":0,"topic":"t","group":"g"}]', b'{"offset":0}'),
        (
            b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"a","targetClusterAlias":"b"}]',
            b'{"offset":0}',
        ),
    ]
    assert book.of(Connector.SOURCE).read() == [ConnectorOffset(place, {"offset": 7})]
    assert book.of(Connector.CHECKPOINT).read() == [ConnectorOffset(_GROUP, {"offset": 0})]


@pytest.mark.kafka
def test_what_is_there_is_changed_under_its_own_bytes_whatever_its_order(book: _Book) -> None:
    key = b'["MirrorSourceConnector",{"what":"ever","is":"there"}]'
    book.keep(key, b'{"offset":1}')
    book.keep(b"no position", b"at all")
    book.keep(b'["MirrorSourceConnector",{"gone":1}]', b'{"offset":1}')
    book.keep(b'["MirrorSourceConnector",{"gone":1}]', None)
    offsets = book.of(Connector.SOURCE)
    assert offsets.read() == [ConnectorOffset({"what": "ever", "is": "there"}, {"offset": 1})]
    offsets.alter([ConnectorOffset({"is": "there", "what": "ever"}, None)])
    assert book.records()[-1] == (key, None)
    assert offsets.read() == []


@pytest.mark.kafka
def test_a_reset_forgets_the_positions_of_one_connector_only(book: _Book) -> None:
    source, heartbeat = book.of(Connector.SOURCE), book.of(Connector.HEARTBEAT)
    places = [{"cluster": book.alias, "partition": number, "topic": "t"} for number in range(2)]
    source.alter([ConnectorOffset(place, {"offset": 5}) for place in places])
    heartbeat.alter([ConnectorOffset(_PAIR, {"offset": 0})])
    assert sorted(source.reset()) == [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert source.read() == []
    assert heartbeat.read() == [ConnectorOffset(_PAIR, {"offset": 0})]
    assert source.reset() == []


@pytest.mark.kafka
def test_a_flow_that_never_ran_has_no_positions(backup: EmbeddedCluster, tmp_path: Path) -> None:
    assert _Book(backup, tmp_path).of(Connector.SOURCE).read() == []
