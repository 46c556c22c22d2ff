"""Keys of the REST server."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Family, Kind, Option, Scope

_ADVERTISED = "there is one REST server, on the driver; clients reach it at the address in `listeners`"
_ROLES = ("none", "viewer", "operator", "admin")

_ADDRESS = r"(?i:https?)://(\[[0-9A-Fa-f:.%]+\]|[^\s/:\[\]]*):[0-9]{1,5}"
_EXAMPLE = "http://127.0.0.1:8083"

OPTIONS: Final = (
    Option(
        "listeners",
        Kind.LIST,
        ("http://127.0.0.1:8083",),
        "Addresses of the REST server, as `http://host:port` or `https://host:port`; it is started if this is set. "
        "Addresses that other machines can reach take https and callers that say who they are.",
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
        "Name under which clients reach the server, through a proxy for example: requests for it are answered on "
        "loopback addresses too.",
        Scope.REST,
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
        "Origins whose pages browsers let call the REST server, with `*` for any text; empty: only its own page.",
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
        "Headers of each response, as a list of `set name: value` and `add name: value`; with `setDate` and `addDate` "
        "the value is the time from now in milliseconds.",
        Scope.REST,
    ),
    Option(
        "rest.anonymous.role",
        Kind.STRING,
        None,
        "What callers may do who do not say who they are: `none`, `viewer`, `operator` or `admin`. Unset: `admin`, as "
        "long as all addresses are loopback and there is no token, user or certificate; else `none`.",
        Scope.REST,
        choices=_ROLES,
    ),
    Option(
        "metrics.partitions.max",
        Kind.INT,
        1000,
        "At most so many partitions of a flow have metrics of their own: gauges of those furthest behind, counters of "
        "those seen first. All others are summed in one series, `(other)`.",
        Scope.REST,
        minimum=0,
    ),
    Option(
        "rest.audit.file",
        Kind.STRING,
        None,
        "File to which a line is added for every change over REST and every refusal; the log has them in any case.",
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
    Family(
        "admin.listeners.https.", "TLS settings of `admin.listeners`; without any, those of `listeners`.", Scope.REST
    ),
    Family(
        "rest.token.",
        "A caller with a bearer token: `rest.token.NAME = ROLE:sha256:HEX`. `heliograph token NAME --role ROLE` makes "
        "the token and the line.",
        Scope.REST,
    ),
    Family(
        "rest.user.",
        "A caller with a password: `rest.user.NAME = ROLE:scrypt:…`. `heliograph token NAME --role ROLE --password` "
        "makes the line.",
        Scope.REST,
    ),
    Family(
        "rest.certificate.",
        "A caller with a client certificate: `rest.certificate.NAME = ROLE:SUBJECT`, such as "
        "`operator:CN=alice,O=Example`, or `*` for every certificate that the truststore vouches for; takes "
        "`listeners.https.ssl.client.auth`.",
        Scope.REST,
    ),
)
