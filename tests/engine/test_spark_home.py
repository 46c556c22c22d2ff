"""Where Spark's processes find what they run."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest

from heliograph.engine import spark_home as spark_home_module
from heliograph.engine.spark_home import quick_spark_home, spark_home


def test_it_has_programs_and_jars_but_not_what_makes_starts_slow() -> None:
    home = spark_home()
    assert (home / "bin" / "spark-submit").is_file()
    assert not (home / "python").exists()
    installed = {jar.name for jar in (Path(pyspark.__file__).parent / "jars").iterdir()}
    [left_out] = installed - {jar.name for jar in (home / "jars").iterdir()}
    assert left_out.startswith("spark-mllib_")
    assert all(jar.exists() for jar in (home / "jars").iterdir())
    assert spark_home() == home, "made a second time"


def test_many_may_make_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(spark_home_module, "cache_folder", lambda: tmp_path / "cache")
    with ThreadPoolExecutor(8) as pool:
        homes = [future.result() for future in [pool.submit(spark_home) for _ in range(8)]]
    assert {*homes} == {path for path in (tmp_path / "cache").iterdir() if path.is_dir()}
    assert any((homes[0] / "jars").glob("spark-core*.jar"))


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
