"""The entry point of the image as a plain process, with the environment that the image sets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heliograph import __version__
from heliograph.embedded.ports import free_ports
from tests.deploy import image
from tests.programs import own_program
from tests.waiting import wait_until

if TYPE_CHECKING:
    from heliograph.embedded.cluster import EmbeddedCluster

SECONDS = 120


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """That of the image, with all of its folders below one of ours; `heliograph` is the one under test."""
    programs = own_program(tmp_path / "bin").parent
    set_by_image = image.variables()
    moved = {name: f"{tmp_path}{value}" for name, value in set_by_image.items() if value.startswith("/")}
    python = Path(sys.executable).parent
    path = {"PATH": f"{programs}:{python}:{os.environ['PATH']}"}
    return {**os.environ, **set_by_image, **moved, **path}


def run(program: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the image to its end."""
    command = [program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_arguments_are_those_of_heliograph(environment: dict[str, str]) -> None:
    done = run(image.ENTRYPOINT, environment, "--version")
    assert (done.returncode, done.stdout) == (0, f"heliograph {__version__}\n")


def test_without_anything_to_mirror_it_says_what_to_do(environment: dict[str, str]) -> None:
    done = run(image.ENTRYPOINT, environment)
    assert done.returncode == 2
    assert environment["HELIOGRAPH_FILE"] in done.stderr
    assert "HELIOGRAPH_PROPERTIES" in done.stderr


def test_a_wrong_file_ends_it_with_all_mistakes(environment: dict[str, str]) -> None:
    file = Path(environment["HELIOGRAPH_FILE"])
    file.parent.mkdir(parents=True)
    file.write_text("clusters = a, b\ntasks.max = none\n")
    done = run(image.ENTRYPOINT, environment)
    assert done.returncode == 2
    assert "tasks.max" in done.stderr
    assert "a.bootstrap.servers" in done.stderr


def test_variables_alone_are_a_mirror_too(environment: dict[str, str], tmp_path: Path) -> None:
    program = tmp_path / "bin" / "heliograph"
    program.write_text('#!/bin/sh\necho "$@"\n')
    done = run(image.ENTRYPOINT, {**environment, "HELIOGRAPH_PROPERTIES": "clusters = a, b"})
    assert done.stdout == "run --rest\n"


def test_health_of_nobody_is_bad(environment: dict[str, str]) -> None:
    done = run(image.HEALTHCHECK, {**environment, "HELIOGRAPH_HEALTH_ADDRESS": "http://127.0.0.1:1"})
    assert done.returncode == 1
    assert "no answer from http://127.0.0.1:1" in done.stderr


@pytest.mark.kafka
@pytest.mark.spark
def test_it_mirrors_is_healthy_and_ends_well_when_told(
    environment: dict[str, str], tmp_path: Path, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]
) -> None:
    from tests.chaos.load import Load
    from tests.chaos.stage import await_growth, write_settings
    from tests.zoo.topics import create_topic, fresh_name

    source, target = cluster_pair
    alias, topic = fresh_name("contained"), fresh_name("contained")
    create_topic(source.bootstrap_servers, topic)
    [port] = free_ports(1)
    environment["HELIOGRAPH_HEALTH_ADDRESS"] = address = f"http://127.0.0.1:{port}"
    file = Path(environment["HELIOGRAPH_FILE"])
    file.parent.mkdir(parents=True)
    Path(environment["HOME"]).mkdir(parents=True)
    clusters = {alias: source, f"{alias}-copy": target}
    options = {"topics": topic, "listeners": address, "heartbeats.replication.enabled": "false"}
    write_settings(file, clusters, [f"{alias}->{alias}-copy"], options)
    with container(environment, tmp_path / "mirror.log") as process:
        for question in ("healthz", "readyz"):
            wait_until(lambda: run(image.HEALTHCHECK, environment, question).returncode == 0, question, SECONDS, 0.5)  # noqa: B023
        with Load(source.bootstrap_servers, topic, 1, per_second=100):
            await_growth(target, f"{alias}.{topic}")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "mirror.log").read_text()
        assert run(image.HEALTHCHECK, environment).returncode == 1


@contextmanager
def container(environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The entry point, of which nothing is left at the end: what mirrors ends when its supervisor is gone."""
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [image.ENTRYPOINT], env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
