"""Keys of the detection of conflicts, which only Heliograph has."""

from __future__ import annotations

from typing import Final

from heliograph.config.option import Family, Kind, Option, Scope

OPTIONS: Final = (
    Option(
        "conflicts.topics",
        Kind.REGEXES,
        (),
        "Topics, by the name that they have where they are written, in which records of the same key from different "
        "clusters are looked for. `orders` stands for `orders` and for all that was mirrored here from topics of that "
        "name. Empty: detection is off.",
        Scope.CONFLICTS,
    ),
    Option(
        "conflicts.window.ms",
        Kind.LONG,
        5_000,
        "Records of one key that were written in different clusters conflict if their times are at most this far "
        "apart.",
        Scope.CONFLICTS,
        minimum=0,
    ),
    Option(
        "conflicts.lateness.ms",
        Kind.LONG,
        2_000,
        "By how much the time of a record may lie before the moment at which it was written: wrong clocks, batches "
        "that producers keep back. Decisions wait for that long. What comes later than that is counted as late: it "
        "takes part in no decision, but still counts in the view where it is newer.",
        Scope.CONFLICTS,
        minimum=0,
    ),
    Option(
        "conflicts.wait.max.ms",
        Kind.LONG,
        600_000,
        "How long decisions wait for a flow that is behind, paused or down (10 minutes); what it brings after that is "
        "late.",
        Scope.CONFLICTS,
        minimum=0,
    ),
    Option(
        "conflicts.resolver",
        Kind.STRING,
        "last-writer-wins",
        "The rule that settles conflicts: `last-writer-wins`, `first-writer-wins`, `prefer-cluster`, `vector-clock`, "
        "`crdt`, or a Python class.",
        Scope.CONFLICTS,
    ),
    Option(
        "conflicts.prefer.clusters",
        Kind.LIST,
        (),
        "For `prefer-cluster`: aliases, the one that counts most first.",
        Scope.CONFLICTS,
    ),
    Option(
        "conflicts.vector.clock.header",
        Kind.STRING,
        "vector-clock",
        'For `vector-clock`: the header that holds a record\'s clock, as JSON: `{"us-east": 3, "eu-west": 1}`.',
        Scope.CONFLICTS,
    ),
    Option(
        "conflicts.crdt.fields",
        Kind.STRING,
        "",
        "For `crdt`: how each field of a JSON value is merged, such as `likes: counter, tags: or-set, name: "
        "lww-register`; there are counter, g-set, or-set, lww-register and lww-map.",
        Scope.CONFLICTS,
    ),
    Option(
        "conflicts.output",
        Kind.STRING,
        "",
        "The topic for what each key comes to in the end, such as `{topic}.resolved`; `{topic}` stands for the name of "
        "the topic. Empty: no such topic is written.",
        Scope.CONFLICTS,
    ),
    Option(
        "conflicts.start",
        Kind.STRING,
        "earliest",
        "Where detection begins when it is started for the first time: `earliest`, so that the view holds all keys, or "
        "`latest`. Topics that come later are read from their beginning.",
        Scope.CONFLICTS,
        choices=("earliest", "latest"),
    ),
    Option(
        "conflicts.tasks.max",
        Kind.INT,
        2,
        "Into how many Spark tasks detection on a cluster is divided.",
        Scope.CONFLICTS,
        minimum=1,
    ),
    Option(
        "conflicts.topic.replication.factor",
        Kind.SHORT,
        3,
        "Replication factor of the topics that detection writes; at most as many as there are brokers.",
        Scope.CONFLICTS,
        minimum=1,
    ),
)
FAMILIES: Final = (
    Family("conflicts.resolver.", "Settings of the Python class that `conflicts.resolver` names.", Scope.CONFLICTS),
)
