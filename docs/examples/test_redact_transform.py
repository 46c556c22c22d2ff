"""How to test transforms of one's own: `PYTHONPATH=docs/examples python -m pytest docs/examples`."""

from __future__ import annotations

import pytest
from redact_transform import HideCardNumbers, Redact

from heliograph.errors import DataError
from heliograph.transforms.record import Record
from heliograph.transforms.testing import Dropped, record, run


def test_fields_are_taken_out() -> None:
    order = record({"id": 1, "card": "4111", "iban": "DE02"}, key="k", headers={"origin": "shop"})
    (left,) = run(Redact, {"fields": "card, iban"}, order)
    assert isinstance(left, Record)
    assert left.value == {"id": 1}
    assert left.headers.get("x-redacted") == b"2"
    assert left.headers.get("origin") == b"shop"


def test_a_record_without_the_fields_keeps_its_bytes() -> None:
    (left,) = run(Redact, {"fields": "card"}, record(b'{ "id": 1 }'))
    assert isinstance(left, Record)
    assert left.value_bytes == b'{ "id": 1 }'


def test_test_customers_are_dropped_and_tombstones_pass() -> None:
    dropped, tombstone = run(
        Redact, {"fields": "card"}, record({"customer": "test"}, offset=7), record(None, key="k", offset=8)
    )
    assert dropped == Dropped(source_offset=7)
    assert isinstance(tombstone, Record)
    assert tombstone.value_bytes is None


def test_what_is_no_object_fails() -> None:
    (failed,) = run(Redact, {"fields": "card"}, record("4111111111111111"))
    assert isinstance(failed, DataError)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="fields is missing"):
        run(Redact, {})


def test_card_numbers_are_hidden_in_all_records_at_once() -> None:
    texts = ["paid with 4111111111111111", '{"card":"5500000000000004"}', "order 12345"]
    results = run(HideCardNumbers, {}, *(record(text, offset=n) for n, text in enumerate(texts)))
    assert [item.value_bytes for item in results if isinstance(item, Record)] == [
        b"paid with 4111********1111",
        b'{"card":"5500********0004"}',
        b"order 12345",
    ]


def test_a_value_that_is_no_text_fails_alone() -> None:
    good, bad = run(HideCardNumbers, {}, record("4111111111111111", offset=0), record(b"\xff", offset=1))
    assert isinstance(good, Record)
    assert isinstance(bad, DataError)
