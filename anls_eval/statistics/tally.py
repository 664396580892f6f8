"""Scores by question: checked, counted, and added up without rounding."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

_SCALE = 1074 + 53  # every float64 is a multiple of 2**-1074, and its mantissa a multiple of 2**-53
UNIT = 1 << _SCALE
"""Exact sums of scores are integers in units of 1 / UNIT."""


def exact_units(scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64] | int = 1) -> int:
    """Return the exact sum of scores, each times its count, in units of 1 / UNIT; their order does not matter."""
    mantissas, exponents = np.frexp(scores)
    whole = (mantissas * 2**53).astype(np.int64)
    high, low = (whole >> 27) * counts, (whole & (2**27 - 1)) * counts  # so that no sum overflows
    total, least = 0, exponents.min(initial=0)
    for exponent in (np.flatnonzero(np.bincount(exponents - least)) + least).tolist():  # np.unique imports numpy.ma
        own = exponents == exponent
        total += (int(high[own].sum()) << 27) + int(low[own].sum()) << exponent + 1074
    return total


@dataclasses.dataclass(frozen=True)
class Tally:
    """The number of questions with each score; tallies of parts add up to that of the whole, to the last bit."""

    counts: Counter[float] = dataclasses.field(default_factory=Counter)  # few: a million DocVQA answers take 200 values

    @classmethod
    def of(cls, scores: npt.ArrayLike) -> Tally:
        """Return the tally of scores, of shape (n,)."""
        values, counts = np.unique(np.asarray(scores, dtype=np.float64), return_counts=True)
        return cls(Counter(dict(zip(values.tolist(), counts.tolist(), strict=True))))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.counts + other.counts)

    @property
    def n(self) -> int:
        """The number of questions."""
        return self.counts.total()

    @property
    def total(self) -> Fraction:
        """The exact sum of the scores."""
        scores, counts = (np.array(list(own)) for own in (self.counts.keys(), self.counts.values()))
        return Fraction(exact_units(scores, counts), UNIT)

    @property
    def mean(self) -> float:
        """The mean score, to the last bit as `evaluate` returns it; raise a ValueError if the tally is empty."""
        if not self.n:
            raise ValueError("nothing to score: there are no questions")
        return float(self.total) / self.n


def checked_columns(columns: Mapping[str, npt.ArrayLike]) -> list[npt.NDArray[np.float64]]:
    """Return columns of scores as arrays, or raise a ValueError if one is bad or they differ in length."""
    checked = [checked_scores(scores, name) for name, scores in columns.items()]
    (first, expected), *others = zip(columns, map(len, checked), strict=True)
    for name, length in others:
        if length != expected:
            raise ValueError(
                f"{first} has length {expected}, but {name} has length {length}; expected one number per question in "
                "each, in the same order"
            )
    return checked


def checked_scores(scores: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """Return scores, one in [0, 1] per question, as an array, or raise a ValueError that begins with their name."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: not numbers; expected one number in [0, 1] per question") from None
    if values.ndim != 1:
        raise ValueError(f"{name}: an array of shape {values.shape}; expected shape (n,), one number per question")
    if not len(values):
        raise ValueError(f"{name}: nothing to score: there are no questions")
    check_range(values, name)
    return values


def check_range(values: npt.NDArray[np.float64], name: str) -> None:
    """Raise a ValueError if a number is outside [0, 1] or NaN."""
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))  # NaN fails both comparisons
    if len(wrong):
        more = f", and {len(wrong) - 1} more rows" if len(wrong) > 1 else ""
        raise ValueError(f"{name}: {float(values[wrong[0]])!r} in row {wrong[0]}{more}; expected numbers in [0, 1]")
