"""JSON and YAML come in whole, with lines where they are wrong, and never grow beyond what they say."""

from __future__ import annotations

import pytest

from heliograph.errors import ConfigError
from heliograph.migration.document import LARGEST, Document, read_documents


def read(text: str) -> list[object]:
    return [document.value for document in read_documents(text.encode(), "f")]


def test_json_values_stand_alone_or_one_after_the_other() -> None:
    assert read('{"a": 1.10}') == [{"a": "1.10"}]
    assert read('\n{"a": true}\n\n{"b": null}') == [{"a": True}, {"b": None}]
    assert [item.line for item in read_documents(b'\n{"a": true}\n\n{"b": null}', "f")] == [2, 4]
    assert read('[{"a": "x"}]') == [[{"a": "x"}]]


def test_yaml_documents_are_told_apart_and_keep_what_was_written() -> None:
    assert read_documents(b"a: 010\n---\n---\nb: [yes]\n", "f") == [
        Document({"a": "010"}, 1),
        Document({"b": ["yes"]}, 4),
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"a": 1,\n b}', "f:2: error: is not JSON: expecting property name"),
        ('{"a": 1} x', "f:1: error: is not JSON"),
        ("a: 1\n\tb: 2", "f:2: error: is not YAML"),
        ("a: &x [1]\nb: *x", "f:2: error: is not YAML: the alias *x is not followed here"),
        ("", "f: error: is empty"),
        ("---\n---\n", "f: error: is empty"),
        ("[" * 100_000, "f: error: is nested too deeply"),
        ("a: " + "[" * 100_000, "f: error: is nested too deeply"),
        ("a: \x00", "f: error: is not YAML"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, answer: str) -> None:
    with pytest.raises(ConfigError) as failed:
        read(text)
    assert str(failed.value).startswith(answer)


def test_few_lines_cannot_become_more_than_memory_holds() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="f:2: error"):
        read("\n".join(lines))


def test_a_file_has_a_largest_size() -> None:
    with pytest.raises(ConfigError, match="is larger than 4 MiB"):
        read_documents(b" " * (LARGEST + 1), "f")


def test_other_encodings_are_told() -> None:
    with pytest.raises(ConfigError, match="f:2: error: is not UTF-8 text"):
        read_documents(b"a: 1\nb: \xff", "f")
    assert read_documents(b"\xef\xbb\xbfa: 1", "f") == [Document({"a": "1"}, 1)]
