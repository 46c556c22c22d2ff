"""MaskPII: what must not be read is not in what leaves, whatever the record looks like."""

from __future__ import annotations

import hashlib
import hmac
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.message import Message, Parsed, Side
from heliograph.transforms.own.mask_pii import MaskPII
from heliograph.transforms.record import Record
from heliograph.transforms.schema import DECIMAL, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct
from heliograph.transforms.testing import record, run

KEY = "a secret of at least thirty-two letters"
TEXT = Schema(Type.STRING)


def masked(value: Any, fields: str = "email", **settings: str) -> Record:
    given = {name.replace("_", "."): text for name, text in settings.items()}
    (result,) = run(MaskPII, {"fields": fields, **given}, record(value))
    assert isinstance(result, Record), result
    return result


def failure(value: Any, fields: str = "email") -> str:
    (result,) = run(MaskPII, {"fields": fields}, record(value))
    assert isinstance(result, DataError), result
    return str(result)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ada@example.com", "ad***********om"),
        ("12345", "12*45"),
        ("1234", "****"),
        ("a", "*"),
        ("", ""),
        (None, None),
        (1234567, "12***67"),
        (-12345, "-1**45"),
        (True, "****"),
        (False, "fa*se"),
        (12.5, "****"),
        (1e10, "1.**10"),  # 1.0E10 in Java
        (123456789.0, "1.********E8"),  # 1.23456789E8
    ],
)
def test_the_ends_stay_and_the_rest_is_hidden(before: Any, after: Any) -> None:
    assert masked({"email": before, "id": 1}).value == {"email": after, "id": 1}


def test_a_number_is_the_double_that_java_would_print() -> None:
    assert masked(b'{"email":1.50000000}').value_bytes == b'{"email":"***"}'
    assert masked(b'{"email":12345678901234567890}').value_bytes == b'{"email":"12****************90"}'


def test_a_pictogram_is_one_character_and_never_cut() -> None:
    assert masked({"email": "😀b😀d😀f"}).value == {"email": "😀b**😀f"}
    assert masked({"email": "😀😀😀😀"}).value == {"email": "****"}


def test_another_character_can_hide() -> None:
    assert masked({"email": "ada@example.com"}, mask_char="#").value == {"email": "ad###########om"}


def test_fields_that_are_not_named_keep_their_bytes() -> None:
    data = b'{"price": 1.10 , "email":"ada@example.com","tags": [ 1,  2 ],"n":1e3,"u":"\\u00e9","a": { "b":1 }}'
    expected = b'{"price":1.10,"email":"ad***********om","tags":[ 1,  2 ],"n":1e3,"u":"\\u00e9","a":{ "b":1 }}'
    assert masked(data, "email, a.email").value_bytes == expected


def test_a_record_without_the_fields_keeps_all_its_bytes() -> None:
    data = b'{ "id" : 1.0, "emails": "x" }\n'
    assert masked(data).value_bytes == data


@pytest.mark.parametrize(
    "data",
    [
        b'{"email":"ada@example.com","email":"eve@example.com"}',
        b'{"email":"ada@example.com","email":null}',
        b'{"email":"ada@example.com","id":1,"em\\u0061il":7}',
        b'{"a":{"email":"ada@example.com"},"a":1}',
        b'{"a":{"email":"ada@example.com","email":null}}',
        b'{"a":[{"email":"ada@example.com","email":null}]}',
        b'[{"a":{"email":"ada@example.com"},"a":1}]',
        b'  {"email":"ada@example.com","email":null}',
        b'{"schema":null,"payload":{"email":"ada@example.com"}}',
        b'{"schema":null,"payload":{"email":"ada@example.com"},"payload":{}}',
        b'{"schema":null,"payload":{"email":"ada@example.com"},"payload":null}',
        b'\n{"schema":null,"payload":{"email":"ada@example.com"},"payload":{}}',
        b'{"schema":7,"payload":{"email":"ada@example.com"}}',
        b'{"schema":{"type":"struct","fields":[]},"payload":{"email":"ada@example.com"}}',
        b'\n{"schema":{"type":"struct","fields":[]},"payload":{"email":"ada@example.com"}}',
    ],
)
def test_nothing_hides_behind_a_second_value_or_beside_a_schema(data: bytes) -> None:
    left = masked(data, "email, a.email").value_bytes
    assert left is None or b"ada@" not in left


def test_paths_lead_into_objects_and_arrays() -> None:
    value = {"a": {"b": [{"c": "secret1"}, [{"c": "secret2", "d": 1}], "text", None]}, "c": "secret3"}
    expected = {"a": {"b": [{"c": "se***t1"}, [{"c": "se***t2", "d": 1}], "text", None]}, "c": "secret3"}
    assert masked(value, "a.b.c").value == expected


def test_a_name_with_dots_is_meant_too_and_backticks_mean_it_alone() -> None:
    value = {"a.b": "secret1", "a": {"b": "secret2"}}
    assert masked(value, "a.b").value == {"a.b": "se***t1", "a": {"b": "se***t2"}}
    assert masked(value, "`a.b`").value == {"a.b": "se***t1", "a": {"b": "secret2"}}


def test_a_path_and_what_it_leads_through_can_both_be_named() -> None:
    value = {"a": {"b": "secret", "c": "secret"}}
    for fields in ("a, a.b", "a.b, a"):
        assert masked(value, fields).value == {"a": {"b": "se**et", "c": "se**et"}}


def test_all_of_a_field_that_holds_more_is_masked() -> None:
    value = {"email": ["ada@example.com", {"work": "eve@example.com", "n": 123456, "f": 1.50, "none": None}]}
    expected = {"email": ["ad***********om", {"work": "ev***********om", "n": "12**56", "f": "***", "none": None}]}
    assert masked(value).value == expected


def test_a_tombstone_and_null_pass() -> None:
    assert masked(None).value_bytes is None
    assert masked(b"null").value_bytes == b"null"


@pytest.mark.parametrize(
    "value",
    [
        b'{"email":"ada@example.com"',
        b'{"email":}',
        b"ada@example.com",
        b"\xff\xfe",
        b"7",
        b'["ada@example.com"]',
        b'"x"',
    ],
)
def test_what_is_no_object_fails_unless_it_may_pass(value: bytes) -> None:
    message = failure(value)
    assert message.startswith("MaskPII: the value is not a JSON object")
    assert "ada@" not in message
    assert masked(value, not_an_object="pass").value_bytes == value


def test_an_object_whose_field_cannot_be_read_never_passes() -> None:
    for nested in (b'"\xff"', b'["\xff"]'):
        (result,) = run(MaskPII, {"fields": "email", "not.an.object": "pass"}, record(b'{"email":' + nested + b"}"))
        assert isinstance(result, DataError)


def test_the_key_form_masks_keys() -> None:
    (result,) = run("MaskPII$Key", {"fields": "email"}, record({"email": "eve@example.com"}, key={"email": "secret"}))
    assert isinstance(result, Record)
    assert (result.key, result.value) == ({"email": "se**et"}, {"email": "eve@example.com"})


@pytest.mark.parametrize("name", ["MaskPII", "MaskPII$Value", "com.example.transforms.MaskPIITransform"])
def test_its_names_in_a_file(name: str) -> None:
    (result,) = run(name, {"fields": "email,phone,ssn", "mask.char": "*"}, record({"ssn": "078-05-1120"}))
    assert isinstance(result, Record)
    assert result.value == {"ssn": "07*******20"}


def test_hash_is_hmac_sha256_of_the_text() -> None:
    for text, key in (("ada@example.com", KEY), ("é😀", "k" * 200)):
        expected = hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
        assert masked({"email": text}, mode="hash", key=key).value == {"email": expected}
    numbers = [masked(data, mode="hash", key=KEY).value for data in (b'{"email":12}', b'{"email":"12"}')]
    assert numbers[0] == numbers[1]


@given(text=st.text())
def test_a_token_has_the_shape_of_its_text(text: str) -> None:
    token = masked({"email": text}, mode="tokenize", key=KEY).value["email"]
    assert len(token) == len(text)
    for old, new in zip(text, token, strict=True):
        if old.isalpha():
            assert new.isalpha()
            assert new.isupper() == (old.isupper() or old.istitle()) or not old.isascii()
        elif old.isdecimal():
            assert new.isdecimal()
        elif old.isascii():
            assert new == old
    assert token == masked({"email": text}, mode="tokenize", key=KEY).value["email"]


def test_a_token_depends_on_the_key_and_on_the_whole_text() -> None:
    def token(text: str, key: str = KEY) -> str:
        return str(masked({"email": text}, mode="tokenize", key=key).value["email"])

    tokens = {token("078-05-1120"), token("078-05-1121"), token("078-05-1120", KEY + "!")}
    assert len(tokens) == 3
    assert all(item[3] == item[6] == "-" for item in tokens)
    assert token("078-05-1120")[:3] != token("078-05-1121")[:3]  # not digit by digit
    assert token("Åsa Ольга 中")[0].isascii()
    assert token("a" * 64)[:32] != token("a" * 64)[32:]


def test_what_the_documentation_shows_is_so() -> None:
    page = (Path(__file__).parents[3] / "docs" / "transforms.md").read_text(encoding="utf-8")
    key = "0123456789abcdef0123456789abcdef"
    assert f"`{key}`" in page
    for text in ("ada@example.com", "078-05-1120"):
        for mode in ("mask", "hash", "tokenize"):
            shown = masked({"email": text}, mode=mode, key=key).value["email"]
            assert f"`{shown[:4]}…`" in page if mode == "hash" else f"`{shown}`" in page


def test_modes_need_a_key_and_refusals_name_the_setting() -> None:
    for settings, named in [
        ({"fields": "email", "mode": "hash"}, "key is missing"),
        ({"fields": "email", "mode": "tokenize", "key": ""}, "key is missing"),
        ({"fields": "email", "mode": "rot13"}, "mode must be one of mask, hash, tokenize"),
        ({"fields": "email", "mask.char": "XX"}, "mask.char must be one character"),
        ({"fields": "email", "mask.char": ""}, "mask.char must be one character"),
        ({"fields": "a..b"}, "fields: 'a..b' has an empty name"),
        ({"fields": "`a"}, "fields: '`a' has no backtick"),
        ({"fields": "a,,b"}, "fields has an empty name"),
        ({"fields": " "}, "fields must name at least one"),
        ({}, "fields is missing"),
    ]:
        with pytest.raises(ValueError, match=named.replace(".", r"\.")):
            run(MaskPII, settings)


def struct(*fields: tuple[str, Schema, Any]) -> Struct:
    schema = Schema(Type.STRUCT, name="person", fields=tuple(Field(name, kind) for name, kind, _ in fields))
    return Struct(schema, {name: value for name, _, value in fields})


def envelope(result: Record) -> Any:
    assert result.value_bytes is not None
    return json.loads(result.value_bytes)


def test_with_a_schema_a_masked_text_keeps_its_schema() -> None:
    value = struct(("email", TEXT, "ada@example.com"), ("id", Schema(Type.INT32), 5))
    before, after = json.loads(record(value).value_bytes or b""), envelope(masked(value))
    assert after["schema"] == before["schema"]
    assert after["payload"] == {"email": "ad***********om", "id": 5}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (Schema(Type.INT64, is_optional=True, doc="a number"), 1234567, "12***67"),
        (Schema(Type.INT64, is_optional=True), None, None),
        (Schema(Type.FLOAT32), 0.10000000149011612, "***"),
        (Schema(Type.BOOLEAN), True, "****"),
        (Schema(Type.BYTES), b"abcdef", "YW****Vm"),
        (Schema(Type.BYTES, name=DECIMAL, parameters={"scale": "2"}), Decimal("12345.60"), "12****60"),
        (
            Schema(Type.INT64, name="org.apache.kafka.connect.data.Timestamp", version=1),
            Instant(0),
            "19" + "*" * 20 + "0Z",
        ),
        (Schema(Type.INT32, name="org.apache.kafka.connect.data.Date", version=1), Instant(0), "19******01"),
        (Schema(Type.STRING, name="io.debezium.data.Uuid", version=1), "secret", "se**et"),
    ],
)
def test_with_a_schema_what_is_masked_becomes_text(schema: Schema, value: Any, text: str | None) -> None:
    after = envelope(masked(struct(("email", schema, value), ("id", schema, value))))
    field = next(item for item in after["schema"]["fields"] if item["field"] == "email")
    assert field["type"] == "string"
    assert field["optional"] == schema.is_optional
    assert field.get("doc") == schema.doc
    assert "name" not in field
    assert after["payload"]["email"] == text


def test_with_a_schema_paths_lead_through_structs_arrays_and_maps() -> None:
    person = struct(("email", TEXT, "secret"), ("age", Schema(Type.INT32), 12345))
    people = Schema(Type.ARRAY, value_schema=person.schema)
    texts = Schema(Type.MAP, key_schema=TEXT, value_schema=TEXT)
    numbers = Schema(Type.MAP, key_schema=TEXT, value_schema=Schema(Type.INT32))
    value = struct(
        ("people", people, [person, person]),
        ("texts", texts, {"a": "secret", "b": "secret"}),
        ("numbers", numbers, {"a": 12345, "b": 67890}),
        ("untouched", numbers, {"a": 12345}),
    )
    after = envelope(masked(value, "people.email, people.age, texts.a, numbers.a, untouched.a.b"))["payload"]
    assert after == {
        "people": [{"email": "se**et", "age": "12*45"}] * 2,
        "texts": {"a": "se**et", "b": "secret"},
        "numbers": {"a": "12*45", "b": "67*90"},  # all values of a map have one type
        "untouched": {"a": 12345},
    }


def test_with_a_schema_all_of_a_field_that_holds_more_is_masked() -> None:
    inner = struct(("a", TEXT, "secret"), ("b", Schema(Type.ARRAY, value_schema=Schema(Type.INT32)), [12345, 67890]))
    after = envelope(masked(struct(("email", inner.schema, inner), ("id", TEXT, "x"))))["payload"]
    assert after == {"email": {"a": "se**et", "b": ["12*45", "67*90"]}, "id": "x"}


def test_with_a_schema_that_has_no_fields_it_fails() -> None:
    assert "is not a JSON object" in failure(b'{"schema":{"type":"string"},"payload":"ada@example.com"}')


def test_values_that_an_earlier_stage_changed_are_masked_too() -> None:
    changed = record({"old": 1})
    changed.value = {"email": "ada@example.com", "price": Decimal("1.10"), "n": {"email": 1.5}}
    (result,) = run(MaskPII, {"fields": "email, n.email"}, changed)
    assert isinstance(result, Record)
    assert result.value_bytes == b'{"email":"ad***********om","price":1.10,"n":{"email":"***"}}'


def test_plain_json_is_not_parsed_as_a_whole() -> None:
    class Unused:
        def read(self, topic: str, data: bytes) -> Parsed:
            raise AssertionError("parsed")

        def write(self, topic: str, parsed: Parsed) -> bytes | None:
            raise AssertionError("written")

    transform = MaskPII(False)
    transform.configure({"fields": "email, a.b"})
    for data in (b'{"email":"secret","a":{"b":1}}', b'{"id":1}', b' {"a":[{"b":"secret"}]}'):
        side = Side(data, Unused())
        transform.apply(Message("t", 0, 0, Side(None, Unused()), side, [], "t", 0))
        assert b"secret" not in (side.encoded("t") or b"")


def test_it_says_that_it_hides_data() -> None:
    assert MaskPII.hides_data
