from __future__ import annotations

import hashlib

import pytest

from heliograph.config.credential_hash import BadHashError, PasswordHash, TokenHash, new_token


def test_a_token_is_known_by_its_hash() -> None:
    known = TokenHash.parse(f"sha256:{hashlib.sha256(b'secret').hexdigest().upper()}")
    assert known.equals(TokenHash.of("secret"))
    assert not known.equals(TokenHash.of("secret "))
    assert TokenHash.parse(str(known)) == known


def test_tokens_are_long_and_never_the_same() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(token.startswith("hlg_") and len(token) > 40 for token in tokens)


def test_a_password_is_known_by_its_hash_which_is_never_the_same() -> None:
    first, second = PasswordHash.of("correct: hörse"), PasswordHash.of("correct: hörse")
    assert str(first) != str(second)
    assert PasswordHash.parse(str(first)).matches("correct: hörse")
    assert not first.matches("correct: horse")


def test_the_hash_is_that_of_others_too() -> None:
    key = hashlib.scrypt(b"password", salt=b"0123456789abcdef", n=1024, r=8, p=16, dklen=32)
    assert PasswordHash.parse(f"scrypt:1024:8:16:{b'0123456789abcdef'.hex()}:{key.hex()}").matches("password")


@pytest.mark.parametrize("text", ["", "scrypt", "scrypt:1:2:3:4:5:6", "scrypt:a:8:1:ab:cd", "bcrypt:2:1:1:ab:cd"])
def test_what_is_no_hash_is_refused(text: str) -> None:
    with pytest.raises(BadHashError):
        PasswordHash.parse(text)


def test_representations_hide_them() -> None:
    password, token = PasswordHash.of("hunter2hunter2"), TokenHash.of("secret")
    assert password.key.hex() not in repr(password)
    assert str(password.key) not in repr(password)
    assert token.digits not in repr(token)
