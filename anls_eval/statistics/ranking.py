"""Rankings of systems, with groups of systems that the questions cannot tell apart."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from anls_eval.markup import notebook_page, notes_html, score_bar, table_html
from anls_eval.statistics.intervals import (
    LEVEL,
    RESAMPLES,
    Comparison,
    Interval,
    check_options,
    compare_scores,
    exact_mean,
    interval_of_mean,
    interval_words,
    p_value_words,
)
from anls_eval.statistics.resampling import Floats, cluster_codes
from anls_eval.statistics.tally import check_range, checked_columns

ALPHA = 0.05


@dataclasses.dataclass(frozen=True)
class RankedSystem:
    """One system of a ranking.

    Attributes:
        name: Name of the system.
        score: Mean score.
        interval: Confidence interval of the mean score.
        rank: 1 for the best. Systems with equal scores share a rank, and the next one is skipped: 1, 2, 2, 4.
        rank_group: 1 plus the number of systems that are significantly better.
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

    @property
    def notes(self) -> list[str]:
        """Whether questions are drawn by document, and reasons not to rely on the intervals of the systems."""
        first = self.systems[0].interval
        found: list[str] = []
        if first.clusters is not None:
            found.append(f"intervals and tests are by document: {first.clusters:,} documents, {first.n:,} questions")
        said: dict[str, list[str]] = {}
        for own in self.systems:
            for note in own.interval.notes:
                said.setdefault(note, []).append(own.name)
        of_all = len(self.systems)
        return found + [note if len(names) == of_all else f"{', '.join(names)}: {note}" for note, names in said.items()]

    @property
    def pair_notes(self) -> list[str]:
        """Reasons not to rely on the comparisons, which computes the interval of each difference."""
        common = {note for own in self.systems for note in own.interval.notes}
        return [
            f"{pair.a} - {pair.b}: {note}"
            for pair in self.comparisons
            for note in pair.comparison.notes
            if note not in common
        ]

    def _repr_html_(self) -> str:
        """Return the ranking as notebooks show it: the systems, then the pairs."""
        systems = [
            (own.rank, own.name, own.score, score_bar(own.score), interval_words(own.interval), own.rank_group)
            for own in self.systems
        ]
        pairs = [
            (
                f"{own.a} − {own.b}",
                f"{own.comparison.difference:+.4f}",
                p_value_words(own.p_adjusted),
                "yes" if own.p_adjusted <= self.alpha else "no",
            )
            for own in self.comparisons
        ]
        heads = ("pair", "difference", "adjusted p", f"significant at {self.alpha:g}")
        tables = [table_html(("rank", "system", "score", "", "interval", "rank group"), systems)]
        if pairs:
            tables.append(table_html(heads, pairs))
        return notebook_page(*tables, notes_html(self.notes))


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
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ranking:
    """Rank systems by score, and by how many are significantly better.

    The rank group of a system is 1 plus the number of systems that are significantly better: with a higher score, and a
    p-value in the paired test, adjusted by Holm's method over all pairs, of at most alpha. The systems of group 1 are
    those that none beats. The tests are computed, not drawn: groups do not depend on the seed.

    Args:
        scores_by_name: The scores of each system, shape (n,), in [0, 1], with the questions in the same order.
        clusters: Shape (n,), the document of each question.
        alpha: Probability of finding any difference where there is none, in (0, 1).
        level: Confidence level of the intervals, in (0, 1). Intervals are not adjusted for the number of systems.
        resamples: Number of resamples of clusters of different sizes for the intervals, at least 1,000.
        seed: Seed of NumPy's random generator for these resamples, at least 0.

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

    comparisons = [
        compare_scores(checked[a], checked[b], codes, level, resamples, seed)
        for a, b in itertools.combinations(_by_mean(intervals), 2)
    ]
    return _ranked(intervals, comparisons, alpha)


def rank_by(intervals: Mapping[str, Interval], compare: Callable[[str, str], Comparison]) -> Ranking:
    """Rank systems by their scores and by a comparison of two of them, given their names."""
    pairs = itertools.combinations(_by_mean(intervals), 2)
    return _ranked(intervals, [compare(a, b) for a, b in pairs], ALPHA)


def best_first(scores: Mapping[str, float]) -> list[str]:
    """Return the names of systems by their scores, and of equal ones by name."""
    return sorted(scores, key=lambda name: (-scores[name], name))


def _by_mean(intervals: Mapping[str, Interval]) -> list[str]:
    return best_first({name: own.mean for name, own in intervals.items()})


def _ranked(intervals: Mapping[str, Interval], comparisons: Sequence[Comparison], alpha: float) -> Ranking:
    """Return the ranking, given the comparisons of all pairs, best first."""
    names = _by_mean(intervals)
    pairs = list(itertools.combinations(names, 2))
    adjusted = holm([comparison.p_value for comparison in comparisons]).tolist()
    better = Counter(
        b
        for (_, b), comparison, p_adjusted in zip(pairs, comparisons, adjusted, strict=True)
        if p_adjusted <= alpha and comparison.difference > 0
    )
    systems: list[RankedSystem] = []
    for place, name in enumerate(names, 1):
        is_equal = bool(systems) and systems[-1].score == intervals[name].mean
        rank = systems[-1].rank if is_equal else place
        systems.append(RankedSystem(name, intervals[name].mean, intervals[name], rank, 1 + better[name]))
    ranked = zip(pairs, comparisons, adjusted, strict=True)
    return Ranking(tuple(systems), tuple(RankedPair(a, b, comparison, p) for (a, b), comparison, p in ranked), alpha)
