"""Records as Spark DataFrames: `register(spark)`, then `spark.read.format("heliograph.records")` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `heliograph.records` known to a session."""
    from heliograph.engine.tables.records_source import RecordsSource  # not at the top: lanes import parts of this

    spark.dataSource.register(RecordsSource)
