"""The machine as a process of ours sees it: also the limits that a container puts on it."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from heliograph.cache import cache_folder
from heliograph.java import find_java, version_of

CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Folder:
    """A folder that we write to, and the space that is left there."""

    purpose: str
    path: Path
    is_writable: bool
    free_bytes: int


@dataclass(frozen=True)
class Machine:
    """Facts, without any judgement."""

    python: tuple[int, ...]
    java: str  # empty: none that is new enough
    cores: float
    memory_bytes: int
    available_bytes: int
    open_files: int  # negative: no limit
    folders: Sequence[Folder]

    @classmethod
    def read(cls) -> Machine:
        """This one."""
        java = find_java()
        memory = psutil.virtual_memory()
        limit = memory_limit(CGROUP)
        return cls(
            python=sys.version_info[:3],
            java=version_of(java) if java else "",
            cores=min(len(os.sched_getaffinity(0)), core_limit(CGROUP)),
            memory_bytes=min(memory.total, limit),
            available_bytes=min(memory.available, limit),
            open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            folders=(folder("cache", cache_folder()), folder("temporary", Path(tempfile.gettempdir()))),
        )


def folder(purpose: str, path: Path) -> Folder:
    """What there is to know of a folder, or of the nearest one above it that exists: it would be made there."""
    existing = next(place for place in (path, *path.absolute().parents) if place.exists())
    return Folder(purpose, path, os.access(existing, os.W_OK), shutil.disk_usage(existing).free)


def memory_limit(cgroup: Path) -> float:
    """The bytes that a container may use; infinite without a limit."""
    text = _content(cgroup / "memory.max")
    return int(text) if text.isdigit() else float("inf")


def core_limit(cgroup: Path) -> float:
    """The cores that a container may use, which need not be a whole number; infinite without a limit."""
    quota, _, period = _content(cgroup / "cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else float("inf")


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
