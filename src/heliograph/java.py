"""Finds a Java that runs Spark and Kafka, and installs one where the system's package manager can."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from heliograph.errors import JavaMissing

NEEDED_VERSION = 17
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # half the processor time for a program of minutes
_DEBIAN_PACKAGES = ("openjdk-21-jre-headless", "openjdk-17-jre-headless", "default-jre-headless")
_ADVICE = (
    f"Java {NEEDED_VERSION} or newer is needed and was not found through JAVA_HOME or PATH: "
    "install a JRE (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; "
    "Fedora: dnf install java-21-openjdk-headless; macOS: brew install openjdk@21) or set JAVA_HOME"
)


def ensure_java(say: Callable[[str], None] = lambda _: None) -> Path:
    """The `java` program to use; also set as JAVA_HOME, so that Spark takes the same one."""
    java = find_java() or _install_java(say)
    if java is None:
        raise JavaMissing(_ADVICE)
    os.environ["JAVA_HOME"] = str(java.resolve().parent.parent)
    return java


def find_java() -> Path | None:
    """The first Java of the needed version: the one of JAVA_HOME, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    candidates = [Path(home, "bin", "java")] if home else []
    on_path = shutil.which("java")
    if on_path:
        candidates.append(Path(on_path))
    return next((java for java in candidates if _major_version(java) >= NEEDED_VERSION), None)


def java_version() -> str:
    """The full version of the Java that is used, e.g. 17.0.15."""
    return version_of(ensure_java())


@cache
def version_of(java: Path) -> str:
    """The full version of a `java` program; empty if it cannot be asked."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r'version "([^"]+)"', answer.stderr)
    return found.group(1) if found else ""


def _major_version(java: Path) -> int:
    numbers = version_of(java).removeprefix("1.").split(".")
    return int(numbers[0]) if numbers[0].isdigit() else 0


def _install_java(say: Callable[[str], None]) -> Path | None:
    apt_get = shutil.which("apt-get")
    if apt_get is None or os.geteuid() != 0:
        return None
    say("Java is missing: installing a headless JRE with apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([apt_get, "update", "-q"], env=environment, capture_output=True, check=False)
    for package in _DEBIAN_PACKAGES:
        command = [apt_get, "install", "-y", "-q", "--no-install-recommends", package]
        if subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0:
            say(f"installed {package}")
            break
    return find_java()
