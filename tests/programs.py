"""Programs that tests start: those of other people, such as Prometheus' own servers, and ours."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_INSTALL_SECONDS = 240
_NO_SUCH_PACKAGE_HERE = (
    "Unable to locate package",
    "has no installation candidate",
    "Unable to fetch",
    "Failed to fetch",
)


def program(name: str, package: str) -> str:
    """The path of a program; installs its Debian package where that is possible, else skips the test.

    Where packages can be had, one that could not be installed is a failure: no test may be left out unnoticed.
    """
    found = shutil.which(name)
    if found is None and not _may_install():
        pytest.skip(f"needs the program {name} (Debian package {package})")
    return found or _installed(name, package)


def own_program(folder: Path) -> Path:
    """`heliograph` as a program in a folder, which it makes: the code under test, whatever is installed."""
    folder.mkdir(parents=True)
    file = folder / "heliograph"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m heliograph "$@"\n')
    file.chmod(0o755)
    return file


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _installed(name: str, package: str) -> str:
    """Install a package, one process at a time; whoever has waited may find that another one has installed it.

    Lists of packages may be missing or old on a new machine, so they are fetched if the first try fails.
    """
    install = ("install", "-y", "--no-install-recommends", package)
    story = ""
    with _alone():
        for arguments in (install, ("update",), install):
            if found := shutil.which(name):
                return found
            story = _apt_get(*arguments)
    if any(text in story for text in _NO_SUCH_PACKAGE_HERE):
        pytest.skip(f"needs the program {name} (Debian package {package}), which cannot be had here: {story}")
    found = shutil.which(name)
    assert found, f"{name} is not there although its package can be had: {story}"
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other process of these tests install anything meanwhile: Debian's own lock makes the second one fail."""
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _apt_get(*arguments: str) -> str:
    """What it said, in short; a package manager of somebody else is waited for."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-q", "-o", f"DPkg::Lock::Timeout={_INSTALL_SECONDS}", *arguments]
    try:
        done = subprocess.run(
            command, env=environment, timeout=2 * _INSTALL_SECONDS, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} did not end within {2 * _INSTALL_SECONDS} s"
    return f"{' '.join(command)} ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"
