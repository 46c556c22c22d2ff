"""Keys that consumers, producers and admin clients share, apart from security."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Kind, Option, Scope, Value

_PAUSES = "pauses begin at a millisecond and grow to a second"
_METRICS = "metrics are kept as counters and served at /metrics; Prometheus does the sampling"


def _idle(name: str, kind: Kind, default: Value, doc: str, note: str) -> Option:
    return Option(name, kind, default, doc, Scope.CLIENT, effect=Effect.NONE, note=note)


OPTIONS: Final = (
    Option(
        "client.id",
        Kind.STRING,
        "",
        "Goes before the name that each client gets by its flow and role.",
        Scope.CLIENT,
    ),
    Option(
        "client.dns.lookup",
        Kind.STRING,
        "use_all_dns_ips",
        "How names of brokers become addresses.",
        Scope.CLIENT,
        choices=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        effect=Effect.NONE,
        note="all addresses of a name are tried",
    ),
    Option(
        "request.timeout.ms",
        Kind.INT,
        30000,
        "Longest wait for a broker's answer.",
        Scope.CLIENT,
        minimum=0,
    ),
    Option(
        "default.api.timeout.ms",
        Kind.INT,
        60000,
        "Longest time for an operation with all its tries.",
        Scope.CLIENT,
        minimum=0,
        effect=Effect.NONE,
        note="each request has `request.timeout.ms`, and what fails is tried again",
    ),
    _idle(
        "metadata.max.age.ms",
        Kind.LONG,
        300000,
        "Age at which cluster metadata is fetched anew.",
        "leaders are asked for when they move, topics every `refresh.topics.interval.seconds`",
    ),
    _idle("reconnect.backoff.ms", Kind.LONG, 50, "First pause before connecting again.", _PAUSES),
    _idle("reconnect.backoff.max.ms", Kind.LONG, 1000, "Longest pause before connecting again.", _PAUSES),
    _idle("retry.backoff.ms", Kind.LONG, 100, "First pause before trying again.", _PAUSES),
    _idle("retry.backoff.max.ms", Kind.LONG, 1000, "Longest pause before trying again.", _PAUSES),
    Option(
        "socket.connection.setup.timeout.ms",
        Kind.LONG,
        3000,
        "Limit for one attempt to connect.",
        Scope.CLIENT,
        mm2_default="10000",
        minimum=1,
    ),
    _idle(
        "socket.connection.setup.timeout.max.ms",
        Kind.LONG,
        30000,
        "Largest such limit after failures.",
        "every attempt has `socket.connection.setup.timeout.ms`",
    ),
    _idle(
        "connections.max.idle.ms",
        Kind.LONG,
        540000,
        "Idle time after which a connection is closed.",
        "one that a broker has closed is made anew when it is needed",
    ),
    Option(
        "send.buffer.bytes",
        Kind.INT,
        4194304,
        "Send buffer of sockets; -1: the system's, which is also used where the system grants less.",
        Scope.CLIENT,
        mm2_default="131072",
        minimum=-1,
    ),
    Option(
        "receive.buffer.bytes",
        Kind.INT,
        4194304,
        "Receive buffer of sockets; -1: the system's, which is also used where the system grants less.",
        Scope.CLIENT,
        mm2_default="65536",
        minimum=-1,
    ),
    _idle("metrics.sample.window.ms", Kind.LONG, 30000, "Length of a metrics sample.", _METRICS),
    _idle("metrics.num.samples", Kind.INT, 2, "Samples kept for each metric.", _METRICS),
    _idle("metrics.recording.level", Kind.STRING, "INFO", "How much is measured.", _METRICS),
    _idle(
        "metric.reporters",
        Kind.LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        "Java classes that publish metrics.",
        "there is no JMX; the same metrics are served for Prometheus at /metrics on the REST port",
    ),
    _idle(
        "enable.metrics.push",
        Kind.BOOLEAN,
        True,
        "Push client metrics to brokers that ask for them.",
        "metrics are served at /metrics instead",
    ),
    _idle(
        "metadata.recovery.strategy",
        Kind.STRING,
        "rebootstrap",
        "What to do when no known broker answers.",
        "clients always go back to `bootstrap.servers`",
    ),
    _idle(
        "metadata.recovery.rebootstrap.trigger.ms",
        Kind.LONG,
        300000,
        "Time without metadata after which clients start over.",
        "clients always go back to `bootstrap.servers`",
    ),
)
