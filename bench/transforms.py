"""What transforms cost: those that MirrorMaker 2 can do too, and those that it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.settings import FLOW
from bench.workloads import Workload

ORDERS = Workload("t", "transforms, lz4, 64 kB batches", "orders-changed", 4, 1_500_000, 370, "lz4", 65536)

_KAFKA = "org.apache.kafka.connect.transforms."
_NO_HEADER = {
    "predicates": "isMarked",
    "predicates.isMarked.type": f"{_KAFKA}predicates.HasHeaderKey",
    "predicates.isMarked.name": "mark",
}


@dataclass(frozen=True)
class Change:
    """One chain of transforms."""

    title: str
    options: Mapping[str, str]
    topic: str = f"primary.{ORDERS.topic}"  # where records arrive
    lanes: int = 2
    must: float = 0.0  # records/s, where MirrorMaker 2 cannot do the same

    @property
    def settings(self) -> dict[str, str]:
        """For the file of either rival."""
        return {f"{FLOW}.{name}": value for name, value in self.options.items()}


BOTH = (
    Change(
        "Filter by header",
        {
            "transforms": "drop",
            "transforms.drop.type": f"{_KAFKA}Filter",
            "transforms.drop.predicate": "isMarked",
            **_NO_HEADER,
        },
    ),
    Change(
        "RegexRouter",
        {
            "transforms": "move",
            "transforms.move.type": f"{_KAFKA}RegexRouter",
            "transforms.move.regex": "primary[.](.*)",
            "transforms.move.replacement": "moved-$1",
        },
        topic=f"moved-{ORDERS.topic}",
    ),
    Change(
        "DropHeaders",
        {
            "transforms": "drop",
            "transforms.drop.type": f"{_KAFKA}DropHeaders",
            "transforms.drop.headers": "mark",
        },
    ),
)
OURS = (
    Change(
        "MaskPII of three fields, one lane",
        {"transforms": "mask", "transforms.mask.type": "MaskPII", "transforms.mask.fields": "email,customer,note"},
        lanes=1,
        must=60_000,
    ),
    Change(
        "SQL mask of one field",
        {
            "transform.sql": "SELECT regexp_replace(CAST(value AS STRING), '(\"email\": *\")[^\"]*', '$1***') AS value "
            "FROM records"
        },
        must=100_000,
    ),
)
