"""The distribution of scores, which is all that means, intervals and sweeps need, and which adds up exactly."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction

import numpy as np
import numpy.typing as npt

_SCALE = 1074  # every float64 is a whole number of 2**-1074


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
        scaled = 0
        for score, count in self.counts.items():
            numerator, denominator = score.as_integer_ratio()  # of a float, a power of 2
            scaled += count * numerator << _SCALE + 1 - denominator.bit_length()
        return Fraction(scaled, 1 << _SCALE)

    @property
    def mean(self) -> float:
        """The mean score, as `evaluate` gives it, to the last bit.

        Raises:
            ValueError: There is no score.
        """
        if not self.n:
            raise ValueError("nothing to score: there is no question")
        return float(self.total) / self.n
