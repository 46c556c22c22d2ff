"""The commands of the documentation, run as they are shown; only names, addresses and places are others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.docs.live_stage import LiveStage, live_stage
from tests.docs.pages import Command, commands
from tests.docs.stages import run_here
from tests.programs import program

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ALL = run_here(commands())
SHOWN = "{0.place} {0.text:.80}".format
RUNS = [command for command in ALL if "run" in command.words[:2] or command.program == "connect-mirror-maker"]


@pytest.fixture(scope="module")
def stage(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveStage]:
    for name in ("curl", "jq", "bash"):
        program(name, name)
    folder = tmp_path_factory.mktemp("docs")
    before = os.getcwd()
    os.chdir(folder)
    try:
        with live_stage(primary, backup, folder) as stage:
            yield stage
    finally:
        os.chdir(before)


@pytest.mark.parametrize("command", RUNS, ids=SHOWN)
def test_the_mirror_runs_with_every_option_that_is_shown(command: Command, stage: LiveStage) -> None:
    assert {word for word in command.words if word.startswith("--")} <= set(stage.options)
    assert stage.is_ready()


def test_what_people_know_from_kafka_connect_works_as_it_is_written_everywhere(stage: LiveStage) -> None:
    address = "http://localhost:8083/connectors"
    source = f"{address}/MirrorSourceConnector"

    def state() -> str:
        return str(json.loads(stage.shell(f"curl -s {source}/status | jq").stdout)["connector"]["state"])

    names = json.loads(stage.shell(f"curl -s {address} | jq").stdout)
    assert names == ["MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector"]
    config = json.loads(stage.shell(f"curl -s {source}/config | jq").stdout)
    assert config["source.cluster.alias"] == stage.source
    assert config["connector.class"] == "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    for verb, result in {"pause": "PAUSED", "resume": "RUNNING"}.items():
        assert stage.shell(f"curl -X PUT {source}/{verb}").stdout == ""
        assert state() == result


@pytest.mark.parametrize("command", [command for command in ALL if command not in RUNS], ids=SHOWN)
def test_a_command_does_what_it_is_shown_for(command: Command, stage: LiveStage) -> None:
    assert stage.run(command) == 0
