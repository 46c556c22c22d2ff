"""Brokers that ask who we are: both our own connection and the client library get in, and strangers do not."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion
from kafka.errors import TopicAuthorizationFailedError
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from heliograph.config.secret import Secret
from heliograph.config.stores import TlsSettings
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster
from heliograph.embedded.listeners import ACCESS_CONTROL, over_tls, sasl_plain, sasl_scram, tls
from heliograph.errors import AuthenticationFailed, BrokerRefused
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.connection import Connection, Loop
from heliograph.kafka.network import Network
from tests.embedded.certificates import Authority
from tests.embedded.traffic import admin_of, create_topic
from tests.waiting import wait_until

pytestmark = pytest.mark.kafka

_PASSWORD = 'p4ss "quoted", = and \\ back'
_SCRAM_PASSWORD = "scram-s3cret"
_WRONG = "Wr0ng-S3cret"
_TOPIC = "payments"


@dataclass(frozen=True)
class Fortress:
    """A cluster with every kind of listener, and the certificates that belong to it."""

    cluster: EmbeddedCluster
    trusted: Path
    other_trusted: Path
    client: Path
    other_client: Path

    def access(self, listener: str, client: Path | None = None) -> Access:
        """How to reach a listener, without a login."""
        settings = {"ssl.truststore.location": str(self.trusted)}
        if client is not None:
            settings["ssl.keystore.location"] = str(client)
        uses_tls = listener in ("TLS", "MTLS", "STRANGE", "SASLTLS")
        return Access(
            "fort",
            self.cluster.addresses(listener).split(","),
            tls=TlsSettings.from_client_settings(settings) if uses_tls else None,
            request_timeout_ms=10_000,
        )

    def login(self, listener: str, mechanism: str, user: str, password: str) -> Access:
        """How to reach a listener as a user."""
        return replace(self.access(listener), credentials=Credentials(mechanism, user, Secret(password)))

    def way(self, name: str) -> Access:
        """One of the ways that lead in."""
        return {
            "PLAIN": self.login("PLAIN", "PLAIN", "alice", _PASSWORD),
            "SCRAM-SHA-256": self.login("SCRAM", "SCRAM-SHA-256", "alice", _SCRAM_PASSWORD),
            "SCRAM-SHA-512": self.login("SCRAM", "SCRAM-SHA-512", "alice", _SCRAM_PASSWORD),
            "TLS": self.access("TLS"),
            "mTLS": self.access("MTLS", self.client),
            "PLAIN over TLS": self.login("SASLTLS", "PLAIN", "alice", _PASSWORD),
        }[name]


_WAYS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "TLS", "mTLS", "PLAIN over TLS")


@pytest.fixture(scope="module")
def fortress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fortress]:
    """One broker; alice may do everything, mallory is known but may do nothing."""
    folder = tmp_path_factory.mktemp("certificates")
    ours, other = Authority(folder, "ours"), Authority(folder, "other")
    server = ours.issue("server", ["127.0.0.1", "localhost"])
    login = sasl_plain("PLAIN", {"alice": _PASSWORD, "mallory": "m4llory"})
    listeners = [
        login,
        sasl_scram("SCRAM"),
        tls("TLS", server),
        tls("MTLS", server, trusted_clients=ours.trusted),
        tls("STRANGE", ours.issue("strange", ["elsewhere.example"])),
        over_tls(replace(login, name="SASLTLS"), server),
    ]
    powerful = "User:ANONYMOUS;User:alice;User:CN=client"
    spec = ClusterSpec("fort", listeners=listeners, settings={**ACCESS_CONTROL, "super.users": powerful})
    with EmbeddedCluster(spec) as cluster:
        create_topic(cluster, _TOPIC)
        _add_scram_user(cluster, "alice", _SCRAM_PASSWORD)
        yield Fortress(cluster, ours.trusted, other.trusted, ours.issue("client"), other.issue("intruder"))


def _add_scram_user(cluster: EmbeddedCluster, user: str, password: str) -> None:
    with admin_of(cluster) as admin:
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user_and_key = UserScramCredentialUpsertion(user, mechanism, password, iterations=4096)
            assert admin.alter_user_scram_credentials([user_and_key]) == {user: None}
        wait_until(lambda: _scram_mechanisms(admin, user) == 2, "both mechanisms")


def _scram_mechanisms(admin: KafkaAdminClient, user: str) -> int:
    return len(admin.describe_user_scram_credentials([user])[user]["credential_infos"])


def look_up(access: Access) -> Network:
    """Ask for the topic over our own connection, whose loop is closed again."""
    with closing(Loop()) as loop:
        network = Network(loop, access)
        network.refresh([_TOPIC])
        return network


@pytest.mark.parametrize("way", _WAYS)
def test_our_connection_gets_in(fortress: Fortress, way: str) -> None:
    assert look_up(fortress.way(way)).leader(_TOPIC, 0).broker_id == 1


@pytest.mark.parametrize("way", _WAYS)
def test_the_client_library_gets_in(fortress: Fortress, way: str) -> None:
    with closing(KafkaAdminClient(**fortress.way(way).client_settings())) as admin:
        assert _TOPIC in admin.list_topics()


@pytest.mark.parametrize(
    ("listener", "mechanism"), [("PLAIN", "PLAIN"), ("SCRAM", "SCRAM-SHA-256"), ("SCRAM", "SCRAM-SHA-512")]
)
@pytest.mark.parametrize("user", ["alice", "nobody"])
def test_a_wrong_login_is_refused_without_telling_the_secret(
    fortress: Fortress, listener: str, mechanism: str, user: str
) -> None:
    access = fortress.login(listener, mechanism, user, _WRONG)

    with pytest.raises(
        AuthenticationFailed, match=rf"^fort broker 127\.0\.0\.1:\d+: SASL {mechanism} login refused: "
    ) as refusal:
        look_up(access)

    assert _WRONG not in str(refusal.value)
    assert _WRONG not in repr(access)


def test_a_mechanism_that_is_not_offered_is_told_with_those_that_are(fortress: Fortress) -> None:
    with pytest.raises(AuthenticationFailed, match="does not offer SASL PLAIN, only ") as refusal:
        look_up(fortress.login("SCRAM", "PLAIN", "alice", _PASSWORD))

    offered = str(refusal.value).partition("only ")[2].split(", ")
    assert sorted(offered) == ["SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_a_broker_of_another_authority_is_not_trusted(fortress: Fortress) -> None:
    stranger = replace(fortress, trusted=fortress.other_trusted)

    with pytest.raises(AuthenticationFailed, match=r"TLS refused: .*(?i:certificate.verify.failed)"):
        look_up(stranger.access("TLS"))


def test_a_broker_with_another_host_name_is_not_trusted(fortress: Fortress) -> None:
    access = fortress.access("STRANGE")
    assert access.tls is not None

    with pytest.raises(AuthenticationFailed, match=r"TLS refused: .*(?i:certificate.verify.failed)"):
        look_up(access)
    unchecked = replace(access, tls=replace(access.tls, checks_host=False))
    assert look_up(unchecked).leader(_TOPIC, 0).broker_id == 1


@pytest.mark.parametrize("has_certificate", [False, True])
def test_a_client_without_a_trusted_certificate_is_turned_away(fortress: Fortress, has_certificate: bool) -> None:
    access = fortress.access("MTLS", fortress.other_client if has_certificate else None)

    with pytest.raises(AuthenticationFailed, match="TLS refused"):
        look_up(access)


def test_a_user_without_rights_is_refused(fortress: Fortress) -> None:
    mallory = fortress.login("PLAIN", "PLAIN", "mallory", "m4llory")

    with pytest.raises(BrokerRefused, match=f"^fort topic {_TOPIC}: .*(?i:authoriz)"):
        look_up(mallory)
    with closing(KafkaAdminClient(**mallory.client_settings())) as admin:
        assert _TOPIC not in admin.list_topics()
        with pytest.raises(TopicAuthorizationFailedError):
            admin.delete_topics([_TOPIC])


@dataclass
class Tap:
    """A relay that keeps what the client has sent, as it went over the wire."""

    port: int
    sent: bytearray = field(default_factory=bytearray)

    def data_records(self) -> int:
        """How many TLS records with data the client has sent."""
        count = position = 0
        while position < len(self.sent):
            count += self.sent[position] == 23
            position += 5 + int.from_bytes(self.sent[position + 3 : position + 5], "big")
        return count


@contextmanager
def tapped(host: str, port: int) -> Iterator[Tap]:
    """A relay for one connection to a broker."""
    with socket.create_server((host, 0)) as listener:
        tap = Tap(listener.getsockname()[1])

        def pump(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
            with source, sink, suppress(OSError):  # the other way may have ended first, and closed both
                while data := source.recv(65536):
                    kept += data
                    sink.sendall(data)

        def relay() -> None:
            client, _ = listener.accept()
            broker = socket.create_connection((host, port))
            ways = ((client, broker, tap.sent), (broker, client, bytearray()))
            for way in ways:
                threading.Thread(target=pump, args=way, daemon=True).start()

        threading.Thread(target=relay, daemon=True).start()
        yield tap


def ask(line: Connection, loop: Loop, pieces: list[bytes]) -> MetadataResponse:
    """Ask for topics with a request that is made of these pieces."""
    answers: list[bytes] = []
    line.send(MetadataRequest.API_KEY, 9, True, pieces, lambda answer: answers.append(bytes(answer)))
    loop.run_until(lambda: bool(answers))
    return MetadataResponse.decode(answers[0][5:], version=9)


def test_small_pieces_leave_in_few_tls_records_and_unchanged(fortress: Fortress) -> None:
    host, port = fortress.cluster.addresses("TLS").split(":")
    names = [f"nowhere-{number}" for number in range(5_000)]
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    small = MetadataRequest(topics=[], allow_auto_topic_creation=False).encode(version=9)
    large = MetadataRequest(topics=wanted, allow_auto_topic_creation=False).encode(version=9)
    chance = random.Random(3)
    cuts = sorted({0, len(large), *(chance.randrange(len(large)) for _ in range(300)), 30_000, 60_000})
    with tapped(host, int(port)) as tap, closing(Loop()) as loop:
        line = Connection(loop, host, tap.port, fortress.access("TLS"))
        before = tap.data_records()
        ask(line, loop, [small[at : at + 1] for at in range(len(small))])
        assert tap.data_records() - before == 1

        before = tap.data_records()
        answer = ask(line, loop, [large[start:end] for start, end in pairwise(cuts)])
        assert sorted(topic.name for topic in answer.topics) == sorted(names)
        assert tap.data_records() - before < 20
