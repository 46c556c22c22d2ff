from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.control.connector import Connector, RunState
from heliograph.control.stored_state import StateStore, StoredState
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.records import Record
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from tests.chaos.stage import write_settings
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka


@pytest.fixture
def flow(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> FlowConfig:
    """A flow of which nothing was written down yet."""
    alias, file = fresh_name("stored"), tmp_path / "mm2.properties"
    options = {"config.storage.replication.factor": "1"}
    write_settings(file, {alias: primary, "backup": backup}, [f"{alias}->backup"], options)
    found = load(file).flow(f"{alias}->backup")
    assert found is not None
    return found


def write(flow: FlowConfig, key: str, value: bytes | None) -> None:
    """A record as another program would write it."""
    with Writer(access_for(flow.target, "producer")) as writer:
        where = TopicPartition(f"mm2-configs.{flow.source.alias}.internal", 0)
        writer.append(where, [Record(0, 1, key.encode(), value)])


def test_nothing_is_known_and_no_topic_made_where_nothing_was_told(flow: FlowConfig) -> None:
    assert StateStore(flow).read() == StoredState()
    with Admin(access_for(flow.target, "admin")) as admin:
        assert not admin.topics([f"mm2-configs.{flow.source.alias}.internal"])


def test_the_last_word_counts_and_the_topic_is_compacted(flow: FlowConfig) -> None:
    store = StateStore(flow)
    store.write_state(Connector.SOURCE, RunState.PAUSED)
    store.write_state(Connector.CHECKPOINT, RunState.STOPPED)
    store.write_changes({"topics": "a"}, "me")
    store.write_state(Connector.SOURCE, RunState.RUNNING)
    store.write_changes({"topics": "b", "tasks.max": None}, "me")
    states = {Connector.SOURCE: RunState.RUNNING, Connector.CHECKPOINT: RunState.STOPPED}
    assert StateStore(flow).read() == StoredState(states, {"topics": "b", "tasks.max": None})
    topic = f"mm2-configs.{flow.source.alias}.internal"
    with Admin(access_for(flow.target, "admin")) as admin:
        assert admin.topic_settings([topic])[topic]["cleanup.policy"].value == "compact"


def test_states_are_written_as_kafka_connect_writes_them_and_read_as_it_writes_them(flow: FlowConfig) -> None:
    StateStore(flow).write_state(Connector.SOURCE, RunState.STOPPED)
    write(flow, "target-state-MirrorHeartbeatConnector", b'{"state":"PAUSED"}')  # before 3.5
    write(flow, "target-state-MirrorCheckpointConnector", b'{"state":"PAUSED","state.v2":"STOPPED"}')
    write(flow, "connector-MirrorSourceConnector", b'{"properties":{"topics":"of MirrorMaker 2"}}')
    write(flow, "target-state-Another", b'{"state":"PAUSED"}')
    assert StateStore(flow).read() == StoredState(
        {
            Connector.SOURCE: RunState.STOPPED,
            Connector.HEARTBEAT: RunState.PAUSED,
            Connector.CHECKPOINT: RunState.STOPPED,
        }
    )


@pytest.mark.parametrize("value", [b"", None, b"no json", b"[]", b'{"state":"DANCING"}', b'{"properties":7}'])
def test_what_cannot_be_read_counts_as_not_told(flow: FlowConfig, value: bytes | None) -> None:
    StateStore(flow).write_state(Connector.SOURCE, RunState.PAUSED)
    write(flow, "target-state-MirrorSourceConnector", value)
    write(flow, "heliograph-changes", value)
    found = StateStore(flow).read()
    assert found.states == {Connector.SOURCE: RunState.RUNNING}
    assert found.changes == {}


def test_records_of_before_there_were_formats_are_read_and_newer_ones_refused(flow: FlowConfig) -> None:
    store = StateStore(flow)
    store.write_operation({"id": "new"})
    assert store.read().operation == {"id": "new"}
    write(flow, "heliograph-operation", b'{"id":"old"}')
    write(flow, "heliograph-changes", b'{"properties":{"topics":"old"},"by":"me"}')
    assert (store.read().operation, store.read().changes) == ({"id": "old"}, {"topics": "old"})
    write(flow, "heliograph-changes", b'{"format":2}')
    with pytest.raises(NewerFormat, match=r"mm2-configs.*internal, offset 3: a record of format 2, written by a newer"):
        store.read()


def test_an_operation_that_cannot_be_read_is_told_with_its_place(flow: FlowConfig) -> None:
    StateStore(flow).write_operation({"id": "new"})
    write(flow, "heliograph-operation", b"no json")
    with pytest.raises(MalformedRecord, match=r"mm2-configs.*internal, offset 1: what the last operation did"):
        StateStore(flow).read()
