"""TLS as Java's Kafka clients configure it (`ssl.*`), turned into a Python SSLContext."""

from __future__ import annotations

import os
import secrets
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from heliograph.config.jks import JksError
from heliograph.config.key_material import KeyMaterial, MaterialError, read_key, read_pem_key, read_trusted
from heliograph.config.secret import Secret

_Material = TypeVar("_Material")

_TRUSTSTORE = "ssl.truststore"
_KEYSTORE = "ssl.keystore"
_STORE_TYPES = ("JKS", "PKCS12", "PEM")
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_UP_TO = {"TLS": "TLSv1.2,TLSv1.3", "TLSv1.3": "TLSv1.2,TLSv1.3"}
_OLD_VERSIONS = ("TLSv1", "TLSv1.1", "SSLv2Hello", "SSLv3")


class StoreError(ValueError):
    """TLS settings or stores cannot be used; the text names the file or key, and holds no secret."""


@dataclass(frozen=True)
class StoreSettings:
    """Where keys or certificates come from: a file, or PEM text in the settings themselves."""

    name: str
    location: str | None
    password: Secret | None = None
    key_password: Secret | None = None
    certificates: str | None = None
    key: Secret | None = None

    @property
    def source(self) -> str:
        """What to call the store in messages."""
        inline = "certificate.chain" if self.name == _KEYSTORE else "certificates"
        return self.location or f"{self.name}.{inline}"


@dataclass(frozen=True)
class TlsSettings:
    """What a TLS connection needs to know. Without a trust store the system's certificates are trusted."""

    truststore: StoreSettings | None
    keystore: StoreSettings | None
    lowest_version: ssl.TLSVersion
    highest_version: ssl.TLSVersion
    checks_host: bool

    @classmethod
    def from_client_settings(cls, settings: Mapping[str, str | Secret]) -> TlsSettings:
        """Read the `ssl.*` keys of one client; raises StoreError for those that contradict each other."""
        lowest, highest = _versions(settings)
        return cls(_truststore(settings), _keystore(settings), lowest, highest, _checks_host(settings))


@dataclass(frozen=True)
class CertificateInfo:
    """Until when a certificate is valid, and where it came from."""

    subject: str
    not_after: datetime
    source: str


def ssl_context(settings: TlsSettings, now: datetime | None = None) -> ssl.SSLContext:
    """A client's context: always verifies the broker, and shows our certificate if there is a key store."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host
    context.minimum_version = settings.lowest_version
    context.maximum_version = settings.highest_version
    # Java trusts every certificate of a trust store, also one that others have signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if settings.truststore is None:
        context.load_default_certs()
    else:
        load_trusted(context, settings.truststore)
    if settings.keystore is not None:
        material = key_of(settings.keystore)
        _check_not_expired(settings.keystore, material.chain[0], now or datetime.now(UTC))
        load_key(context, settings.keystore, material)
    return context


def certificates(settings: TlsSettings) -> list[CertificateInfo]:
    """All certificates of both stores, for checks of when they expire."""
    found: list[CertificateInfo] = []
    if settings.keystore is not None:
        found += [_info(entry, settings.keystore) for entry in key_of(settings.keystore).chain]
    if settings.truststore is not None:
        found += [_info(entry, settings.truststore) for entry in _trusted(settings.truststore)]
    return found


def _truststore(settings: Mapping[str, str | Secret]) -> StoreSettings | None:
    store = StoreSettings(
        _TRUSTSTORE,
        _text(settings, f"{_TRUSTSTORE}.location"),
        password=_secret(settings, f"{_TRUSTSTORE}.password"),
        certificates=_text(settings, f"{_TRUSTSTORE}.certificates"),
    )
    return _checked(store, _text(settings, f"{_TRUSTSTORE}.type"))


def _keystore(settings: Mapping[str, str | Secret]) -> StoreSettings | None:
    store = StoreSettings(
        _KEYSTORE,
        _text(settings, f"{_KEYSTORE}.location"),
        password=_secret(settings, f"{_KEYSTORE}.password"),
        key_password=_secret(settings, "ssl.key.password"),
        certificates=_text(settings, f"{_KEYSTORE}.certificate.chain"),
        key=_secret(settings, f"{_KEYSTORE}.key"),
    )
    if (store.key is None) != (store.certificates is None):
        raise StoreError(f"{_KEYSTORE}.key and {_KEYSTORE}.certificate.chain need each other: set both or none")
    return _checked(store, _text(settings, f"{_KEYSTORE}.type"))


def _checked(store: StoreSettings, store_type: str | None) -> StoreSettings | None:
    """The store, unless its settings contradict each other; None if there is none."""
    kind = (store_type or "").upper()
    if kind and kind not in _STORE_TYPES:
        raise StoreError(f"{store.name}.type {store_type} is not supported; write one of {', '.join(_STORE_TYPES)}")
    if store.certificates and store.location:
        raise StoreError(f"{store.name}.location and {store.source} exclude each other: remove one")
    if store.certificates and kind not in ("", "PEM"):
        raise StoreError(f"certificates in the settings themselves are PEM: set {store.name}.type=PEM")
    if store.certificates or store.location:
        return store
    if store.password:
        raise StoreError(f"{store.name}.password is set, but {store.name}.location is not")
    return None


def _versions(settings: Mapping[str, str | Secret]) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    key = "ssl.enabled.protocols"
    enabled = _text(settings, key)
    if enabled is None:
        key = "ssl.protocol"
        protocol = _text(settings, key) or "TLS"
        enabled = _UP_TO.get(protocol, protocol)
    names = [name.strip() for name in enabled.split(",")]
    unknown = [name for name in names if name not in _VERSIONS and name not in _OLD_VERSIONS]
    chosen = sorted(_VERSIONS[name] for name in names if name in _VERSIONS)
    if unknown or not chosen:
        raise StoreError(f"{key}: only TLSv1.2 and TLSv1.3 can be used")
    return chosen[0], chosen[-1]


def _checks_host(settings: Mapping[str, str | Secret]) -> bool:
    key = "ssl.endpoint.identification.algorithm"
    algorithm = (_revealed(settings.get(key)) or "").strip() if key in settings else "https"
    if algorithm.lower() not in ("https", ""):
        raise StoreError(f"{key} is either https or empty, which turns the check of host names off")
    return bool(algorithm)


def _trusted(store: StoreSettings) -> tuple[x509.Certificate, ...]:
    data = store.certificates.encode() if store.certificates else _file(store)
    return _explained(store, lambda: read_trusted(data, store.password))


def key_of(store: StoreSettings) -> KeyMaterial:
    """The key of a store with its certificates."""
    if store.key is not None and store.certificates is not None:
        key, chain = store.key.reveal(), store.certificates
        return _explained(store, lambda: read_pem_key(key, chain, store.key_password))
    data = _file(store)
    return _explained(store, lambda: read_key(data, store.password, store.key_password))


def _file(store: StoreSettings) -> bytes:
    try:
        return Path(store.source).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "bad path"
        raise StoreError(f"{store.name}.location: {store.source} cannot be read: {reason}") from None


def _explained(store: StoreSettings, read: Callable[[], _Material]) -> _Material:
    try:
        return read()
    except (MaterialError, JksError) as error:
        raise StoreError(f"{store.source} ({store.name}) cannot be used: {error}") from None


def _check_not_expired(store: StoreSettings, certificate: x509.Certificate, now: datetime) -> None:
    end = certificate.not_valid_after_utc
    if end < now:
        raise StoreError(f"{store.source} ({store.name}) cannot be used: its certificate expired on {end:%Y-%m-%d}")


def load_trusted(context: ssl.SSLContext, store: StoreSettings) -> None:
    """Trust the certificates of a store."""
    trusted = _pem(_trusted(store))
    try:
        context.load_verify_locations(cadata=trusted)
    except ssl.SSLError as error:
        raise _refused(store, error) from None


def load_key(context: ssl.SSLContext, store: StoreSettings, material: KeyMaterial) -> None:
    """Hand a key to OpenSSL, which takes it from a file only: a private one, encrypted, gone at once."""
    passphrase = secrets.token_urlsafe(24)
    encryption = BestAvailableEncryption(passphrase.encode())
    key = material.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    descriptor, name = tempfile.mkstemp(prefix="heliograph-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key + _pem(material.chain).encode())
        context.load_cert_chain(name, password=passphrase)
    except ssl.SSLError as error:
        raise _refused(store, error) from None
    finally:
        os.unlink(name)


def _refused(store: StoreSettings, error: ssl.SSLError) -> StoreError:
    reason = (error.reason or "unknown reason").lower().replace("_", " ")
    return StoreError(f"{store.source} ({store.name}) cannot be used: OpenSSL refuses it: {reason}")


def _pem(chain: tuple[x509.Certificate, ...]) -> str:
    return "".join(entry.public_bytes(Encoding.PEM).decode() for entry in chain)


def _info(certificate: x509.Certificate, store: StoreSettings) -> CertificateInfo:
    return CertificateInfo(certificate.subject.rfc4514_string(), certificate.not_valid_after_utc, store.source)


def _revealed(value: str | Secret | None) -> str | None:
    return value.reveal() if isinstance(value, Secret) else value


def _text(settings: Mapping[str, str | Secret], key: str) -> str | None:
    return (_revealed(settings.get(key)) or "").strip() or None


def _secret(settings: Mapping[str, str | Secret], key: str) -> Secret | None:
    text = _revealed(settings.get(key))
    return Secret(text) if text else None
