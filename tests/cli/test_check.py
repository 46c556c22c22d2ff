"""`heliograph check` on real clusters, one of which guards its topics."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.jars import fetch_jars
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.java import QUICK_START, ensure_java
from heliograph.kafka import positions
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    listener = sasl_plain("CLIENTS", {"mirror": "mirror-secret"})
    settings = {**ACCESS_CONTROL, "message.max.bytes": "500000"}
    with running_clusters(ClusterSpec("guarded", listeners=[listener], settings=settings)) as (cluster,):
        yield cluster


@pytest.fixture(scope="module")
def source(primary: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("a", primary.bootstrap_servers.split(","))) as admin:
        yield admin


def make_topics(admin: Admin, *topics: NewTopic) -> None:
    admin.create_topics(topics)
    admin.wait_for_topics({topic.name: topic.partitions for topic in topics})


def write(folder: Path, source: str, target: str, text: str) -> str:
    path = folder / "mm2.properties"
    common = "clusters=a,b\na->b.enabled=true\nreplication.factor=1\nemit.heartbeats.enabled=false\n"
    common += "heartbeats.replication.enabled=false\n"  # other tests have left some on the shared clusters
    common += "sync.topic.acls.enabled=false\n" if "acls" not in text else ""
    factors = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\n"
    path.write_text(f"{common}{factors}a.bootstrap.servers={source}\nb.bootstrap.servers={target}\n{text}")
    return str(path)


def login(password: str = "mirror-secret") -> str:
    return (
        "b.security.protocol=SASL_PLAINTEXT\nb.sasl.mechanism=PLAIN\n"
        f'b.sasl.jaas.config={MODULE} required username="mirror" password="{password}";\n'
    )


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run("check", *arguments, "-o", "json")
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    return code, flow


def messages(flow: dict[str, Any], severity: str = "error") -> dict[str, str]:
    return {item["subject"]: item["message"] for item in flow["findings"] if item["severity"] == severity}


def grant(commands: Sequence[str], cluster: EmbeddedCluster) -> None:
    """Run the printed commands with Kafka's own tool, as a user who may grant rights."""
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "kafka-acls"
        arguments[arguments.index("--bootstrap-server") + 1] = cluster.bootstrap_servers
        java = [
            str(ensure_java()),
            "-Xmx128m",
            *QUICK_START,
            "-cp",
            f"{fetch_jars()}/*",
            "org.apache.kafka.tools.AclCommand",
        ]
        subprocess.run([*java, *arguments], check=True, capture_output=True, timeout=60)


def test_a_fitting_pair_is_fine(
    source: Admin, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(source, NewTopic("check-fine", 1, 1))
    file = write(tmp_path, source.access.bootstrap_servers[0], backup.bootstrap_servers, "topics=check-fine\n")
    code, flow = report(capsys, file)
    assert (code, flow["ok"], flow["findings"], flow["grants"]) == (0, True, [], [])
    assert [cluster["alias"] for cluster in flow["clusters"]] == ["a", "b"]
    assert {cluster["brokers"] for cluster in flow["clusters"]} == {1}
    assert run("check", file) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "a->b: ok"
    assert second.startswith("  a: Kafka 4.")


def test_another_mirror_of_the_same_names_is_a_warning(
    source: Admin, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, offsets = fresh_name("check-shared"), f"mm2-offsets.{fresh_name('stranger')}.internal"
    make_topics(source, NewTopic(topic, 1, 1), NewTopic(offsets, 1, 1))
    key = positions.encode_key(offsets.split(".")[1], TopicPartition(topic, 0))
    with Writer(source.access) as writer:
        writer.append(TopicPartition(offsets, 0), [Record(0, 1_700_000_000_000, key, b'{"offset":1}')])
    text = f"topics={topic}\nreplication.policy.class=IdentityReplicationPolicy\n"
    code, flow = report(capsys, write(tmp_path, source.access.bootstrap_servers[0], backup.bootstrap_servers, text))
    assert (code, flow["ok"]) == (0, True)
    assert f"another mirror seems to write to a: {offsets} has positions" in messages(flow, "warning")[topic]
    source.delete_topics([offsets])


def test_the_same_cluster_on_both_sides_is_an_error(
    source: Admin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = source.access.bootstrap_servers[0]
    code, flow = report(capsys, write(tmp_path, server, server, ""))
    assert code == 1
    assert "are the same cluster" in messages(flow)["a->b"]


def test_a_cluster_out_of_reach_ends_with_code_3(
    source: Admin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, source.access.bootstrap_servers[0], "127.0.0.1:1", "")
    code, flow = report(capsys, file)
    assert (code, flow["ok"], flow["reachable"]) == (3, False, False)
    assert "127.0.0.1:1" in messages(flow)["a->b"]


def test_wrong_credentials_would_fail(
    source: Admin, guarded: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(
        tmp_path, source.access.bootstrap_servers[0], guarded.addresses("CLIENTS"), login(password="guessed-one")
    )
    code, flow = report(capsys, file)
    assert (code, flow["reachable"]) == (1, True)
    assert "login refused" in messages(flow)["a->b"]
    assert "guessed-one" not in json.dumps(flow)


def test_a_wrong_file_ends_with_code_2(tmp_path: Path) -> None:
    assert run("check", write(tmp_path, "a:1", "", "")) == 2


def test_the_printed_commands_grant_all_that_is_missing(
    source: Admin, guarded: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(source, NewTopic("check-rights", 1, 1, {"max.message.bytes": "400000"}))
    text = f"topics=check-rights\n{login()}"
    file = write(tmp_path, source.access.bootstrap_servers[0], guarded.addresses("CLIENTS"), text)
    code, flow = report(capsys, file)
    assert code == 1
    missing = messages(flow)
    assert missing["a.check-rights"] == (
        "User:mirror lacks Alter, AlterConfigs, Create, Describe, DescribeConfigs, Write on this topic of b"
    )
    assert missing["heliograph-a->b-"] == ("User:mirror lacks Describe, Write on this transactional id prefix of b")
    assert len(flow["grants"]) == 4  # of the ledger records are deleted too
    grant(flow["grants"], guarded)
    code, flow = report(capsys, file)
    assert (code, flow["findings"], flow["grants"]) == (0, [], [])


def test_a_topic_that_the_source_hides_is_named_with_its_grant(
    guarded: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Admin(Access("guarded", guarded.bootstrap_servers.split(","))) as admin:
        make_topics(admin, NewTopic("check-hidden", 1, 1))
    text = "topics=check-hidden\n" + login().replace("b.", "a.", 2).replace("b.sasl.jaas", "a.sasl.jaas")
    file = write(tmp_path, guarded.addresses("CLIENTS"), backup.bootstrap_servers, text)
    code, flow = report(capsys, file)
    assert code == 1
    assert messages(flow)["check-hidden"] == "User:mirror lacks Describe, DescribeConfigs, Read on this topic of a"
    assert "--topic check-hidden" in flow["grants"][0]
    assert messages(flow, "warning")["a->b"] == "no topic would be mirrored"
    grant(flow["grants"], guarded)
    assert report(capsys, file)[0] == 0


def test_a_group_to_begin_at_must_be_readable(
    guarded: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"topics=check-no-topic\nstart.group.id=old-mirror\n{login().replace('b.s', 'a.s')}"
    file = write(tmp_path, guarded.addresses("CLIENTS"), backup.bootstrap_servers, text)
    _, flow = report(capsys, file)
    assert messages(flow)["old-mirror"] == "User:mirror lacks Describe on this group of a"
    grant([command for command in flow["grants"] if "--group" in command], guarded)
    wait_until(lambda: "old-mirror" not in messages(report(capsys, file)[1]), "the right to count", 10)


def test_heartbeats_that_cannot_be_written_do_not_fail_the_check(
    guarded: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"emit.heartbeats.enabled=true\na->b.enabled=false\nb->a.enabled=true\n{login()}"
    file = write(tmp_path, backup.bootstrap_servers, guarded.addresses("CLIENTS"), text)
    code, flow = report(capsys, file, "--flow", "a->b")
    assert (code, flow["ok"]) == (0, True)
    assert messages(flow, "warning") == {"heartbeats": "User:mirror lacks Create, Describe, Write on this topic of b"}
    assert [cluster["alias"] for cluster in flow["clusters"]] == ["b"]


def test_what_the_target_would_refuse_is_told(
    source: Admin, guarded: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(source, NewTopic("check-large", 1, 1), NewTopic("check-strict", 1, 1))
    with Admin(Access("guarded", guarded.bootstrap_servers.split(","))) as target:
        strict = {"min.insync.replicas": "2", "message.timestamp.after.max.ms": "5", "max.message.bytes": "2000000"}
        make_topics(target, NewTopic("a.check-strict", 1, 1, strict))
    text = "topics=check-large,check-strict,check-absent\nreplication.factor=3\n"
    file = write(tmp_path, source.access.bootstrap_servers[0], guarded.bootstrap_servers, text)
    code, flow = report(capsys, file)
    assert code == 1
    errors, warnings = messages(flow), messages(flow, "warning")
    assert errors["a.check-large"] == ("the source takes records of up to 1048588 bytes, the target only 500000")
    assert errors["a.check-strict"].startswith("needs 2 replicas in sync but has only 1")
    assert "more than 5 ms ahead" in warnings["a.check-strict"]
    assert warnings["a.check-large"] == "gets 1 replicas, not 3: there are no more brokers"
    assert warnings["check-absent"] == "is named in topics but does not exist on a"


def test_synced_settings_count_as_the_target_s(
    source: Admin, guarded: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(source, NewTopic("check-synced", 1, 1, {"max.message.bytes": "3000000"}))
    with Admin(Access("guarded", guarded.bootstrap_servers.split(","))) as target:
        make_topics(target, NewTopic("a.check-synced", 1, 1))
    servers = (source.access.bootstrap_servers[0], guarded.bootstrap_servers)
    assert run("check", write(tmp_path, *servers, "topics=check-synced\n")) == 0
    unsynced = "topics=check-synced\nsync.topic.configs.enabled=false\n"
    capsys.readouterr()
    code, flow = report(capsys, write(tmp_path, *servers, unsynced))
    assert (code, list(messages(flow))) == (1, ["a.check-synced"])


def test_a_file_that_says_nothing_of_rights_gets_a_note_and_passes(
    source: Admin, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(source, NewTopic("check-noted", 1, 1))
    text = "topics=check-noted\n# acls: not a word\n"
    file = write(tmp_path, source.access.bootstrap_servers[0], backup.bootstrap_servers, text)
    code, flow = report(capsys, file)
    assert (code, flow["ok"], list(messages(flow, "note"))) == (0, True, ["a->b"])
    assert "sync.topic.acls.enabled is not set" in messages(flow, "note")["a->b"]
    assert run("check", file) == 0
    assert "  note: a->b: sync.topic.acls.enabled is not set" in capsys.readouterr().out


def test_rights_that_could_not_be_copied_are_a_warning(
    source: Admin, guarded: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topics(source, NewTopic("check-acls", 1, 1))
    text = "topics=check-acls\nsync.topic.acls.enabled=true\n"
    file = write(tmp_path, source.access.bootstrap_servers[0], guarded.bootstrap_servers, text)
    _, flow = report(capsys, file)
    assert messages(flow, "warning") == {"a->b": "rights on topics would not be copied: a has no authorizer"}
