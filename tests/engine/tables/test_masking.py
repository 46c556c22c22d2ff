from __future__ import annotations

import pytest

from heliograph.engine.tables.masking import FieldMask, masked_text


@pytest.mark.parametrize(
    ("text", "masked"), [("", ""), ("abcd", "****"), ("abcde", "ab*de"), ("a@example.org", "a@*********rg")]
)
def test_the_first_and_last_two_characters_stay_of_more_than_four(text: str, masked: str) -> None:
    assert masked_text(text) == masked


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (b'{"email":"abcdef","n":1}', b'{"email":"ab**ef","n":1}'),
        (b'{"a":{"phone":"12345"},"phone":"12345"}', b'{"a":{"phone":"12*45"},"phone":"12345"}'),
        (b'{"a":[{"phone":"12345"},{"phone":null}]}', b'{"a":[{"phone":"12*45"},{"phone":null}]}'),
        (b'{"email":["abcdef",1234567]}', b'{"email":["ab**ef","12***67"]}'),
        (b'{"email":{"x":"abcdef"}}', b'{"email":{"x":"ab**ef"}}'),
        (b'{"em\\u0061il":"abcdef"}', b'{"email":"ab**ef"}'),
        (b'{"email":1.50}', b'{"email":"****"}'),
        (b'{"n":1.50,"m":12345678901234567890123}', b'{"n":1.50,"m":12345678901234567890123}'),
        (b'"text"', b'"text"'),
        (b"no json", None),
        (b'{"email":"abcdef"', None),
        (b"\xff\xfe", None),
    ],
)
def test_fields_are_masked_wherever_they_are_and_nothing_else(value: bytes, masked: bytes | None) -> None:
    assert FieldMask("email, a.phone").mask(value) == masked
