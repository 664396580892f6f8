"""Rankings of systems, with groups of systems that the questions cannot tell apart."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from anls_eval.statistics.intervals import (
    Comparison,
    Interval,
    check_options,
    compare_scores,
    exact_mean,
    interval_of_mean,
)
from anls_eval.statistics.resampling import Floats, cluster_codes
from anls_eval.statistics.tally import check_range, checked_columns


@dataclasses.dataclass(frozen=True)
class RankedSystem:
    """One system of a ranking.

    Attributes:
        name: Name of the system.
        score: Mean score.
        interval: Confidence interval of the mean score.
        rank: 1 for the best. Systems with equal scores share a rank, and the next one is skipped: 1, 2, 2, 4.
        rank_group: Rank group, from 1; see `rank_systems`.
    """

    name: str
    score: float
    interval: Interval
    rank: int
    rank_group: int


@dataclasses.dataclass(frozen=True)
class RankedPair:
    """Two systems of a ranking, compared.

    Attributes:
        a: Name of the system with the better rank.
        b: Name of the other system.
        comparison: Comparison of a with b.
        p_adjusted: The p-value, adjusted by `holm` over all pairs.
    """

    a: str
    b: str
    comparison: Comparison
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Systems, best first, and all pairs of them.

    Attributes:
        systems: Best first; systems with equal scores by name.
        comparisons: All pairs, in the order of the systems.
        alpha: Significance level: the largest p-value that is significant.
    """

    systems: tuple[RankedSystem, ...]
    comparisons: tuple[RankedPair, ...]
    alpha: float


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return p-values adjusted for multiple comparisons, in the same order."""
    # The step-down method of Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979: the probability of
    # rejecting any true hypothesis is at most alpha, however the tests depend on one another.
    values = np.asarray(p_values, dtype=np.float64)
    check_range(values, "p_values")
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def rank_systems(
    scores_by_name: Mapping[str, npt.ArrayLike],
    *,
    clusters: npt.ArrayLike | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Ranking:
    """Rank systems and group those that the questions cannot tell apart.

    A rank group starts with the best system that is in no group yet. The systems after it join in turn, until one
    differs significantly from that first system: its p-value in the paired test, adjusted by Holm's method over all
    pairs, is at most alpha. That system starts the next group. Two systems of different groups may therefore still be
    indistinguishable; see the comparisons.

    Args:
        scores_by_name: The scores of each system, shape (n,), in [0, 1], with the questions in the same order.
        clusters: Shape (n,), the document of each question.
        alpha: Probability of finding any difference where there is none, in (0, 1).
        level: Confidence level of the intervals, in (0, 1). Intervals are not adjusted for the number of systems.
        resamples: Number of resamples, at least 1,000. The number of sign flips grows with that of pairs, so that
            adjusted p-values can become significant.
        seed: Seed of NumPy's random generator, at least 0.

    Raises:
        ValueError: As for `paired_comparison`, with the name of the system; there are no systems; or alpha is outside
            (0, 1).

    Example:
        >>> ranking = rank_systems({"good": [1.0] * 40, "bad": [0.0] * 40, "poor": [0.0] * 39 + [0.5]})
        >>> [(system.name, system.rank, system.rank_group) for system in ranking.systems]
        [('good', 1, 1), ('poor', 2, 2), ('bad', 3, 2)]
    """
    check_options(level, resamples, seed)
    if not isinstance(scores_by_name, Mapping):
        kind = type(scores_by_name).__name__
        raise ValueError(f"expected a dict from the name of each system to its scores, not a {kind}")
    if not scores_by_name:
        raise ValueError("nothing to rank: there are no systems")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r}: expected a number between 0 and 1, such as 0.05")
    columns = checked_columns({f"scores of {name!r}": scores for name, scores in scores_by_name.items()})
    checked = dict(zip(scores_by_name, columns, strict=True))
    codes = cluster_codes(clusters, len(columns[0]))
    intervals = {
        name: interval_of_mean(exact_mean(scores), scores, codes, 0.0, level, resamples, seed)
        for name, scores in checked.items()
    }

    def compare(a: str, b: str, flips: int) -> Comparison:
        return compare_scores(checked[a], checked[b], codes, level, resamples, seed, flips=flips)

    return rank_by(intervals, compare, resamples, alpha)


def rank_by(
    intervals: Mapping[str, Interval],
    compare: Callable[[str, str, int], Comparison],
    least_flips: int,
    alpha: float = 0.05,
) -> Ranking:
    """Rank systems by their scores and by a comparison of two of them, given their names and the number of flips."""
    names = sorted(intervals, key=lambda name: (-intervals[name].mean, name))
    pairs = list(itertools.combinations(names, 2))
    flips = max(least_flips, math.ceil(2 * len(pairs) / alpha))
    comparisons = [compare(a, b, flips) for a, b in pairs]
    adjusted = holm([comparison.p_value for comparison in comparisons]).tolist()
    p_adjusted = dict(zip(pairs, adjusted, strict=True))

    systems: list[RankedSystem] = []
    leader, group = names[0], 1
    for place, name in enumerate(names, 1):
        if name != leader and p_adjusted[leader, name] <= alpha:
            leader, group = name, group + 1
        is_equal = bool(systems) and systems[-1].score == intervals[name].mean
        rank = systems[-1].rank if is_equal else place
        systems.append(RankedSystem(name, intervals[name].mean, intervals[name], rank, group))
    ranked = zip(pairs, comparisons, adjusted, strict=True)
    return Ranking(tuple(systems), tuple(RankedPair(a, b, comparison, p) for (a, b), comparison, p in ranked), alpha)
