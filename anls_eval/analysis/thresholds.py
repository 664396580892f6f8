"""The mean score as a function of the threshold, exact at every value where it changes."""

import bisect
import collections
import dataclasses
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np

from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol, read_threshold
from anls_eval.scoring import score_texts
from anls_eval.text.measure import Ints, Measured
from anls_eval.text.similarity import compute_similarity
from anls_eval.types import Texts

_UNIT = 2**53  # a score is a multiple of 1 / _UNIT: 1 - d / L as float64 has no smaller part


@dataclasses.dataclass(frozen=True)
class ThresholdSweep:
    """A step function: the mean falls at each of `thresholds` and is constant between two of them.

    Attributes:
        thresholds: The values from 0 to 1 at which the mean changes, ascending: the similarities that occur.
        means: ``means[i]`` holds between ``thresholds[i - 1]`` and ``thresholds[i]``. At exactly ``thresholds[i]`` the
            mean is ``means[i]`` if the protocol keeps ``">="``, and ``means[i + 1]`` if it keeps ``">"``.
        protocol: The rules of the scores. Its threshold does not matter.
        n: The number of questions.
    """

    thresholds: tuple[Fraction, ...]
    means: tuple[float, ...]
    protocol: Protocol
    n: int

    def mean(self, threshold: float | Fraction | Decimal) -> float:
        """Return the mean score at a threshold from 0 to 1, equal to the last bit to that of `anls_scores`."""
        exact = read_threshold(threshold)
        find = bisect.bisect_right if self.protocol.keep == ">" else bisect.bisect_left
        return self.means[find(self.thresholds, exact)]


def threshold_sweep(predictions: Texts, answers: Texts, *, protocol: str | Protocol = "standard") -> ThresholdSweep:
    """Compute the mean score for every threshold, from the distance of each prediction to its closest answer.

    Args:
        predictions: n > 0 predictions, as for `anls_scores`.
        answers: n lists of accepted answers, as for `anls_scores`.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`, that scores texts.

    Raises:
        ValueError: As for `anls_scores`, or there are no questions.

    Example:
        >>> sweep = threshold_sweep(["Denver Bronco", "12/15/89", "ab"], [["Denver Broncos"], ["12/15/88"], ["ac"]])
        >>> [str(threshold) for threshold in sweep.thresholds]
        ['1/2', '7/8', '13/14']
        >>> [round(sweep.mean(threshold), 4) for threshold in (0, 0.5, 0.51, 0.875, 0.9, 1)]
        [0.7679, 0.7679, 0.6012, 0.6012, 0.3095, 0.0]
    """
    rules = resolve_rules(protocol, None, of_trees=False)
    scored = score_texts(predictions, answers, rules, detailed=True)
    if scored.measured is None or not len(scored.scores):
        raise ValueError("nothing to score: 0 predictions and 0 answers; expected at least one question")
    return sweep_measured(scored.measured, rules)


def sweep_measured(measured: Measured, rules: Protocol) -> ThresholdSweep:
    """Return the sweep of at least one question that was measured under the rules."""
    n = len(measured.scores)
    points = _points_by_similarity(measured, rules)
    thresholds = sorted(points)
    # The sum of all that are kept, from the highest similarity down: in integers it is exact, as math.fsum is.
    totals = list(itertools.accumulate((points[each] for each in reversed(thresholds)), initial=0))[::-1]
    if rules.keep == ">=" and thresholds and thresholds[-1] == 1:  # no threshold is above it
        thresholds, totals = thresholds[:-1], totals[:-1]
    return ThresholdSweep(tuple(thresholds), tuple(total / _UNIT / n for total in totals), rules, n)


def _points_by_similarity(measured: Measured, rules: Protocol) -> dict[Fraction, int]:
    """Return the sum of the scores with each similarity above 0, in units of 1 / `_UNIT`."""
    points: dict[Fraction, int] = collections.defaultdict(int)
    ratios = zip(*(column.tolist() for column in deciding_ratios(measured, rules)), strict=True)
    for (distance, length), count in collections.Counter(ratios).items():
        total = count * int(compute_similarity(distance, length, rules) * _UNIT)
        if total > 0:
            points[Fraction(length - distance, length)] += total
    return points


def deciding_ratios(measured: Measured, rules: Protocol) -> tuple[Ints, Ints]:
    """Return distances and lengths that alone decide each score at any threshold, even of empty texts and zeros."""
    is_empty = measured.lengths == 0
    distances = np.where(measured.is_zero, 1, measured.distances + is_empty * (1 - rules.both_empty))
    lengths = np.where(measured.is_zero | (distances == 0) | is_empty, 1, measured.lengths)
    return distances, lengths
