from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from heliograph.config.mirror_config import MirrorConfig
from heliograph.errors import ConfigError

Load = Callable[..., MirrorConfig]
STORE = Path(__file__).parent / "malformed" / "stores" / "trust.p12"


def pem(path: Path, days: int) -> Path:
    """A certificate that expires in so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(days=90))
    certificate = builder.not_valid_after(now + timedelta(days=days)).sign(key, hashes.SHA256())
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path


def truststore(path: Path) -> str:
    return f"a.security.protocol = SSL\na.ssl.truststore.type = PEM\na.ssl.truststore.location = {path}\n"


def test_a_store_that_opens_is_part_of_the_cluster(load_text: Load) -> None:
    config = load_text(
        f"a.security.protocol = SSL\na.ssl.truststore.location = {STORE}\na.ssl.truststore.type = PKCS12\n"
        "a.ssl.truststore.password = another-password\n"
    )
    assert config.problems == ()
    tls = config.clusters["a"].security.tls
    assert tls is not None
    assert tls.truststore is not None
    assert tls.truststore.location == str(STORE)
    assert tls.checks_host
    assert config.clusters["b"].security.tls is None


@pytest.mark.parametrize(("days", "words"), [(10, "expires on"), (-1, "expired on")])
def test_certificates_near_their_end_are_pointed_out(load_text: Load, tmp_path: Path, days: int, words: str) -> None:
    config = load_text(truststore(pem(tmp_path / "ca.pem", days)))
    assert [(problem.key, problem.line) for problem in config.problems] == [("a.ssl.truststore.location", 7)]
    assert words in config.problems[0].message


def test_fresh_certificates_are_not_mentioned(load_text: Load, tmp_path: Path) -> None:
    assert load_text(truststore(pem(tmp_path / "ca.pem", 365))).problems == ()


def test_brokers_that_are_not_checked_are_pointed_out(load_text: Load, tmp_path: Path) -> None:
    text = truststore(pem(tmp_path / "ca.pem", 365)) + "a.ssl.endpoint.identification.algorithm =\n"
    assert [problem.message for problem in load_text(text).problems] == [
        "brokers are not checked to be who they say they are"
    ]


def test_a_broken_store_is_reported_once_however_many_clients_use_it(load_text: Load, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(ConfigError) as caught:
        load_text(truststore(tmp_path / "ca.pem").replace("a.s", "s"))
    assert [problem.key for problem in caught.value.problems] == ["ssl.truststore.location"]
