"""What detection on a cluster learns of topics and flows: whose records a topic holds, and up to when all is here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.control.conflict_topics import ConflictTopics
from heliograph.control.lag_watch import PartitionLag
from heliograph.control.running_conflicts import RunningConflicts
from heliograph.engine.conflicts.read_task import TopicOrigin
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.topics import TopicInfo
from heliograph.model import Assignment, TopicPartition
from heliograph.sync.topics import flow_topics

IDENTITY = "replication.policy.class = IdentityReplicationPolicy"
BOTH_WAYS = ("eu->us", "us->eu")
MESH = tuple(f"{one}->{other}" for one in ("eu", "us", "ap") for other in ("eu", "us", "ap") if one != other)
LOOKED_MS = 1_700_000_000_000


@dataclass
class Flow:
    """As much of a running flow as detection asks about."""

    config: FlowConfig
    aside: tuple[TopicPartition, ...] = ()
    waits: dict[TopicPartition, float] = field(default_factory=dict)
    looked_at_ms: int | None = LOOKED_MS
    targets: Sequence[str] = ()
    left_out: Mapping[TopicPartition, str] = field(default_factory=dict)
    behind_ms: Mapping[TopicPartition, int] = field(default_factory=dict)

    @property
    def driver(self) -> SimpleNamespace | None:
        places = [(TopicPartition("any", 0), TopicPartition(topic, 0)) for topic in self.targets]
        return SimpleNamespace(assignments=[Assignment(*pair) for pair in places]) if self.config.enabled else None

    @property
    def lag_watch(self) -> SimpleNamespace:
        return SimpleNamespace(
            looked_at_ms=self.looked_at_ms, mirrored_until_ms=self.mirrored_until_ms, left_out=self.left_out
        )

    def mirrored_until_ms(self, where: TopicPartition) -> int:
        return (self.looked_at_ms or 0) - int(1000 * self.waits.get(where, 0.0)) - self.behind_ms.get(where, 0)

    def set_aside(self) -> Mapping[TopicPartition, str]:
        return dict.fromkeys(self.aside, "broken")

    def lags(self) -> Mapping[TopicPartition, PartitionLag]:
        level = {TopicPartition("level", 0): PartitionLag(9, 10, 0, 0.0)}
        return level | {where: PartitionLag(0, 10, 9, seconds) for where, seconds in self.waits.items()}


class Mirror:
    """Detection on the cluster eu, and the flows of the file."""

    def __init__(self, folder: Path, flows: Sequence[str] = BOTH_WAYS, *lines: str, topics: str = "orders") -> None:
        self.config = _read(folder, flows, f"conflicts.topics = {topics}", *lines)
        self.flows = {flow.name: Flow(flow) for flow in self.config.flows}
        (chosen,) = [item for item in self.config.conflicts if item.cluster.alias == "eu"]
        self.conflicts = RunningConflicts(chosen, self.flows.values)  # type: ignore[arg-type]

    def origins(self, *topics: str, internal: Sequence[str] = ()) -> Mapping[str, TopicOrigin]:
        infos = {name: TopicInfo(name, UUID(int=1), 1, 1, name in internal) for name in topics}
        return ConflictTopics(self.conflicts.config).scope(infos).origins

    def until_ms(self) -> int:
        """By how much what was brought is behind the look."""
        return self.conflicts.brought().until_ms - LOOKED_MS


def _read(folder: Path, flows: Sequence[str], *lines: str) -> MirrorConfig:
    aliases = list(dict.fromkeys(alias for flow in flows for alias in flow.split("->")))
    text = [f"clusters = {', '.join(aliases)}", *(f"{alias}.bootstrap.servers = {alias}:9092" for alias in aliases)]
    file = folder / "mm2.properties"
    file.write_text("\n".join([*text, *(f"{flow}.enabled = true" for flow in flows), *lines]))
    return load(file, {})


ORDERS = TopicPartition("orders", 0)


# -- topics -------------------------------------------------------------------------------------------------------


def test_prefixed_topics_belong_to_the_one_they_came_from(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, MESH)
    assert mirror.origins("orders", "us.orders", "ap.us.orders", "users", "us.users") == {
        "orders": TopicOrigin("orders", "eu"),
        "us.orders": TopicOrigin("orders", "us"),
        "ap.us.orders": TopicOrigin("orders", "us"),
    }


def test_a_prefix_that_is_no_alias_is_a_part_of_the_name(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    assert mirror.origins("team.orders", "ap.orders") == {}
    mirror = Mirror(tmp_path, topics="team.orders")
    assert mirror.origins("team.orders", "us.team.orders") == {
        "team.orders": TopicOrigin("team.orders", "eu"),
        "us.team.orders": TopicOrigin("team.orders", "us"),
    }


def test_where_names_are_kept_the_ledgers_of_the_flows_tell(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, MESH, IDENTITY)
    ledgers = {alias: flow_topics(mirror.flows[f"{alias}->eu"].config) for alias in ("us", "ap")}
    assert len(set(ledgers.values())) == 2
    assert mirror.origins("orders", "us.orders") == {"orders": TopicOrigin("orders", "eu", ledgers)}


def test_where_only_some_keep_names_prefixes_tell_as_well(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, ("us->eu", "ap->eu"), f"us->eu.{IDENTITY}")
    ledgers = {"us": flow_topics(mirror.flows["us->eu"].config)}
    assert mirror.origins("orders", "ap.orders") == {
        "orders": TopicOrigin("orders", "eu", ledgers),
        "ap.orders": TopicOrigin("orders", "ap", ledgers),
    }


def test_the_header_of_other_tools_counts_where_names_are_kept(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, BOTH_WAYS, IDENTITY, "provenance.header = came-from")
    assert mirror.origins("orders")["orders"].header == "came-from"
    mirror = Mirror(tmp_path, BOTH_WAYS, "provenance.header = came-from")
    assert mirror.origins("orders")["orders"].header == ""


@pytest.mark.parametrize("names", [[], [IDENTITY], ["replication.policy.separator = _"]], ids=["dot", "same", "other"])
def test_nobody_s_own_topics_are_read_whatever_the_pattern(tmp_path: Path, names: list[str]) -> None:
    mirror = Mirror(tmp_path, BOTH_WAYS, *names, "conflicts.output = {topic}.resolved", topics=".*")
    own = ["conflict-resolutions", "orders.resolved", mirror.conflicts.driver.settings.progress_topic]
    book_keeping = [*flow_topics(mirror.flows["us->eu"].config)[1:], "__consumer_offsets", "heartbeats"]
    assert list(mirror.origins("orders", *own, *book_keeping, "inner", internal=["inner"])) == ["orders"]


# -- how far flows are --------------------------------------------------------------------------------------------


def test_a_partition_of_which_nothing_is_known_is_waited_for(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    flow = mirror.flows["us->eu"]
    flow.left_out, flow.behind_ms = {ORDERS: "has no leader"}, {ORDERS: 7_000}
    assert mirror.until_ms() == -7_000
    flow.aside = (ORDERS,)
    assert mirror.until_ms() == 0


def test_flows_that_are_level_have_brought_all_of_the_time_before_the_look(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    mirror.flows["us->eu"].looked_at_ms = LOOKED_MS - 4000
    assert mirror.until_ms() == -4000


def test_what_waits_is_as_old_as_the_one_that_waits_longest(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    mirror.flows["us->eu"].waits = {ORDERS: 2.5, TopicPartition("orders", 1): 7.25}
    assert mirror.until_ms() == -7250


def test_topics_in_which_nobody_looks_for_conflicts_are_not_waited_for(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, MESH)
    mirror.flows["us->eu"].waits = {TopicPartition("users", 0): 100.0, TopicPartition("ap.orders", 0): 3.0}
    assert mirror.until_ms() == -3000


def test_partitions_that_are_set_aside_are_not_waited_for(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    flow = mirror.flows["us->eu"]
    flow.waits = {ORDERS: 100.0, TopicPartition("orders", 1): 1.0}
    flow.aside = (ORDERS,)
    assert mirror.until_ms() == -1000


def test_before_the_first_look_nothing_is_known_to_be_here(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, MESH)
    mirror.flows["ap->eu"].looked_at_ms = None
    assert mirror.conflicts.brought().until_ms == 0


def test_a_flow_away_from_the_cluster_does_not_matter(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    mirror.flows["eu->us"].looked_at_ms = None
    assert mirror.until_ms() == 0


def test_records_that_come_over_two_hops_are_waited_for_on_both(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, ("ap->us", "us->eu", "eu->ap"))
    mirror.flows["ap->us"].waits = {ORDERS: 3.0}
    assert mirror.until_ms() == -3000
    mirror.flows["us->eu"].waits = {TopicPartition("ap.orders", 0): 4.0}
    assert mirror.until_ms() == -4000
    mirror.flows["eu->ap"].waits = {ORDERS: 100.0}  # its own records need not come home
    assert mirror.until_ms() == -4000


@pytest.mark.parametrize("name", [name for name in MESH if not name.startswith("eu")])
def test_in_a_mesh_every_flow_is_waited_for_that_may_bring_something(tmp_path: Path, name: str) -> None:
    mirror = Mirror(tmp_path, MESH)
    mirror.flows[name].waits = {ORDERS: 5.0}
    assert mirror.until_ms() == -5000


def test_where_no_flow_runs_here_nothing_is_waited_for(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path)
    mirror.flows.clear()
    now_ms = int(time.time() * 1000)
    assert now_ms <= mirror.conflicts.brought().until_ms <= now_ms + 60_000


def test_partitions_that_flows_bring_records_to_are_named(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path, MESH)
    mirror.flows["us->eu"].targets = ("us.orders", "us.ap.orders", "us.users")
    mirror.flows["ap->eu"].targets = ("ap.orders",)
    mirror.flows["ap->us"].targets = ("ap.orders", "orders")  # partitions of another cluster
    mirror.flows["eu->us"].targets = ("eu.orders",)
    topics = {where.topic for where in mirror.conflicts.brought().partitions}
    assert topics == {"us.orders", "us.ap.orders", "ap.orders"}


# -- settings -----------------------------------------------------------------------------------------------------


def test_the_engine_gets_what_the_file_says(tmp_path: Path) -> None:
    lines = ["conflicts.window.ms = 7", "conflicts.lateness.ms = 8", "conflicts.wait.max.ms = 9"]
    lines += ["conflicts.tasks.max = 3"]
    mirror = Mirror(tmp_path, BOTH_WAYS, *lines, "conflicts.start = latest", "conflicts.resolver = first-writer-wins")
    settings = mirror.conflicts.driver.settings
    assert (settings.alias, settings.access.alias) == ("eu", "eu")
    assert (settings.bounds.window_ms, settings.lateness_ms, settings.wait_max_ms) == (7, 8, 9)
    assert (settings.tasks, settings.start) == (3, LATEST)
    assert type(settings.make_resolver()).__name__ == "FirstWriterWins"
    assert Mirror(tmp_path).conflicts.driver.settings.start == EARLIEST
    assert mirror.conflicts.totals is mirror.conflicts.driver.totals
