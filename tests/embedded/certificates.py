"""A small certificate authority for tests: its certificates and keys are PEM files."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


class Authority:
    """Signs certificates; `trusted` is the file that those need who believe in it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        signer = _unsigned(self._name, self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        certificate = signer.sign(self._key, hashes.SHA256())
        self.trusted = folder / f"{name}-ca.pem"
        self.trusted.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, hosts: Sequence[str] = ()) -> Path:
        """A file with a new key and its certificate, for a server on these hosts or for a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        unsigned = _unsigned(_name(name), self._name, key)
        if hosts:
            alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            unsigned = unsigned.add_extension(alternatives, critical=False)
        certificate = unsigned.sign(self._key, hashes.SHA256())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = self._folder / f"{name}.pem"
        file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
        return file


def _unsigned(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
