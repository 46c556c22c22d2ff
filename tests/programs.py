"""Programs of other people that tests talk to, such as Prometheus' own servers."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

_INSTALL_SECONDS = 240


def program(name: str, package: str) -> str:
    """The path of a program; installs its Debian package where that is possible, else skips the test."""
    found = shutil.which(name) or (_installed(name, package) if _may_install() else None)
    if found is None:
        pytest.skip(f"needs the program {name} (Debian package {package})")
    return found


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _installed(name: str, package: str) -> str | None:
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", package]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, env=environment, timeout=_INSTALL_SECONDS, capture_output=True, check=True)
    except subprocess.SubprocessError:
        return None
    return shutil.which(name)
