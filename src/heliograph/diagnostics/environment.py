"""The environment variables of a process: names tell enough, values only where they cannot be secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from heliograph.config.secret import HIDDEN

HARMLESS: Final = frozenset(
    {
        "COLUMNS", "HOME", "JAVA_HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "PWD", "PYSPARK_PYTHON", "PYTHONPATH",
        "SHELL", "SPARK_HOME", "TERM", "TMPDIR", "TZ", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    }
)  # fmt: skip


def shown_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Every variable by name, with its value if it is harmless."""
    return {name: environment[name] if name in HARMLESS else HIDDEN for name in sorted(environment)}
