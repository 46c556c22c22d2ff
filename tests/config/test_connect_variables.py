"""Variables of Kafka Connect's images: few mean the same here, and one warning names the others."""

from __future__ import annotations

from collections.abc import Callable

from heliograph.config import connect_variables
from heliograph.config.mirror_config import MirrorConfig

# The environment of a Kafka Connect container that runs connect-mirror-maker, as compose files have it.
COMPOSED = {
    "CONNECT_BOOTSTRAP_SERVERS": "localhost:9092",
    "CONNECT_REST_PORT": "8083",
    "CONNECT_GROUP_ID": "mm2-cluster",
    "CONNECT_CONFIG_STORAGE_TOPIC": "mm2-configs",
    "CONNECT_KEY_CONVERTER": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "CONNECT_CONFIG_STORAGE_REPLICATION_FACTOR": "3",
    "CONNECT_CONNECTOR_CLIENT_CONFIG_OVERRIDE_POLICY": "All",
    "CONNECT_PRODUCER_LINGER_MS": "5",
    "CONNECT_TIMEOUT": "of some other program",
}


def test_the_port_and_providers_are_understood() -> None:
    entries, problems = connect_variables.read(
        {
            "CONNECT_REST_PORT": "8090",
            "CONNECT_CONFIG_PROVIDERS": "env",
            "CONNECT_CONFIG_PROVIDERS_ENV_CLASS": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        }
    )
    assert problems == []
    assert {key: entry.value for key, entry in entries.items()} == {
        "listeners": "http://127.0.0.1:8090",
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    assert entries["listeners"].variable == "CONNECT_REST_PORT"


def test_all_others_of_a_worker_are_one_warning_without_values() -> None:
    _, [problem] = connect_variables.read(COMPOSED)
    text = str(problem)
    for name in COMPOSED:
        assert (name in text) is (name not in ("CONNECT_REST_PORT", "CONNECT_TIMEOUT"))
    assert "HELIOGRAPH_ALIAS_BOOTSTRAP_SERVERS" in text
    assert "localhost" not in text


def test_they_only_fill_gaps(load_text: Callable[..., MirrorConfig]) -> None:
    config = load_text("listeners = http://127.0.0.1:1234\n", environment=COMPOSED)
    assert config.get("listeners") == ("http://127.0.0.1:1234",)
    assert load_text("", environment=COMPOSED).get("listeners") == ("http://127.0.0.1:8083",)
    both = {**COMPOSED, "HELIOGRAPH_LISTENERS": "http://127.0.0.1:7"}
    assert load_text("", environment=both).get("listeners") == ("http://127.0.0.1:7",)
