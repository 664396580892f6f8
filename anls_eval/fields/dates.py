"""Dates in documents, read as calendar days: "2026-05-14", "14/05/2026", "May 14, 2026"."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, TypeAlias

DateReadings: TypeAlias = tuple[int, ...]  # one or two: dates as integers


class DateReader:
    """Reads dates."""

    def __init__(self, day_first: bool | None, formats: tuple[str, ...]) -> None:
        self.day_first, self.formats = day_first, formats

    def parse(self, value: Any) -> DateReadings | None:
        """Return the one or two readings of a date, or None if it is none."""
        try:
            return (datetime.date.fromisoformat(str(value)).toordinal(),)
        except ValueError:
            return None

    def parse_all(self, values: Sequence[Any]) -> list[DateReadings | None]:
        """Return the readings of the dates of a column."""
        return list(map(self.parse, values))


def date_words(date: int) -> str:
    """Return a date in ISO 8601."""
    return datetime.date.fromordinal(date).isoformat()
