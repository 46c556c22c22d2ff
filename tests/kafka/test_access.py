"""From a cluster of the file to what a client needs."""

from __future__ import annotations

import pickle
from pathlib import Path

from heliograph.config.mirror_config import load
from heliograph.kafka.access import Access, access_for

BASE = "clusters=a,b\na.bootstrap.servers={servers}\nb.bootstrap.servers=b:1\na->b.enabled=true\n"
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="pw";'
OAUTH = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'clientId="mirror" clientSecret="pw" scope="kafka" extension_logicalCluster="lkc-1";'
)


def access(folder: Path, text: str = "", role: str = "admin", servers: str = "a:1, a:2") -> Access:
    path = folder / "mm2.properties"
    path.write_text(BASE.format(servers=servers) + text)
    return access_for(load(path, environment={}).clusters["a"], role)


def test_a_plain_cluster(tmp_path: Path) -> None:
    found = access(tmp_path)
    assert found == Access("a", ("a:1", "a:2"), client_id="heliograph|admin")
    assert found.security_protocol == "PLAINTEXT"


def test_addresses_may_carry_a_protocol(tmp_path: Path) -> None:
    assert access(tmp_path, servers="PLAINTEXT://a:1").bootstrap_servers == ("a:1",)


def test_names_and_limits_of_the_role_count(tmp_path: Path) -> None:
    text = "a.client.id=team\na.consumer.client.rack=r1\na.consumer.request.timeout.ms=5000\n"
    consumer = access(tmp_path, text, "consumer")
    assert consumer.client_id == "team|heliograph|consumer"
    assert consumer.request_timeout_ms == 5000
    producer = access(tmp_path, text, "producer")
    assert (producer.request_timeout_ms, producer.connect_timeout_ms) == (30000, 3000)


def test_a_password_login(tmp_path: Path) -> None:
    text = f"a.security.protocol=SASL_PLAINTEXT\na.sasl.mechanism=PLAIN\na.sasl.jaas.config={PLAIN}\n"
    found = access(tmp_path, text)
    assert found.security_protocol == "SASL_PLAINTEXT"
    settings = found.client_settings()
    assert settings["sasl_mechanism"] == "PLAIN"
    assert (settings["sasl_plain_username"], settings["sasl_plain_password"]) == ("mirror", "pw")
    assert "pw" not in repr(found).replace("password", "")


def test_a_login_by_token_travels_to_executors(tmp_path: Path) -> None:
    text = (
        f"a.security.protocol=SASL_SSL\na.sasl.mechanism=OAUTHBEARER\na.sasl.jaas.config={OAUTH}\n"
        "a.sasl.oauthbearer.token.endpoint.url=https://login.example/token\n"
        "a.sasl.login.read.timeout.ms=2500\na.sasl.login.refresh.window.factor=0.5\n"
    )
    found: Access = pickle.loads(pickle.dumps(access(tmp_path, text)))
    assert found.security_protocol == "SASL_SSL"
    assert found.credentials is not None
    grant = found.credentials.grant
    assert grant is not None
    assert (grant.endpoint, grant.client_id) == ("https://login.example/token", "mirror")
    assert (grant.client_secret.reveal(), grant.scope) == ("pw", "kafka")
    assert (grant.timeout, grant.renew_after) == (2.5, 0.5)
    provider = found.client_settings()["sasl_oauth_token_provider"]
    assert provider.extensions() == {"logicalCluster": "lkc-1"}  # type: ignore[attr-defined]
    assert found.sasl("broker") is not None
