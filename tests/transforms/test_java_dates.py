"""Dates are written and read as by Java's `SimpleDateFormat`."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from heliograph.transforms.java_dates import DateFormat
from tests.transforms.java_oracle import JavaOracle

_WITH_ORACLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
_MOMENTS = [
    0, -1, 1, 86_399_999, 1_700_000_000_123, -62_135_769_600_000, -99_999_999_999_999, 253_402_300_799_999,
    -12_219_292_800_000, -12_219_292_800_001, -12_200_000_000_000, 951_782_400_000, 1_735_603_200_000,
    1_735_689_600_000, 1_672_531_200_000, 9_999_999_999_999_999, -11_676_096_000_000, -11_644_473_600_000,
]  # fmt: skip
_PATTERNS = [
    "yyyyMMdd", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "yyyy-MM-dd'T'HH:mm:ssX", "yy.M.d", "G yyyyy MMM dd EEE",
    "EEEE, d MMMM yyyy hh:mm:ss a", "D F w W u", "k K h H", "YYYY-'W'ww-u", "YY", "S SS SSS SSSS SSSSS",
    "z zzzz Z X XX XXX", "''yyyy''", "'o''clock' h", "LLL LLLL L LL", "y yyy", "Y", "E EE", "a aa", "MMMMM", "GGGG",
    "yyyy/MM/dd HH 'h'", "…yyyy…", "HHmmss", "yyyyMMddHHmmssSSS",
]  # fmt: skip
_REFUSED = ["b", "yyyy-MM-ddThh", "'open", "XXXX", "yyyy 'a", "foo", "e"]
_TEXTS = [
    ("yyyy-MM-dd", "2024-02-29"), ("yyyy-MM-dd", "2024-2-9"), ("yyyy-MM-dd", "2024-13-45"), ("yyyy-MM-dd", "24-1-1"),
    ("yyyy-MM-dd", "2024-02-29 and more"), ("yyyy-MM-dd", " 2024- 02- 29"), ("yyyy-MM-dd", "x2024-02-29"),
    ("yyyy-MM-dd", ""), ("yyyy-MM-dd", "2024-02"), ("yyyy-MM-dd", "-2024-02-03"), ("yyyy-MM-dd", "2024-02-0301"),
    ("yyyy-MM-dd", "1582-10-04"), ("yyyy-MM-dd", "1582-10-10"), ("yyyy-MM-dd", "1582-10-15"), ("yyyy-MM-dd", "0-1-1"),
    ("yyyy-MM-dd", "1600-00-00"), ("yyyy-MM-dd", "99999999999-01-01"), ("yyyy-MM-dd", "2024-02-3E1"),
    ("yyyy-MM-dd", "99999999999999999999-01-01"), ("yyyy-MM-dd", "2024-02-\u0663"), ("yyyy-MM-dd", "1-2-3"),
    ("yyyyMMdd", "20240229"), ("yyyyMMdd", "2024022"), ("yyyyMMdd", "202402"), ("yyyyMMdd", "2024-2-9"),
    ("yyyyMMddHHmmssSSS", "20240229235959999"), ("HHmmss", "010203"), ("HH:mm", "25:61"), ("HH:mm", "1:2"),
    ("yy-MM-dd", "24-01-01"), ("yy-MM-dd", "99-01-01"), ("yy-MM-dd", "2024-01-01"), ("yy-MM-dd", "1-01-01"),
    ("y-MM-dd", "24-01-01"), ("yyy-MM-dd", "24-01-01"), ("M/d/yy h:mm a", "2/29/24 12:30 AM"),
    ("M/d/yy h:mm a", "2/29/24 12:30 pm"), ("h a", "12 PM"), ("K a", "0 PM"), ("a h", "PM 3"), ("a", "PM"),
    ("k", "24"), ("k", "1"), ("h", "12"), ("h", "5"), ("HH hh a", "10 03 PM"), ("hh a HH", "03 PM 10"),
    ("EEE, d MMM yyyy", "Thu, 29 Feb 2024"), ("EEE, d MMM yyyy", "thursday, 29 february 2024"),
    ("EEE, d MMM yyyy", "Mon, 29 Feb 2024"), ("d MMMM yyyy", "1 May 2024"), ("d MMMM yyyy", "1 Foo 2024"),
    ("MMM", "june"), ("MMM", " june"), ("E", "Tue"), ("E W MMM yyyy", "Tue 2 Mar 2024"), ("w yyyy", "10 2024"),
    ("yyyy w u", "2024 10 3"), ("yyyy D", "2024 60"), ("yyyy MM F E", "2024 02 2 Fri"), ("yyyy MM F", "2024 02 -1"),
    ("yyyy MM F E", "2024 02 -1 Fri"), ("yyyy MM W", "2024 02 3"), ("YYYY-'W'ww-u", "2024-W10-3"), ("YYYY", "2024"),
    ("YYYY ww u", "2024 10 9"), ("YYYY ww u", "2024 10 0"), ("yyyy MM u", "2024 02 9"), ("YYYY-MM-dd", "2024-03-04"),
    ("yyyy D MM dd", "2024 60 05 06"), ("MM dd yyyy D", "05 06 2024 60"), ("yyyy u", "2024 0"),
    ("G yyyy", "BC 44"), ("yyyy G", "44 AD"), ("yyyy G", "44 XX"), ("D", "1"), ("w", "3"), ("W", "3"), ("F", "2"),
    ("HH:mm:ss.SSS", "1:2:3.4"), ("HH:mm:ss.SSS", "1:2:3.4567"), ("HH:mm:ss.S", "1:2:3.456789"),
    ("HH:mm z", "10:00 UTC"), ("HH:mm z", "10:00 GMT+2:30"), ("HH:mm z", "10:00 gmt"), ("HH:mm z", "10:00 PST"),
    ("HH:mm z", "10:00 CEST"), ("HH:mm z", "10:00 EDT"), ("HH:mm z", "10:00 EST"), ("HH:mm z", "10:00 +0230"),
    ("HH:mm z", "10:00 JST"), ("HH:mm z", "10:00 Coordinated Universal Time"), ("HH:mm z", "10:00 Foo"),
    ("HH:mm z", "10:00 MSK"), ("HH:mm z", "10:00 HST"), ("HH:mm z", "10:00 EEST"),
    ("HH:mm Z", "10:00 -0800"), ("HH:mm Z", "10:00 -08:00"), ("HH:mm Z", "10:00 GMT-08:00"), ("HH:mm Z", "10:00 Z"),
    ("HH:mmX", "10:00Z"), ("HH:mmX", "10:00+02"), ("HH:mmX", "10:00+0230"), ("HH:mmXX", "10:00+0230"),
    ("HH:mmXX", "10:00+02:30"), ("HH:mmXXX", "10:00+02:30"), ("HH:mmXXX", "10:00-23:59"), ("HH:mmXXX", "10:00-24:00"),
    ("HH:mmX", "10:00"), ("HH:mmX", "10:00*02"), ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2024-02-29T10:11:12.345Z"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2024-02-29T10:11:12.345+05"), ("'at' HH", "at 5"), ("'at' HH", "At 5"),
    ("yyyy-MM-dd", "2024-02-29E1"), ("yyyyMMddX", "20240229Z"), ("yyyy-dd", "2024-05"), ("MM-dd", "02-30"),
    ("'x'", "x"), ("yyyy-MM-dd", "2024-02-50E-1"), ("yyyy-MM-dd", "2024-02-1E30"), ("yyyy-MM-dd", "2024-02-1E-30"),
    ("yyyy-MM-dd", "2024-02--1E30"), ("yyyy-MM-dd", "2024-02-9223372036854775807"), ("yyyy-MM-dd", "2024-02-0E5"),
]  # fmt: skip
# What the random texts below once found.
_FOUND = [
    ("d.M.yyyy", "0.20000.0"),  # the year is Julian, and stays so when its months lead beyond the cutover
    ("d.M.yyyy", "-391.-2147483648.1593"),  # months that do not fit into an int once they count from 0
    ("d.M.yyyy", "1.9223372036854775807.2147483647"),  # nor do years
    ("yyyy G", "2147483648 BC"),
    ("YYYY", "-1364"),  # years of weeks before our era,
    ("yyyy YYYY", "-2 1590"),  # or made such by another field
    ("yyyy YYYY G", "5 -2232 AD"),
    ("YYYY w u", "-2203 -32 -356"),
    ("YYYY w u", "1593 2147483647 -4"),
    ("YYYY w u", "-1413 -540959934 -37"),
    ("YYYY w u", "2147483647 -15 25898"),
    ("yyyy w u", "1579 11804924187 -241938"),  # weeks of a year are longs,
    ("yyyy M W", "1577 3 -2078999809"),  # weeks of a month ints
    ("yyyy M F", "-247785 2147483647 -250116"),
    ("yyyy M F", "1582 10 -1"),  # October of 1582 has all its days where weeks are counted from its end
    ("yyyyMMddHHmmss", "67459003071929E7459003071929"),  # exponents are ints,
    ("d.M.yyyy", "1.1.5E99999999999999999999"),  # and none if they are more than longs
    ("d.M.yyyy", "1.1.5E-99999999999999999999"),
    ("d.M.yyyy", "1.1.1234567890123456789E-16"),
    ("d.M.yyyy", "9.3.0E0156"), ("yy-MM-dd", "21-58-0E21-58-08"), ("HHmm", "690E6903"),  # nothing, however often
    ("yyyy-MM-dd", "2024-02-\u0660\u0663E\u0661"),
]  # fmt: skip


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_every_field_is_written_as_by_java(java_oracle: JavaOracle, pattern: str) -> None:
    for ms in _MOMENTS:
        assert DateFormat(pattern).format(ms) == java_oracle.format_date(pattern, ms), ms


@pytest.mark.parametrize("pattern", _REFUSED)
def test_patterns_that_java_refuses_are_refused(java_oracle: JavaOracle, pattern: str) -> None:
    assert java_oracle.format_date(pattern, 0) is None
    with pytest.raises(ValueError, match=r"quote|means nothing|three"):
        DateFormat(pattern)


@pytest.mark.parametrize(("pattern", "text"), [*_TEXTS, *_FOUND])
def test_texts_are_read_as_by_java(java_oracle: JavaOracle, pattern: str, text: str) -> None:
    assert _parsed(pattern, text) == java_oracle.parse_date(pattern, text)


@_WITH_ORACLE
@given(st.integers(-(10**14), 10**15), st.sampled_from(_PATTERNS))
@example(-12_219_292_800_000, "D F w W u")
def test_any_moment_is_written_as_by_java(java_oracle: JavaOracle, ms: int, pattern: str) -> None:
    assert DateFormat(pattern).format(ms) == java_oracle.format_date(pattern, ms)


_COMMON = ["yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMddHHmmss", "yyyy-MM-dd'T'HH:mm:ssX", "d.M.yyyy", "yyyy D H", "HHmm"]


@_WITH_ORACLE
@given(st.sampled_from(_COMMON), st.text("0123456789-: .TZ", max_size=24) | st.datetimes().map(str))
def test_any_text_is_read_as_by_java(java_oracle: JavaOracle, pattern: str, text: str) -> None:
    assert _parsed(pattern, text) == java_oracle.parse_date(pattern, text)


# Numbers around year 0, around 1582, around nothing, and around all bounds of ints and longs.
_NUMBERS = (
    st.integers(-40, 40)
    | st.integers(1570, 1595)
    | st.integers(-300_000, 300_000)
    | st.sampled_from([sign * 2**bits + more for sign in (1, -1) for bits in (31, 32, 63) for more in (-1, 0, 1)])
    | st.integers(-(2**34), 2**34)
)
_NAMES = [("G", "BC"), ("G", "AD"), ("a", "PM"), ("E", "Mon"), ("E", "Sunday"), ("MMM", "Oct"), ("MMMM", "December")]
_FIELDS = st.tuples(st.sampled_from(["yyyy", "YYYY", *"MdDFwWuHkKhmsS"]), _NUMBERS.map(str)) | st.sampled_from(_NAMES)


@_WITH_ORACLE
@given(st.lists(_FIELDS, min_size=1, max_size=6))
def test_any_fields_are_read_as_by_java(java_oracle: JavaOracle, fields: list[tuple[str, str]]) -> None:
    pattern, text = ("_".join(side) for side in zip(*fields, strict=True))
    assert _parsed(pattern, text) == java_oracle.parse_date(pattern, text)


@pytest.mark.parametrize("pattern", ["yy", "YY", "yy-MM-dd", "d.M.yy HH:mm", "YY-w-u"])
def test_years_of_two_digits_are_of_the_same_century_as_in_java(java_oracle: JavaOracle, pattern: str) -> None:
    """One of them is of the one century early in the year, and of the other late in it."""
    for year in range(100):
        for rest in ("1", "12"):
            text = re.sub("[a-zA-Z]+", lambda field, year=year, rest=rest: _digits(field[0], year, rest), pattern)
            assert _parsed(pattern, text) == java_oracle.parse_date(pattern, text), text


def _digits(field: str, year: int, rest: str) -> str:
    return f"{year:02}" if field in ("yy", "YY") else rest


@_WITH_ORACLE
@given(st.integers(-(10**14), 10**15), st.sampled_from(_COMMON))
def test_what_was_written_is_read_as_by_java(java_oracle: JavaOracle, ms: int, pattern: str) -> None:
    text = DateFormat(pattern).format(ms)
    assert _parsed(pattern, text) == java_oracle.parse_date(pattern, text)


@pytest.mark.parametrize("pattern", ["yyyyMMdd", "yyyy HH", "yyyy a", "HH:mm", "mm:ss", "ss.SSS"])
def test_moments_of_one_step_have_one_text(pattern: str) -> None:
    dates = DateFormat(pattern)
    for ms in _MOMENTS:
        start = ms // dates.step_ms * dates.step_ms
        assert dates.format(ms) == dates.format(start) == dates.format(start + dates.step_ms - 1)


def test_a_format_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(DateFormat("yyyy-MM-dd"))).format(0) == "1970-01-01"


def _parsed(pattern: str, text: str) -> int | None:
    try:
        return DateFormat(pattern).parse(text)
    except ValueError:
        return None
