"""The data pipeline on Spark: the only folder that imports pyspark."""
