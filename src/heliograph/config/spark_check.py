"""Whether the file asks Spark for something that it cannot do for us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from heliograph.config.problem import Problem, Severity
from heliograph.config.setting import revealed_text

if TYPE_CHECKING:
    from heliograph.config.setting import Setting

_MASTER = "spark.master"
_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


def check_spark(settings: Mapping[str, Setting], detects_conflicts: bool, file: str) -> Iterator[Problem]:
    """Every such wish."""
    master = settings.get(_MASTER)
    if master is None or revealed_text(master.value).startswith("local"):
        return
    if revealed_text(master.value).startswith("sc:"):
        yield _problem(
            master, file,
            "Spark Connect keeps a program apart from Spark's driver, which must tell how many lanes fit, and who died",
            "give the cluster itself: spark://…, yarn or k8s://…",
        )  # fmt: skip
    if detects_conflicts and _CHECKPOINTS not in settings:
        yield _problem(
            master, file,
            "detection of conflicts keeps state, which all machines of a Spark cluster must reach",
            f"set {_CHECKPOINTS} to a folder that they share, such as hdfs://… or s3a://…",
        )  # fmt: skip


def _problem(setting: Setting, file: str, message: str, hint: str) -> Problem:
    return Problem(Severity.ERROR, message, hint, file, setting.origin.line, _MASTER)
