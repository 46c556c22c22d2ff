"""An archive of the classes that Spark loads at its start, so that the JVM need not load them one by one each time.

Made once for each environment and version of Java by a short run of the same kind of query (about 25 s); it cuts the
start of Spark from about 8 s to 3 s on two cores.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.cache import alone_with
from heliograph.engine.spark_home import spark_home
from heliograph.engine.submission import is_submitted
from heliograph.java import QUICK_START, java_version

log = logging.getLogger(__name__)

_MAKING_SECONDS = 300.0

# The JVM only starts tasks: a quick start matters, peak speed does not. The archive fits these options only.
JVM_OPTIONS = " ".join(QUICK_START)


def archive_option() -> str:
    """The JVM option that uses the archive; makes the archive first where it is missing. Empty if that fails.

    Empty too under spark-submit, whose JVM runs already.
    """
    if is_submitted():
        return ""
    archive = _path()
    if not archive.exists():
        with alone_with(archive):
            if not archive.exists():
                _make(archive)
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else ""


def is_ready() -> bool:
    """Whether the archive is there, so that the next start is a quick one."""
    return _path().exists()


def _path() -> Path:
    """In the folder of the jars it was made with: it fits no others."""
    return spark_home() / f"java-{java_version()}.jsa"


def _make(archive: Path) -> None:
    log.info("first use: preparing Spark for quick starts (about 25 s, once)")
    unfinished = archive.with_suffix(f".{os.getpid()}")
    command = [sys.executable, "-m", "heliograph.engine.class_archive", str(unfinished)]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_MAKING_SECONDS)
    except subprocess.TimeoutExpired:
        log.warning("could not prepare it within %.0f s, so every start takes longer", _MAKING_SECONDS)
        return
    if unfinished.exists():
        unfinished.rename(archive)
    else:
        log.warning("could not prepare it, so every start takes longer: %s", ran.stderr.strip()[-300:])


class _Rehearsal(DataSource):
    """A source of nothing, read as lanes are."""

    @classmethod
    def name(cls) -> str:
        return "rehearsal"

    def schema(self) -> str:
        return "number long"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return _RehearsalReader()


class _RehearsalReader(DataSourceStreamReader):
    """Two epochs of two lanes with a row each."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"epoch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"epoch": min(start["epoch"] + 1, 2)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield (1,)


def rehearse(archive: Path) -> None:
    """Run a query like ours in a JVM that writes the archive when it ends."""
    import tempfile

    from heliograph.engine.session import build_session

    with tempfile.TemporaryDirectory() as folder:
        options = f"{JVM_OPTIONS} -XX:ArchiveClassesAtExit={archive}"
        spark = build_session(2, {"spark.driver.extraJavaOptions": options})
        jvm = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001 - to wait for its end
        spark.dataSource.register(_Rehearsal)
        rows = spark.readStream.format("rehearsal").load()
        query = rows.writeStream.option("checkpointLocation", folder).format("noop").start()
        query.processAllAvailable()
        query.stop()
        spark.stop()
        jvm.stdin.close()
        jvm.wait(120)


if __name__ == "__main__":
    rehearse(Path(sys.argv[1]))
