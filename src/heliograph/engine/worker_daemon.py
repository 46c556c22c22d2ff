"""Spark's Python daemon, which has loaded all that a lane needs before it forks the workers that run lanes.

Otherwise every worker would load it for itself, which takes 0.9 s of processor time for each lane of each flow, and
again for each worker that is started after a kill.
"""

from __future__ import annotations

import sys

from pyspark import daemon

_RUNS_LANES = "pyspark.worker"  # the other daemons only plan, with next to nothing loaded


def _load() -> None:
    import pyarrow  # noqa: F401
    import pyspark.worker  # noqa: F401

    import heliograph.engine.lane  # noqa: F401


if __name__ == "__main__":
    if sys.argv[-1] == _RUNS_LANES:
        _load()
    daemon.manager()
