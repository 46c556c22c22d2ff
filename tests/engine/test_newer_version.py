"""A flow whose books a newer version has written: this one stops and says why, instead of trying for ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.owner_watch import OwnerWatch
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.engine.mirror import Driver, Mirror
from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka import positions
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import TopicPartition
from heliograph.sync.topics import flow_topics
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import write_settings
from tests.control.test_standing import flow_to
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

NEWER = b'{"kind":"owner","format":99,"flow":"a->b","owner":"a newer one","writtenAt":1}'


@pytest.fixture
def flow(backup: EmbeddedCluster) -> FlowDriver:
    return flow_to(backup.bootstrap_servers)


def write(cluster: EmbeddedCluster, flow: FlowDriver, *values: bytes) -> None:
    batch = raw.batch_of([Record(0, 1, b"owner", value) for value in values])
    raw.append(cluster.bootstrap_servers, TopicPartition(flow.settings.topics.state, 0), [batch])


@contextmanager
def begun(flow: Driver) -> Iterator[Mirror]:
    """A mirror that runs a flow, without Spark: the flow is taken over first."""
    mirror = Mirror([flow], {})
    mirror._threads[flow.name].start()
    try:
        yield mirror
    finally:
        mirror.stop()


@pytest.mark.kafka
def test_a_flow_that_a_newer_version_owns_is_not_tried_again_and_again(
    backup: EmbeddedCluster, flow: FlowDriver
) -> None:
    write(backup, flow, entries.encode_deal("a->b", "an old one", 1, 1), NEWER)
    with begun(flow) as mirror:
        wait_until(lambda: mirror.failure is not None, "the flow to end", 20)
    assert isinstance(mirror.failure, NewerFormat)
    assert mirror.failure.exit_code == 5
    place = f"{flow.settings.topics.state}-0, offset 1: "
    assert str(mirror.failure).startswith(f"{place}the ledger has records of format 99, written by a newer version")
    assert "use the newer version for this flow" in str(mirror.failure)
    assert flow.trouble is not None
    assert place in flow.trouble.text
    assert flow.restarts == 1


@pytest.mark.kafka
def test_a_position_that_a_newer_version_has_written_is_refused_with_its_place(
    backup: EmbeddedCluster, flow: FlowDriver
) -> None:
    flow.take_over()
    flow.lane_tasks(1)
    where = TopicPartition(flow.settings.topics.offsets, 0)
    key = positions.encode_key("a", TopicPartition("orders", 0))
    batch = raw.batch_of([Record(0, 1, key, b'{"offset":7,"format":99}')])
    raw.append(backup.bootstrap_servers, where, [batch])
    with pytest.raises(NewerFormat, match=f"^{where}, offset 0: a position: a record of format 99"):
        flow.lane_tasks(2)
    assert flow.too_new.startswith(f"{where}, offset 0: ")


@pytest.mark.kafka
def test_a_newer_version_that_takes_over_is_noticed_while_nothing_flows(
    backup: EmbeddedCluster, flow: FlowDriver
) -> None:
    watch = OwnerWatch(flow)
    write(backup, flow, entries.encode_owner("a->b", flow.owner, 1))
    watch.look()
    write(backup, flow, NEWER)
    with pytest.raises(NewerFormat):
        watch.look()
    assert flow.too_new.startswith(f"{flow.settings.topics.state}-0, offset 1: ")
    with begun_nothing() as mirror, pytest.raises(NewerFormat, match="offset 1: "):
        mirror._follow(flow, cast(Any, _Query()))


@pytest.mark.kafka
def test_a_query_that_fails_over_it_is_not_begun_again(backup: EmbeddedCluster, flow: FlowDriver) -> None:
    write(backup, flow, NEWER)
    flow._bookkeeping.state_read_to = 0
    with begun_nothing() as mirror, pytest.raises(NewerFormat):
        mirror._give_up_if_hopeless(flow, MalformedRecord("told by Spark"))


@pytest.mark.kafka
@pytest.mark.spark
def test_a_whole_mirror_ends_for_good_and_says_why(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    alias, file = fresh_name("newer"), tmp_path / "mm2.properties"
    options = {"offset.storage.partitions": "2", "topics": fresh_name("none")}
    write_settings(file, {alias: primary, "backup": backup}, [f"{alias}->backup"], options)
    [config] = [flow for flow in load(file).flows if flow.enabled]
    state = create_topic(backup.bootstrap_servers, flow_topics(config).state)
    raw.append(backup.bootstrap_servers, TopicPartition(state, 0), [raw.batch_of([Record(0, 1, b"owner", NEWER)])])
    mirror = MirrorProcess(file, tmp_path / "mirror.log")
    try:
        assert mirror.wait(90) == NewerFormat.exit_code
        assert f"{state}-0, offset 0: the ledger has records of format 99" in mirror.log_text()
    finally:
        mirror.kill()


@contextmanager
def begun_nothing() -> Iterator[Mirror]:
    mirror = Mirror([], {})
    try:
        yield mirror
    finally:
        mirror.stop()


class _Query:
    """A query of Spark that runs."""

    isActive = True  # noqa: N815 - Spark's name

    def stop(self) -> None:
        """Nothing is under way."""
