"""InsertHeader does as Java's, with the same notion of literals."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleRecord

_LITERALS = [
    "", " ", "text", "a text", " padded ", "true", "false", "TRUE", " true ", "true}", "null", "null ", "NULL",
    "nulls", "5", "-5", "+5", " 5 ", "127", "128", "32768", "2147483648", "9223372036854775807",
    "9223372036854775808", "123456789012345678901234567890", "1.5", "1.50", "0.1", "1.23456789", "1e3", "1e30",
    "1e40", "1e400", "1E-50", "-0", "-0.0", "1.", ".5", "+", "-", "1_000", "0x10", "1 2", "1:2", "10:30", "5a",
    "5,6", "5]", "NaN", "1e2147483648", "2024-02-29", "2024-13-45", "12-34-5678", "1234567890", "23:59:59.999Z",
    "25:61:61.000Z", "2024-02-29T10:11:12.345Z", "2024-02-29T00:00:00.000Z", "1970-01-01", "00:00:00.000Z",
    "1969-12-31", r"23\:59\:59.999Z", "2024-02-29 ", "2024-02-29T10:11:12.345", "2024-02-2x", "[]", "[1,2,3]",
    "[1, 2 ,3 ]", "[1,2.5]", "[1,300,70000]", "[1,null]", "[null]", "[null,null]", '["a","b"]', '["a",1]',
    '[1,"a"]', "[a]", "[1,2", "[1,,2]", "[,1]", "[1,]", "[1 2]", "[[1],[2,3]]", '[["a"],[1]]', "[true,false]",
    "[true,1]", "[1,2] and more", "[2024-02-29]", "[2024-02-29,5]", "[5,2024-02-29]", "[2024-02-29,100000]",
    "[100000,2024-02-29]", "[2024-02-29,2.5]", "[23:59:59.999Z,2024-02-29]", "[-5,23:59:59.999Z]",
    "[5,2024-02-29T10:11:12.345Z]", "[2024-02-29T10:11:12.345Z,5]", "[1e40,1]", "[1.5,1e300]",
    "[123456789012345678901234567890,1]", "[1,[2]]", "{}", '{"a":1}', '{"a":1,"b":2.5}', '{"a":null}',
    '{"a":1,"b":null}', "{1:2}", '{"a":1,"a":2}', "{a:1}", '{"a"}', '{"a":1', '{,"a":1}', '{"a":1,}',
    '{"a":1 "b":2}', "{null:1}", '{1:"a",300:"b"}', '{"a":[1,2],"b":[]}', '{"a":{"b":"c"}}',
    '{ "a" : 1 , "b" : 2 }', '{"a":"x","b":1}', '{"a":1,2:3}', "{{}:1}", '"quoted"', '["with \\" quote"]',
    '["back\\\\slash"]', '["a:b,c"]', '["2024-02-29"]', '["23:59:59.999Z"]', '[""]', '[" "]', '["unclosed]',
    "[\"a\"b]", "é€😀", '["é"]', "\ttab", "a,b", "a:b", "{", "[", "}", "]", ",", ":", '"', "\\", "٣", "[-1,+2]",
    "[  ]", "{  }", "[ true ]",
    "[ 1 ,null]", "{1: null , 2:3}", "3003003001.5", "[3003003001.5,2]",
]  # fmt: skip
_WITH_ORACLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
_PIECES = st.sampled_from(
    [*'[]{},:"\\ ', "1", "300", "1.5", "-7", "null", "true", "abc", "2024-02-29", "1e40", '"x"', "10:11:12.345Z"]
)


@pytest.mark.parametrize("literal", _LITERALS)
def test_literals_are_understood_as_by_java(java_oracle: JavaOracle, literal: str) -> None:
    assert_same(java_oracle, "InsertHeader", {"header": "h", "value.literal": literal}, OracleRecord(b"{}"))


@_WITH_ORACLE
@given(st.lists(_PIECES, max_size=8).map("".join))
def test_any_literal_is_understood_as_by_java(java_oracle: JavaOracle, literal: str) -> None:
    assert_same(java_oracle, "InsertHeader", {"header": "h", "value.literal": literal}, OracleRecord(b"{}"))


def test_a_header_is_added_behind_the_others_even_of_the_same_name(java_oracle: JavaOracle) -> None:
    record = OracleRecord(None, b"{}", (("h", b"1"), ("other", None)))
    found = assert_same(java_oracle, "InsertHeader", {"header": "h", "value.literal": "new"}, record)
    assert isinstance(found, OracleRecord)
    assert found.headers == (("h", b"1"), ("other", None), ("h", b"new"))


@pytest.mark.parametrize("settings", [{}, {"header": "h"}, {"value.literal": "x"}])
def test_both_settings_are_needed(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    assert_same(java_oracle, "InsertHeader", settings, OracleRecord(b"{}"))
