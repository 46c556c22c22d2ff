"""Resources of Strimzi become a file that means the same, with secrets where Kubernetes mounts them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from heliograph.config.mirror_config import load
from heliograph.errors import ConfigError
from heliograph.migration.importing import Import, import_data

SAMPLE = Path(__file__).parent / "samples" / "strimzi.yaml"
HEAD = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker2\nmetadata: {name: m}\nspec:\n"
TWO = (
    HEAD
    + "  clusters: [{alias: a, bootstrapServers: 'a:9092'%s}, {alias: b, bootstrapServers: 'b:9092'}]\n  mirrors:\n"
)
MIRROR = "    - {sourceCluster: a, targetCluster: b, sourceConnector: {%s}, checkpointConnector: {}}\n"


def imported(text: str) -> Import:
    return import_data(text.encode(), "m.yaml", "/secrets")


def mount(folder: Path) -> None:
    """The secrets of the sample as Kubernetes mounts them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mirror")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(datetime.now(UTC) - timedelta(days=1))
    certificate = builder.not_valid_after(datetime.now(UTC) + timedelta(days=900)).sign(key, hashes.SHA256())
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    contents = {
        "east-ca/ca.crt": pem,
        "west-ca/ca.crt": pem,
        "west-user/user.crt": pem,
        "west-user/user.key": key.private_bytes(serialization.Encoding.PEM, form, plain),
        "east-user/password": b"hush-hush",
    }
    for path, content in contents.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)


def test_a_whole_resource_passes_the_check_and_means_the_same(tmp_path: Path) -> None:
    mount(tmp_path)
    file = tmp_path / "mm2.properties"
    file.write_text(import_data(SAMPLE.read_bytes(), "strimzi.yaml", str(tmp_path)).text)
    config = load(file, {})
    [flow] = config.flows
    assert (flow.name, flow.enabled) == ("east->west", True)
    values = {
        "topics": (r"orders|events\..*",),
        "topics.exclude": ("orders-test",),
        "groups": (".*",),
        "tasks.max": 10,
        "replication.factor": -1,
        "sync.topic.acls.enabled": False,
        "refresh.topics.interval.seconds": 600,
        "heartbeats.topic.replication.factor": -1,
        "checkpoints.topic.replication.factor": -1,
        "sync.group.offsets.enabled": True,
        "emit.heartbeats.enabled": True,
        "emit.checkpoints.enabled": True,
        "offset.storage.replication.factor": -1,
    }
    assert {name: flow.get(name) for name in values} == values
    assert flow.source.bootstrap_servers == ("east-kafka-bootstrap:9093",)
    source, target = (cluster.client_settings("admin") for cluster in (flow.source, flow.target))
    assert (source["security.protocol"], source["sasl.mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (target["security.protocol"], target["ssl.keystore.type"]) == ("SSL", "PEM")
    assert {problem.severity.value for problem in config.problems} <= {"note"}


def test_what_has_no_equal_is_told_once_each() -> None:
    notes = import_data(SAMPLE.read_bytes(), "strimzi.yaml", "/secrets").notes
    assert notes[:3] == (
        "Secret east-user is no KafkaMirrorMaker2: left out",
        "KafkaMirrorMaker2 east-to-west: resources is about pods, not about what they do: left out",
        "east-to-west has 3 replicas: work is spread by Spark, see spark.master",
    )
    assert "the secret east-user is expected as files in /secrets/east-user: mount it there" in notes
    assert any(note.startswith("west.status.storage.replication.factor = -1 is left out") for note in notes)


@pytest.mark.parametrize(
    ("login", "settings"),
    [
        (
            ", authentication: {type: plain, username: u, passwordSecret: {secretName: s, password: p}}",
            {
                "a.security.protocol": "SASL_PLAINTEXT",
                "a.sasl.mechanism": "PLAIN",
                "a.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="u" password="${directory:/secrets/s:p}";',
            },
        ),
        (
            ", tls: {}, authentication: {type: scram-sha-256, username: u, passwordSecret: {secretName: s}}",
            {"a.security.protocol": "SASL_SSL", "a.sasl.mechanism": "SCRAM-SHA-256"},
        ),
        (", tls: {}", {"a.security.protocol": "SSL"}),
        (
            ", tls: {trustedCertificates: [{secretName: s, certificate: x}, {secretName: t, certificate: y}]}",
            {"a.ssl.truststore.certificates": "${directory:/secrets/s:x}${directory:/secrets/t:y}"},
        ),
        ("", {"a.bootstrap.servers": "a:9092"}),
    ],
    ids=["plain", "scram over TLS", "TLS of the system", "two certificates", "nothing"],
)
def test_logins_and_certificates(login: str, settings: dict[str, str]) -> None:
    entries = imported(TWO % login + MIRROR % "").entries
    assert {key: entries[key] for key in settings} == settings
    assert ("a.security.protocol" in entries) is bool(login)


@pytest.mark.parametrize(
    ("login", "connector", "note"),
    [
        (", authentication: {type: oauth}", "", "a: authentication of the type oauth needs a hand"),
        (", tls: {trustedCertificates: [{secretName: s, pattern: '*.crt'}]}", "", "a: certificates given by a pattern"),
        ("", "pause: true", "sourceConnector of m is paused or stopped there"),
        ("", "state: stopped", "sourceConnector of m is paused or stopped there"),
    ],
)
def test_what_needs_a_hand_is_told(login: str, connector: str, note: str) -> None:
    assert any(item.startswith(note) for item in imported(TWO % login + MIRROR % connector).notes)


def test_a_list_and_the_newer_form_are_understood() -> None:
    source, target = (f"{{alias: {alias}, bootstrapServers: '{alias}:9092'}}" for alias in "ab")
    spec = f"{{target: {target}, mirrors: [{{source: {source}, sourceConnector: {{}}}}]}}"
    item = f"{{kind: KafkaMirrorMaker2, spec: {spec}}}"
    entries = imported(f"apiVersion: v1\nkind: List\nitems: [{item}]\n").entries
    assert entries["clusters"] == "a, b"
    assert entries["a->b.enabled"] == "true"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (HEAD + "  clusters: []\n  mirrors: []\n", "spec"),
        (
            "---\n" + HEAD + "  clusters: [{alias: a}]\n  mirrors: [{sourceCluster: a, targetCluster: b}]\n",
            "spec.clusters",
        ),
        (TWO % "" + "    - {sourceCluster: a}\n", "spec.mirrors"),
        ("apiVersion: v1\nkind: KafkaMirrorMaker2\nspec: text\n", "spec"),
    ],
)
def test_a_resource_that_lacks_something_is_told_with_its_line(text: str, key: str) -> None:
    with pytest.raises(ConfigError) as failed:
        imported(text)
    [problem] = failed.value.problems
    assert (problem.key, problem.line) == (key, 2 if text.startswith("---") else 1)


def test_other_kinds_alone_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="has no MirrorMaker 2 in it; Kafka k is no KafkaMirrorMaker2"):
        imported("apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: k}\n")
