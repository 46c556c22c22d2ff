"""Programs that tests start: those of other people, such as Prometheus' own servers, and ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_INSTALL_SECONDS = 240


def program(name: str, package: str) -> str:
    """The path of a program; installs its Debian package where that is possible, else skips the test."""
    found = shutil.which(name) or (_installed(name, package) if _may_install() else None)
    if found is None:
        pytest.skip(f"needs the program {name} (Debian package {package})")
    return found


def own_program(folder: Path) -> Path:
    """`heliograph` as a program in a folder, which it makes: the code under test, whatever is installed."""
    folder.mkdir(parents=True)
    file = folder / "heliograph"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m heliograph "$@"\n')
    file.chmod(0o755)
    return file


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _installed(name: str, package: str) -> str | None:
    """Lists of packages may be missing or old on a new machine, so they are fetched if the first try fails."""
    install = ("install", "-y", "--no-install-recommends", package)
    if not _apt_get(*install):
        _apt_get("update")
        _apt_get(*install)
    return shutil.which(name)


def _apt_get(*arguments: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            ["apt-get", "-q", *arguments], env=environment, timeout=_INSTALL_SECONDS, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
