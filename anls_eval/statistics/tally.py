"""The distribution of scores, which is all that means, intervals and sweeps need, and which adds up exactly."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction

import numpy as np
import numpy.typing as npt

_SCALE = 1074 + 53  # every float64 is a whole number of 2**-1074, and its mantissa one of 2**-53
UNIT = 1 << _SCALE
"""A sum of scores is held as a whole number of 1 / UNIT, which is exact."""


def exact_units(scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64] | int = 1) -> int:
    """Add up scores without rounding: their order does not matter.

    Args:
        scores: Of shape (n,).
        counts: How often each occurs: of shape (n,), or one number for all.

    Returns:
        The sum times `UNIT`.

    Example:
        >>> exact_units(np.array([0.5, 0.25]), np.array([2, 4])) == 2 * UNIT
        True
    """
    mantissas, exponents = np.frexp(scores)
    whole = (mantissas * 2**53).astype(np.int64)
    high, low = (whole >> 27) * counts, (whole & (2**27 - 1)) * counts  # so that no sum overflows
    total = 0
    for exponent in np.unique(exponents).tolist():
        own = exponents == exponent
        total += (int(high[own].sum()) << 27) + int(low[own].sum()) << exponent + 1074
    return total


@dataclasses.dataclass(frozen=True)
class Tally:
    """How often each score occurs.

    Scores of texts are few: a million DocVQA answers have about 200 of them. Two tallies add up to the tally of both,
    in any order, to the last bit.

    Args:
        counts: The number of questions by score.

    Example:
        >>> tally = Tally.of([1.0, 0.875]) + Tally.of([1.0])
        >>> tally.n, tally.mean
        (3, 0.9583333333333334)
    """

    counts: Counter[float] = dataclasses.field(default_factory=Counter)

    @classmethod
    def of(cls, scores: npt.ArrayLike) -> Tally:
        """Count scores.

        Args:
            scores: Of shape (n,).

        Returns:
            Their tally.
        """
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
        """The mean score, as `evaluate` gives it, to the last bit.

        Raises:
            ValueError: There is no score.
        """
        if not self.n:
            raise ValueError("nothing to score: there is no question")
        return float(self.total) / self.n
