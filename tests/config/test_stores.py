import pickle
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from heliograph.config.secret import Secret
from heliograph.config.stores import StoreError, TlsSettings, certificates, ssl_context

NOW = datetime.now(UTC)
STORE_PASSWORD = "hunter22-store"
KEY_PASSWORD = "hunter33-key"
needs_keytool = pytest.mark.skipif(
    shutil.which("keytool") is None, reason="keytool, which makes JKS stores, is missing"
)


Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Identity:
    key: Key
    certificate: x509.Certificate

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, form, encryption).decode()

    def pkcs12(self, *vouchers: "Identity") -> bytes:
        extra = [voucher.certificate for voucher in vouchers]
        encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
        return pkcs12.serialize_key_and_certificates(b"mirror", self.key, self.certificate, extra, encryption)


def signed(
    name: str, issuer: Identity | None, days: int = 10, is_authority: bool = False, key: Key | None = None
) -> Identity:
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=60))
        .not_valid_after(NOW + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    return Identity(key, builder.sign(issuer.key if issuer else key, hashes.SHA256()))


ROOT = signed("root", None, is_authority=True)
MIDDLE = signed("middle", ROOT, is_authority=True)
OTHER_ROOT = signed("other", None, is_authority=True)
BROKER = signed("localhost", ROOT)
CLIENT = signed("mirror", MIDDLE)


def context(**settings: str | Secret) -> ssl.SSLContext:
    return ssl_context(tls(settings))


def tls(settings: dict[str, str | Secret]) -> TlsSettings:
    return TlsSettings.from_client_settings({f"ssl.{key.replace('_', '.')}": value for key, value in settings.items()})


def handshake(client: ssl.SSLContext, folder: Path, host: str = "localhost") -> str:
    """Connect to a broker that demands a certificate of ours; the subject it saw."""
    (folder / "broker.pem").write_text(BROKER.key_pem() + BROKER.certificate_pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "broker.pem")
    server.load_verify_locations(cadata=ROOT.certificate_pem)
    server.verify_mode = ssl.CERT_REQUIRED
    near, far = socket.socketpair()
    seen: list[str] = []

    def serve() -> None:
        try:
            with server.wrap_socket(far, server_side=True) as accepted:
                seen.append(accepted.getpeercert()["subject"][0][0][1])
                accepted.sendall(b"ready")
        except OSError:
            far.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(near, server_hostname=host) as connection:
            assert connection.recv(5) == b"ready"
    finally:
        near.close()
        thread.join()
    return seen[0]


def keytool(*arguments: str) -> None:
    subprocess.run(["keytool", *arguments, "-noprompt"], check=True, capture_output=True)


def jks_keystore(folder: Path, identity: Identity = CLIENT, *vouchers: Identity) -> Path:
    source, target = folder / "made.p12", folder / "keystore.jks"
    source.write_bytes(identity.pkcs12(*vouchers))
    keytool(
        *(
            "-importkeystore",
            "-srckeystore",
            str(source),
            "-srcstoretype",
            "PKCS12",
            "-srcstorepass",
            STORE_PASSWORD,
        ),
        *("-destkeystore", str(target), "-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD),
        *("-srcalias", "mirror", "-destkeypass", KEY_PASSWORD),
    )
    return target


def truststore(folder: Path, store_type: str, *trusted: Identity) -> Path:
    target = folder / f"truststore.{store_type.lower()}"
    for number, identity in enumerate(trusted):
        file = folder / f"trusted{number}.pem"
        file.write_text(identity.certificate_pem)
        keytool(
            *("-importcert", "-alias", f"ca{number}", "-file", str(file), "-keystore", str(target)),
            *("-storetype", store_type, "-storepass", STORE_PASSWORD),
        )
    return target


@needs_keytool
def test_jks_stores_shake_hands(tmp_path: Path) -> None:
    client = context(
        truststore_location=str(truststore(tmp_path, "JKS", OTHER_ROOT, ROOT)),
        truststore_password=Secret(STORE_PASSWORD),
        keystore_location=str(jks_keystore(tmp_path, CLIENT, MIDDLE)),
        keystore_password=Secret(STORE_PASSWORD),
        key_password=Secret(KEY_PASSWORD),
    )
    assert handshake(client, tmp_path) == "mirror"


@needs_keytool
def test_pkcs12_in_a_file_that_is_said_to_be_jks_shakes_hands(tmp_path: Path) -> None:
    keystore = tmp_path / "keystore.jks"
    keystore.write_bytes(CLIENT.pkcs12(ROOT, MIDDLE))
    client = context(
        truststore_type="JKS",
        truststore_location=str(truststore(tmp_path, "PKCS12", ROOT)),
        truststore_password=STORE_PASSWORD,
        keystore_type="jks",
        keystore_location=str(keystore),
        keystore_password=STORE_PASSWORD,
    )
    assert handshake(client, tmp_path) == "mirror"


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("password", [None, KEY_PASSWORD])
def test_pem_files_shake_hands(tmp_path: Path, form: PrivateFormat, password: str | None) -> None:
    (tmp_path / "trusted.pem").write_text("some notes\n" + OTHER_ROOT.certificate_pem + ROOT.certificate_pem)
    chain = MIDDLE.certificate_pem + CLIENT.certificate_pem
    (tmp_path / "key.pem").write_text(chain + CLIENT.key_pem(password, form))
    client = context(
        truststore_type="PEM",
        truststore_location=str(tmp_path / "trusted.pem"),
        keystore_type="PEM",
        keystore_location=str(tmp_path / "key.pem"),
        key_password=password or "",
    )
    assert handshake(client, tmp_path) == "mirror"


@pytest.mark.parametrize("line_break", ["\n", " "])
def test_pem_in_the_settings_shakes_hands_also_on_one_line(tmp_path: Path, line_break: str) -> None:
    client = context(
        truststore_type="PEM",
        truststore_certificates=ROOT.certificate_pem.replace("\n", line_break),
        keystore_type="PEM",
        keystore_certificate_chain=(CLIENT.certificate_pem + MIDDLE.certificate_pem).replace("\n", line_break),
        keystore_key=Secret(CLIENT.key_pem(KEY_PASSWORD).replace("\n", line_break)),
        key_password=Secret(KEY_PASSWORD),
    )
    assert handshake(client, tmp_path) == "mirror"


def inline(**more: str | Secret) -> dict[str, str | Secret]:
    chain = CLIENT.certificate_pem + MIDDLE.certificate_pem
    return {
        "truststore_certificates": ROOT.certificate_pem,
        "keystore_certificate_chain": chain,
        "keystore_key": CLIENT.key_pem(),
        **more,
    }


def test_a_broker_signed_by_someone_else_is_refused(tmp_path: Path) -> None:
    client = context(**inline(truststore_certificates=OTHER_ROOT.certificate_pem))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client, tmp_path)


def test_a_brokers_own_certificate_can_be_trusted_as_in_java(tmp_path: Path) -> None:
    assert handshake(context(**inline(truststore_certificates=BROKER.certificate_pem)), tmp_path) == "mirror"


def test_host_names_are_checked_unless_turned_off(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(context(**inline()), tmp_path, host="elsewhere")
    lenient = tls(inline(endpoint_identification_algorithm=""))
    assert not lenient.checks_host
    assert handshake(ssl_context(lenient), tmp_path, host="elsewhere") == "mirror"
    with pytest.raises(StoreError, match="either https or empty"):
        tls({"endpoint_identification_algorithm": "none"})


@pytest.mark.parametrize(
    ("settings", "lowest", "highest"),
    [
        ({}, "TLSv1_2", "TLSv1_3"),
        ({"protocol": "TLS"}, "TLSv1_2", "TLSv1_3"),
        ({"protocol": "TLSv1.3"}, "TLSv1_2", "TLSv1_3"),
        ({"protocol": "TLSv1.2"}, "TLSv1_2", "TLSv1_2"),
        ({"enabled_protocols": "TLSv1.3"}, "TLSv1_3", "TLSv1_3"),
        ({"enabled_protocols": "TLSv1.2, TLSv1.1,TLSv1", "protocol": "TLS"}, "TLSv1_2", "TLSv1_2"),
    ],
)
def test_protocol_versions(settings: dict[str, str], lowest: str, highest: str) -> None:
    made = context(**settings)
    assert made.minimum_version is ssl.TLSVersion[lowest]
    assert made.maximum_version is ssl.TLSVersion[highest]
    assert made.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    "settings",
    [
        {"enabled_protocols": "TLSv1.1"},
        {"protocol": "SSLv3"},
        {"protocol": "x"},
        {"enabled_protocols": "TLSv1.3,x"},
    ],
)
def test_old_and_unknown_protocols_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(StoreError, match=r"only TLSv1\.2 and TLSv1\.3"):
        tls(settings)


def test_without_stores_the_systems_certificates_are_trusted() -> None:
    made = tls({})
    assert made.truststore is None
    assert made.keystore is None
    assert certificates(made) == []
    assert ssl_context(made).check_hostname


def test_certificates_tell_when_they_end_and_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(ROOT.certificate_pem)
    settings = inline(truststore_location=str(tmp_path / "ca.pem"), truststore_certificates="")
    found = certificates(tls(settings))
    assert [(info.subject, info.source) for info in found] == [
        ("CN=mirror", "ssl.keystore.certificate.chain"),
        ("CN=middle", "ssl.keystore.certificate.chain"),
        ("CN=root", str(tmp_path / "ca.pem")),
    ]
    assert found[0].not_after == CLIENT.certificate.not_valid_after_utc


def test_no_key_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    context(**inline())
    with pytest.raises(StoreError):
        ssl_context(tls(inline()), now=NOW + timedelta(days=11))
    assert list(tmp_path.iterdir()) == []


def test_settings_pickle_and_do_not_show_secrets() -> None:
    settings = tls(inline(keystore_key=CLIENT.key_pem(KEY_PASSWORD), key_password=KEY_PASSWORD))
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert KEY_PASSWORD not in repr(settings)
    assert "PRIVATE" not in repr(settings)
    assert b"PRIVATE" not in pickle.dumps(settings)


def test_an_expired_certificate_of_ours_is_refused_with_its_date() -> None:
    old = signed("old", ROOT, days=-1)
    with pytest.raises(StoreError, match=r"ssl\.keystore.* expired on \d{4}-\d\d-\d\d"):
        context(**inline(keystore_key=old.key_pem(), keystore_certificate_chain=old.certificate_pem))


def test_expired_certificates_in_a_trust_store_do_no_harm(tmp_path: Path) -> None:
    expired = signed("expired", None, days=-1, is_authority=True)
    assert handshake(
        context(**inline(truststore_certificates=expired.certificate_pem + ROOT.certificate_pem)), tmp_path
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"truststore_type": "BCFKS", "truststore_location": "x"}, "BCFKS is not supported"),
        ({"truststore_password": STORE_PASSWORD}, r"truststore\.location is not"),
        ({"keystore_password": STORE_PASSWORD}, r"keystore\.location is not"),
        ({"keystore_key": "x"}, "need each other"),
        ({"keystore_certificate_chain": "x"}, "need each other"),
        ({"truststore_certificates": "x", "truststore_location": "y"}, "exclude each other"),
        ({"truststore_certificates": "x", "truststore_type": "JKS"}, r"set ssl\.truststore\.type=PEM"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, str | Secret], reason: str) -> None:
    with pytest.raises(StoreError, match=reason):
        tls(settings)


def test_a_key_that_openssl_finds_too_weak_is_refused() -> None:
    weak = signed("weak", ROOT, key=rsa.generate_private_key(65537, 1024))
    with pytest.raises(StoreError, match=r"ssl\.keystore.* OpenSSL refuses it: ee key too small"):
        context(**inline(keystore_key=weak.key_pem(), keystore_certificate_chain=weak.certificate_pem))


BROKEN_PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"truststore_location": "/none/such.jks"}, "/none/such.jks cannot be read: No such file"),
        ({"truststore_location": "nul\0"}, "bad path"),
        ({"truststore_certificates": "hunter22"}, "neither PEM, PKCS12 nor JKS"),
        ({"truststore_certificates": BROKEN_PEM}, "certificate in it is damaged"),
        ({"truststore_certificates": BROKEN_PEM.replace("AAAA", "A*")}, "certificate in it is damaged"),
        ({"truststore_certificates": CLIENT.key_pem()}, "no trusted certificate"),
        (inline(keystore_key=CLIENT.key_pem(KEY_PASSWORD)), r"encrypted, and ssl\.key\.password is not set"),
        (inline(keystore_key=CLIENT.key_pem(KEY_PASSWORD), key_password="hunter99"), "key password is wrong"),
        (inline(keystore_key=CLIENT.certificate_pem), "no private key"),
        (inline(keystore_key=CLIENT.key_pem() + MIDDLE.key_pem()), "2 private keys"),
        (inline(keystore_key=CLIENT.key_pem()[:60] + CLIENT.key_pem()[70:]), "private key is damaged"),
        (inline(keystore_certificate_chain=CLIENT.key_pem()), "no certificate"),
        (inline(keystore_certificate_chain=MIDDLE.certificate_pem), "belongs to its private key"),
    ],
)
def test_material_that_cannot_be_used_is_explained(settings: dict[str, str | Secret], reason: str) -> None:
    with pytest.raises(StoreError, match=reason) as caught:
        context(**settings)
    assert "hunter" not in str(caught.value)


def keystore_error(path: Path, content: bytes, password: str | None, key_password: str = "") -> str:
    path.write_bytes(content)
    settings = {
        "keystore_location": str(path),
        "keystore_password": password or "",
        "key_password": key_password,
    }
    with pytest.raises(StoreError) as caught:
        context(**settings)
    message = str(caught.value)
    assert message.startswith(f"{path} (ssl.keystore) cannot be used: ")
    assert "hunter" not in message
    return message


def test_pkcs12_stores_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "store.p12"
    assert "password is wrong" in keystore_error(path, CLIENT.pkcs12(), "hunter99")
    assert "password is not set" in keystore_error(path, CLIENT.pkcs12(), None)
    assert "damaged" in keystore_error(path, CLIENT.pkcs12()[:-40], STORE_PASSWORD)
    trusted = pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(ROOT.certificate, b"ca")], BestAvailableEncryption(STORE_PASSWORD.encode())
    )
    assert "no private key" in keystore_error(path, trusted, STORE_PASSWORD)
    assert "JCEKS" in keystore_error(path, b"\xce\xce\xce\xce1234", STORE_PASSWORD)


@needs_keytool
def test_jks_stores_that_cannot_be_used(tmp_path: Path) -> None:
    content = jks_keystore(tmp_path).read_bytes()
    path = tmp_path / "store.jks"
    assert "password is wrong" in keystore_error(path, content, "hunter99")
    assert "key password for the entry mirror is wrong" in keystore_error(path, content, STORE_PASSWORD)
    assert "key password" in keystore_error(path, content, STORE_PASSWORD, "hunter99")
    assert "password is not set" in keystore_error(path, content, None)
    assert "damaged" in keystore_error(path, content[:-100] + bytes(100), STORE_PASSWORD, KEY_PASSWORD)
    trusted = truststore(tmp_path, "JKS", ROOT).read_bytes()
    assert "no private key" in keystore_error(path, trusted, STORE_PASSWORD)


@needs_keytool
def test_a_jks_trust_store_needs_no_password(tmp_path: Path) -> None:
    location = str(truststore(tmp_path, "JKS", ROOT))
    assert handshake(context(**{**inline(), "truststore_certificates": "", "truststore_location": location}), tmp_path)
