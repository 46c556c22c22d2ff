"""What is to be thought of a machine."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.diagnostics.machine import Folder, Machine
from heliograph.diagnostics.observation import Observation, Verdict
from heliograph.java import NEEDED_VERSION

_PYTHON = (3, 11)
_CORES = 2  # one for Spark and the driver, one for a lane
_MEMORY = 2 * 1024**3
_FREE = 1024**3
_OPEN_FILES = 4096


def check_machine(machine: Machine) -> Iterator[Observation]:
    """One line for each thing that a mirror needs."""
    yield _python(machine)
    yield _java(machine)
    yield _at_least("cores", machine.cores, _CORES, f"{machine.cores:g}", "give it two or more, or set tasks.max = 1")
    memory = f"{_gibibytes(machine.available_bytes)} available of {_gibibytes(machine.memory_bytes)}"
    yield _at_least("memory", machine.available_bytes, _MEMORY, memory, f"leave {_gibibytes(_MEMORY)} for a mirror")
    yield _open_files(machine)
    for folder in machine.folders:
        yield _folder(folder)


def _python(machine: Machine) -> Observation:
    needed = ".".join(map(str, _PYTHON))
    found = ".".join(map(str, machine.python))
    if machine.python >= _PYTHON:
        return Observation("Python", Verdict.OK, found)
    return Observation("Python", Verdict.FAILED, found, f"install Python {needed} or newer")


def _java(machine: Machine) -> Observation:
    advice = f"install a JRE {NEEDED_VERSION} or newer, or set JAVA_HOME"
    if machine.java:
        return Observation("Java", Verdict.OK, machine.java)
    return Observation("Java", Verdict.FAILED, f"none of version {NEEDED_VERSION} or newer", advice)


def _open_files(machine: Machine) -> Observation:
    limit = machine.open_files
    if limit < 0:
        return Observation("open files", Verdict.OK, "no limit")
    return _at_least("open files", limit, _OPEN_FILES, f"{limit:,}", f"raise the limit: ulimit -n {_OPEN_FILES}")


def _folder(folder: Folder) -> Observation:
    subject, place = f"{folder.purpose} folder", f"{folder.path}, {_gibibytes(folder.free_bytes)} free"
    if not folder.is_writable:
        variable = "XDG_CACHE_HOME" if folder.purpose == "cache" else "TMPDIR"
        return Observation(subject, Verdict.FAILED, f"{folder.path} cannot be written to", f"set {variable} to another")
    return _at_least(subject, folder.free_bytes, _FREE, place, "make room")


def _at_least(subject: str, value: float, needed: float, seen: str, advice: str) -> Observation:
    is_enough = value >= needed
    return Observation(subject, Verdict.OK if is_enough else Verdict.WARNING, seen, "" if is_enough else advice)


def _gibibytes(count: float) -> str:
    return f"{count / 1024**3:.1f} GiB"
