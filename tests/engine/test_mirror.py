from __future__ import annotations

import pytest

from heliograph.engine.mirror import _first_line

SPARK = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
{inner}
 SQLSTATE: 38000
JVM stacktrace:
org.apache.spark.api.python.PythonException: somewhere
    at org.apache.spark.Something(Something.scala:1)"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SPARK.format(inner="heliograph.errors.TakenOver: flow a->b: gone"), "TakenOver: flow a->b: gone"),
        (SPARK.format(inner="AttributeError: no such thing"), "AttributeError: no such thing"),
        ("\n  cannot connect  \nat java.Thing", "cannot connect"),
        ("", "RuntimeError"),
    ],
)
def test_a_failure_is_told_in_one_line_that_names_its_cause(text: str, told: str) -> None:
    assert _first_line(RuntimeError(text)) == told
