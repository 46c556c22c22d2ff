"""Whether, and how, spark-submit has started this process. Light to import: the command line asks too."""

from __future__ import annotations

import os

_GATEWAY = "PYSPARK_GATEWAY_PORT"  # spark-submit's JVM runs already, and listens there


def is_submitted() -> bool:
    """Whether spark-submit has started this process."""
    return _GATEWAY in os.environ


def submitted_settings() -> dict[str, str]:
    """What spark-submit was told, or has read from its defaults; nothing without it."""
    if not is_submitted():
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - only then a conf knows what the JVM was given
    return dict(SparkConf().getAll())
