"""Dates: what is read, with which precision, and that our own parser reads as dateutil does."""

import datetime
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from dateutil.parser import isoparse, parser, parserinfo
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.fields.dates import (
    DateReader,
    date_words,
    dateutil_reading,
    full_year,
    iso_reading,
    usual_readings,
)

EITHER = DateReader(None, ())

DATES = {  # ISO 8601, without the time and the zone
    "2026-05-14": "2026-05-14",
    " 2026-05-14\n": "2026-05-14",
    "20260514": "2026-05-14",
    "2026-05": "2026-05",
    "2026": "2026",
    "2026-05-14T10:30:00Z": "2026-05-14",
    "2026-05-14T23:59:59+09:00": "2026-05-14",
    "2026-05-14T00:30-0800": "2026-05-14",
    "2026-05-14 10:30": "2026-05-14",
    "2026-05-14T24:00": "2026-05-14",
    "2026-05-14T10:30:00.123456": "2026-05-14",
    "20260514T103000Z": "2026-05-14",
    "2026-05-14Z": "2026-05-14",
    "2026-05-14+02:00": "2026-05-14",
    "2026-W20-4": "2026-05-14",
    "2026W204": "2026-05-14",
    "2026-05-04": "2026-05-04",  # year, month, day: no other reading
    # three numbers
    "14/05/2026": "2026-05-14",
    "05/14/2026": "2026-05-14",
    "14.05.2026": "2026-05-14",
    "14-05-2026": "2026-05-14",
    "14.5.26": "2026-05-14",
    "2026/05/14": "2026-05-14",
    "14 05 2026": "2026-05-14",
    "01/02/2026": "2026-01-02 or 2026-02-01",
    "01/01/2026": "2026-01-01",
    "05/06/07": "2007-05-06 or 2007-06-05",
    "12/31/70": "1970-12-31",
    "12/31/68": "2068-12-31",
    "12/31/69": "1969-12-31",
    "14/05/2026 10:30": "2026-05-14",
    # the name of a month
    "May 14, 2026": "2026-05-14",
    "14 May 2026": "2026-05-14",
    "14 MAY 2026": "2026-05-14",
    "14-May-26": "2026-05-14",
    "14th of May, 2026": "2026-05-14",
    "May 14th, 2026": "2026-05-14",
    "Sept. 3, 2026": "2026-09-03",
    "Thursday, May 14, 2026": "2026-05-14",
    "Thu 14 May 2026 10:30": "2026-05-14",
    "2026-May-14": "2026-05-14",
    "May 2026": "2026-05",
    "2026 May": "2026-05",
    "May, 2026": "2026-05",
    # dateutil
    "Thu May 14 10:30:00 UTC 2026": "2026-05-14",
    "14May2026": "2026-05-14",
    "May 14, 2026 10:30 PM": "2026-05-14",
    "2026.May.14": "2026-05-14",
    "May 99": "1999-05",
}

NO_DATES = [
    *("", "soon", "n/a", "today", "May", "Friday", "10", "99", "05/26", "14/05", "May 14", "14 May", "May 26", "10:30"),
    *("10:30:15", "202605", "140526", "2026-134", "2026134", "2026/05", "05/2026", "2026-13", "2026-00", "0000"),
    *("2026-02-30", "31/02/2026", "32/13/2026", "30 Feb 2026", "2026-W54-1", "14.05", "1,299.00", "20261345"),
    *("2026-05-14 and more", "x" * 101, "1" * 101, "5", "Monday 10:30", "140526 10:30"),
]


@pytest.mark.parametrize(("text", "words"), DATES.items())
def test_dates(text: str, words: str) -> None:
    readings = EITHER.parse(text)
    assert readings is not None
    assert " or ".join(map(date_words, readings)) == words


@pytest.mark.parametrize("text", NO_DATES)
def test_no_dates(text: str) -> None:
    assert EITHER.parse(text) is None


@pytest.mark.parametrize(
    ("value", "date"),
    [
        (20260514, (20260514,)),
        (2026, (20260000,)),
        (202605, None),
        (20260230, None),
        (999, None),
        (10000, None),
        (-2026, None),
        (2026.0, None),
        (20260514.0, None),
        (True, None),
    ],
)
def test_json_numbers(value: object, date: tuple[int, ...] | None) -> None:
    assert EITHER.parse(value) == date


@pytest.mark.parametrize(
    ("text", "month_first", "day_first"),
    [
        ("01/02/2026", "2026-01-02", "2026-02-01"),
        ("14/05/2026", "2026-05-14", "2026-05-14"),
        ("05/14/2026", "2026-05-14", "2026-05-14"),
        ("2026-05-04", "2026-05-04", "2026-05-04"),
        ("May 4, 2026", "2026-05-04", "2026-05-04"),
        ("4th May 2026 at 10:30", "2026-05-04", "2026-05-04"),
    ],
)
def test_day_first(text: str, month_first: str, day_first: str) -> None:
    for order, words in ((False, month_first), (True, day_first)):
        readings = DateReader(order, ()).parse(text)
        assert readings is not None
        assert [date_words(reading) for reading in readings] == [words]


@pytest.mark.parametrize(
    ("formats", "text", "date"),
    [
        (("%Y-%d-%m",), "2026-06-05", 20260506),  # before ISO 8601
        (("%d|%m|%Y",), "14|05|2026", 20260514),
        (("%d|%m|%Y",), "2026-05-14", 20260514),  # and other notations where no format fits
        (("%m/%Y",), "05/2026", 20260500),
        (("%Y",), "2026", 20260000),
        (("%d.%m.%y",), "14.05.69", 19690514),
        (("%d.%m.%y",), "14.05.68", 20680514),
        (("%B %Y", "%d %B %Y"), "14 May 2026", 20260514),
        (("%d.%m.%Y %H:%M",), "14.05.2026 23:59", 20260514),
        (("%Y/%j",), "2026/134", 20260514),
        (("%m.%d.%Y", "%d.%m.%Y"), "01.02.2026", 20260102),  # the first that fits
    ],
)
def test_formats(formats: tuple[str, ...], text: str, date: int) -> None:
    assert DateReader(None, formats).parse(text) == (date,)


def test_formats_are_not_for_json_numbers() -> None:
    assert DateReader(None, ("%Y%m",)).parse(202605) is None
    assert DateReader(None, ("%Y%m",)).parse("202605") == (20260500,)


@pytest.mark.parametrize(("two", "year"), [(0, 2000), (26, 2026), (68, 2068), (69, 1969), (99, 1999)])
def test_years_of_two_digits(two: int, year: int) -> None:
    assert full_year(two) == year


_INFO = parserinfo()
_INFO.convertyear = lambda year, century_specified=False: (  # whatever the year is today
    year if century_specified or year >= 100 else full_year(year)
)
_PARSER = parser(_INFO)


def read_by_dateutil(text: str, day_first: bool) -> int | None:
    """A date by dateutil, whose missing parts are found by two defaults that differ in every part."""
    try:
        one, other = (
            _PARSER.parse(text, default=datetime.datetime(year, month, day), dayfirst=day_first, ignoretz=True)
            for year, month, day in ((2000, 1, 1), (2004, 3, 8))
        )
    except (ValueError, OverflowError):
        return None
    if (one.year, one.month) != (other.year, other.month):
        return None
    return int(one.strftime("%Y%m%d")) if one.day == other.day else int(one.strftime("%Y%m00"))


def usual_texts() -> Iterator[str]:
    numbers = ["1", "01", "5", "12", "13", "14", "31", "32", "0", "00", "68", "69", "99", "2026", "1999"]
    clocks = ["", " 10:30", ", 10:30", " 9:05:10", "  23:59"]
    for first, second, third in itertools.product(numbers, repeat=3):
        for mark in "-/. ":
            yield f"{first}{mark}{second}{mark}{third}"
    for clock, mark in itertools.product(clocks, "-/. "):
        yield f"14{mark}05{mark}2026{clock}"
        yield f"05{mark}6{mark}07{clock}"
    days = ["1", "01", "14", "14th", "1st", "2nd", "3rd", "31", "30", "0", "99", "45"]
    for month, year in itertools.product(["May", "FEB", "february", "Sept", "sep"], ["2026", "26", "99", "1999", "02"]):
        for day in days:
            for text in (
                *(f"{day} {month} {year}", f"{day}-{month}-{year}", f"{day}/{month}/{year}", f"{day} {month}. {year}"),
                *(f"{day} {month}, {year}", f"{day} of {month} {year}", f"{day} of {month}, {year}"),
                *(
                    f"{month} {day}, {year}",
                    f"{month} {day} {year}",
                    f"{month}. {day}, {year}",
                    f"{month}-{day}-{year}",
                ),
                *(f"{month}/{day}/{year}", f"{year} {month} {day}", f"{year}-{month}-{day}", f"{year}/{month}/{day}"),
                *(f"Thu, {day} {month} {year}", f"Sunday {month} {day}, {year}", f"{month} {day}, {year} 9:05"),
            ):
                yield text
        for text in (f"{month} {year}", f"{month}-{year}", f"{month}, {year}", f"{month}. {year}", f"{year} {month}"):
            yield text


def test_the_usual_notations_are_read_as_dateutil_reads_them() -> None:
    compared = 0
    for text in usual_texts():
        for order in (False, True):
            usual = usual_readings(text, (order,))
            if usual is not None:
                compared += 1
                expected = read_by_dateutil(text, order)
                assert usual == ((expected,) if expected else ()), (text, order)
        if usual is not None:
            either = dict.fromkeys([*(usual_readings(text, (False,)) or ()), *(usual_readings(text, (True,)) or ())])
            assert usual_readings(text, (False, True)) == tuple(either)
    assert compared > 20_000


def test_iso_8601_is_read_as_dateutil_reads_it() -> None:
    dates = ["2026-05-14", "20260514", "2026-02-30", "2026-13-01", "2026-W20-4", "2026W204"]
    dates += ["2026-W53-7", "2026-W54-1", "2020-02-29", "2021-02-29", "0001-01-01", "9999-12-31", "0000-01-01"]
    times = [
        "",
        "T10",
        "T10:30",
        "T1030",
        "T10:30:59",
        "T103059",
        "T10:30:59.5",
        "T10:30:59,123456789",
        "T24:00",
        " 10:30",
    ]
    zones = ["", "Z", "z", "+02:00", "-0230", "+02"]
    for date, time, zone in itertools.product(dates, times, zones):
        text = date + time + (zone if time else "")
        try:
            expected: Any = (int(isoparse(date).strftime("%Y%m%d").rjust(8, "0")),)
            isoparse(text)
        except (ValueError, OverflowError):
            assert date[5:] in ("02-30", "13-01", "W54-1", "02-29", "01-01", "12-31"), text
            expected = iso_reading(date)
        assert iso_reading(text) == expected, text


def test_dateutil_reads_the_rest_by_the_same_rules() -> None:
    for text in ("Thu May 14 10:30:00 UTC 2026", "14May2026", "2026.May.14", "4pm, 14 May 2026"):
        assert usual_readings(text, (False,)) is None
        assert dateutil_reading(text, False) == 20260514


@given(st.text(alphabet="0123456789 -/.:,TWZMayofthapm+", max_size=20) | st.text(max_size=20))
def test_any_text_is_read_or_is_no_date(text: str) -> None:
    readings = EITHER.parse(text)
    assert readings is None or 1 <= len(set(readings)) == len(readings) <= 2
    for order in (False, True):
        one = DateReader(order, ()).parse(text)
        assert one is None or (len(one) == 1 and readings is not None and one[0] in readings)


@given(st.dates(min_value=datetime.date(1000, 1, 1)), st.booleans())
def test_every_day_is_the_same_in_all_notations(day: datetime.date, day_first: bool) -> None:
    number = int(day.strftime("%Y%m%d"))
    order = "%d/%m/%Y" if day_first else "%m/%d/%Y"
    for pattern in (
        "%Y-%m-%d",
        "%Y%m%d",
        "%G-W%V-%u",
        order,
        "%B %d, %Y",
        "%d %b %Y",
        "%a, %d %b %Y",
        "%Y-%m-%dT%H:%M:%S",
    ):
        assert DateReader(day_first, ()).parse(day.strftime(pattern)) == (number,)
        assert number in (EITHER.parse(day.strftime(pattern)) or ())
