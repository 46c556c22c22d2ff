"""Keys of the hooks that run at steps of an operation."""

from __future__ import annotations

from typing import Final

from heliograph.config.hook import DEFAULT_OPERATIONS, OPERATIONS, OnFailure
from heliograph.config.option import Family, Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "hooks",
        Kind.LIST,
        (),
        "Names of the commands and webhooks that run at steps of switchover, failover, failback and drill, in this "
        "order; what each does is in `hooks.NAME.…`.",
        Scope.DRIVER,
        pattern="[A-Za-z0-9_-]+",
        example="dns, pager",
    ),
)

# What may follow `hooks.NAME.`; names are free, so that these are no keys of the table themselves.
HOOK_OPTIONS: Final = (
    Option("when", Kind.LIST, (), "list of `before STEP`, `after STEP` (`*`: every step) and `failed`.", Scope.DRIVER),
    Option("command", Kind.STRING, "", "shell command, run in the folder of the file.", Scope.DRIVER),
    Option("url", Kind.PASSWORD, None, "or an address that gets a POST of JSON; hidden.", Scope.DRIVER),
    Option("headers", Kind.PASSWORD, None, "headers of the POST, as a list of `Name: value`; hidden.", Scope.DRIVER),
    Option(
        "operations",
        Kind.LIST,
        DEFAULT_OPERATIONS,
        f"for which operations; unset: {', '.join(DEFAULT_OPERATIONS)}.",
        Scope.DRIVER,
        choices=OPERATIONS,
    ),
    Option("flows", Kind.LIST, (), "for which flows, as `A->B`; unset: all.", Scope.DRIVER),
    Option(
        "timeout.seconds",
        Kind.DOUBLE,
        60.0,
        "after which it is ended and has failed; unset: 60.",
        Scope.DRIVER,
        minimum=0.1,
        maximum=86_400,
    ),
    Option(
        "on.failure",
        Kind.STRING,
        OnFailure.STOP.value,
        "`stop` the operation (unset: this), or `continue`.",
        Scope.DRIVER,
        choices=tuple(policy.value for policy in OnFailure),
    ),
)

FAMILIES: Final = (
    Family(
        "hooks.",
        "What one hook does, and when: "
        + " ".join(f"`hooks.NAME.{option.name}`: {option.doc}" for option in HOOK_OPTIONS),
        Scope.DRIVER,
    ),
)
