"""What is published of this clone: the wheel and the source distribution."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_LEFT_OVERS = {"__pycache__", ".hypothesis", "output", "spark-warehouse"}  # of runs and tests, as .gitignore has them


@dataclass(frozen=True)
class Distributions:
    """Both files, as they were built."""

    wheel: Path
    source: Path

    def wheel_files(self) -> set[str]:
        """The names of all files in the wheel."""
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def wheel_text(self, name: str) -> str:
        """A file of the wheel's own folder about the package."""
        with zipfile.ZipFile(self.wheel) as archive:
            [found] = [item for item in archive.namelist() if item.endswith(f".dist-info/{name}")]
            return archive.read(found).decode()

    def source_files(self) -> set[str]:
        """The names of all files in the source distribution, without the folder that holds them all."""
        with tarfile.open(self.source) as archive:
            return {member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()}


def build(folder: Path) -> Distributions:
    """Both, from what is in this clone now."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    [source] = folder.glob("*.tar.gz")
    return Distributions(wheel, source)


def files_below(folder: Path) -> set[str]:
    """All files of a folder but those that running leaves there."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if _LEFT_OVERS.isdisjoint(path.parts)}
