"""How sure a score is: confidence intervals, paired comparisons, rank groups.

Every function takes scores by question, as `anls.anls_scores` gives them, and is deterministic: chance comes from a
seed, and the order of the questions changes nothing. Questions about one document are not independent: with
``clusters``, the document of each question, whole documents are resampled instead.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from anls_eval.statistics import resampling
from anls_eval.statistics.checks import check_lengths, check_range, checked_scores
from anls_eval.statistics.resampling import Floats, Integers, Units
from anls_eval.statistics.tally import Tally

LEAST_RESAMPLES = 1_000
FEW_UNITS = 10  # with fewer, no bootstrap keeps its level


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean score with its confidence interval.

    Args:
        mean: The mean score.
        low: The least plausible mean.
        high: The greatest.
        level: How often such an interval holds the true mean, as 0.95.
        n: The number of questions.
        clusters: The number of clusters; None if questions were taken as independent.
        standard_error: Of the mean; 0 if it cannot be known, since no scores differ.
        method: ``"BCa bootstrap"``, or ``"Markov bound"`` where a bootstrap sees nothing that varies.
        notes: What a reader must know before trusting the interval, as sentences; mostly empty.
    """

    mean: float
    low: float
    high: float
    level: float
    n: int
    clusters: int | None
    standard_error: float
    method: str
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two systems on the same questions.

    Args:
        difference: The mean score of the first less that of the second.
        p_value: Of the two-sided test that neither is better.
        wins: Questions on which the first has the greater score.
        losses: Questions on which the second has.
        ties: Questions on which both have the same.
    """

    difference: float
    p_value: float
    wins: int
    losses: int
    ties: int
    _make_interval: Callable[[], Interval] = dataclasses.field(repr=False, compare=False)

    @functools.cached_property
    def interval(self) -> Interval:
        """The confidence interval of the difference, computed when it is asked for: it takes most of the time."""
        return self._make_interval()


@dataclasses.dataclass(frozen=True)
class RankedSystem:
    """One system of a ranking.

    Args:
        name: Its name.
        score: Its mean score.
        interval: With the confidence interval.
        rank: 1 is the best; equal scores share a rank, and the next one is left out: 1, 2, 2, 4.
        rank_group: 1 is the first: see `rank_systems`.
    """

    name: str
    score: float
    interval: Interval
    rank: int
    rank_group: int


@dataclasses.dataclass(frozen=True)
class RankedPair:
    """Two systems of a ranking, compared.

    Args:
        a: The one with the better rank.
        b: The other.
        comparison: Of a with b.
        p_adjusted: The p-value, adjusted by `holm` for all pairs.
    """

    a: str
    b: str
    comparison: Comparison
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Systems, best first, and every pair of them.

    Args:
        systems: Best first; by name where scores are equal.
        comparisons: All pairs, in the order of the systems.
        alpha: What a p-value must not exceed to be significant.
    """

    systems: tuple[RankedSystem, ...]
    comparisons: tuple[RankedPair, ...]
    alpha: float


def confidence_interval(
    scores: npt.ArrayLike | Tally,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Give the confidence interval of the mean score, by bootstrap.

    Bias-corrected and accelerated (Efron, 1987), with the level expanded for few questions or clusters (Hesterberg,
    2015). With clusters, the number of questions varies between resamples: the mean is the ratio of sum and number.

    Where the mean of every question, or cluster, is the same value c (one question is the simplest case), all
    resamples are equal and a bootstrap knows nothing of what it did not draw. Then the bounds are those of Markov's
    inequality: if the true mean were below p·c with p = ((1 - level) / 2)^(1/n), n scores of c or more would come
    with a probability of at most (1 - level) / 2; likewise above. They hold for every distribution on [0, 1], and are
    those of Clopper and Pearson (1934) if c is 0 or 1: 1,000 perfect answers give [0.9963, 1].

    Args:
        scores: Of shape (n,), in [0, 1]; or their tally, if there are no clusters.
        clusters: Of shape (n,), the document of each question.
        level: Of the interval, in (0, 1).
        resamples: How many resamples are drawn, 1,000 or more. With 10,000 a bound moves from one seed to another by
            about a hundredth of the interval's width.
        seed: Of NumPy's generator.

    Returns:
        The interval. Its notes say if no question or cluster differs; else if there are fewer than 10 of them, or so
        few in effect because a few clusters hold most questions.

    Raises:
        ValueError: There is no score; a score is not in [0, 1]; clusters of another length, without a name in a row,
            or beside a tally; a level outside (0, 1); fewer than 1,000 resamples; a seed below 0.

    Example:
        >>> interval = confidence_interval([1.0] * 80 + [0.5] * 15 + [0.0] * 5)
        >>> interval.mean, round(interval.low, 2), round(interval.high, 2)
        (0.875, 0.81, 0.92)
        >>> round(confidence_interval([1.0]).low, 3)
        0.025
    """
    _check_options(level, resamples, seed)
    if not isinstance(scores, Tally):
        values = checked_scores(scores, "scores")
        return _score_interval(values, _codes(clusters, len(values)), level, resamples, seed)
    if clusters is not None:
        raise ValueError("clusters: a Tally does not know which question is whose; expected the scores by question")
    values = checked_scores(sorted(scores.counts), "scores")
    counts = np.array([scores.counts[value] for value in values.tolist()])
    units = resampling.units_of_histogram(scores.mean, values, counts)
    return _interval(units, 0.0, False, level, resamples, seed)


def paired_comparison(
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the same questions.

    The interval is that of `confidence_interval`, of the differences by question. The p-value is that of a
    permutation test: if neither system is better, the two answers to a question could be exchanged, which flips the
    sign of the difference; of a cluster, all signs at once. It is the share of flips with as great a mean, of which
    the one that was seen is one (Phipson and Smyth, 2010).

    Args:
        scores_a: Of shape (n,), in [0, 1], of the first system.
        scores_b: Of shape (n,), of the second, in the same order.
        clusters: Of shape (n,), the document of each question.
        level: Of the interval, in (0, 1).
        resamples: How many resamples and flips are drawn, 1,000 or more; no p-value is less than 1 / (resamples + 1).
        seed: Of NumPy's generator.

    Returns:
        The comparison.

    Raises:
        ValueError: As `confidence_interval`; or as many scores are not given for both systems.

    Example:
        >>> found = paired_comparison([1.0, 1.0, 0.9, 1.0] * 25, [1.0, 0.8, 0.9, 0.0] * 25)
        >>> round(found.difference, 6), found.wins, found.losses, found.ties
        (0.3, 50, 0, 50)
        >>> found.p_value < 0.001
        True
    """
    _check_options(level, resamples, seed)
    a, b = checked_scores(scores_a, "scores_a"), checked_scores(scores_b, "scores_b")
    check_lengths({"scores_a": a, "scores_b": b})
    return _compare(a, b, _codes(clusters, len(a)), level, resamples, seed, flips=resamples)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjust p-values for their number.

    Step-down method of Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979: the chance that any of
    the hypotheses that are true is rejected stays at most alpha, whatever their dependence.

    Args:
        p_values: Of shape (m,), in [0, 1].

    Returns:
        Of shape (m,), in the same order: the adjusted p-values.

    Raises:
        ValueError: A p-value is not in [0, 1].

    Example:
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
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
    """Rank systems, and say which ranks the questions can tell apart.

    A rank group begins with the best system that is in no group yet. The systems after it join in turn until one
    differs from that first one significantly: its p-value in the paired test, adjusted by `holm` for all pairs, is at
    most alpha. It begins the next group. So two systems of different groups may still not be separable; the
    comparisons say.

    Args:
        scores_by_name: By name of the system, its scores of shape (n,), all in the same order of questions.
        clusters: Of shape (n,), the document of each question.
        alpha: The chance of calling any two equal systems different, in (0, 1).
        level: Of the intervals, in (0, 1). They are of single means and differences, not adjusted.
        resamples: How many resamples are drawn, 1,000 or more. More signs are flipped for many systems, whose
            adjusted p-values could not become significant otherwise.
        seed: Of NumPy's generator.

    Returns:
        The ranking.

    Raises:
        ValueError: As `paired_comparison`, with the name of the system; there is no system; an alpha outside (0, 1).

    Example:
        >>> ranking = rank_systems({"good": [1.0] * 40, "bad": [0.0] * 40, "poor": [0.0] * 39 + [0.5]})
        >>> [(system.name, system.rank, system.rank_group) for system in ranking.systems]
        [('good', 1, 1), ('poor', 2, 2), ('bad', 3, 2)]
    """
    _check_options(level, resamples, seed)
    if not scores_by_name:
        raise ValueError("nothing to rank: there is no system")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: {alpha!r}; expected a number between 0 and 1, as 0.05")
    checked = {name: checked_scores(scores, f"scores of {name!r}") for name, scores in scores_by_name.items()}
    check_lengths({f"scores of {name!r}": scores for name, scores in checked.items()})
    codes = _codes(clusters, len(next(iter(checked.values()))))
    intervals = {name: _score_interval(scores, codes, level, resamples, seed) for name, scores in checked.items()}
    names = sorted(checked, key=lambda name: (-intervals[name].mean, name))
    pairs = list(itertools.combinations(names, 2))
    flips = max(resamples, math.ceil(2 * len(pairs) / alpha))
    comparisons = [_compare(checked[a], checked[b], codes, level, resamples, seed, flips=flips) for a, b in pairs]
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


def minimum_detectable_difference(
    found: Comparison | Interval, *, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """Give the least difference between two systems that the data set would detect.

    It is (z(1 - alpha/2) + z(power)) · standard error of the difference, that is, of its standard deviation by
    question over √n; with clusters, from the variance of their sums.

    Args:
        found: A comparison of two systems like those in question. Or the interval of one system: then the other is
            taken to have the same standard error and to err independently, so that the difference has √2 times it.
            Systems mostly fail on the same hard questions, and then less is enough: the answer is on the safe side.
        power: How often the difference is to be detected, in (0, 1).
        alpha: Of the two-sided test, in (0, 1).

    Returns:
        The least difference of the mean scores; None if the scores do not vary, from which nothing follows.

    Raises:
        ValueError: Power or alpha is outside (0, 1).

    Example:
        >>> interval = confidence_interval([1.0] * 900 + [0.0] * 100)
        >>> round(minimum_detectable_difference(interval), 3)
        0.038
    """
    from scipy.special import ndtri  # 0.2 s, which only reports need

    for name, value in (("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise ValueError(f"{name}: {value!r}; expected a number between 0 and 1")
    error = found.interval.standard_error if isinstance(found, Comparison) else math.sqrt(2) * found.standard_error
    return float(ndtri(1 - alpha / 2) + ndtri(power)) * error or None


# Parts


def _compare(
    a: Floats, b: Floats, codes: Integers | None, level: float, resamples: int, seed: int, flips: int
) -> Comparison:
    differences = a - b
    # Not the mean of the rounded differences: systems with equal scores differ by exactly 0.
    mean = resampling.exact_sum(a, -b) / len(differences)
    sums = differences if codes is None else resampling.cluster_sums(differences, codes)[0]
    return Comparison(
        difference=mean,
        _make_interval=functools.partial(_difference_interval, mean, differences, codes, level, resamples, seed),
        p_value=resampling.flipped_p_value(sums, flips, np.random.default_rng(seed)),
        wins=int(np.count_nonzero(differences > 0)),
        losses=int(np.count_nonzero(differences < 0)),
        ties=int(np.count_nonzero(differences == 0)),
    )


def _difference_interval(
    mean: float, differences: Floats, codes: Integers | None, level: float, resamples: int, seed: int
) -> Interval:
    return _interval(_units(mean, differences, codes), -1.0, codes is not None, level, resamples, seed)


def _score_interval(scores: Floats, codes: Integers | None, level: float, resamples: int, seed: int) -> Interval:
    units = _units(resampling.exact_sum(scores) / len(scores), scores, codes)
    return _interval(units, 0.0, codes is not None, level, resamples, seed)


def _units(mean: float, values: Floats, codes: Integers | None) -> Units:
    if codes is None:
        return resampling.units_of_histogram(mean, *np.unique(values, return_counts=True))
    return resampling.units_of_clusters(mean, values, codes)


def _codes(clusters: npt.ArrayLike | None, n: int) -> Integers | None:
    return None if clusters is None else resampling.cluster_codes(clusters, n)


def _interval(units: Units, least: float, has_clusters: bool, level: float, resamples: int, seed: int) -> Interval:
    """Give the interval of a mean of values in [least, 1]."""
    notes = []
    what = "clusters" if has_clusters else "questions"
    if units.are_equal:
        method = "Markov bound"
        share = ((1 - level) / 2) ** (1 / units.number)
        low, high = least + share * (units.mean - least), 1 - share * (1 - units.mean)
        notes.append(
            f"all {what} have the same score, which says little about others: the interval is one that holds for "
            "any scores"
        )
    else:
        method = "BCa bootstrap"
        deviations = resampling.bootstrap_deviations(units, resamples, np.random.default_rng(seed))
        low, high = resampling.bca_bounds(units, deviations, level)
        if units.effective_number < FEW_UNITS:
            worth = f", which tell as much as {units.effective_number:.1f} of one size"
            number = f"{units.number}{'' if units.number < FEW_UNITS else worth}"
            notes.append(f"too few {what} for a reliable interval: {number}; expected {FEW_UNITS} or more")
    return Interval(
        mean=units.mean,
        low=max(low, least),
        high=min(high, 1.0),
        level=level,
        n=int(units.questions),
        clusters=units.number if has_clusters else None,
        standard_error=units.standard_error,
        method=method,
        notes=tuple(notes),
    )


def _check_options(level: float, resamples: int, seed: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level: {level!r}; expected a number between 0 and 1, as 0.95")
    if resamples < LEAST_RESAMPLES:
        raise ValueError(f"resamples: {resamples!r}; expected {LEAST_RESAMPLES:,} or more")
    if seed < 0:
        raise ValueError(f"seed: {seed!r}; expected an integer of 0 or more")
