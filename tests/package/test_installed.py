"""The package as `pip install` leaves it, away from any clone."""

from __future__ import annotations

from pathlib import Path

from heliograph import __version__
from tests.package.environment import Environment

_EVERY_MODULE = """
import importlib, pkgutil
import heliograph
names = [found.name for found in pkgutil.walk_packages(heliograph.__path__, "heliograph.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(heliograph.__file__, len(names))
"""


def test_the_command_tells_its_version(installed: Environment, tmp_path: Path) -> None:
    told = installed.run([installed.heliograph, "--version"], tmp_path)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"heliograph {__version__}\n", "")


def test_every_module_can_be_imported_and_comes_from_the_wheel(installed: Environment, tmp_path: Path) -> None:
    told = installed.run([installed.python, "-W", "error::SyntaxWarning", "-c", _EVERY_MODULE], tmp_path)
    assert told.returncode == 0, told.stderr
    place, count = told.stdout.split()
    assert Path(place).is_relative_to(installed.folder)
    assert int(count) > 100


def test_mirrormakers_own_command_is_there(installed: Environment, tmp_path: Path) -> None:
    told = installed.run([installed.folder / "bin" / "connect-mirror-maker", "nowhere.properties"], tmp_path)
    assert told.returncode == 2
    assert "nowhere.properties" in told.stderr


def test_a_benchmark_without_the_sources_says_where_they_are(installed: Environment, tmp_path: Path) -> None:
    told = installed.run([installed.heliograph, "bench", "--workloads", "a"], tmp_path)
    assert told.returncode == 3
    assert told.stderr.startswith("error: the benchmarks are not in the installed package: run ./heliograph bench in")
    assert f"heliograph-{__version__}.tar.gz" in told.stderr
