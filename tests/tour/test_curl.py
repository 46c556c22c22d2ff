"""The commands that people know, run as they are written down; only the port is another one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import write_settings
from tests.programs import program
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_LIST = "curl -s http://localhost:8083/connectors | jq"
_CONFIG = "curl -s http://localhost:8083/connectors/MirrorSourceConnector/config | jq"
_STATUS = "curl -s http://localhost:8083/connectors/MirrorSourceConnector/status | jq"
_PAUSE = "curl -X PUT http://localhost:8083/connectors/MirrorSourceConnector/pause"
_RESUME = "curl -X PUT http://localhost:8083/connectors/MirrorSourceConnector/resume"


class Shell:
    """Runs command lines against one server."""

    def __init__(self, address: str) -> None:
        self._port = address.rpartition(":")[2]

    def run(self, line: str) -> str:
        """What the command prints; it must end well."""
        command = f"set -o pipefail; {line.replace(':8083', f':{self._port}')}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30, check=True)
        return done.stdout

    def state(self) -> str:
        """The state that the status command shows."""
        return str(json.loads(self.run(_STATUS))["connector"]["state"])


@pytest.fixture(scope="module")
def shell(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    """A shell beside a mirror whose only flow is source->target."""
    for name in ("curl", "jq", "bash"):
        program(name, name)
    topic = create_topic(primary.bootstrap_servers, fresh_name("curl"), 1)
    file = tmp_path_factory.mktemp("curl") / "mm2.properties"
    options = {"topics": topic, "config.storage.replication.factor": "1", "offset-syncs.topic.replication.factor": "1"}
    options["checkpoints.topic.replication.factor"] = "1"
    write_settings(file, {"source": primary, "target": backup}, ["source->target"], options)
    mirror = RunningMirror(load(file))
    server = RestServer(mirror, ["http://127.0.0.1:0"])
    mirror.start()
    try:
        server.start()
        yield Shell(server.addresses[0])
    finally:
        server.stop()
        mirror.stop()


def test_the_well_known_commands_work_as_they_are_written_down(shell: Shell) -> None:
    names = json.loads(shell.run(_LIST))
    assert names == ["MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector"]
    config = json.loads(shell.run(_CONFIG))
    assert config["source.cluster.alias"] == "source"
    assert config["connector.class"] == "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    wait_until(lambda: shell.state() == "RUNNING", "a running connector", 60, 0.5)
    assert shell.run(_PAUSE) == ""
    assert shell.state() == "PAUSED"
    assert shell.run(_RESUME) == ""
    assert shell.state() == "RUNNING"
