"""Clusters that are all written to: records arrive once everywhere, and nothing comes home."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import permutations
from pathlib import Path

import pytest
from kafka import KafkaProducer

from heliograph.client.mirror_client import MirrorClient
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from heliograph.recovery.steps.tail import read_tail_records
from heliograph.recovery.verification.plan import plan_verification
from heliograph.recovery.verification.verification import verify_slices
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorRuns
from tests.chaos.stage import PATIENCE_SECONDS, admin_of, await_growth, ends, write_settings
from tests.checker.stock_reader import read_committed
from tests.flows.rounds import Rounds, values
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.compacted import create_compacted, has_holes
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka]

SEED = Path(__file__).parents[1] / "config" / "seeds" / "000-active-active.properties"
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
QUICKLY = (
    "sync.group.offsets.interval.seconds = 1\nemit.checkpoints.interval.seconds = 1\noffset.storage.partitions = 2\n"
)
PARTITIONS = 2
RING = ("ab", "bc", "ca")
STAR = ("ha", "ah", "hb", "bh")
MESH = tuple(one + two for one, two in permutations("abc", 2))

IN_ONE_BATCH = {"compression_type": "gzip", "linger_ms": 500, "enable_idempotence": True}

Three = tuple[EmbeddedCluster, EmbeddedCluster, EmbeddedCluster]


@pytest.fixture(scope="module")
def three(spare: EmbeddedCluster) -> Iterator[Three]:
    """Two that no other module sees: a file that mirrors all topics would take those of others too."""
    with running_clusters(*(ClusterSpec(alias) for alias in ("east", "west"))) as (east, west):
        yield east, west, spare


def rounds(folder: Path, three: Three, aliases: str, flows: tuple[str, ...], options: dict[str, str]) -> Rounds:
    """Flows between aliases that no other test uses, named by their first letters."""
    names = {letter: fresh_name(letter) for letter in aliases}
    return Rounds(
        folder,
        dict(zip(names.values(), three, strict=True)),
        [f"{names[one]}->{names[two]}" for one, two in flows],
        options,
    )


@pytest.mark.spark
def test_the_usual_file_for_both_directions_runs_as_it_stands(three: Three, tmp_path: Path) -> None:
    sides = {"us-east": three[0], "eu-west": three[1]}
    text = SEED.read_text()
    for alias, cluster in sides.items():
        text = re.sub(rf"(?m)^({alias}\.bootstrap\.servers =).*", rf"\1 {cluster.bootstrap_servers}", text)
    file = tmp_path / "mm2-active-active.properties"
    file.write_text(text + QUICKLY)
    for alias, cluster in sides.items():
        with admin_of(cluster) as admin:
            admin.create_topics([NewTopic("orders", PARTITIONS, 1)])
            admin.wait_for_topics({"orders": PARTITIONS})
        commit(cluster, f"readers-of-{alias}", TopicPartition("orders", 0), 0)
    with MirrorRuns(file).one() as mirror, ExitStack() as writing:
        loads = {alias: writing.enter_context(orders_of(cluster, alias)) for alias, cluster in sides.items()}
        await_growth(three[1], "us-east.orders")
        await_growth(three[0], "eu-west.orders")
        writing.close()
        for alias, cluster in sides.items():
            commit(cluster, f"readers-of-{alias}", TopicPartition("orders", 0), 20)
        for (alias, here), there in zip(sides.items(), (three[1], three[0]), strict=True):
            await_size(there, f"{alias}.orders", loads[alias].acknowledged)
            assert all_values(there, f"{alias}.orders") == all_values(here, "orders")
            await_committed(there, f"readers-of-{alias}", TopicPartition(f"{alias}.orders", 0), 20)
        assert mirror.stop() == 0
    for alias, cluster in sides.items():
        [other] = sides.keys() - {alias}
        with admin_of(cluster) as admin:
            topics = {name for name in admin.topics() if not name.endswith(".internal") and not name.startswith("__")}
            topics.discard(f"{other}.heartbeats")  # comes with the next look for topics
            assert topics == {"orders", f"{other}.orders", "heartbeats"}
            assert f"mm2-offset-syncs.{other}.internal" in admin.topics()  # at the target, as the file says
            assert f"mm2-offset-syncs.{alias}.internal" not in admin.topics()
            admin.delete_topics([*topics, f"{other}.heartbeats"])


def orders_of(cluster: EmbeddedCluster, alias: str) -> Load:
    return Load(cluster.bootstrap_servers, "orders", PARTITIONS, per_second=100, name=alias)


def commit(cluster: EmbeddedCluster, group: str, where: TopicPartition, offset: int) -> None:
    with Groups(access(cluster)) as groups:
        groups.commit({group: {where: Committed(offset)}})


def committed(cluster: EmbeddedCluster, group: str, where: TopicPartition) -> int | None:
    with Groups(access(cluster)) as groups:
        found = groups.committed([group]).get(group, {}).get(where)
    return None if found is None else found.offset


def await_committed(cluster: EmbeddedCluster, group: str, where: TopicPartition, offset: int) -> None:
    what = f"{group} at {where} of {cluster.alias}"
    wait_until(lambda: committed(cluster, group, where) == offset, what, PATIENCE_SECONDS, 0.5)


def access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))


def all_values(cluster: EmbeddedCluster, topic: str) -> Counter[bytes | None]:
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    return Counter(seen.content.value for where in places for seen in read_committed(cluster.bootstrap_servers, where))


def await_size(cluster: EmbeddedCluster, topic: str, count: int) -> None:
    what = f"{count} records in {topic} of {cluster.alias}"

    def is_there() -> bool:
        """Records are read only when there may be enough of them."""
        return sum(ends(cluster, topic).values()) >= count and all_values(cluster, topic).total() >= count

    wait_until(is_there, what, 60, 0.5)


@pytest.mark.parametrize(
    ("letters", "flows", "expected", "hops"),
    [
        (
            "abc",
            RING,
            {"a": ["", "c.", "c.b."], "b": ["", "a.", "a.c."], "c": ["", "b.", "b.a."]},
            {"ab": 2, "ac": 1, "ba": 1, "bc": 2, "ca": 2, "cb": 1},
        ),
        (
            "hab",
            STAR,
            {"h": ["", "a.", "b."], "a": ["", "h.", "h.b."], "b": ["", "h.", "h.a."]},
            {"ha": 1, "hb": 1, "ah": 1, "ab": 2, "bh": 1, "ba": 2},
        ),
    ],
    ids=["ring", "star"],
)
def test_prefixed_names_never_come_home(
    three: Three,
    tmp_path: Path,
    letters: str,
    flows: tuple[str, ...],
    expected: dict[str, list[str]],
    hops: dict[str, int],
) -> None:
    """Every record is on each cluster once, under a name that tells its way; nothing grows when all is quiet."""
    topic = fresh_name("news")
    stage = rounds(tmp_path, three, letters, flows, {"topics": rf".*{topic}, .*heartbeats"})
    names = dict(zip(letters, stage.clusters, strict=True))
    stage.create(topic)
    stage.create("heartbeats")
    for alias in stage.clusters:
        stage.write(alias, topic, values(f"from {alias}", f"also from {alias}"))
        stage.write(alias, "heartbeats", values("beat"))
    found = stage.mirror_until_quiet(topic)
    for letter, prefixes in expected.items():
        ways = {prefix: re.sub(r"(\w)\.", lambda match: f"{names[match[1]]}.", prefix) for prefix in prefixes}
        origins = {ways[prefix] + topic: names[prefix[-2] if prefix else letter] for prefix in prefixes}
        assert found[names[letter]] == {
            name: Counter([f"from {origin}".encode(), f"also from {origin}".encode()])
            for name, origin in origins.items()
        }
    for (here, there), count in hops.items():
        with MirrorClient({"bootstrap.servers": stage.clusters[names[here]].bootstrap_servers}) as client:
            assert client.replication_hops(names[there]) == count
            assert client.replication_hops(names[here]) is None, "its own heartbeats have come home"
    for cluster in three:
        with admin_of(cluster) as admin:
            admin.delete_topics([name for name in admin.topics() if name.endswith("heartbeats")])


@pytest.mark.parametrize(("letters", "flows"), [("hab", STAR), ("abc", MESH)], ids=["star", "mesh"])
def test_the_same_names_arrive_everywhere_once(
    three: Three, tmp_path: Path, letters: str, flows: tuple[str, ...]
) -> None:
    """By way of a hub or straight; each turn begins with new lanes."""
    topic = fresh_name("same")
    stage = rounds(tmp_path, three, letters, flows, {"topics": topic, **IDENTITY})
    stage.create(topic)
    written = Counter[bytes]()
    for turn in range(2):
        for alias in stage.clusters:
            stage.write(alias, topic, values(f"{turn} from {alias}"))
            written[f"{turn} from {alias}".encode()] += 1
        assert stage.mirror_until_quiet(topic) == {alias: {topic: written} for alias in stage.clusters}
    for flow in stage.config.flows:
        proof = verify_slices(plan_verification(flow))
        assert (proof.differences, proof.left_out) == ([], [])


def test_what_was_built_anew_does_not_circle(three: Three, tmp_path: Path) -> None:
    """Holes from compaction in batches of every codec, small batches that are joined, new lanes: nothing comes home."""
    topic = fresh_name("rebuilt")
    where = create_compacted(three[0].bootstrap_servers, topic)
    stage = rounds(tmp_path, three, "abc", ("ab", "ba"), {"topics": topic, **IDENTITY})
    a, b, _ = stage.clusters
    assert any(has_holes(header) for header, _ in raw.fetch_batches(three[0].bootstrap_servers, where))
    for number in range(30):
        stage.write(a, topic, values(f"small {number}"))
    home = stage.end(a, topic)
    stage.mirror()
    assert any(header.record_count >= 30 for header, _ in raw.fetch_batches(three[1].bootstrap_servers, where))
    away = stage.end(b, topic)
    for lane in ("second", "third"):
        stage.mirror(lane=lane)
        assert (stage.end(a, topic), stage.end(b, topic)) == (home, away), "something has come home"
        assert last_values(three[0], where) == last_values(three[1], where)
        stage.write(b, topic, values(f"by {lane}", f"also by {lane}"))
        stage.mirror(f"{b}->{a}", lane=lane)
        home, away = stage.end(a, topic), stage.end(b, topic)
    assert {b"by second", b"also by third"} <= last_values(three[0], where).keys()


def last_values(cluster: EmbeddedCluster, where: TopicPartition) -> dict[bytes | None, bytes | None]:
    """What compaction promises to keep, but for what is deleted."""
    found = {seen.content.key: seen.content.value for seen in read_committed(cluster.bootstrap_servers, where)}
    return {key: value for key, value in found.items() if value is not None}


def test_a_header_tells_what_another_mirror_brought(three: Three, tmp_path: Path) -> None:
    """In compressed batches, beside others; verification and the tail agree, and without the option all is mirrored."""
    topic, mark = fresh_name("tagged"), "came-from"
    options = {"topics": topic, "provenance.header": mark, **IDENTITY}
    stage = rounds(tmp_path, three, "abc", ("ab", "ba", "cb"), options)
    a, b, c = stage.clusters
    stage.create(topic)
    stage.mirror()
    foreign = {"of a": a, "of b": b, "of c": c, "of nobody": "", "of a stranger": "elsewhere"}
    with closing(KafkaProducer(bootstrap_servers=stage.clusters[a].bootstrap_servers, **IN_ONE_BATCH)) as producer:
        for text, origin in foreign.items():
            producer.send(topic, text.encode(), headers=[(mark, origin.encode())] if origin else [])
        producer.flush()
    there = stage.config.flow(f"{a}->{b}")
    assert there is not None
    passed_on = [b"of a", b"of nobody", b"of a stranger"]  # c's own records reach b straight
    assert [item.record.value for item in read_tail_records(there)] == passed_on
    found = stage.mirror_until_quiet(topic)
    assert found == {
        a: {topic: Counter(map(str.encode, foreign))},
        b: {topic: Counter(passed_on)},
        c: {topic: Counter()},
    }
    proof = verify_slices(plan_verification(there))
    assert (proof.records, proof.differences, proof.left_out) == (3, [], [])
    file = stage.file.read_text()
    stage.file.write_text(file.replace(f"provenance.header = {mark}", "provenance.header ="))
    plain = load(stage.file).flow(there.name)
    assert plain is not None
    [difference] = verify_slices(plan_verification(plain)).differences
    assert difference.offset == 1, "without the option, records of others count like any"


@pytest.mark.spark
@pytest.mark.long
def test_a_full_mesh_of_the_same_names_brings_each_record_everywhere_once(three: Three, tmp_path: Path) -> None:
    """Under load, with a mirror that is killed and started again."""
    topic = fresh_name("mesh")
    clusters = {fresh_name(letter): cluster for letter, cluster in zip("abc", three, strict=True)}
    file = tmp_path / "mm2.properties"
    flows = ["->".join(pair) for pair in permutations(clusters, 2)]
    write_settings(file, clusters, flows, {"topics": topic, "tasks.max": "1", **IDENTITY})
    for cluster in three:
        with admin_of(cluster) as admin:
            admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
            admin.wait_for_topics({topic: PARTITIONS})
    runs = MirrorRuns(file)
    with ExitStack() as writing:
        loads = [
            writing.enter_context(Load(cluster.bootstrap_servers, topic, PARTITIONS, per_second=60, name=alias))
            for alias, cluster in clusters.items()
        ]
        with runs.one():
            await_ledgers(clusters)
        with runs.one() as mirror:
            await_ledgers(clusters)
            writing.close()
            written = sum(load.acknowledged for load in loads)
            for cluster in three:
                await_size(cluster, topic, written)
            assert mirror.stop() == 0
    one, two, other = (all_values(cluster, topic) for cluster in three)
    assert one.total() == written
    assert max(one.values()) == 1
    assert one == two == other


def await_ledgers(clusters: dict[str, EmbeddedCluster]) -> None:
    """The topic grows by itself, under load: that something is mirrored shows in the ledgers."""
    for source, target in permutations(clusters, 2):
        await_growth(clusters[target], f"mm2-ledger.{source}.internal")
