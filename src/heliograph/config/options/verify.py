"""Keys of continuous verification, which only Heliograph has."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "verify.continuous.enabled",
        Kind.BOOLEAN,
        False,
        "Compare what has been mirrored with its source while the flow runs; a difference is an event, a metric and an "
        "error in the log. Compacted topics are left to `heliograph verify`.",
        Scope.OWN,
    ),
    Option(
        "verify.continuous.interval.seconds",
        Kind.LONG,
        10,
        "Time between two rounds of continuous verification.",
        Scope.OWN,
        minimum=1,
    ),
    Option(
        "verify.continuous.bytes.per.second",
        Kind.LONG,
        10_000_000,
        "How much continuous verification may read from both clusters together, on average over its rounds. What is "
        "mirrored faster for long is verified in part: the metrics tell how much was passed over.",
        Scope.OWN,
        minimum=1_000,
    ),
)
