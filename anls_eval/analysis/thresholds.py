"""The mean score as a function of the threshold, exact at every value where it changes."""

import bisect
import collections
import dataclasses
import itertools
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np

from anls_eval.notes import text_notes
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol, read_threshold
from anls_eval.rules.steps import apply_steps
from anls_eval.text.closest import ClosestPairs, closest_pairs, measure
from anls_eval.text.similarity import compute_similarity
from anls_eval.types import Texts

_UNIT = 2**53  # a score is an integral multiple of 1 / _UNIT: 1 - d / L as float64 has no smaller part


@dataclasses.dataclass(frozen=True)
class ThresholdSweep:
    """A step function: the mean falls at each of `thresholds` and is constant between two of them.

    Args:
        thresholds: The values from 0 to 1 at which the mean changes, ascending. They are the similarities that occur.
        means: One more than `thresholds`: ``means[i]`` holds between ``thresholds[i - 1]`` and ``thresholds[i]``. At
            exactly ``thresholds[i]`` the mean is still ``means[i]`` if the protocol keeps ``">="``, and already
            ``means[i + 1]`` if it keeps ``">"``.
        protocol: The rules of the scores. Its own threshold plays no part.
        n: The number of questions.
    """

    thresholds: tuple[Fraction, ...]
    means: tuple[float, ...]
    protocol: Protocol
    n: int

    def mean(self, threshold: float | Fraction | Decimal) -> float:
        """Give the mean score at a threshold: to the last bit that of `anls_scores` with this threshold.

        Args:
            threshold: The least similarity that counts, from 0 to 1, as the decimal that is written: 0.8 is 4/5.

        Returns:
            The mean, from 0 to 1.

        Raises:
            ValueError: The threshold is not a number from 0 to 1.
        """
        exact = read_threshold(threshold)
        find = bisect.bisect_right if self.protocol.keep == ">" else bisect.bisect_left
        return self.means[find(self.thresholds, exact)]


def threshold_sweep(predictions: Texts, answers: Texts, *, protocol: str | Protocol = "standard") -> ThresholdSweep:
    """Compute the mean score for every threshold, from the distance of each prediction to its closest answer.

    The closest answer is the same at every threshold, so that one distance and length for each question suffice.

    Args:
        predictions: n predictions, n > 0, as `anls_scores` takes them.
        answers: n lists of accepted answers, likewise.
        protocol: A name or alias in `PROTOCOLS`, or an `Protocol`, that scores texts.

    Returns:
        The step function.

    Raises:
        ValueError: What `anls_scores` refuses; no question at all.

    Example:
        >>> sweep = threshold_sweep(["Denver Bronco", "12/15/89", "ab"], [["Denver Broncos"], ["12/15/88"], ["ac"]])
        >>> [str(threshold) for threshold in sweep.thresholds]
        ['1/2', '7/8', '13/14']
        >>> [round(sweep.mean(threshold), 4) for threshold in (0, 0.5, 0.51, 0.875, 0.9, 1)]
        [0.7679, 0.7679, 0.6012, 0.6012, 0.3095, 0.0]
    """
    rules = resolve_rules(protocol, None, of_trees=False)
    pairs = closest_pairs(predictions, answers, rules)
    if not len(pairs.scores):
        raise ValueError("there are no predictions and no answers; expected at least one question, for a mean")
    for note in text_notes(pairs.scored, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return sweep_pairs(pairs, rules)


def sweep_pairs(pairs: ClosestPairs, rules: Protocol) -> ThresholdSweep:
    """What `threshold_sweep` gives, for one or more pairs that `closest_pairs` gave by the same rules."""
    n = len(pairs.scores)
    points = _points_by_similarity(pairs, rules)
    thresholds = sorted(points)
    # From the greatest similarity down, the sum of all that are kept: in integers it is exact, as math.fsum is.
    totals = list(itertools.accumulate((points[each] for each in reversed(thresholds)), initial=0))[::-1]
    if rules.keep == ">=" and thresholds and thresholds[-1] == 1:  # no threshold is above it
        thresholds, totals = thresholds[:-1], totals[:-1]
    return ThresholdSweep(tuple(thresholds), tuple(total / _UNIT / n for total in totals), rules, n)


def _points_by_similarity(pairs: ClosestPairs, rules: Protocol) -> dict[Fraction, int]:
    """Of each similarity above 0, the sum of the scores that it gives, in `_UNIT`; equal texts need no distance."""
    points: dict[Fraction, int] = collections.defaultdict(int)
    for (distance, length), count in _distances(pairs, rules).items():
        total = count * int(compute_similarity(distance, length, rules) * _UNIT)
        if total > 0:
            points[Fraction(length - distance, length) if length else Fraction(1)] += total
    return points


def _distances(pairs: ClosestPairs, rules: Protocol) -> dict[tuple[int, int], int]:
    """How many questions have which distance and length; those that score 0 at every threshold are left out."""
    rows = [
        row
        for row in np.flatnonzero(pairs.scores < 1).tolist()
        if (prediction := pairs.predictions[row]) is not None
        and apply_steps(rules.prediction_steps, prediction) not in rules.zero_predictions
    ]
    measured = measure(pairs, rules, np.array(rows, dtype=np.int64))
    counts = collections.Counter(zip(*(own.tolist() for own in measured), strict=True))
    counts[0, 1] += int(np.count_nonzero(pairs.scores == 1))
    return counts
