"""Files whose flows keep topic names: those that would bring records home or twice are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.errors import ConfigError
from heliograph.policy.same_names import Way

IDENTITY = "replication.policy.class = IdentityReplicationPolicy"
RING = ("a->b", "b->c", "c->a")
MESH = (*RING, "b->a", "c->b", "a->c")


def read(
    folder: Path, flows: tuple[str, ...], *lines: str, aliases: str = "abc", clusters: list[str] | None = None
) -> MirrorConfig:
    """A file with these flows."""
    file = folder / "mm2.properties"
    brokers = [f"{alias}.bootstrap.servers = {alias}:9092" for alias in aliases]
    enabled = [f"{flow}.enabled = true" for flow in flows]
    file.write_text("\n".join([f"clusters = {', '.join(aliases)}", *brokers, *enabled, *lines]))
    return load(file, {}, clusters)


def errors(folder: Path, flows: tuple[str, ...], *lines: str, aliases: str = "abc") -> list[str]:
    with pytest.raises(ConfigError) as raised:
        read(folder, flows, *lines, aliases=aliases)
    return [str(problem) for problem in raised.value.problems]


def test_a_ring_is_refused_once_with_the_way_and_what_to_do(tmp_path: Path) -> None:
    [problem] = errors(tmp_path, RING, IDENTITY)
    assert "mm2.properties:7: error: c->a.enabled: records of .* would go a -> b -> c -> a, and come home" in problem
    for remedy in ("b->a.enabled = true", "c->b.enabled = true", "a->c.enabled = true"):
        assert remedy in problem
    assert "c->a.replication.policy.class = DefaultReplicationPolicy" in problem


def test_a_mesh_with_a_hole_is_refused(tmp_path: Path) -> None:
    flows = tuple(f"{one}->{two}" for one in "abcd" for two in "abcd" if one != two and (one, two) != ("a", "d"))
    [problem] = errors(tmp_path, flows, IDENTITY, aliases="abcd")
    assert "records of .* would come to d twice: a -> b -> d, and a -> c -> d (write a->d.enabled = true" in problem


@pytest.mark.parametrize(
    ("flows", "lines"),
    [
        (MESH, [IDENTITY]),
        (("a->b", "b->a"), [IDENTITY]),
        (("a->b", "b->a", "c->b", "b->c"), [IDENTITY]),
        (RING, []),
        (RING, [f"a->b.{IDENTITY}", f"b->c.{IDENTITY}"]),
        (RING, [IDENTITY, "a->b.topics = orders", "b->c.topics = payments, orders", "c->a.topics = payments"]),
        (RING, [IDENTITY, "topics = orders", "b->c.topics.exclude = orders"]),
    ],
    ids=["mesh", "both ways", "star", "prefixed", "one prefixed", "other topics", "excluded"],
)
def test_files_that_do_not_repeat_records_are_accepted(
    tmp_path: Path, flows: tuple[str, ...], lines: list[str]
) -> None:
    read(tmp_path, flows, *lines)


def test_topics_are_compared_as_they_are_written_and_as_names(tmp_path: Path) -> None:
    [problem] = errors(tmp_path, RING, IDENTITY, "a->b.topics = orders, eu|us", "b->c.topics = .*", "c->a.topics = o.+")
    assert "records of orders would go" in problem
    [problem] = errors(tmp_path, RING, IDENTITY, "topics = eu|us")
    assert "records of eu|us would go" in problem


def test_a_flow_knows_all_others_of_the_file_whatever_is_chosen(tmp_path: Path) -> None:
    config = read(tmp_path, MESH, IDENTITY, clusters=["c"])
    flow = config.flow("b->c")
    assert flow is not None
    assert flow.same_names.writers_left_out("orders", flow.way) == {"a", "c"}
    assert Way("a", "b") in flow.same_names.ways_of("orders")
    assert config.flow("a->b") is None


def test_a_ring_is_refused_also_where_only_a_part_of_it_is_chosen(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a -> b -> c -> a"):
        read(tmp_path, RING, IDENTITY, clusters=["b"])


def test_flows_that_are_off_and_those_that_prefix_names_do_not_count(tmp_path: Path) -> None:
    flows = ("a->b", "b->c", "a->c")
    config = read(tmp_path, flows, IDENTITY, "a->c.replication.policy.class = DefaultReplicationPolicy")
    flow = config.flow("b->c")
    assert flow is not None
    assert flow.same_names.writers_left_out("orders", flow.way) == {"c"}


def test_the_header_counts_only_where_names_are_kept(tmp_path: Path) -> None:
    config = read(tmp_path, ("a->b", "b->a"), f"a->b.{IDENTITY}", "provenance.header = origin")
    kept, prefixed = (config.flow(name) for name in ("a->b", "b->a"))
    assert kept is not None
    assert prefixed is not None
    assert (kept.provenance_header, prefixed.provenance_header) == ("origin", "")
