"""A gigabyte that was mirrored, compared with its source: how fast, by Spark and by one process, and decoded."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measure import catch_up
from bench.rivals import Heliograph
from bench.workloads import PLAIN
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.verify_source import VerifyingSession
from heliograph.recovery.verification.plan import Scope, plan_verification
from heliograph.recovery.verification.verification import Verification, verify_slices

MUST_MB = 300
_CORES = 2
_ROUNDS = 3


@dataclass(frozen=True)
class VerifyTimes:
    """MB of the source's log a second."""

    spark: float
    local: float
    deep: float
    records_per_second: float
    start_seconds: float
    plan_seconds: float

    def __str__(self) -> str:
        return (
            f"verification of {PLAIN.records:,} records ({PLAIN.title}): {self.spark:,.0f} MB/s of the source's log, "
            f"{self.records_per_second:,.0f} records/s (must {MUST_MB} MB/s), with {_CORES} Spark tasks at once; "
            f"in one process {self.local:,.0f} MB/s; --deep {self.deep:,.0f} MB/s; "
            f"start of Spark {self.start_seconds:.1f} s, plan {self.plan_seconds:.2f} s"
        )


def verification(
    properties: Mapping[str, str], folder: Path, source: EmbeddedCluster, target: EmbeddedCluster
) -> VerifyTimes:
    """Mirror a gigabyte, then compare it in three ways."""
    PLAIN.prepare(source, folder)
    catch_up(Heliograph(properties, folder), target, f"primary.{PLAIN.topic}", PLAIN.records, 1.0)
    path = folder / "verify.properties"
    path.write_text("".join(f"{key} = {value}\n" for key, value in properties.items()))
    [flow] = [flow for flow in load(path).flows if flow.enabled]
    began = time.monotonic()
    plan = plan_verification(flow)
    planned = time.monotonic()
    deep_plan = plan_verification(flow, Scope(opens_all=True))
    local = _median_rate(lambda: verify_slices(plan))
    starting = time.monotonic()
    with VerifyingSession({}, _CORES) as session:
        started = time.monotonic() - starting
        spark = _median_rate(lambda: session.verify(plan))
        deep = _median_rate(lambda: session.verify(deep_plan))
    return VerifyTimes(spark[0], local[0], deep[0], spark[1], started, planned - began)


def _median_rate(verify: Callable[[], Verification]) -> tuple[float, float]:
    """MB and records a second; of a result that is as it must be."""
    rates = []
    for _ in range(_ROUNDS):
        result = verify()
        if not result.is_equal or result.records != PLAIN.records:
            raise AssertionError(f"{result.records} records compared: {[str(item) for item in result.differences]}")
        rates.append((result.bytes / result.seconds / 1e6, result.records / result.seconds))
    return statistics.median(rate[0] for rate in rates), statistics.median(rate[1] for rate in rates)
