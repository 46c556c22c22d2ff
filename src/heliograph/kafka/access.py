"""How to reach one cluster: addresses and credentials, in a form that can travel to executors."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.abc import SaslMechanism

from heliograph.config.secret import Secret
from heliograph.config.stores import TlsSettings, ssl_context


@dataclass(frozen=True)
class Credentials:
    """A SASL mechanism and what it needs to log in."""

    mechanism: str
    username: str = ""
    password: Secret = field(default_factory=lambda: Secret(""))


@dataclass(frozen=True)
class Access:
    """One cluster, and who we are there. Holds secrets: never a Spark option, never printed."""

    alias: str
    bootstrap_servers: Sequence[str]
    tls: TlsSettings | None = None
    credentials: Credentials | None = None
    client_id: str = "heliograph"
    client_rack: str = ""
    request_timeout_ms: int = 30_000

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
        return {
            "security_protocol": self.security_protocol,
            "sasl_mechanism": self.credentials.mechanism,
            "sasl_plain_username": self.credentials.username,
            "sasl_plain_password": self.credentials.password.reveal(),
        }
