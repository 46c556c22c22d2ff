"""Folders on storage that all machines of a cluster share, for the state of a query.

State is worth nothing once its query has ended: the next one begins from what is written down on the Kafka cluster. So
a folder goes when its query ends, and a query that begins deletes those that former mirrors have left behind. It may:
whoever detects conflicts on a cluster has locked out all others who did. Their folders are known by a name that
follows from the cluster.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from pyspark.sql import SparkSession

from heliograph.engine.conflicts.settings import DetectionSettings


class StateFolders:
    """The folders of one cluster's detection, in a place of its own in the storage or shared with others."""

    def __init__(self, storage: str, settings: DetectionSettings) -> None:
        servers = ",".join(sorted(settings.access.bootstrap_servers))
        which = hashlib.sha256(f"{settings.progress_topic} {servers}".encode()).hexdigest()[:12]
        self._prefix = f"{storage.rstrip('/')}/heliograph-{which}-"

    def new(self) -> str:
        """The name of a folder for another query."""
        return f"{self._prefix}{secrets.token_hex(8)}"

    def remove_all(self, spark: SparkSession) -> None:
        """Delete those of all queries before, which have ended or are locked out."""
        pattern = _path(spark, f"{self._prefix}*")
        files = _storage(spark, pattern)
        for found in files.globStatus(pattern) or ():
            files.delete(found.getPath(), True)


def remove(spark: SparkSession, folder: str) -> None:
    """Delete a folder, wherever Spark has put it."""
    path = _path(spark, folder)
    _storage(spark, path).delete(path, True)


def _path(spark: SparkSession, place: str) -> Any:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no word for Hadoop's files
    return jvm.org.apache.hadoop.fs.Path(place)


def _storage(spark: SparkSession, path: Any) -> Any:
    java: Any = spark.sparkContext._jsc  # noqa: SLF001
    return path.getFileSystem(java.hadoopConfiguration())
