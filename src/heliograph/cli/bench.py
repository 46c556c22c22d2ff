"""`heliograph bench`: side by side with real MirrorMaker 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from heliograph.errors import StartError


def bench(context: typer.Context) -> None:
    """Run Heliograph and MirrorMaker 2 on the same clusters and data, and print ratios. Takes many minutes.

    \b
    heliograph bench --workloads a --rounds 1
    heliograph bench --help
    """
    root = Path(__file__).parents[3]
    if not (root / "bench" / "__main__.py").exists():
        raise StartError("the benchmarks are in the project's repository: run this from a clone")
    raise typer.Exit(subprocess.run([sys.executable, "-m", "bench", *context.args], cwd=root, check=False).returncode)
