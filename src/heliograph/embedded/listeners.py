"""Listeners that ask clients who they are: SASL, TLS and both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from heliograph.embedded.broker import Listener

_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

# Those who come through the plain listener, among them the brokers themselves, may do everything.
ACCESS_CONTROL: Mapping[str, str] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def sasl_plain(name: str, passwords: Mapping[str, str]) -> Listener:
    """SASL PLAIN for these users and their passwords."""
    users = " ".join(f"user_{user}={_quoted(password)}" for user, password in passwords.items())
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f"{_PLAIN_MODULE} required {users};",
    }
    return Listener(name, "SASL_PLAINTEXT", settings=settings)


def sasl_scram(name: str) -> Listener:
    """SASL SCRAM, both strengths; the users are made through the cluster's plain listener."""
    modules = {f"{mechanism.lower()}.sasl.jaas.config": f"{_SCRAM_MODULE} required;" for mechanism in _SCRAM_MECHANISMS}
    settings = {"sasl.enabled.mechanisms": ",".join(_SCRAM_MECHANISMS), **modules}
    return Listener(name, "SASL_PLAINTEXT", settings=settings)


def tls(name: str, key_and_chain: Path, trusted_clients: Path | None = None) -> Listener:
    """TLS with a PEM file of key and certificates; with trusted clients, others are turned away (mTLS)."""
    settings = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(key_and_chain)}
    if trusted_clients is not None:
        settings["ssl.client.auth"] = "required"
        settings["ssl.truststore.type"] = "PEM"
        settings["ssl.truststore.location"] = str(trusted_clients)
    return Listener(name, "SSL", settings=settings)


def over_tls(sasl: Listener, key_and_chain: Path) -> Listener:
    """The same SASL listener, inside TLS."""
    settings = {**sasl.settings, **tls(sasl.name, key_and_chain).settings}
    return replace(sasl, protocol="SASL_SSL", settings=settings)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
