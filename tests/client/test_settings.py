from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.client.settings import read_settings
from heliograph.errors import ConfigError
from heliograph.policy.replication import DefaultReplicationPolicy, IdentityReplicationPolicy

SERVERS = {"bootstrap.servers": "one:9092, two:9092"}
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'


def test_servers_are_enough() -> None:
    settings = read_settings(SERVERS)
    assert list(settings.admin.bootstrap_servers) == ["one:9092", "two:9092"]
    assert (settings.admin.security_protocol, settings.consumer.security_protocol) == ("PLAINTEXT", "PLAINTEXT")
    assert type(settings.replication_policy) is DefaultReplicationPolicy


def test_a_role_has_its_own_login_and_the_others_the_common_one() -> None:
    settings = read_settings(
        SERVERS
        | {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": LOGIN.format("common", "c"),
            "consumer.sasl.jaas.config": LOGIN.format("reader", "r"),
            "consumer.request.timeout.ms": "1234",
        }
    )
    assert settings.admin.credentials is not None
    assert settings.consumer.credentials is not None
    assert (settings.admin.credentials.username, settings.consumer.credentials.username) == ("common", "reader")
    assert (settings.admin.request_timeout_ms, settings.consumer.request_timeout_ms) == (30_000, 1234)


def test_the_policy_is_configured() -> None:
    separated = read_settings(SERVERS | {"replication.policy.separator": "-"}).replication_policy
    assert separated.format_remote_topic("a", "t") == "a-t"
    assert separated.checkpoints_topic("a") == "a-checkpoints-internal"
    identity = read_settings(
        SERVERS | {"replication.policy.class": "IdentityReplicationPolicy", "source.cluster.alias": "a"}
    ).replication_policy
    assert isinstance(identity, IdentityReplicationPolicy)
    assert identity.topic_source("t") == "a"


def test_references_are_resolved_and_stay_hidden(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=s3cret")
    login = LOGIN.format("alice", f"${{file:{tmp_path / 'secrets'}:password}}")
    settings = read_settings(
        SERVERS | {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    )
    assert settings.admin.credentials is not None
    assert settings.admin.credentials.password.reveal() == "s3cret"
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"bootstrap.servers": ""}, ["bootstrap.servers: is missing (write bootstrap.servers = host:port, host:port)"]),
        ({"bootstrap.servers": "one"}, ["bootstrap.servers: 'one' is not host:port"]),
        ({"request.timeout.ms": "soon"}, ["request.timeout.ms: 'soon' is not a whole number"]),
        ({"replication.policy.separator": "/"}, ["replication.policy.separator: '/' cannot stand in topic names"]),
        ({"replication.policy.class": "com.example.Own"}, ["replication.policy.class: com.example.Own is neither"]),
        ({"client.id": "${env:NOT_SET_ANYWHERE}"}, ["client.id: environment variable NOT_SET_ANYWHERE is not set"]),
        ({"config.providers": "vault"}, ["config.providers.vault.class: the provider vault has no class"]),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "admin.client.dns.lookup": "odd"},
            ["admin.client.dns.lookup: 'odd'", "sasl.jaas.config: is missing"],
        ),
    ],
)
def test_everything_that_is_wrong_is_told_once_by_the_clients_own_names(
    changes: dict[str, str], problems: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(SERVERS | changes)
    told = [str(problem).removeprefix("error: ") for problem in caught.value.problems]
    assert len(told) == len(problems)
    assert all(text.startswith(start) for text, start in zip(told, problems, strict=True)), told
