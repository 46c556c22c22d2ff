from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.problem import Severity
from heliograph.config.properties import parse, read
from heliograph.errors import ConfigError


def values(data: bytes) -> dict[str, str]:
    return {key: entry.value for key, entry in parse(data, "f").entries.items()}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a=b", {"a": "b"}),
        (b"a = b ", {"a": "b "}),
        (b"a:b", {"a": "b"}),
        (b"a b", {"a": "b"}),
        (b"a\tb", {"a": "b"}),
        (b"a", {"a": ""}),
        (b"  a=b", {"a": "b"}),
        (b"a==b", {"a": "=b"}),
        (b"# a=b\n! c=d\ne=f", {"e": "f"}),
        (b"a=b # no comment", {"a": "b # no comment"}),
        (b"a\\ b=c", {"a b": "c"}),
        (b"a\\:b=c", {"a:b": "c"}),
        (b"A->B.enabled=true", {"A->B.enabled": "true"}),
        (b"a=x\\\n   y", {"a": "xy"}),
        (b"a=x\\\r\n   y", {"a": "xy"}),
        (b"a=x\\\\\nb=y", {"a": "x\\", "b": "y"}),
        (b"a=\\u0041\\t\\n", {"a": "A\t\n"}),
        (b"a=\\ud83d\\ude00", {"a": "\N{GRINNING FACE}"}),
        (b"a=\xe9", {"a": "\xe9"}),
        (b"a=\\.b", {"a": ".b"}),
        (b"a=1\ra=2", {"a": "2"}),
        (b"", {}),
    ],
)
def test_reads_as_java_does(data: bytes, expected: dict[str, str]) -> None:
    assert values(data) == expected


def test_entries_know_the_line_on_which_they_begin() -> None:
    data = b"# head\n\na=1\nb=2\\\n  3\\\n  4\r\nc=5\rd=6"
    assert {key: entry.line for key, entry in parse(data, "f").entries.items()} == {
        "a": 3,
        "b": 4,
        "c": 7,
        "d": 8,
    }


def test_the_last_of_a_repeated_key_counts_and_both_lines_are_named() -> None:
    parsed = parse(b"a=1\nb=2\na=3\n", "f")
    assert parsed.entries["a"].value == "3"
    assert list(parsed.entries) == ["b", "a"]
    assert [str(problem) for problem in parsed.problems] == [
        "f:3: warning: a: set on line 1 and again here; the last one counts (remove line 1)"
    ]


def test_utf8_is_read_as_latin_1_with_a_warning() -> None:
    parsed = parse("a=é\n# ü\n".encode(), "f")
    assert parsed.entries["a"].value == "Ã©"
    assert [(p.severity, p.line, p.key) for p in parsed.problems] == [(Severity.WARNING, 1, "a")]


def test_latin_1_that_is_not_utf8_gets_no_warning() -> None:
    assert parse(b"a=\xe9\n", "f").problems == ()


def test_a_byte_order_mark_is_skipped_with_a_warning() -> None:
    parsed = parse(b"\xef\xbb\xbfclusters=a\n", "f")
    assert list(parsed.entries) == ["clusters"]
    assert "byte order mark" in str(parsed.problems[0])


@pytest.mark.parametrize(
    ("data", "warned"),
    [
        (b"topics=a\\.b", True),
        (b"topics=a\\\\.b", False),
        (b"topics=a\\\\\\.b", True),
        (b'p=\\"x\\"', False),
        (b"a\\ b=\\u0041\\:", False),
        (b"a=b\\\n  c", False),
    ],
)
def test_a_backslash_that_java_drops_is_pointed_out(data: bytes, warned: bool) -> None:
    assert any("single backslash" in problem.message for problem in parse(data, "f").problems) is warned


def test_all_bad_escapes_are_found_each_with_its_line() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(b"a=\\u12\nb=ok\nc=\\u\\\n  more\nd=\\uzzzz", "f")
    assert [problem.line for problem in caught.value.problems] == [1, 3, 5]


def test_half_a_surrogate_pair_is_an_error() -> None:
    with pytest.raises(ConfigError, match="surrogate"):
        parse(b"a=\\ud83d", "f")


def test_nul_bytes_are_an_error() -> None:
    with pytest.raises(ConfigError, match="f: error: holds NUL bytes"):
        parse(b"a=\x00", "f")


def test_missing_files_and_directories_are_config_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read(tmp_path / "none.properties")
    with pytest.raises(ConfigError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read(Path("a\x00b"))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        read(tmp_path / "file" / "below")
