"""TLS with real stores, and callers who show certificates."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from heliograph.control.rest import tls_files
from tests.control.rest.serving import TOKENS, serving, token_of
from tests.embedded.certificates import Authority
from tests.waiting import wait_until

HOSTS = ("127.0.0.1", "localhost")
ADDRESS = ["https://127.0.0.1:0"]
PASSWORD = "canary-store-51d0"


def pkcs12_of(pem: Path) -> Path:
    """The same key and certificate in another kind of store."""
    key = load_pem_private_key(pem.read_bytes(), None)
    certificate = x509.load_pem_x509_certificate(pem.read_bytes())
    file = pem.with_suffix(".p12")
    encryption = BestAvailableEncryption(PASSWORD.encode())
    file.write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, certificate, None, encryption))  # type: ignore[arg-type]
    return file


def jks_of(pem: Path) -> Path:
    """And in Java's own."""
    if shutil.which("keytool") is None:
        pytest.skip("keytool, which makes JKS stores, is missing")
    source, file = pkcs12_of(pem), pem.with_suffix(".jks")
    subprocess.run(
        ["keytool", "-importkeystore", "-noprompt", "-srckeystore", str(source), "-srcstoretype", "PKCS12",
         "-srcstorepass", PASSWORD, "-destkeystore", str(file), "-deststoretype", "JKS", "-deststorepass", PASSWORD],
        check=True, capture_output=True,
    )  # fmt: skip
    return file


def keystore(file: Path, kind: str) -> str:
    """The lines for a keystore."""
    password = "" if kind == "PEM" else f"listeners.https.ssl.keystore.password = {PASSWORD}\n"
    return f"listeners.https.ssl.keystore.type = {kind}\nlisteners.https.ssl.keystore.location = {file}\n{password}"


def client(authority: Authority, certificate: Path | None = None, **more: object) -> httpx.Client:
    """A client that trusts the authority and may show a certificate."""
    context = ssl.create_default_context(cafile=str(authority.trusted))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT if hasattr(ssl, "VERIFY_X509_STRICT") else ~0
    if certificate is not None:
        context.load_cert_chain(certificate)
    if "highest" in more:
        context.maximum_version = more["highest"]  # type: ignore[assignment]
    return httpx.Client(verify=context, trust_env=False, timeout=30)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Who signs all certificates here."""
    return Authority(tmp_path, "root")


@pytest.mark.parametrize(
    ("kind", "made"), [("PEM", lambda pem: pem), ("PKCS12", pkcs12_of), ("JKS", jks_of)], ids=["PEM", "PKCS12", "JKS"]
)
def test_every_kind_of_store_serves(
    tmp_path: Path, authority: Authority, kind: str, made: Callable[[Path], Path]
) -> None:
    text = keystore(made(authority.issue("server", HOSTS)), kind)
    with serving(tmp_path, text, ADDRESS) as served, client(authority) as caller:
        assert served.address.startswith("https://")
        assert caller.get(f"{served.address}/connectors").status_code == 200
        stranger = Authority(tmp_path, "other")
        with client(stranger) as distrustful, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            distrustful.get(f"{served.address}/connectors")


def test_a_key_in_the_file_itself_serves(tmp_path: Path, authority: Authority) -> None:
    pem = authority.issue("server", HOSTS).read_bytes()
    key = load_pem_private_key(pem, None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.PEM)
    lines = [
        "listeners.https.ssl.keystore.type = PEM",
        "listeners.https.ssl.keystore.key = " + key.decode().replace("\n", " "),
        "listeners.https.ssl.keystore.certificate.chain = " + chain.decode().replace("\n", " "),
    ]
    with serving(tmp_path, "\n".join(lines), ADDRESS) as served, client(authority) as caller:
        assert caller.get(f"{served.address}/healthz").status_code == 200


def test_all_interfaces_can_be_served_with_tls_and_callers(tmp_path: Path, authority: Authority) -> None:
    text = TOKENS + keystore(authority.issue("server", HOSTS), "PEM")
    with serving(tmp_path, text, ["https://:0"]) as served, client(authority) as caller:
        address = f"https://127.0.0.1:{served.port}"
        assert served.address == f"https://:{served.port}"
        assert caller.get(f"{address}/connectors").status_code == 401
        headers = {"Authorization": f"Bearer {token_of('viewer')}"}
        assert caller.get(f"{address}/connectors", headers=headers).status_code == 200


def test_plain_http_is_not_answered_on_a_tls_address(tmp_path: Path, authority: Authority) -> None:
    text = keystore(authority.issue("server", HOSTS), "PEM")
    with serving(tmp_path, text, ADDRESS) as served, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"http://127.0.0.1:{served.port}/healthz", timeout=30)


def test_versions_are_kept_to(tmp_path: Path, authority: Authority) -> None:
    text = keystore(authority.issue("server", HOSTS), "PEM") + "listeners.https.ssl.enabled.protocols = TLSv1.3\n"
    with serving(tmp_path, text, ADDRESS) as served:
        with client(authority) as caller:
            assert caller.get(f"{served.address}/healthz").status_code == 200
        with client(authority, highest=ssl.TLSVersion.TLSv1_2) as old, pytest.raises(httpx.ConnectError):
            old.get(f"{served.address}/healthz")


def asking(authority: Authority, how: str) -> str:
    """The lines of a server that asks for certificates."""
    return (
        keystore(authority.issue("server", HOSTS), "PEM")
        + f"listeners.https.ssl.client.auth = {how}\n"
        + f"listeners.https.ssl.truststore.type = PEM\nlisteners.https.ssl.truststore.location = {authority.trusted}\n"
    )


def test_a_certificate_tells_who_it_is(tmp_path: Path, authority: Authority) -> None:
    text = asking(authority, "required") + TOKENS + "rest.certificate.alice = operator:CN=alice\n"
    alice, bob = authority.issue("alice"), authority.issue("bob")
    with serving(tmp_path, text, ADDRESS) as served:
        path = f"{served.address}/api/v1/mirror"
        with client(authority, alice) as caller:
            assert caller.get(path).json()["caller"] == {"name": "alice", "role": "operator"}
            headers = {"Authorization": f"Bearer {token_of('viewer')}"}  # what one says wins over what one shows
            assert caller.get(path, headers=headers).json()["caller"]["name"] == "viewers"
        with client(authority, bob) as trusted_but_unknown:
            assert trusted_but_unknown.get(path).status_code == 401
        with client(authority) as nobody, pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            nobody.get(path)
        forged = Authority(tmp_path, "forger").issue("alice-forged")
        with client(authority, forged) as forger, pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            forger.get(path)


def test_a_certificate_that_is_only_asked_for_may_be_missing(tmp_path: Path, authority: Authority) -> None:
    text = asking(authority, "requested") + "rest.certificate.all = viewer:*\n"
    with serving(tmp_path, text, ADDRESS) as served:
        path = f"{served.address}/api/v1/mirror"
        with client(authority, authority.issue("anyone")) as caller:
            assert caller.get(path).json()["caller"] == {"name": "all", "role": "viewer"}
        with client(authority) as nobody:
            assert nobody.get(path).status_code == 401


def test_a_subject_wins_over_any_certificate(tmp_path: Path, authority: Authority) -> None:
    text = asking(authority, "required") + "rest.certificate.all = viewer:*\nrest.certificate.al = admin:CN=alice\n"
    with serving(tmp_path, text, ADDRESS) as served, client(authority, authority.issue("alice")) as caller:
        assert caller.get(f"{served.address}/api/v1/mirror").json()["caller"] == {"name": "al", "role": "admin"}


def test_admin_has_tls_of_its_own_or_shares_it(tmp_path: Path, authority: Authority) -> None:
    text = keystore(authority.issue("server", HOSTS), "PEM") + "admin.listeners = https://127.0.0.1:0\n"
    with serving(tmp_path, text, ADDRESS) as served, client(authority) as caller:
        assert caller.get(f"{served.server.addresses[1]}/admin/loggers").status_code == 200
    other = Authority(tmp_path, "other")
    text += f"admin.listeners.https.ssl.keystore.location = {other.issue('admin', HOSTS)}\n"
    with serving(tmp_path, text, ADDRESS) as served, client(other) as caller:
        assert caller.get(f"{served.server.addresses[1]}/admin/loggers").status_code == 200
        with pytest.raises(httpx.ConnectError):
            caller.get(f"{served.address}/healthz")


def serial(authority: Authority, port: int) -> int:
    """Of the certificate that the server shows to a new connection."""
    pem = ssl.get_server_certificate(("127.0.0.1", port), ca_certs=str(authority.trusted), timeout=10)
    return x509.load_pem_x509_certificate(pem.encode()).serial_number


def test_renewed_certificates_count_without_a_restart(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tls_files, "_LOOK_SECONDS", 0.05)
    store = authority.issue("server", HOSTS)
    renewed = authority.issue("renewed", HOSTS)
    with serving(tmp_path, keystore(store, "PEM"), ADDRESS) as served:
        first = serial(authority, served.port)
        store.write_text("half a fi")
        wait_until(lambda: serial(authority, served.port) == first and "keeps its old" in caplog.text, "the attempt")
        os.replace(renewed, store)
        wait_until(lambda: serial(authority, served.port) != first, "the new certificate")
