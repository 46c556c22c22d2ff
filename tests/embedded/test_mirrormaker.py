"""Real MirrorMaker 2 mirrors, says when it is ready, and stops without repeating anything."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.mirrormaker import MirrorMaker2, StartProgress
from heliograph.errors import ProcessFailed
from tests.embedded.traffic import create_topic, end_of, messages, receive, send
from tests.waiting import is_gone

_TOPIC = "mirrormaker-orders"
_COPY = f"alpha.{_TOPIC}"
_STARTED = "[t] INFO Kafka MirrorMaker started (c)\n"
_CONNECTOR = "[t] INFO Started MirrorSourceConnector with {} topic-partitions. (c)\n"
_BEGUN = "[t] INFO [Worker clientId={}, groupId=a-mm2] Starting task MirrorSourceConnector-{} (c)\n"
_RUNNING = (
    "[t] INFO [MirrorSourceConnector|task-0] WorkerSourceTask{{id=MirrorSourceConnector-{}}} "
    "Source task finished initialization and start (c)\n"
)
_OTHER_TASK = _BEGUN.replace("Source", "Heartbeat")


def settings(source: EmbeddedCluster, target: EmbeddedCluster) -> dict[str, str]:
    """One flow between clusters that other tests use too, so the aliases and the topic are not theirs."""
    return {
        "clusters": "alpha, omega",
        "alpha.bootstrap.servers": source.bootstrap_servers,
        "omega.bootstrap.servers": target.bootstrap_servers,
        "alpha->omega.enabled": "true",
        "topics": _TOPIC,
        "groups": "none",
        "emit.heartbeats.enabled": "false",
        "replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "config.storage.replication.factor": "1",
    }


@pytest.mark.kafka
@pytest.mark.oracle
def test_records_are_mirrored_and_a_clean_stop_repeats_none(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    before, after = messages(100), messages(10, first=100)
    create_topic(primary, _TOPIC)
    send(primary, _TOPIC, before)

    with MirrorMaker2(settings(primary, backup), tmp_path, jvm_options=["-Dstation=test"]) as first:
        assert "-Dstation=test" in psutil.Process(first.process.pid).cmdline()
        assert receive(backup, _COPY, 100) == before
    assert first.process.exit_code == 128 + signal.SIGTERM

    send(primary, _TOPIC, after)
    again = MirrorMaker2(tmp_path / "mm2.properties", tmp_path, clusters=["omega"])
    again.start()
    try:
        again.wait_until_ready()
        assert receive(backup, _COPY, 110) == before + after
        assert end_of(backup, _COPY) == 110
    finally:
        again.kill()
    assert again.process.exit_code == -signal.SIGKILL


@pytest.mark.kafka
@pytest.mark.oracle
def test_a_start_that_fails_is_told_with_the_reason(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    mirror = MirrorMaker2(settings(primary, backup), tmp_path, clusters=["nowhere"])

    with pytest.raises(ProcessFailed, match=r"MirrorMaker 2 ended with code \d+:\n(?s:.*)nowhere"), mirror:
        pytest.fail("it serves no cluster")

    assert is_gone(mirror.process.pid)
    mirror.stop()


@pytest.mark.parametrize(
    ("log", "flows", "ready"),
    [
        ("", 1, False),
        (_CONNECTOR.format(0), 1, True),
        (_CONNECTOR.format(0), 2, False),
        (_CONNECTOR.format(3), 1, False),
        (_CONNECTOR.format(3) + _BEGUN.format("a->b", 0), 1, False),
        (_CONNECTOR.format(3) + _OTHER_TASK.format("a->b", 0), 1, False),
        (_CONNECTOR.format(3) + _BEGUN.format("a->b", 0) + _RUNNING.format(0), 1, True),
        (_BEGUN.format("a->b", 0) + _RUNNING.format(0), 1, False),
        (_CONNECTOR.format(3) * 2 + _BEGUN.format("a->b", 0) + _RUNNING.format(0), 2, False),
        (
            _CONNECTOR.format(3) * 2
            + _BEGUN.format("a->b", 0)
            + _RUNNING.format(0)
            + _BEGUN.format("b->a", 0)
            + _RUNNING.format(0),
            2,
            True,
        ),
    ],
)
def test_ready_means_topics_read_and_all_tasks_running(log: str, flows: int, ready: bool) -> None:
    assert StartProgress.of(_STARTED + log).is_ready(flows) is ready
    assert not StartProgress.of(log).is_ready(flows)
