"""TLS of a server, from the same `ssl.*` keys and stores as that of clients."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heliograph.config.secret import Secret
from heliograph.config.stores import StoreError, TlsSettings, key_of, load_key, load_trusted

_CLIENT_AUTH: Final = "ssl.client.auth"
_VERIFY_MODES: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


@dataclass(frozen=True)
class ServerTls:
    """Stores and versions, and whether clients show a certificate of theirs."""

    settings: TlsSettings
    verify_mode: ssl.VerifyMode

    @classmethod
    def from_settings(cls, texts: Mapping[str, str | Secret]) -> ServerTls:
        """Read the `ssl.*` keys of a server; raises StoreError for those that contradict each other."""
        settings = TlsSettings.from_client_settings(texts)
        asked = str(texts.get(_CLIENT_AUTH, "none")).strip().lower() or "none"
        if asked not in _VERIFY_MODES:
            raise StoreError(f"{_CLIENT_AUTH}: write {' or '.join(_VERIFY_MODES)}")
        if settings.keystore is None:
            raise StoreError("ssl.keystore.location is not set, but a server needs a key and its certificate")
        if asked != "none" and settings.truststore is None:
            raise StoreError(f"{_CLIENT_AUTH} is {asked}, but ssl.truststore.location does not say whom to trust")
        return cls(settings, _VERIFY_MODES[asked])

    def files(self) -> Iterator[Path]:
        """The files that it is read from."""
        for store in (self.settings.keystore, self.settings.truststore):
            if store is not None and store.location:
                yield Path(store.location)


def server_context(tls: ServerTls) -> ssl.SSLContext:
    """What connections of clients are accepted with; raises StoreError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = tls.settings.lowest_version
    context.maximum_version = tls.settings.highest_version
    context.set_alpn_protocols(["http/1.1"])
    assert tls.settings.keystore is not None
    load_key(context, tls.settings.keystore, key_of(tls.settings.keystore))
    if tls.verify_mode is not ssl.CERT_NONE:
        assert tls.settings.truststore is not None
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Java: each certificate of the store is trusted
        load_trusted(context, tls.settings.truststore)
        context.verify_mode = tls.verify_mode
    return context
