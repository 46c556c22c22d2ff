"""`heliograph bench`: side by side with real MirrorMaker 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from heliograph import __version__
from heliograph.errors import StartError


def bench(context: typer.Context) -> None:
    """Run Heliograph and MirrorMaker 2 on the same clusters and data, and print ratios. Takes many minutes.

    \b
    heliograph bench --workloads a --rounds 1
    heliograph bench --help
    """
    root = Path(__file__).parents[3]
    if not (root / "bench" / "__main__.py").exists():
        raise StartError(
            "the benchmarks are not in the installed package: run ./heliograph bench in a clone, "
            f"or in the unpacked source distribution heliograph-{__version__}.tar.gz"
        )
    raise typer.Exit(subprocess.run([sys.executable, "-m", "bench", *context.args], cwd=root, check=False).returncode)
