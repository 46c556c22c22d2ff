from __future__ import annotations

import pytest

from heliograph.config.option import Kind, Option, Scope, Value
from heliograph.config.secret import Secret
from heliograph.config.value import BadValueError, parse_value


def option(kind: Kind, choices: tuple[str, ...] = (), minimum: float | None = None) -> Option:
    return Option("x", kind, None, "doc", Scope.SOURCE, choices=choices, minimum=minimum)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.STRING, "  x y \t", "x y"),
        (Kind.STRING, "\x01x\u00a0", "x\u00a0"),
        (Kind.BOOLEAN, " TRUE ", True),
        (Kind.BOOLEAN, "False", False),
        (Kind.INT, "+5", 5),
        (Kind.INT, "-2147483648", -2147483648),
        (Kind.LONG, "9223372036854775807", 9223372036854775807),
        (Kind.SHORT, "32767", 32767),
        (Kind.DOUBLE, "1e-1", 0.1),
        (Kind.DOUBLE, ".5d", 0.5),
        (Kind.LIST, "", ()),
        (Kind.LIST, "  ", ()),
        (Kind.LIST, " a , b,c ", ("a", "b", "c")),
        (Kind.LIST, "a,,b,", ("a", "", "b", "")),
        (Kind.CLASS, " a.B ", "a.B"),
        (Kind.REGEXES, "a.*, b|c", ("a.*", "b|c")),
        (Kind.REGEXES, "^(?!__.*)(?!.*\\.internal).*", ("^(?!__.*)(?!.*\\.internal).*",)),
        (Kind.REGEXES, "(orders,payments).*", ("(orders", "payments).*")),
        (Kind.REGEXES, '"*.internal,__.*"', (".*.internal", "__.*")),
        (Kind.REGEXES, '"', ('"',)),
        (Kind.PASSWORD, " hush ", Secret("hush")),
    ],
)
def test_values_are_read_as_kafka_reads_them(kind: Kind, text: str, value: Value) -> None:
    assert parse_value(option(kind), text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.BOOLEAN, "yes"),
        (Kind.BOOLEAN, ""),
        (Kind.INT, "1_000"),
        (Kind.INT, "١"),
        (Kind.INT, "0x10"),
        (Kind.INT, ""),
        (Kind.INT, "2147483648"),
        (Kind.SHORT, "32768"),
        (Kind.LONG, "9" * 5000),
        (Kind.DOUBLE, "nan"),
        (Kind.DOUBLE, "1e9999"),
        (Kind.REGEXES, "a{1,2}"),
        (Kind.REGEXES, "("),
    ],
)
def test_what_kafka_refuses_is_refused_without_repeating_the_value(kind: Kind, text: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse_value(option(kind), text)
    assert len(text) < 3 or text not in str(caught.value)


def test_choices_ignore_case_and_come_out_as_written_in_the_table() -> None:
    choice = option(Kind.STRING, choices=("PLAINTEXT", "SASL_SSL"))
    assert parse_value(choice, "sasl_ssl") == "SASL_SSL"
    with pytest.raises(BadValueError) as caught:
        parse_value(choice, "TLS")
    assert caught.value.hint == "write PLAINTEXT or SASL_SSL"


def test_ranges_are_kept_and_told() -> None:
    ranged = option(Kind.INT, minimum=1)
    assert parse_value(ranged, "1") == 1
    with pytest.raises(BadValueError) as caught:
        parse_value(ranged, "0")
    assert caught.value.hint == "write a number of 1 or more"
