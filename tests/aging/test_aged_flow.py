"""A flow starts as quickly after a year as on its first day, and its groups are translated as exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.access import Access
from heliograph.kafka.commits import Committed
from heliograph.kafka.groups import Groups
from tests.aging.aged_flow import Age, AgedFlow, is_mirrored, make_aged_flow
from tests.chaos.forms import LONG
from tests.chaos.mirror_process import MirrorRuns
from tests.chaos.outages import SOON_MISSED
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_SHORT = Age(partitions=50, runs=3_000, positions=300_000)
_LONG = Age(partitions=1_000, runs=10_000, positions=5_000_000, producer_ids=200_000)
_BUILD_SECONDS = 60  # of CPU
_ALL_GROUPS_SECONDS = 10  # after the first record
_GROUPS = 200


@pytest.fixture
def spare(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Iterator[EmbeddedCluster]:
    """A cluster whose broker may be killed; beside others, so that what Spark needs once is made already."""
    with running_clusters(ClusterSpec("spare", settings=SOON_MISSED)) as (cluster,):
        yield cluster


@pytest.mark.parametrize(
    ("age", "first_record_seconds"),
    [
        pytest.param(_SHORT, 60, id="short"),  # beside other tests, where a flow of no age takes up to 30 s
        pytest.param(_LONG, 15, id="long", marks=LONG),
    ],
)
def test_a_flow_that_is_a_year_old_starts_and_translates_in_time(
    spare: EmbeddedCluster,
    tmp_path: Path,
    age: Age,
    first_record_seconds: int,
    record_property: Callable[[str, object], None],
) -> None:
    began = time.process_time()
    flow = make_aged_flow(spare, tmp_path / "mm2.properties", age)
    made = time.process_time() - began  # whatever else the machine does
    groups = {f"reader-{number}": _offset(flow, number) for number in range(_GROUPS)}
    with Groups(_access(flow)) as admin:
        admin.commit({
            name: {flow.source(number % age.partitions): Committed(offset)}
            for number, (name, offset) in enumerate(groups.items())
        })  # fmt: skip
    for number in (0, flow.fresh[0]):
        raw.append(spare.bootstrap_servers, flow.source(number), [raw.batch_of(numbered(5))])

    began = time.monotonic()
    with MirrorRuns(flow.settings).one() as mirror:
        wait_until(lambda: is_mirrored(flow, 0), "the first record of an old flow", 120, 0.1)
        first = time.monotonic() - began
        wait_until(lambda: _translated(flow, groups), "all groups to be translated", 120, 0.2)
        all_groups = time.monotonic() - began - first
        wait_until(lambda: is_mirrored(flow, flow.fresh[0]), "a partition that had no record before", 60, 0.2)
        assert mirror.stop() == 0
    record_property(
        "told",
        f"{age.positions:,} positions in as many transactions, "
        f"{age.partitions:,} partitions of {age.runs:,} runs, made in {made:.0f} s (CPU): "
        f"first record after {first:.1f} s, {_GROUPS} groups {all_groups:.1f} s later",
    )
    assert made < _BUILD_SECONDS
    assert first < first_record_seconds
    assert all_groups < _ALL_GROUPS_SECONDS


def _offset(flow: AgedFlow, number: int) -> int:
    """Far behind, and not at the beginning of a run."""
    return (number * 7_919) % (flow.end - 20) + 1


def _access(flow: AgedFlow) -> Access:
    return Access("here", flow.cluster.bootstrap_servers.split(","))


def _translated(flow: AgedFlow, groups: dict[str, int]) -> bool:
    """Whether each group stands where it should on the target; never anywhere behind that."""
    with Groups(_access(flow)) as admin:
        committed = admin.committed(list(groups))
    found = 0
    for number, (name, offset) in enumerate(groups.items()):
        place = committed[name].get(flow.target(number % flow.age.partitions))
        if place is not None:
            assert place.offset == flow.copy_of(offset), name
            found += 1
    return found == len(groups)
