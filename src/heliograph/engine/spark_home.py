"""Spark's folder as local sessions use it: the same programs and jars, without what only makes starts slow.

- The zip of PySpark. Spark puts it before all other places where its Python processes look for modules. What comes from
  a zip is compiled again by each of them, and starting a mirror takes five in a row: on two cores the first record
  arrives after 12 s instead of 18 s when they find the PySpark that is installed, which is the same.
- Machine learning. Its jar registers functions with every session by Scala reflection, which takes two fifths of the
  JVM's processor time until the session is there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from heliograph.cache import alone_with, cache_folder

_VARIABLE = "SPARK_HOME"
_LEFT_OUT = "spark-mllib_*.jar"


def spark_home() -> Path:
    """The folder, made where it is missing: beside PySpark where we may write, else in the cache."""
    installed = Path(pyspark.__file__).parent
    place = hashlib.sha256(f"{installed} without {_LEFT_OUT}".encode()).hexdigest()[:8]
    folder = installed.parent if os.access(installed.parent, os.W_OK) else cache_folder()
    home = folder / f"heliograph-spark-{pyspark.__version__}-{place}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with alone_with(home):
            if not home.exists():
                _make(home, installed)
    return home


def _make(home: Path, installed: Path) -> None:
    """Links only. It appears whole or not at all."""
    unfinished = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
    (unfinished / "bin").symlink_to(installed / "bin")
    (unfinished / "jars").mkdir()
    for jar in (installed / "jars").iterdir():
        if not jar.match(_LEFT_OUT):
            (unfinished / "jars" / jar.name).symlink_to(jar)
    unfinished.chmod(0o755)
    unfinished.rename(home)


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
