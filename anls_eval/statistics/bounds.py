"""One-sided tests and bounds of a mean, which hold for few questions and where hardly any question differs.

Where most differences between two systems are 0, a bootstrap or a t-test takes the few that it saw for all there are.
The method here adds one unseen question (or document) with the worst possible score, and draws the weights of all of
them at random: Gaffke, Three Test Statistics for a Nonparametric One-Sided Hypothesis on the Mean of a Nonnegative
Variable, 2005; Learned-Miller and Thomas, A New Confidence Interval for the Mean of a Bounded Random Variable, 2019
(arXiv 1905.06208). For right and wrong answers it is the exact binomial test of Clopper and Pearson; for answers that
change by 1 or -1 and a mean of 0, the exact sign test. For other distributions its level is a conjecture without a
known counterexample; ``benchmarks/gate.py`` simulates it. Nothing is drawn: p-values are computed and need no seed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from anls_eval.statistics.intervals import LEVEL
from anls_eval.statistics.resampling import EQUAL_WITHIN, Floats, Integers, cluster_sums, exact_sum, pooled

_STEP = 0.02  # of the trapezoidal rule: halving it changes p-values by less than 1e-9
_LOOKS = np.arange(0.5, 40.0, 0.5)  # places on a path at which its end is looked for
_NEGLIGIBLE = -40.0  # the logarithm of what changes no digit


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Scores, or differences of scores, by question or added up by document.

    Attributes:
        sums: Shape (u,): the sum over each question or document.
        sizes: Shape (u,): its number of questions.
        lowest: The lowest possible score of a question: 0, or -1 for a difference. The highest is 1.
    """

    sums: Floats
    sizes: Floats
    lowest: float

    @classmethod
    def of(cls, scores: Floats, codes: Integers | None = None, lowest: float = 0.0) -> Sample:
        """Return the sample of scores of shape (n,), added up by the number of each question's document if given."""
        if codes is None:
            return cls(scores, np.ones_like(scores), lowest)
        return cls(*cluster_sums(scores, codes), lowest)

    @property
    def mean(self) -> float:
        """The mean over the questions."""
        return exact_sum(self.sums) / float(self.sizes.sum())

    @property
    def unseen_size(self) -> float:
        """The number of questions of the unseen document: that of the document of an average question.

        With the largest document in its place, power is lost; with the average document, the level is not kept if sizes
        differ much.
        """
        return float(self.sizes @ self.sizes / self.sizes.sum())

    @property
    def deviation(self) -> float:
        """The standard deviation of the sums around those of the mean, over the mean size."""
        deviations = self.sums - self.mean * self.sizes
        return math.sqrt(exact_sum(deviations**2) / max(len(self.sums) - 1, 1)) / float(self.sizes.mean())

    def p_above(self, mean: float) -> float:
        """Return the p-value of the test that the true mean is at most `mean`: small if it is higher."""
        return _probability_below(self.sums - mean * self.sizes, (self.lowest - mean) * self.unseen_size)

    def p_below(self, mean: float) -> float:
        """Return the p-value of the test that the true mean is at least `mean`: small if it is lower."""
        return _probability_below(mean * self.sizes - self.sums, (mean - 1.0) * self.unseen_size)

    def lower_bound(self, level: float = LEVEL) -> float:
        """Return the one-sided lower bound of the true mean."""
        return _crossing(self.p_above, 1 - level, self.lowest, self.mean)

    def upper_bound(self, level: float = LEVEL) -> float:
        """Return the one-sided upper bound of the true mean."""
        return _crossing(self.p_below, 1 - level, 1.0, self.mean)


def _crossing(p_value: Callable[[float], float], alpha: float, end: float, mean: float) -> float:
    """Return where the p-value, which rises from 0 at the end of the scale to the observed mean, is alpha."""
    from scipy.optimize import brentq  # takes 0.2 s, which only gates need

    if p_value(mean) <= alpha or abs(mean - end) <= EQUAL_WITHIN:
        return mean
    return float(brentq(lambda at: p_value(at) - alpha, end, mean, xtol=1e-9))


def _probability_below(values: Floats, unseen: float) -> float:
    """Return the probability that the values and the unseen one, with random weights, have a mean of at most 0.

    Weights drawn evenly from all that add up to 1 are independent exponential variables divided by their sum. So the
    mean is negative if a sum of gamma variables, each times a value, is.
    """
    kinds, counts = np.unique(values, return_counts=True)
    kinds, _, counts = pooled(kinds, np.ones_like(kinds), counts)
    kinds, counts = np.append(kinds, unseen), np.append(counts, 1)
    differs = np.abs(kinds) > EQUAL_WITHIN
    kinds, counts = kinds[differs], counts[differs]
    if not (kinds > 0).any():
        return 1.0
    if not (kinds < 0).any():
        return 0.0
    kinds = kinds / math.sqrt(counts @ kinds**2)
    found = _tail(kinds, counts) if counts @ kinds >= 0 else 1.0 - _tail(-kinds, counts)
    return min(max(found, 0.0), 1.0)


def _tail(kinds: Floats, counts: Integers) -> float:
    """Return the probability that a sum of gamma variables, each times a value, is at most 0, where its mean is not.

    It is the integral of exp(K(s)) / s over 2 pi i, where K(s) is the sum of -count log(1 + s kind), along any path
    between both infinities that meets the real axis between 0 and the first pole. On one through the saddlepoint, which
    leaves in the direction in which the integrand falls steepest, hardly anything oscillates, and the trapezoidal rule
    converges exponentially: Rice, Distribution of Quadratic Forms in Normal Random Variables - Evaluation by Numerical
    Integration, 1980.
    """
    from scipy.optimize import brentq

    def slope(at: float) -> float:
        return float(-(counts @ (kinds / (1 + at * kinds))) - 1 / at)

    pole = float(-1 / kinds.min())
    saddle = float(brentq(slope, pole * 1e-12, pole * (1 - 2.0**-50), xtol=pole * 1e-14))
    tilted = kinds / (1 + saddle * kinds)
    height = float(-(counts @ np.log1p(saddle * kinds)) - math.log(saddle))
    second = float(counts @ tilted**2 + saddle**-2)
    third = float(-2 * (counts @ tilted**3) - 2 * saddle**-3)
    width = second**-0.5
    if height + math.log(width) < _NEGLIGIBLE:
        return 0.0

    def along(lean: float, times: Floats) -> tuple[Any, Any]:
        """Return the logarithm of the integrand and the derivative of the path, a hyperbola that leans to one side."""
        steps = width * (lean * (np.cosh(times) - 1) + 1j * np.sinh(times))
        logarithms = height - np.log1p(np.outer(steps, tilted)) @ counts - np.log1p(steps / saddle)
        return logarithms, width * (lean * np.sinh(times) + 1j * np.cosh(times))

    steepest = min(max(width * third / (3 * second), -0.5), 0.5)
    for lean in (steepest, steepest / 2, steepest / 4, 0.0):  # the last always falls, if more slowly
        logarithms, derivatives = along(lean, _LOOKS)
        sizes = logarithms.real + np.log(np.abs(derivatives))
        rises = np.append(np.diff(logarithms.real) > 0, True)
        end = int(np.argmax(rises | (sizes < _NEGLIGIBLE)))
        if sizes[end] < _NEGLIGIBLE:
            break
    logarithms, derivatives = along(lean, np.arange(0, _LOOKS[end], _STEP))
    integrand = (np.exp(logarithms) * derivatives).imag  # the other half of the path mirrors this one
    return float(_STEP * (integrand.sum() - integrand[0] / 2) / math.pi)


def binomial_upper_bound(errors: int, n: int, level: float = LEVEL) -> float:
    """Return the one-sided upper bound of a share of which `errors` of `n` were seen.

    Clopper and Pearson, The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial, 1934.
    """
    from scipy.special import betaincinv

    return 1.0 if errors >= n else float(betaincinv(errors + 1, n - errors, level))


def allowed_errors(n: Integers, most: float, level: float = LEVEL) -> Floats:
    """Return how many errors among n keep `binomial_upper_bound` at most `most`; -1 where even none does."""
    from scipy.special import bdtr, bdtrik

    # The bound is at most `most` if so few errors or fewer have a probability of at most 1 - level there.
    near = np.ceil(np.nan_to_num(bdtrik(1 - level, n, most)))
    found = np.full(n.shape, -1.0)
    for at in (near - 2, near - 1, near, near + 1):
        holds = (at >= 0) & (at < n) & (bdtr(np.maximum(at, 0), np.maximum(n, 1), most) <= 1 - level)
        found = np.where(holds, at, found)
    return found


_MOST_ERRORS = 2_000


def questions_for_bound(rate: float, most: float, level: float = LEVEL) -> int | None:
    """Return for how many questions with this rate of errors `binomial_upper_bound` is at most `most`.

    None if the rate is too high, or for more than some hundred thousand questions.
    """
    from scipy.special import bdtr, bdtrin

    errors = np.arange(_MOST_ERRORS + 1)
    numbers = np.ceil(bdtrin(errors, 1 - level, most) - 1e-6).astype(np.int64)
    numbers += bdtr(errors, numbers, most) > 1 - level
    enough = np.flatnonzero(rate * numbers <= errors)
    return int(numbers[enough[0]]) if len(enough) else None
