"""Where Spark's processes find what they run."""

from __future__ import annotations

import os

import pytest

from heliograph.engine.spark_home import quick_spark_home, spark_home


def test_it_has_programs_and_jars_but_no_zip_of_pyspark() -> None:
    home = spark_home()
    assert (home / "bin" / "spark-submit").is_file()
    assert any((home / "jars").glob("spark-core*.jar"))
    assert not (home / "python").exists()
    assert spark_home() == home, "made a second time"


def test_it_is_known_to_what_is_started_inside_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with quick_spark_home():
        assert os.environ["SPARK_HOME"] == str(spark_home())
    assert "SPARK_HOME" not in os.environ


def test_a_spark_of_the_users_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with quick_spark_home():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"
