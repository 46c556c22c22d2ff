"""Spark's folder as local sessions use it: the same programs and jars, without the zip of PySpark.

Spark puts that zip before all other places where its Python processes look for modules. What comes from a zip is
compiled anew by each of them, and starting a mirror takes five in a row: on two cores the first record arrives after
12 s instead of 18 s when they find the PySpark that is installed, which is the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from heliograph.cache import cache_folder

_VARIABLE = "SPARK_HOME"
_USED = ("bin", "jars")


def spark_home() -> Path:
    """The folder, made where it is missing: beside PySpark where we may write, else in the cache."""
    installed = Path(pyspark.__file__).parent
    place = hashlib.sha256(str(installed).encode()).hexdigest()[:8]
    folder = installed.parent if os.access(installed.parent, os.W_OK) else cache_folder()
    home = folder / f"heliograph-spark-{pyspark.__version__}-{place}"
    home.mkdir(parents=True, exist_ok=True)
    for name in _USED:
        with suppress(FileExistsError):  # always the same link, whoever made it
            (home / name).symlink_to(installed / name)
    return home


@contextmanager
def quick_spark_home() -> Iterator[None]:
    """Let a JVM that is started inside use it, unless the user has a Spark of their own."""
    if _VARIABLE in os.environ:
        yield
        return
    os.environ[_VARIABLE] = str(spark_home())
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
