"""The image: what it is made of, who runs in it, and what it must not hold."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

import pytest

from heliograph.diagnostics.redaction import SECRET_NAME
from tests.deploy import image


def allowed() -> list[str]:
    """What .dockerignore lets in."""
    lines = (image.ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


@pytest.mark.parametrize("source", image.copied())
def test_everything_that_is_copied_exists_and_is_let_in(source: str) -> None:
    assert (image.ROOT / source).exists()
    assert source in allowed()


def test_nothing_is_let_in_that_is_not_copied() -> None:
    assert sorted(allowed()) == sorted(image.copied())
    assert not any(fnmatch(".git", name) or fnmatch(".venv", name) for name in allowed())


def test_packages_come_from_the_lock_with_hashes_and_our_wheel_brings_none() -> None:
    runs = [rest for name, rest in image.instructions() if name == "RUN"]
    installs = [part for run in runs for part in run.split("&&") if "pip install" in part]
    assert len(installs) == 2
    assert "--require-hashes -r requirements.lock" in installs[0]
    assert "--no-deps --no-index" in installs[1]


def test_it_does_not_run_as_root_and_prepares_spark_as_the_user_that_mirrors() -> None:
    names = [name for name, _ in image.last_stage()]
    assert int(image.rest_of("USER").split(":")[0]) > 0
    assert "archive_option" in image.rest_of("RUN")
    assert names.index("USER") < len(names) - 1 - names[::-1].index("RUN")


def test_no_secret_is_baked_in() -> None:
    for name, rest in image.instructions():
        if name in ("ENV", "ARG"):
            assert not SECRET_NAME.search(rest.split("=")[0]), rest


def test_the_programs_it_starts_are_there_and_can_be_run() -> None:
    assert image.command("ENTRYPOINT") == ["tini", "--", image.ENTRYPOINT.name]
    assert image.command("HEALTHCHECK") == [image.HEALTHCHECK.name]
    for program in (image.ENTRYPOINT, image.HEALTHCHECK):
        assert os.access(program, os.X_OK)
    assert "/usr/local/bin" in image.variables()["PATH"].split(":")


def test_the_python_is_one_that_the_program_takes() -> None:
    version = re.search(r"python:(\d+)\.(\d+)", (image.FOLDER / "Dockerfile").read_text())
    assert version is not None
    assert (int(version[1]), int(version[2])) >= (3, 11)
