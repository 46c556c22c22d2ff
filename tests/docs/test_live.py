"""The commands of the documentation, run as they are shown; only names, addresses and places are others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.docs import results
from tests.docs.live_stage import LiveStage, live_stage
from tests.docs.pages import Command, commands
from tests.docs.stages import run_here
from tests.package.test_readme import MIRRORING
from tests.programs import program

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ALL = run_here(commands())
SHOWN = "{0.place} {0.text:.80}".format
RUNS = [command for command in ALL if "run" in command.words[:2] or command.program == "connect-mirror-maker"]
[OF_THE_STAGE] = [command for command in RUNS if command.program == "connect-mirror-maker"]


def _meaning(text: str) -> str:
    """The same for commands that differ in the name of a cluster only, and in where the program lies."""
    return re.sub(r"--clusters \w+", "--clusters X", text.removeprefix("./"))


@pytest.fixture(scope="module")
def stage(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveStage]:
    for name in ("curl", "jq", "bash"):
        program(name, name)
    folder = tmp_path_factory.mktemp("docs")
    before = os.getcwd()
    os.chdir(folder)
    try:
        with live_stage(cluster_pair, folder, OF_THE_STAGE) as stage:
            yield stage
    finally:
        os.chdir(before)


def test_the_mirror_of_the_page_for_people_from_mirrormaker_mirrors(stage: LiveStage) -> None:
    assert stage.is_ready()
    stage.expect_mirroring()


def test_every_way_to_run_a_mirror_that_is_shown_is_run_by_a_test() -> None:
    """A start takes long: one is run here, the others by the tour of the README, with the same options."""
    of_the_tour = {_meaning(line) for line in MIRRORING}
    assert {_meaning(command.text) for command in RUNS if command is not OF_THE_STAGE} <= of_the_tour


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
    [expected] = results.of(command)
    done = stage.run(command)
    story = f"{command}\n{done.printed}\n{done.told}"
    assert done.code == 0, story
    assert "Traceback" not in done.printed + done.told, story
    for text in expected.printed:
        found = done.printed.count(stage.filled(text))
        assert found == (expected.times or found) > 0, f"{stage.filled(text)!r} {found} times by {story}"
    if not expected.printed:
        assert done.printed == "", story
    if expected.state:
        assert stage.connector_state() == expected.state, story
    if expected.file:
        assert Path(expected.file).stat().st_size > 0, story
