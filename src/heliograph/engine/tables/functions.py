"""Functions for queries over records, beside those that Spark has."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from heliograph.engine.tables.masking import FieldMask

_TEXT = "CREATE OR REPLACE TEMPORARY FUNCTION json(value BINARY) RETURNS STRING RETURN CAST(value AS STRING)"


def register(spark: SparkSession) -> None:
    """Make `json` and `mask_json` known to a session."""
    spark.sql(_TEXT)
    function = UserDefinedFunction(mask_json, BinaryType(), "mask_json", PythonEvalType.SQL_SCALAR_ARROW_UDF)
    spark.udf.register("mask_json", function)


def mask_json(values: pa.Array, fields: pa.Array) -> pa.Array:
    """JSON values with the named fields masked; NULL where a value is no JSON."""
    chosen = fields.to_pylist()
    binary = values.cast(pa.binary()).to_pylist()
    masked = [
        None if value is None else _mask(names or "").mask(value) for value, names in zip(binary, chosen, strict=True)
    ]
    return pa.array(masked, pa.binary())


@lru_cache(maxsize=100)
def _mask(fields: str) -> FieldMask:
    return FieldMask(fields)
