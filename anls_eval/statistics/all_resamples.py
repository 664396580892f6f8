"""The mean over all resamples of units of equal size, computed and not drawn.

The sum of a resample of n units is that of n independent draws, so that its characteristic function is that of one
draw to the power of n (Feller, An Introduction to Probability Theory and Its Applications, volume 2, 1971, chapter XV).
It is inverted on a grid, to which values are rounded; what that does to mean and spread is corrected at the end. Scores
that are fractions with a small denominator are on the grid: right and wrong answers give the binomial distribution.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from anls_eval.statistics.resampling import Floats, Units
from anls_eval.statistics.sign_flips import grids

_PLACES = 1 << 16  # of the grid, up to `_MANY` units
_MANY = 1_000_000
_NEGLIGIBLE = 1e-12  # a probability
_TAIL = 30.0  # minus the logarithm of the probability that a sum is off the grid
_SAME = 1e-6  # steps: closer values are at the same place but for rounding errors
_HALF = 0.5 + _SAME
_NO_DIGIT = -40.0  # the logarithm of a characteristic function that changes none


@dataclasses.dataclass(frozen=True, eq=False)
class AllResamples:
    """The distribution of the mean of a resample, minus the mean of all.

    Attributes:
        deviations: Shape (k,), in increasing order.
        shares: Shape (k,): the share of the resamples with this deviation or a smaller one.
        below: The share of the resamples below 0, and half of those at 0.
    """

    deviations: Floats
    shares: Floats
    below: float

    def quantiles(self, probabilities: Sequence[float]) -> Floats:
        """Return the smallest deviations that so many resamples do not exceed."""
        wanted = np.clip(probabilities, _NEGLIGIBLE, 1 - _NEGLIGIBLE) - _NEGLIGIBLE / 2  # in spite of rounding errors
        found: Floats = self.deviations[np.searchsorted(self.shares, wanted)]
        return found


def all_resamples(units: Units) -> AllResamples:
    """Return the distribution of the means of all resamples of units of one size, two or more that differ."""
    number = units.number
    values = units.deviations - units.deviations.min()
    variance = math.fsum(units.counts * units.deviations**2) / number
    grid, places, has_all = _grid(float(values.max()), variance, number)
    at = np.floor(values * grid + _HALF).astype(np.int64)
    mean = int(units.counts @ at) / number
    spread = math.fsum(units.counts * (at - mean) ** 2) / number

    spectrum = np.fft.rfft(np.bincount(at, units.counts, places) / number)
    with np.errstate(divide="ignore"):
        logarithms = number * np.log(np.abs(spectrum))
    kept = logarithms > _NO_DIGIT
    powers = np.zeros_like(spectrum)
    powers[kept] = np.exp(logarithms[kept] + 1j * number * np.angle(spectrum[kept]))
    # Sums are known up to multiples of the number of places: if there are more sums, those around the mean are meant.
    first = 0 if has_all else math.floor(number * mean) - places // 2
    probabilities = np.roll(np.fft.irfft(powers, places), -(first % places))
    off = first + np.arange(places) - number * mean
    at_mean = np.abs(off) <= _SAME
    below = probabilities[off < -_SAME].sum() + probabilities[at_mean].sum() / 2
    shares: Floats = np.cumsum(probabilities).astype(np.float64)
    scale = math.sqrt(variance / spread) / units.questions
    return AllResamples((off * scale).astype(np.float64), shares / shares[-1], float(below))


def _grid(span: float, variance: float, number: int) -> tuple[float, int, bool]:
    """Return the steps from 0 to 1, the finest with places for nearly all sums, their number, and if all have one."""
    places = _PLACES << max(0, math.ceil(math.log2(number / _MANY) / 2))
    # Bernstein's inequality: a sum is off its mean by more than this with a probability of at most 2 exp(-_TAIL).
    third = _TAIL * span / 3
    reach = 2 * (third + math.sqrt(third**2 + 2 * _TAIL * number * variance))
    for grid in grids(span):
        if number * (math.ceil(span * grid)) < places:
            return grid, places, True
        if reach * grid < places and reach < number * span:
            return grid, places, False
    raise AssertionError  # the grids go on
