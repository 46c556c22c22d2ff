"""Keys of the admin clients."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "retries",
        Kind.INT,
        2147483647,
        "Tries for each admin request, within `default.api.timeout.ms`.",
        Scope.ADMIN,
        minimum=0,
        effect=Effect.NONE,
        note="what fails is tried again",
    ),
    Option(
        "bootstrap.controllers",
        Kind.LIST,
        (),
        "Controllers to talk to directly.",
        Scope.ADMIN,
        since="3.7",
        effect=Effect.NONE,
        note="all requests go through brokers",
    ),
)
