"""How to reach one cluster: addresses and credentials, in a form that can travel to executors."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.abc import SaslMechanism

from heliograph.config.jaas import OAuthCredentials
from heliograph.config.secret import Secret
from heliograph.config.stores import TlsSettings, ssl_context
from heliograph.kafka.oauth import OAuthGrant, token_source

if TYPE_CHECKING:  # lanes start in new processes and need not import how a file is read
    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.option import Value
    from heliograph.config.security import Security


@dataclass(frozen=True)
class Credentials:
    """A SASL mechanism and what it needs to log in."""

    mechanism: str
    username: str = ""
    password: Secret = field(default_factory=lambda: Secret(""))
    grant: OAuthGrant | None = None


@dataclass(frozen=True)
class Access:
    """One cluster, and who we are there. Holds secrets: never a Spark option, never printed."""

    alias: str
    bootstrap_servers: Sequence[str]
    tls: TlsSettings | None = None
    credentials: Credentials | None = None
    client_id: str = "heliograph"
    request_timeout_ms: int = 30_000
    connect_timeout_ms: int = 3_000
    send_buffer: int = 4 * 1024 * 1024  # of sockets; negative: the system's
    receive_buffer: int = 4 * 1024 * 1024

    @property
    def security_protocol(self) -> str:
        """The protocol's name in Kafka's words."""
        transport = "SSL" if self.tls else "PLAINTEXT"
        return f"SASL_{transport}" if self.credentials else transport

    def tls_context(self) -> ssl.SSLContext | None:
        """What TLS connections are made with; None for plain ones."""
        return ssl_context(self.tls) if self.tls else None

    def sasl(self, host: str) -> SaslMechanism | None:
        """A fresh login conversation for one connection."""
        if self.credentials is None:
            return None
        return get_sasl_mechanism(self.credentials.mechanism)(host=host, **self._sasl_settings())

    def client_settings(self) -> dict[str, object]:
        """The same access as arguments of the Kafka client library, for all that is not the data path."""
        settings: dict[str, object] = {
            "bootstrap_servers": list(self.bootstrap_servers),
            "client_id": self.client_id,
            "security_protocol": self.security_protocol,
            "request_timeout_ms": self.request_timeout_ms,
        }
        if self.tls:
            settings["ssl_context"] = self.tls_context()
            settings["ssl_check_hostname"] = self.tls.checks_host
        if self.credentials:
            settings.update(self._sasl_settings())
        return settings

    def _sasl_settings(self) -> dict[str, object]:
        assert self.credentials is not None
        settings: dict[str, object] = {
            "security_protocol": self.security_protocol,
            "sasl_mechanism": self.credentials.mechanism,
        }
        if self.credentials.grant:
            return settings | {"sasl_oauth_token_provider": token_source(self.credentials.grant)}
        return settings | {
            "sasl_plain_username": self.credentials.username,
            "sasl_plain_password": self.credentials.password.reveal(),
        }


def access_for(cluster: ClusterConfig, role: str) -> Access:
    """What a client in a role (`consumer`, `producer` or `admin`) needs to reach a cluster of the file."""
    settings = cluster.client_settings(role)
    security = cluster.clients[role].security
    names = (settings["client.id"], "heliograph", role)
    return Access(
        cluster.alias,
        tuple(server.rpartition("//")[2] for server in cluster.bootstrap_servers),
        security.tls,
        _credentials(security, settings),
        client_id="|".join(str(name) for name in names if name),
        request_timeout_ms=_number(settings["request.timeout.ms"]),
        connect_timeout_ms=_number(settings["socket.connection.setup.timeout.ms"]),
        send_buffer=_number(settings["send.buffer.bytes"]),
        receive_buffer=_number(settings["receive.buffer.bytes"]),
    )


def _credentials(security: Security, settings: Mapping[str, Value]) -> Credentials | None:
    if security.mechanism is None or security.login is None:
        return None
    login = security.login.credentials
    if isinstance(login, OAuthCredentials):
        return Credentials(security.mechanism, login.client_id or "", grant=_grant(login, settings))
    return Credentials(security.mechanism, login.username, login.password)


def _grant(login: OAuthCredentials, settings: Mapping[str, Value]) -> OAuthGrant:
    patience = settings["sasl.login.read.timeout.ms"] or settings["sasl.login.connect.timeout.ms"]
    return OAuthGrant(
        endpoint=str(settings["sasl.oauthbearer.token.endpoint.url"] or ""),
        client_id=login.client_id or "",
        client_secret=login.client_secret or Secret(""),
        scope=login.scope or "",
        extensions=tuple(login.extensions.items()),
        url_encodes_header=settings["sasl.oauthbearer.header.urlencode"] is True,
        timeout=_number(patience) / 1000 if patience else OAuthGrant.timeout,
        renew_after=float(str(settings["sasl.login.refresh.window.factor"])),
    )


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
