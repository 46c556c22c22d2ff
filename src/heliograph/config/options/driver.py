"""Keys that stand alone at the top of the file."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Effect, Family, Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "clusters",
        Kind.LIST,
        (),
        "Aliases of all clusters. Every other key refers to clusters by these names.",
        Scope.DRIVER,
        required=True,
    ),
    Option(
        "config.providers",
        Kind.LIST,
        (),
        "Names of the providers that `${name:path:key}` references may use. "
        "`env`, `file` and `directory` also work undeclared.",
        Scope.DRIVER,
    ),
    Option(
        "dedicated.mode.enable.internal.rest",
        Kind.BOOLEAN,
        False,
        "Lets the nodes of a dedicated MirrorMaker 2 cluster talk to each other.",
        Scope.DRIVER,
        since="3.5",
        effect=Effect.NONE,
        note="work is spread by Spark, whose driver plans every lane; no REST calls between nodes are needed",
    ),
    Option(
        "jmx.port",
        Kind.INT,
        None,
        "Often written for the JMX exporter; Kafka itself has no such key (it reads JMX_PORT).",
        Scope.DRIVER,
        minimum=0,
        maximum=65535,
        effect=Effect.NONE,
        note="there is no JVM of MirrorMaker 2 here; Prometheus scrapes /metrics on the REST port instead",
    ),
)

FAMILIES: Final = (
    Family(
        "config.providers.",
        "Class and parameters of one provider: `config.providers.<name>.class`, `….param.<parameter>`.",
        Scope.DRIVER,
    ),
    Family("spark.", "Handed to Spark as it stands, for example `spark.master`.", Scope.DRIVER),
)
