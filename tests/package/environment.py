"""Python environments that have the package from its wheel, and see nothing of the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.package.distributions import ROOT

_INSTALL_SECONDS = 900


@dataclass(frozen=True)
class Environment:
    """One of them."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def heliograph(self) -> Path:
        """The command that the wheel brought."""
        return self.folder / "bin" / "heliograph"

    def run(
        self, command: Sequence[str | Path], folder: Path, seconds: float = 180
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in a folder that is not the clone."""
        return subprocess.run(
            command, cwd=folder, env=outside(), capture_output=True, text=True, timeout=seconds, check=False
        )


def outside() -> dict[str, str]:
    """The variables of this process without those that lead Python to the clone."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def beside_this_one(folder: Path, wheel: Path) -> Environment:
    """Only our package is installed; all that it needs is found where this process finds it. Made in seconds."""
    environment = Environment(folder)
    _expect_success([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    _expect_success([*_installer(environment.python), "--no-deps", "--no-index", str(wheel)])
    [packages] = folder.glob("lib/python*/site-packages")
    # Folders that a .pth file names are searched, but their own .pth files, such as that of the clone, are not read.
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (packages / "beside.pth").write_text("".join(f"{place}\n" for place in sorted(places)))
    return environment


def by_the_readme(folder: Path, wheel: Path, lines: Sequence[str]) -> Environment:
    """Everything is installed, by the lines that the README has for it; they make the environment below the folder."""
    shutil.copy(wheel, folder)
    shutil.copy(ROOT / "requirements.lock", folder)
    for line in lines:
        _expect_success(["bash", "-c", line], folder)
    [configuration] = folder.glob("*/pyvenv.cfg")
    return Environment(configuration.parent)


def _installer(python: Path) -> list[str]:
    """The same that makes environments of clones."""
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", str(python)]
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]


def _expect_success(command: Sequence[str], folder: Path | None = None) -> None:
    done = subprocess.run(
        command, cwd=folder, env=outside(), capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
