"""Python under another name, which lets one of Spark's processes call the JVM before it loads anything."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from heliograph.engine import early_call

_CALLS_LATE = "pyspark.sql.streaming.python_streaming_source_runner"
_SCRIPT = """#!/bin/sh
[ "$2" = {module} ] && exec {python} {early_call} "$@"
exec {python} "$@"
"""


def quick_python(folder: Path) -> str:
    """The program, written into a folder; Python itself where no program in there can be run."""
    program = folder / "python"
    parts = {"module": _CALLS_LATE, "python": sys.executable, "early_call": early_call.__file__}
    program.write_text(_SCRIPT.format(**{name: shlex.quote(part) for name, part in parts.items()}))
    program.chmod(0o700)
    return str(program) if os.access(program, os.X_OK) else sys.executable
