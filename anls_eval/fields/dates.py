"""Dates in documents, read as calendar days: "2026-05-14", "14/05/2026", "May 14, 2026".

A date is an integer, YYYYMMDD, with zeros for a day, or a month and a day, that the text does not have: so dates of
different precision differ. A text has one reading, or two where it can be read with the day or the month first.

dateutil takes tens of microseconds for a text. The usual notations are read here, in the same way: first ISO 8601,
then three numbers, then those with the name of a month. dateutil reads the rest.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from anls_eval.errors import AnlsError
from anls_eval.fields.field import format_parts

DateReadings: TypeAlias = tuple[int, ...]

_CACHED_DATES = 200_000  # texts whose readings are remembered
_MAX_DATE_TEXT = 100  # characters: no date is longer

_ZONE = r"(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)"
_HOURS, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_ISO_TIME = (
    rf"[^0-9](?:24:00(?::00)?|{_HOURS}(?::{_SIXTY}(?::{_SIXTY}(?:[.,][0-9]+)?)?|{_SIXTY}(?:{_SIXTY}(?:[.,][0-9]+)?)?)?)"
)
_YEAR = "[1-9][0-9]{3}|[0-9]{2}"
_CLOCK = rf"(?:,?[ ]+(?:{_HOURS}|[0-9]):{_SIXTY}(?::{_SIXTY})?)?"

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "january"),
            ("feb", "february"),
            ("mar", "march"),
            ("apr", "april"),
            ("may",),
            ("jun", "june"),
            ("jul", "july"),
            ("aug", "august"),
            ("sep", "sept", "september"),
            ("oct", "october"),
            ("nov", "november"),
            ("dec", "december"),
        ),
        start=1,
    )
    for name in names
}
_MONTH = f"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_WEEKDAY = "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)"
_DAY, _FOUR = r"(?P<day>[0-9]{1,2})", "(?P<year>[1-9][0-9]{3})"


# Patterns are compiled when the first date is read: it takes as long as to score a thousand answers.


@functools.cache
def _iso() -> re.Pattern[str]:
    return re.compile(
        rf"""([0-9]{{4}})(?:-([0-9]{{2}}))?
        |(?:([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})|([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})
        |([0-9]{{4}})-W([0-9]{{2}})-([1-7])|([0-9]{{4}})W([0-9]{{2}})([1-7]))(?:{_ISO_TIME})?{_ZONE}?""",
        re.VERBOSE | re.ASCII,
    )


@functools.cache
def _numeric() -> re.Pattern[str]:
    return re.compile(rf"([1-9][0-9]{{3}}|[0-9]{{1,2}})([-/. ])([0-9]{{1,2}})\2({_YEAR}|[0-9]){_CLOCK}")


@functools.cache
def _with_month() -> list[re.Pattern[str]]:
    shapes = (
        rf"{_DAY}(?:st|nd|rd|th)?[ ]+(?:of[ ]+)?{_MONTH}\.?,?[ ]+{_FOUR}",  # 14 May 2026, 14th of May, 2026
        rf"{_DAY}(?P<sep>[-/]){_MONTH}(?P=sep)(?P<year>{_YEAR})",  # 14-May-2026, 14-May-26
        rf"{_MONTH}\.?[ ]+{_DAY}(?:st|nd|rd|th)?,?[ ]+{_FOUR}",  # May 14, 2026
        rf"{_MONTH}(?P<sep>[-/]){_DAY}(?P=sep){_FOUR}",  # May-14-2026
        rf"{_FOUR}(?P<sep>[-/ ]){_MONTH}(?P=sep){_DAY}",  # 2026-May-14
        rf"{_MONTH}(?:\.?,?[ ]+|-|/){_FOUR}",  # May 2026
        rf"{_FOUR}[ ]{_MONTH}",  # 2026 May
    )
    flags = re.IGNORECASE | re.ASCII
    return [re.compile(rf"(?:{_WEEKDAY},?[ ]+)?(?:{shape}){_CLOCK}", flags) for shape in shapes]


class DateReader:
    """Reads dates in formats of strptime and in any usual notation, and remembers texts.

    Args:
        day_first: Whether the day comes before the month where both are numbers; None takes both readings.
        formats: Formats of strptime, tried first.
    """

    def __init__(self, day_first: bool | None, formats: tuple[str, ...]) -> None:
        self.orders = (False, True) if day_first is None else (day_first,)
        self.formats = [(text, format_parts(text)) for text in formats]
        self.known: dict[str, DateReadings | None] = {}

    def parse(self, value: Any) -> DateReadings | None:
        """Return the one or two readings of a value, or None if it is no date."""
        if isinstance(value, str):
            if value not in self.known:
                if len(self.known) >= _CACHED_DATES:
                    self.known.clear()
                self.known[value] = self.parse_text(value.strip())
            return self.known[value]
        if type(value) is not int:
            return None
        if 1000 <= value <= 9999:
            return (value * 10000,)
        return _reading(value // 10000, value // 100 % 100, value % 100) if 10**7 <= value < 10**8 else None

    def parse_text(self, text: str) -> DateReadings | None:
        """Return the one or two readings of a text, or None if it is no date."""
        if len(text) > _MAX_DATE_TEXT:
            return None
        for pattern, parts in self.formats:
            try:
                day = datetime.datetime.strptime(text, pattern)
            except ValueError:
                continue
            return (day.year * 10000 + (day.month * 100 if parts > 1 else 0) + (day.day if parts > 2 else 0),)
        if not any(map(str.isdigit, text)):
            return None
        found = iso_reading(text)
        if found is None:
            found = usual_readings(text, self.orders)
        if found is None:
            found = _distinct([dateutil_reading(text, day_first) for day_first in self.orders])
        return found or None

    def parse_all(self, values: Sequence[Any]) -> list[DateReadings | None]:
        """Return the readings of the values of a column."""
        if set(map(type, values)) == {str}:
            found = {text: self.parse(text) for text in set(values)}
            return [found[text] for text in values]
        return list(map(self.parse, values))


def _reading(year: int, month: int, day: int) -> DateReadings | None:
    date = _date_number(year, month, day)
    return (date,) if date else None


def _date_number(year: int, month: int, day: int) -> int | None:
    """Return a date as an integer; None for a day that no calendar has."""
    try:
        datetime.date(year, month, day)
    except ValueError:
        return None
    return year * 10000 + month * 100 + day


def full_year(year: int) -> int:
    """Return the year of two digits: 00 to 68 are 20xx, 69 to 99 are 19xx, whatever the year is today."""
    return year + (2000 if year <= 68 else 1900)


def iso_reading(text: str) -> DateReadings | None:
    """Return the reading of a text in ISO 8601, without its time; None if it is none."""
    found = _iso().fullmatch(text)
    if not found:
        return None
    parts = [int(part) for part in found.groups() if part]
    if "W" in text[:6]:
        try:
            date = datetime.date.fromisocalendar(*parts)
        except ValueError:
            return None
        return _reading(date.year, date.month, date.day)
    year, month, day = (*parts, 0, 0)[:3]
    if len(parts) == 3:
        return _reading(year, month, day)
    return (year * 10000 + month * 100,) if year and (month == 0) == (len(parts) == 1) and month <= 12 else None


def numeric_reading(first: str, second: str, third: str, day_first: bool) -> int | None:
    """Return the date of three numbers as dateutil reads it."""
    a, b, c = int(first), int(second), int(third)
    if a > 31:
        year, month, day = (a, c, b) if day_first and c <= 12 else (a, b, c)
    elif a > 12 or (day_first and b <= 12):
        day, month, year = a, b, c
    else:
        month, day, year = a, b, c
    two_digits = len(first) < 4 and len(third) < 4
    return _date_number(full_year(year) if two_digits and year < 100 else year, month, day)


def usual_readings(text: str, orders: Sequence[bool]) -> DateReadings | None:
    """Return the readings of a date in one of the usual notations, none if no calendar has it; None for other texts."""
    if found := _numeric().fullmatch(text):
        return _distinct([numeric_reading(found[1], found[3], found[4], day_first) for day_first in orders])
    for pattern in _with_month():
        if found := pattern.fullmatch(text):
            return named_reading(found) or ()
    return None


def _distinct(readings: list[int | None]) -> DateReadings:
    return tuple(dict.fromkeys(reading for reading in readings if reading))


def named_reading(found: re.Match[str]) -> DateReadings | None:
    """Return the reading of a date with the name of a month."""
    parts = found.groupdict()
    month, year = _MONTHS[parts["month"].lower()], int(parts["year"])
    if "day" not in parts:
        return (year * 10000 + month * 100,)
    day = int(parts["day"])
    if len(parts["year"]) == 2:
        if day > 31:  # 99-Jan-01
            year, day = day, year
        year = full_year(year)
    return _reading(year, month, day)


@functools.cache
def _dateutil_parser() -> Any:
    """Return dateutil's parser, which reads years of two digits as we do."""
    try:
        from dateutil.parser import parser, parserinfo
    except ImportError:
        raise AnlsError(
            "python-dateutil is missing, which reads dates that are neither in ISO 8601 nor in another usual notation. "
            "Install it: pip install python-dateutil"
        ) from None

    def year_of(info: object, year: int, century_specified: bool = False) -> int:
        return year if century_specified or year >= 100 else full_year(year)

    return parser(type("ParserInfo", (parserinfo,), {"convertyear": year_of})())


_DEFAULTS = datetime.datetime(2000, 1, 1), datetime.datetime(2004, 3, 8)


def dateutil_reading(text: str, day_first: bool) -> int | None:
    """Return the date of a text by dateutil; None if it has none, or one of which parts would be filled in."""
    read = _dateutil_parser().parse
    try:
        one, other = (read(text, default=default, ignoretz=True, dayfirst=day_first) for default in _DEFAULTS)
    except (ValueError, OverflowError):
        return None
    if one.year != other.year or one.month != other.month:
        return None
    is_named = any(word.lower() in _MONTHS for word in re.findall("[A-Za-z]+", text))
    month = int(one.year) * 10000 + int(one.month) * 100
    if one.day != other.day:
        return month if is_named else None
    numbers = re.findall("[0-9]+", re.sub(r"[0-9]+:[0-9]+(?::[0-9.]+)?", " ", text))
    if not is_named and sum(3 if len(number) == 8 else 1 for number in numbers) < 3:
        return None
    return month + int(one.day)


def date_words(date: int) -> str:
    """Return a date in ISO 8601."""
    year, month, day = date // 10000, date // 100 % 100, date % 100
    return f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")
