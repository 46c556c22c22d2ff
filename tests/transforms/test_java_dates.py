"""Dates are written and read as by Java's `SimpleDateFormat`."""

from __future__ import annotations

import pickle

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


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_every_field_is_written_as_by_java(java_oracle: JavaOracle, pattern: str) -> None:
    for ms in _MOMENTS:
        assert DateFormat(pattern).format(ms) == java_oracle.format_date(pattern, ms), ms


@pytest.mark.parametrize("pattern", _REFUSED)
def test_patterns_that_java_refuses_are_refused(java_oracle: JavaOracle, pattern: str) -> None:
    assert java_oracle.format_date(pattern, 0) is None
    with pytest.raises(ValueError, match=r"quote|means nothing|three"):
        DateFormat(pattern)


@pytest.mark.parametrize(("pattern", "text"), _TEXTS)
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
