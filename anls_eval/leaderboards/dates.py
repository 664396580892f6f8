"""Dates as dateutil reads them, with the years of 2026 whenever it is run."""

from __future__ import annotations

from dateutil.parser import parser, parserinfo


class _Years(parserinfo):  # type: ignore[misc]
    """Reads two digits as a year from 1976 to 2075, as in 2026; dateutil would use today's clock."""

    def convertyear(self, year: int, century_specified: bool = False) -> int:
        return year if year >= 100 or century_specified else 1976 + (year - 1976) % 100


DATES = parser(_Years())
