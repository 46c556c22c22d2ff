"""Keys of the REST server."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Family, Kind, Option, Scope

_ADVERTISED = "there is one REST server, on the driver; clients reach it at the address in `listeners`"

_ADDRESS = r"(?i:https?)://(\[[0-9A-Fa-f:.%]+\]|[^\s/:\[\]]*):[0-9]{1,5}"
_EXAMPLE = "http://127.0.0.1:8083"

OPTIONS: Final = (
    Option(
        "listeners",
        Kind.LIST,
        ("http://127.0.0.1:8083",),
        "Addresses of the REST server, as `http://host:port` or `https://host:port`.",
        Scope.REST,
        mm2_default="http://:8083",
        pattern=_ADDRESS,
        example=_EXAMPLE,
    ),
    Option(
        "admin.listeners",
        Kind.LIST,
        None,
        "Addresses of the /admin endpoints; unset: on `listeners`; empty: not served.",
        Scope.REST,
        pattern=_ADDRESS,
        example=_EXAMPLE,
    ),
    Option(
        "rest.advertised.host.name",
        Kind.STRING,
        None,
        "Host under which other workers would reach this one.",
        Scope.REST,
        effect=Effect.NONE,
        note=_ADVERTISED,
    ),
    Option(
        "rest.advertised.port",
        Kind.INT,
        None,
        "Port under which other workers would reach this one.",
        Scope.REST,
        minimum=0,
        maximum=65535,
        effect=Effect.NONE,
        note=_ADVERTISED,
    ),
    Option(
        "rest.advertised.listener",
        Kind.STRING,
        None,
        "Protocol over which other workers would reach this one.",
        Scope.REST,
        choices=("http", "https"),
        effect=Effect.NONE,
        note=_ADVERTISED,
    ),
    Option(
        "access.control.allow.origin",
        Kind.STRING,
        "",
        "Origins that browsers may call the REST server from; empty: only its own page.",
        Scope.REST,
    ),
    Option(
        "access.control.allow.methods",
        Kind.STRING,
        "",
        "Methods allowed to those origins; empty: GET, POST and HEAD.",
        Scope.REST,
    ),
    Option(
        "response.http.headers.config",
        Kind.STRING,
        "",
        "Headers added to each response, as `add name: value` items.",
        Scope.REST,
    ),
    Option(
        "rest.extension.classes",
        Kind.LIST,
        (),
        "Java classes that extend Connect's REST server.",
        Scope.REST,
        effect=Effect.UNSUPPORTED,
        note="Java classes cannot be loaded here",
    ),
)

FAMILIES: Final = (
    Family("listeners.https.", "TLS settings of the REST server: the `ssl.*` keys.", Scope.REST),
    Family("admin.listeners.https.", "TLS settings of the /admin endpoints.", Scope.REST),
)
