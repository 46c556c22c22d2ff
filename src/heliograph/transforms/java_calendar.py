"""Java's `GregorianCalendar` in UTC and with American weeks: fields of a moment, and the moment that fields mean.

It is Julian before 15 October 1582 and lenient: the 40th of December is a day in January.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from heliograph.transforms.java_numbers import wrap

DAY_MS = 86_400_000
_CUTOVER_DAY = -141_427  # 15 October 1582, in days since 1970
_CUTOVER_YEAR = 1582
_CUTOVER_MONTH = 9
_EPOCH_YEAR = 1970
_EPOCH_FROM_YEAR_1 = 719_163  # the day of 1970-01-01, if 1 January of the year 1 is day 1
_SUNDAY = 1
_UNSET = 0


class Part(IntEnum):
    """The fields that a text can set, numbered as in Java, since that decides which of two equal ones counts."""

    ERA = 0
    YEAR = 1
    MONTH = 2
    WEEK_OF_YEAR = 3
    WEEK_OF_MONTH = 4
    DAY_OF_MONTH = 5
    DAY_OF_YEAR = 6
    DAY_OF_WEEK = 7
    DAY_OF_WEEK_IN_MONTH = 8
    AM_PM = 9
    HOUR = 10
    HOUR_OF_DAY = 11
    MINUTE = 12
    SECOND = 13
    MILLISECOND = 14
    ZONE_OFFSET = 15
    WEEK_YEAR = 17


class Day(NamedTuple):
    """The fields of one day."""

    era: int  # 0 is BC, 1 is AD
    year: int  # of the era
    month: int  # from 0
    day_of_month: int
    day_of_year: int
    day_of_week: int  # Sunday is 1
    week_of_year: int
    week_of_month: int
    week_of_weekday: int  # it is the nth Monday, or whatever it is, of its month
    week_year: int


def day_of(days: int) -> Day:
    """The fields of a day, counted from 1970-01-01."""
    year, month, day = _gregorian_date(days) if days >= _CUTOVER_DAY else _julian_date(days)
    first_of_year = _first_of_year(year)
    week = _week_number(first_of_year, days)
    in_next = week >= 52 and days >= _first_week(_first_of_year(year + 1))
    is_cut_month = year == _CUTOVER_YEAR and month == _CUTOVER_MONTH
    first_of_month = _julian_days(year, month) if is_cut_month else days - day + 1
    return Day(
        era=1 if year > 0 else 0,
        year=year if year > 0 else 1 - year,
        month=month,
        day_of_month=day,
        day_of_year=days - first_of_year + 1,
        day_of_week=(days + 4) % 7 + 1,
        week_of_year=1 if in_next else week,
        week_of_month=_week_number(first_of_month, days),
        week_of_weekday=(days - first_of_month) // 7 + 1,
        week_year=year + 1 if in_next else year,
    )


def moment_of(parts: Sequence[tuple[Part, int]]) -> int:
    """The moment in ms that fields mean which were set in this order; ValueError if there is none."""
    return _Fields(parts).moment()


def first_day(year: int, month: int) -> int:
    """The first day of a month, from 0, in the Gregorian calendar."""
    return _gregorian_days(year, month)


class _Fields:
    """Fields with the order in which they were set: the last ones count if they contradict each other."""

    def __init__(self, parts: Sequence[tuple[Part, int]]) -> None:
        self.values: dict[Part, int] = {}
        self.stamps: dict[Part, int] = {}
        self._last_stamp = _UNSET
        for part, value in parts:
            self.set(part, value)

    def set(self, part: Part, value: int) -> None:
        self.values[part] = value
        self._last_stamp += 1
        self.stamps[part] = self._last_stamp

    def get(self, part: Part, default: int = 0) -> int:
        return self.values.get(part, default)

    def stamp(self, part: Part) -> int:
        return self.stamps.get(part, _UNSET)

    def both(self, one: Part, other: Part) -> int:
        stamps = self.stamp(one), self.stamp(other)
        return _UNSET if _UNSET in stamps else max(stamps)

    def moment(self) -> int:
        if self.stamp(Part.WEEK_YEAR) > self.stamp(Part.YEAR):
            self._use_week_year()
        return self._moment()

    def _moment(self) -> int:
        days, rest = divmod(self._time_of_day(), DAY_MS)
        return wrap((days + self._day(days)) * DAY_MS + rest - self.get(Part.ZONE_OFFSET), 64)

    def _era(self) -> int:
        local = wrap(self._moment() + self.get(Part.ZONE_OFFSET), 64)
        return day_of(local // DAY_MS).era

    def _use_week_year(self) -> None:
        week, day = self.get(Part.WEEK_OF_YEAR, 1), self.get(Part.DAY_OF_WEEK, _SUNDAY)
        if not 1 <= day <= 7:
            extra, day = divmod(day - 1, 7)
            week, day = week + extra, _day_of_iso_week(day + 1)
        # The other fields decide whether that year is of this era or before it.
        start = [(Part.ERA, self._era()), (Part.YEAR, self.get(Part.WEEK_YEAR)), *_FIRST_WEEK]
        days, rest = divmod(moment_of(start), DAY_MS)
        days += wrap(day - _SUNDAY + 7 * (week - 1), 32)
        found = day_of(wrap(days * DAY_MS + rest, 64) // DAY_MS)
        for part, value in (
            (Part.ERA, found.era),
            (Part.YEAR, found.year),
            (Part.MONTH, found.month),
            (Part.DAY_OF_MONTH, found.day_of_month),
        ):
            self.set(part, value)

    def _time_of_day(self) -> int:
        half_days = self.both(Part.HOUR, Part.AM_PM)
        best = max(half_days, self.stamp(Part.HOUR_OF_DAY))
        if best == _UNSET:
            best = max(self.stamp(Part.HOUR), self.stamp(Part.AM_PM))
        if best != _UNSET and best == self.stamp(Part.HOUR_OF_DAY):
            hours = self.get(Part.HOUR_OF_DAY)
        else:
            hours = self.get(Part.HOUR) + 12 * self.get(Part.AM_PM)
        minutes = hours * 60 + self.get(Part.MINUTE)
        return (minutes * 60 + self.get(Part.SECOND)) * 1000 + self.get(Part.MILLISECOND)

    def _day(self, extra_days: int) -> int:
        """The day that the fields mean, in the calendar that was in use then."""
        year = self.get(Part.YEAR, _EPOCH_YEAR)
        if self.get(Part.ERA, 1) == 0:
            year = wrap(1 - year, 32)
        chosen = self._chosen_parts()
        julian = self._fixed(year, chosen, is_julian=True)
        if year < _CUTOVER_YEAR:
            return julian  # also where its months and days lead beyond the cutover
        if year == _CUTOVER_YEAR and chosen & {Part.DAY_OF_YEAR, Part.WEEK_OF_YEAR}:
            return julian
        gregorian = self._fixed(year, chosen, is_julian=False)
        return gregorian if gregorian + extra_days >= _CUTOVER_DAY else julian

    def _fixed(self, year: int, chosen: frozenset[Part], is_julian: bool) -> int:
        return _fixed_day(year, {part: self.values.get(part) for part in chosen}, is_julian)

    def _chosen_parts(self) -> frozenset[Part]:
        """The fields that decide about the day, as Java's calendar picks them from those that are set."""
        weekday = self.stamp(Part.DAY_OF_WEEK)
        in_month = self.stamp(Part.DAY_OF_MONTH)
        week_of_month = self.both(Part.WEEK_OF_MONTH, Part.DAY_OF_WEEK)
        nth_in_month = self.both(Part.DAY_OF_WEEK_IN_MONTH, Part.DAY_OF_WEEK)
        in_year = self.stamp(Part.DAY_OF_YEAR)
        best = max(in_month, week_of_month, nth_in_month, in_year, self.both(Part.WEEK_OF_YEAR, Part.DAY_OF_WEEK))
        if best == _UNSET:
            week_of_month = self.stamp(Part.WEEK_OF_MONTH)
            nth_in_month = max(self.stamp(Part.DAY_OF_WEEK_IN_MONTH), weekday)
            best = max(week_of_month, nth_in_month, self.stamp(Part.WEEK_OF_YEAR))
            if best == _UNSET:
                best = in_month = self.stamp(Part.MONTH)
        if best == in_month:
            return frozenset((Part.MONTH, Part.DAY_OF_MONTH))
        weekdays = {Part.DAY_OF_WEEK} if weekday else set()
        week_of_year = self.stamp(Part.WEEK_OF_YEAR)
        is_week = best == week_of_month and self.stamp(Part.WEEK_OF_MONTH) >= week_of_year
        is_nth = best == nth_in_month and self.stamp(Part.DAY_OF_WEEK_IN_MONTH) >= week_of_year
        if is_week or is_nth:
            return frozenset({Part.MONTH, self._week_part(best, week_of_month, nth_in_month)} | weekdays)
        return frozenset((Part.DAY_OF_YEAR,)) if best == in_year else frozenset({Part.WEEK_OF_YEAR} | weekdays)

    def _week_part(self, best: int, week_of_month: int, nth_in_month: int) -> Part:
        if week_of_month == nth_in_month:
            is_week = self.stamp(Part.WEEK_OF_MONTH) >= self.stamp(Part.DAY_OF_WEEK_IN_MONTH)
        else:
            is_week = best == week_of_month
        return Part.WEEK_OF_MONTH if is_week else Part.DAY_OF_WEEK_IN_MONTH


_FIRST_WEEK = ((Part.WEEK_OF_YEAR, 1), (Part.DAY_OF_WEEK, _SUNDAY))


def _fixed_day(year: int, chosen: dict[Part, int | None], is_julian: bool) -> int:
    """The day that the chosen fields mean in a year of one of the two calendars; in numbers of 32 bits, as there."""
    first_of = _julian_days if is_julian else _gregorian_days
    if Part.MONTH in chosen:
        more, month = divmod(chosen[Part.MONTH] or 0, 12)
        year = wrap(year + more, 32)
        return _day_in_month(first_of(year, month), _days_in_month(year, month), chosen)
    first = first_of(year, 0)
    if Part.DAY_OF_YEAR in chosen:
        return first + (chosen[Part.DAY_OF_YEAR] or 0) - 1
    return _day_in_week(first, chosen, Part.WEEK_OF_YEAR)


def _day_in_month(first: int, length: int, chosen: dict[Part, int | None]) -> int:
    if Part.DAY_OF_MONTH in chosen:
        day = chosen[Part.DAY_OF_MONTH]
        return first if day is None else first + day - 1
    if Part.WEEK_OF_MONTH in chosen:
        return _day_in_week(first, chosen, Part.WEEK_OF_MONTH)
    weekday, nth = chosen.get(Part.DAY_OF_WEEK), chosen[Part.DAY_OF_WEEK_IN_MONTH]
    weekday, nth = _SUNDAY if weekday is None else weekday, 1 if nth is None else nth
    if nth >= 0:
        return _on_or_before(first + wrap(7 * nth, 32) - 1, weekday)
    return _on_or_before(first + wrap(length + 7 * (nth + 1), 32) - 1, weekday)


def _day_in_week(first: int, chosen: dict[Part, int | None], week: Part) -> int:
    start = _first_week(first)
    weekday = chosen.get(Part.DAY_OF_WEEK)
    if weekday is not None:
        start = _on_or_before(start + 6, weekday)
    days = 7 * ((chosen[week] or 0) - 1)
    return start + (wrap(days, 32) if week is Part.WEEK_OF_MONTH else days)


def _days_in_month(year: int, month: int) -> int:
    """As if no days had been left out in 1582."""
    first_of = _gregorian_days if year > _CUTOVER_YEAR else _julian_days
    return first_of(year, month + 1) - first_of(year, month)


def _day_of_iso_week(day: int) -> int:
    return _SUNDAY if day == 7 else day + 1


def _on_or_before(day: int, weekday: int) -> int:
    return day - (day + _EPOCH_FROM_YEAR_1 - wrap(weekday - 1, 32)) % 7


def _first_week(first: int) -> int:
    """The first day of the week that the first day of a month or year belongs to."""
    return _on_or_before(first, _SUNDAY)


def _week_number(first: int, day: int) -> int:
    return (day - _first_week(first)) // 7 + 1


def _first_of_year(year: int) -> int:
    return _gregorian_days(year, 0) if year > _CUTOVER_YEAR else _julian_days(year, 0)


def _gregorian_days(year: int, month: int) -> int:
    """The first day of a month, which may lie outside of the year; years and months begin in March here."""
    year, month = divmod(year * 12 + month - 2, 12)
    return year * 365 + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 - 719_468


def _julian_days(year: int, month: int) -> int:
    year, month = divmod(year * 12 + month - 2, 12)
    return year * 365 + year // 4 + (153 * month + 2) // 5 - 719_470


def _gregorian_date(days: int) -> tuple[int, int, int]:
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    return _from_march(era * 400 + year, day - (365 * year + year // 4 - year // 100))


def _julian_date(days: int) -> tuple[int, int, int]:
    era, day = divmod(days + 719_470, 1461)
    year = min(day // 365, 3)
    return _from_march(era * 4 + year, day - 365 * year)


def _from_march(year: int, day: int) -> tuple[int, int, int]:
    """Year, month from 0 and day of month of a day in a year that begins in March."""
    month = (5 * day + 2) // 153
    day_of_month = day - (153 * month + 2) // 5 + 1
    return (year, month + 2, day_of_month) if month < 10 else (year + 1, month - 10, day_of_month)
