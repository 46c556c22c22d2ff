"""`heliograph package`: what spark-submit needs, in two files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from heliograph.cli import output


def package(
    folder: Annotated[Path, typer.Argument(help="Where the files are written; made if it is missing.")],
) -> None:
    """Write the program with all that it needs for machines that have only Spark and Python, for spark-submit.

    \b
    heliograph package dist
    spark-submit --master spark://spark-master:7077 dist/heliograph-submit.py run mm2.properties
    """
    from heliograph.engine import submit
    from heliograph.engine.executor_package import write_package

    zipped, script = folder / submit.PACKAGE, folder / "heliograph-submit.py"
    with output.message_console().status(f"packing {zipped} …"):
        write_package(zipped)
        shutil.copyfile(submit.__file__, script)
    for path in (zipped, script):
        output.console().print(f"{path}  {path.stat().st_size:,} bytes", highlight=False, soft_wrap=True)
