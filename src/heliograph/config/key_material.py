"""Private keys and certificates from PEM, PKCS12 and JKS, whichever the bytes turn out to be."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)

from heliograph.config import jks
from heliograph.config.secret import Secret

_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_JCEKS_MAGIC = b"\xce\xce\xce\xce"
_DER_SEQUENCE = b"\x30"


class MaterialError(ValueError):
    """Keys or certificates cannot be read; the text says why, without naming where they came from."""


@dataclass(frozen=True)
class KeyMaterial:
    """A private key and its certificates, the key's own first, then those that vouch for it."""

    key: PrivateKeyTypes
    chain: tuple[x509.Certificate, ...]


def read_trusted(data: bytes, password: Secret | None) -> tuple[x509.Certificate, ...]:
    """The certificates to trust in a store of any known format."""
    if data.startswith(jks.MAGIC):
        store = jks.read_store(data, _revealed(password))
        found = _parsed([*store.trusted, *(entry.chain[0] for entry in store.keys if entry.chain)])
    elif data.startswith(_DER_SEQUENCE):
        found = _pkcs12_certificates(_pkcs12(data, password))
    else:
        found = _pem_certificates(_pem_text(data))
    if not found:
        raise MaterialError("it holds no trusted certificate")
    return found


def read_key(data: bytes, password: Secret | None, key_password: Secret | None) -> KeyMaterial:
    """The private key and its certificates in a store of any known format."""
    if data.startswith(jks.MAGIC):
        return _jks_key(jks.read_store(data, _revealed(password)), key_password or password)
    if data.startswith(_DER_SEQUENCE):
        store = _pkcs12(data, password)
        if store.key is None:
            raise MaterialError("it holds no private key")
        return _matched(store.key, _pkcs12_certificates(store))
    text = _pem_text(data)
    return read_pem_key(text, text, key_password)


def read_pem_key(key_text: str, chain_text: str, key_password: Secret | None) -> KeyMaterial:
    """A private key and its certificates in PEM."""
    blocks = [match for match in _PEM_BLOCK.finditer(key_text) if match[1].endswith("PRIVATE KEY")]
    if not blocks:
        raise MaterialError("it holds no private key")
    if len(blocks) > 1:
        raise MaterialError(f"it holds {len(blocks)} private keys; one is needed")
    certificates = _pem_certificates(chain_text)
    if not certificates:
        raise MaterialError("it holds no certificate")
    return _matched(_pem_key(blocks[0], key_password), certificates)


def _pem_text(data: bytes) -> str:
    if data.startswith(_JCEKS_MAGIC):
        raise MaterialError("JCEKS stores are not supported; convert it with keytool -importkeystore")
    text = data.decode("utf-8", "replace")
    if not _PEM_BLOCK.search(text):
        raise MaterialError("it is neither PEM, PKCS12 nor JKS")
    return text


def _pem_certificates(text: str) -> tuple[x509.Certificate, ...]:
    encoded = [match[2] for match in _PEM_BLOCK.finditer(text) if match[1].endswith("CERTIFICATE")]
    return _parsed(base64.b64decode("".join(body.split()), validate=True) for body in encoded)


def _parsed(encoded: Iterable[bytes]) -> tuple[x509.Certificate, ...]:
    try:
        return tuple(x509.load_der_x509_certificate(der) for der in encoded)
    except ValueError:
        raise MaterialError("a certificate in it is damaged") from None


def _pem_key(block: re.Match[str], password: Secret | None) -> PrivateKeyTypes:
    pem = _rewrapped(block).encode()
    encrypted = block[1].startswith("ENCRYPTED") or "ENCRYPTED" in block[2]
    if encrypted and password is None:
        raise MaterialError("the private key is encrypted, and ssl.key.password is not set")
    try:
        return load_pem_private_key(pem, password.reveal().encode() if encrypted and password else None)
    except UnsupportedAlgorithm:
        raise MaterialError("the private key is of a kind that is not supported") from None
    except (ValueError, TypeError):
        reason = "the key password is wrong, or the key is damaged" if encrypted else "the private key is damaged"
        raise MaterialError(reason) from None


def _rewrapped(block: re.Match[str]) -> str:
    """PEM with its line breaks: in a properties file all of it often stands on one line."""
    body = block[2]
    if ":" not in body:
        packed = "".join(body.split())
        body = "\n" + "\n".join(packed[at : at + 64] for at in range(0, len(packed), 64)) + "\n"
    return f"-----BEGIN {block[1]}-----{body}-----END {block[1]}-----\n"


def _pkcs12(data: bytes, password: Secret | None) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(data, password.reveal().encode() if password else None)
    except UnsupportedAlgorithm:
        raise MaterialError("its encryption is not supported; convert it with keytool -importkeystore") from None
    except (ValueError, TypeError):
        reason = "the password is wrong, or the file is damaged" if password else "its password is not set"
        raise MaterialError(reason) from None


def _pkcs12_certificates(store: pkcs12.PKCS12KeyAndCertificates) -> tuple[x509.Certificate, ...]:
    own = [store.cert] if store.cert else []
    return tuple(entry.certificate for entry in [*own, *store.additional_certs])


def _jks_key(store: jks.JksStore, password: Secret | None) -> KeyMaterial:
    if not store.keys:
        raise MaterialError("it holds no private key")
    if password is None:
        raise MaterialError("its password is not set")
    entry = store.keys[0]
    try:
        key = load_der_private_key(jks.recover_key(entry, password.reveal()), None)
    except UnsupportedAlgorithm:
        raise MaterialError("the private key is of a kind that is not supported") from None
    return _matched(key, _parsed(entry.chain))


def _matched(key: PrivateKeyTypes, certificates: tuple[x509.Certificate, ...]) -> KeyMaterial:
    """Find the key's own certificate and order those that vouch for it behind it."""
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    own = next((entry for entry in certificates if _public_bytes(entry) == public), None)
    if own is None:
        raise MaterialError("none of its certificates belongs to its private key")
    return KeyMaterial(key, tuple(_chain(own, certificates)))


def _chain(own: x509.Certificate, certificates: tuple[x509.Certificate, ...]) -> Iterator[x509.Certificate]:
    seen: set[x509.Certificate] = set()
    link: x509.Certificate | None = own
    while link is not None and link not in seen:
        yield link
        seen.add(link)
        issuer = link.issuer
        link = next((entry for entry in certificates if entry.subject == issuer and entry not in seen), None)


def _public_bytes(certificate: x509.Certificate) -> bytes | None:
    try:
        return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except (UnsupportedAlgorithm, ValueError):
        return None


def _revealed(secret: Secret | None) -> str | None:
    return secret.reveal() if secret else None
