"""Summaries of positions in the state: written when there is enough that is new, and used by who starts next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from heliograph.control import position_summaries
from heliograph.control.position_summaries import PositionSummaries
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.errors import MalformedRecord
from heliograph.kafka import positions, writing
from heliograph.kafka.newest_positions import Summaries
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import PositionsPage
from heliograph.ledger.summaries import read_summaries, unpacked
from heliograph.model import Position, TopicPartition
from tests.control.test_standing import flow_to
from tests.zoo import raw

ORDERS, QUIET = TopicPartition("orders", 0), TopicPartition("quiet", 0)
LEAST = 10


class Scene:
    """A flow whose positions are written by hand."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.servers = cluster.bootstrap_servers
        self.flow: FlowDriver = flow_to(self.servers)
        self.topics = self.flow.settings.topics

    def write(self, *found: Mapping[TopicPartition, int]) -> None:
        with raw.network(self.servers, self.topics.offsets) as (loop, network):
            for some in found:
                for where, offset in some.items():
                    key = positions.encode_key("a", where)
                    record = Record(0, 0, key, positions.encode_value(Position(offset, 5, "", 2)))
                    writing.append(loop, network, TopicPartition(self.topics.offsets, 0), [record])

    def kept(self) -> Summaries:
        with raw.network(self.servers, self.topics.state) as (loop, network):
            return read_summaries(loop, network, self.topics.state)


@pytest.fixture
def scene(backup: EmbeddedCluster) -> Scene:
    return Scene(backup)


@pytest.mark.kafka
def test_they_are_written_when_there_is_enough_that_is_new(scene: Scene) -> None:
    chore = PositionSummaries(scene.flow, LEAST)
    scene.write({QUIET: 7}, *({ORDERS: number} for number in range(LEAST - 2)))
    assert chore.summarize() == ""
    assert scene.kept() == {}
    scene.write({ORDERS: 100})
    assert chore.summarize() == f"1 partitions of {scene.topics.offsets} summarized"
    summary = scene.kept()[0]
    assert summary.known == {QUIET: Position(7, 5, "", 2), ORDERS: Position(100, 5, "", 2)}
    assert summary.read_to == LEAST
    assert chore.summarize() == ""


@pytest.mark.kafka
def test_another_process_goes_on_with_them(scene: Scene) -> None:
    scene.write({QUIET: 7}, *({ORDERS: number} for number in range(LEAST)))
    PositionSummaries(scene.flow, LEAST).summarize()
    scene.write(*({ORDERS: number} for number in range(LEAST)))
    PositionSummaries(scene.flow, LEAST).summarize()
    assert (scene.kept()[0].read_to, scene.kept()[0].known.keys()) == (2 * LEAST + 1, {QUIET, ORDERS})


@pytest.mark.kafka
def test_they_are_written_again_before_they_are_too_old_to_count(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write(*({ORDERS: number} for number in range(LEAST)))
    chore = PositionSummaries(scene.flow, LEAST)
    chore.summarize()
    first = scene.kept()[0]
    monkeypatch.setattr(position_summaries, "_LONGEST_MS", 0)
    chore.summarize()
    assert replace(scene.kept()[0], at_ms=first.at_ms) == first
    assert scene.kept()[0].at_ms >= first.at_ms


@pytest.mark.kafka
def test_a_flow_that_is_taken_over_reads_what_they_do_not_tell(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.write({QUIET: 7}, *({ORDERS: number} for number in range(LEAST)))
    PositionSummaries(scene.flow, LEAST).summarize()
    books = scene.flow._bookkeeping
    books.announce_owner("somebody")
    assert books._positions.summaries == scene.kept()
    books.refresh("somebody", {QUIET, TopicPartition("empty", 0)})
    assert books.positions[QUIET] == Position(7, 5, "", 2)


@pytest.mark.parametrize("packed", [b"", b"x", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_what_is_no_summary_is_told_as_such(packed: bytes) -> None:
    told = entries.decode(entries.encode_positions(packed + b"-"))
    assert isinstance(told, PositionsPage)
    with pytest.raises(MalformedRecord, match="a summary of positions is not what it should be"):
        unpacked(told)
