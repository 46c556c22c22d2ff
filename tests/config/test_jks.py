import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.config.jks import MAGIC, JksError, KeyEntry, read_store, recover_key

PASSWORD = "päss"


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def block(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def trusted(alias: str, certificate: bytes, version: int) -> bytes:
    kind = text("X.509") if version > 1 else b""
    return struct.pack(">I", 2) + text(alias) + bytes(8) + kind + block(certificate)


def store(version: int, *entries: bytes) -> bytes:
    return sealed(MAGIC + struct.pack(">II", version, len(entries)) + b"".join(entries))


@pytest.mark.parametrize("version", [1, 2])
def test_trusted_certificates_of_both_versions(version: int) -> None:
    data = store(version, trusted("a", b"one", version), trusted("b", b"two", version))
    assert read_store(data, PASSWORD).trusted == (b"one", b"two")


def test_key_entries_keep_their_chain() -> None:
    chain = struct.pack(">I", 2) + text("X.509") + block(b"own") + text("X.509") + block(b"root")
    data = store(2, struct.pack(">I", 1) + text("mirror") + bytes(8) + block(b"protected") + chain)
    assert read_store(data, PASSWORD).keys == (KeyEntry("mirror", b"protected", (b"own", b"root")),)


def test_without_a_password_the_digest_is_not_checked() -> None:
    data = store(2, trusted("a", b"one", 2))
    assert read_store(data[:-1] + b"?", None).trusted == (b"one",)


def test_a_wrong_password_or_a_changed_byte_is_noticed() -> None:
    data = store(2, trusted("a", b"one", 2))
    with pytest.raises(JksError, match="password is wrong"):
        read_store(data, "other")
    with pytest.raises(JksError, match="password is wrong"):
        read_store(data.replace(b"one", b"two"), PASSWORD)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut short"),
        (sealed(b"\xca\xfe\xba\xbe" + bytes(8)), "not a JKS store"),
        (store(3), "version 3"),
        (store(2, struct.pack(">I", 7) + text("odd") + bytes(8)), "entry odd is of an unknown kind"),
        (sealed(MAGIC + struct.pack(">II", 2, 5)), "cut short"),
    ],
)
def test_other_files_are_explained(data: bytes, reason: str) -> None:
    with pytest.raises(JksError, match=reason):
        read_store(data, None)


def test_a_key_that_is_encoded_otherwise_is_explained() -> None:
    with pytest.raises(JksError, match="not encoded as expected"):
        recover_key(KeyEntry("mirror", b"\x02\x01\x00", ()), PASSWORD)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(garbage: bytes) -> None:
    with pytest.raises(JksError):
        read_store(MAGIC + struct.pack(">II", 2, 1 << 30) + garbage, None)
