"""Confidence intervals and paired tests, independent of the order of the questions."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from anls_eval.markup import notebook_page, notes_html, table_html
from anls_eval.statistics import resampling
from anls_eval.statistics.all_resamples import all_resamples
from anls_eval.statistics.resampling import Floats, Integers, Units
from anls_eval.statistics.sign_flips import sign_flip_p_value
from anls_eval.statistics.tally import Tally, checked_columns, checked_scores

LEVEL = 0.95
IN_PERCENT = f"{LEVEL:.0%}"
RESAMPLES = 10_000  # where all cannot be computed
_MIN_RESAMPLES = 1_000
_FEWEST_CLUSTERS = 5  # with fewer, even a bootstrap of clusters covers far less than its level
FEW_UNITS = 10  # with fewer, no bootstrap keeps its level
_DETECTABLE = 2.8015852181129683  # standard errors: z(0.975) + z(0.8), without the 0.1 s that importing scipy takes


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval.

    Attributes:
        mean: Mean score or mean difference.
        low: Lower bound.
        high: Upper bound.
        level: Confidence level, such as 0.95.
        n: Number of questions.
        clusters: Number of clusters, or None if questions were treated as independent.
        standard_error: Standard error of the mean; 0 if all scores are equal, since it cannot be estimated then.
        method: ``"BCa bootstrap"``, or ``"Markov bound"`` if all scores are equal.
        notes: Reasons not to rely on the interval; usually empty.
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

    @property
    def mirrored(self) -> Interval:
        """The interval of the negative mean."""
        mean, low, high = (0.0 - own for own in (self.mean, self.high, self.low))  # and never -0.0
        return dataclasses.replace(self, mean=mean, low=low, high=high)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two systems compared on the same questions.

    Attributes:
        difference: Mean score of the first minus that of the second.
        p_value: Of the two-sided test of the hypothesis that the systems are equally good.
        wins: Number of questions on which the first scores higher.
        losses: Number of questions on which the second scores higher.
        ties: Number of questions on which both score the same.
    """

    difference: float
    p_value: float
    wins: int
    losses: int
    ties: int
    _make_interval: Callable[[], Interval] = dataclasses.field(repr=False, compare=False)

    @functools.cached_property
    def interval(self) -> Interval:
        """The confidence interval of the difference, computed on first access because it takes most of the time."""
        return self._make_interval()

    @property
    def notes(self) -> tuple[str, ...]:
        """Reasons not to rely on the interval, and which to believe if it and the test seem to disagree."""
        own, alpha = self.interval, 1 - self.interval.level
        excludes_0 = own.low > 0 or own.high < 0
        if excludes_0 == (self.p_value <= alpha):
            return own.notes
        differ = f"{self.wins + self.losses:,} of {own.n:,} questions differ"
        seems = (
            "excludes 0 but the test finds no difference" if excludes_0 else "holds 0 but the test finds a difference"
        )
        return (*own.notes, f"the interval {seems} (p = {self.p_value:.3g}; {differ}): believe the test")

    @property
    def mirrored(self) -> Comparison:
        """The comparison of the second with the first."""
        return dataclasses.replace(
            self,
            difference=0.0 - self.difference,
            wins=self.losses,
            losses=self.wins,
            _make_interval=lambda: self.interval.mirrored,
        )

    def _repr_html_(self) -> str:
        """Return the comparison as notebooks show it."""
        rows = [
            ("difference", f"{self.difference:+.4f}"),
            (f"{self.interval.level:.0%} interval", interval_words(self.interval)),
            ("p", p_value_words(self.p_value)),
            ("first scores higher", self.wins),
            ("second scores higher", self.losses),
            ("equal", self.ties),
        ]
        return notebook_page(table_html(("first minus second", ""), rows), notes_html(self.notes))


def interval_words(interval: Interval) -> str:
    """Return the bounds of an interval in words."""
    return f"{interval.low:.4f} to {interval.high:.4f}"


def p_value_words(p_value: float) -> str:
    """Return a p-value in words, which is never 0."""
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def confidence_interval(
    scores: npt.ArrayLike | Tally,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Compute the confidence interval of the mean score by bootstrap.

    Bias-corrected and accelerated (Efron, 1987), with the level expanded for small numbers of questions or clusters
    (Hesterberg, 2015). Questions about the same document are not independent: with clusters, whole documents are
    resampled, and the mean is the ratio of sum to number, because the number of questions varies between resamples.
    Without clusters, or if all are of one size, nothing is drawn: the distribution over all resamples is computed.

    If all questions, or all clusters, have the same mean c (a single question is the simplest case), all resamples are
    equal and a bootstrap says nothing about unseen scores. The bounds are then those of Markov's inequality: if the
    true mean were below p·c with p = ((1 - level) / 2)^(1/n), n scores of c or more would occur with a probability of
    at most (1 - level) / 2; the upper bound is symmetric. They hold for every distribution on [0, 1], and for c = 0 or
    1 they equal those of Clopper and Pearson (1934): 1,000 perfect answers give [0.9963, 1].

    Args:
        scores: Shape (n,), in [0, 1]; or, without clusters, their tally.
        clusters: Shape (n,), the document of each question.
        level: Confidence level, in (0, 1).
        resamples: Number of resamples of clusters of different sizes, at least 1,000. With 10,000, the bounds vary
            between seeds by about 1 % of the width of the interval.
        seed: Seed of NumPy's random generator for these resamples, at least 0.

    Returns:
        The interval. A note says if all scores are equal, if there are fewer than 10 questions or clusters, or if a few
        clusters hold most of the questions.

    Raises:
        ValueError: There are no scores; a score is outside [0, 1]; clusters differ in number from the scores, lack a
            name, or come with a tally; or an option is out of range.

    Example:
        >>> interval = confidence_interval([1.0] * 80 + [0.5] * 15 + [0.0] * 5)
        >>> interval.mean, round(interval.low, 2), round(interval.high, 2)
        (0.875, 0.81, 0.92)
    """
    check_options(level, resamples, seed)
    if not isinstance(scores, Tally):
        values = checked_scores(scores, "scores")
        codes = resampling.cluster_codes(clusters, len(values))
        return interval_of_mean(exact_mean(values), values, codes, 0.0, level, resamples, seed)
    if clusters is not None:
        raise ValueError("clusters need the score of each question; pass all scores instead of a Tally")
    values = checked_scores(sorted(scores.counts), "scores")
    counts = np.array([scores.counts[value] for value in values.tolist()])
    units = resampling.units_of_histogram(scores.mean, values, counts)
    return interval_of_units(units, 0.0, False, level, resamples, seed)


def paired_comparison(
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the same questions.

    The interval is the `confidence_interval` of the differences by question; that of b - a is the mirror image of that
    of a - b. The p-value comes from a permutation test:
    if the systems are equally good, their answers to a question are exchangeable, which flips the sign of the
    difference, or of all differences of a cluster at once. It is the share of all sign flips whose mean is at least as
    extreme as the observed one (Fisher, 1935). It is computed, not drawn, and needs no seed: up to 20 questions or
    clusters that differ from all flips, beyond from the characteristic function of their sum, with differences rounded
    to a fine grid. P-values below 1e-12 are given as 1e-12.

    Args:
        scores_a: Shape (n,), in [0, 1], scores of the first system.
        scores_b: Shape (n,), in [0, 1], scores of the second system, in the same order.
        clusters: Shape (n,), the document of each question.
        level: Confidence level, in (0, 1).
        resamples: Number of resamples of clusters of different sizes for the interval, at least 1,000.
        seed: Seed of NumPy's random generator for these resamples, at least 0.

    Raises:
        ValueError: As for `confidence_interval`, or the two systems have different numbers of scores.

    Example:
        >>> found = paired_comparison([1.0, 1.0, 0.9, 1.0] * 25, [1.0, 0.8, 0.9, 0.0] * 25)
        >>> round(found.difference, 6), found.wins, found.losses, found.ties
        (0.3, 50, 0, 50)
    """
    check_options(level, resamples, seed)
    a, b = checked_columns({"scores_a": scores_a, "scores_b": scores_b})
    return compare_scores(a, b, resampling.cluster_codes(clusters, len(a)), level, resamples, seed)


def minimum_detectable_difference(found: Comparison | Interval) -> float | None:
    """Estimate the difference that a test at 0.05 detects with power 0.8; None if all scores are equal."""
    # With one interval, the other system is taken to have the same standard error and independent errors. That is
    # conservative: most systems fail on the same hard questions.
    error = found.interval.standard_error if isinstance(found, Comparison) else math.sqrt(2) * found.standard_error
    return _DETECTABLE * error or None


def check_options(level: float, resamples: int, seed: int) -> None:
    """Raise a ValueError if an option is out of range."""
    if not (level > 0 and (1 + level) / 2 < 1):  # also 1 but for the last digit has no quantile
        raise ValueError(f"level={level!r}: expected a number between 0 and 1, such as 0.95")
    if resamples < _MIN_RESAMPLES:
        raise ValueError(f"resamples={resamples!r}: expected at least {_MIN_RESAMPLES:,}")
    if seed < 0:
        raise ValueError(f"seed={seed!r}: expected an integer of at least 0")


def exact_mean(scores: Floats) -> float:
    """Return the mean, which does not depend on the order of the scores."""
    return resampling.exact_sum(scores) / len(scores)


def compare_scores(a: Floats, b: Floats, codes: Integers | None, level: float, resamples: int, seed: int) -> Comparison:
    """Compare the scores of two systems."""
    differences = a - b
    # Not the mean of the rounded differences: systems with equal scores differ by exactly 0.
    mean = resampling.exact_sum(a, -b) / len(differences)
    return Comparison(
        difference=mean,
        p_value=sign_flip_p_value(differences if codes is None else resampling.cluster_sums(differences, codes)[0]),
        wins=int(np.count_nonzero(differences > 0)),
        losses=int(np.count_nonzero(differences < 0)),
        ties=int(np.count_nonzero(differences == 0)),
        _make_interval=functools.partial(interval_of_mean, mean, differences, codes, -1.0, level, resamples, seed),
    )


def interval_of_mean(
    mean: float, values: Floats, codes: Integers | None, lowest: float, level: float, resamples: int, seed: int
) -> Interval:
    """Return the interval of the mean of values in [lowest, 1]; that of b - a is the mirror image of that of a - b."""
    if lowest < 0 and mean <= 0:
        mirrored = _interval_of_mean(0.0 - mean, -values, codes, lowest, level, resamples, seed).mirrored
        if mean < 0:
            return mirrored
        own = _interval_of_mean(mean, values, codes, lowest, level, resamples, seed)
        return dataclasses.replace(own, low=min(own.low, mirrored.low), high=max(own.high, mirrored.high))
    return _interval_of_mean(mean, values, codes, lowest, level, resamples, seed)


def _interval_of_mean(
    mean: float, values: Floats, codes: Integers | None, lowest: float, level: float, resamples: int, seed: int
) -> Interval:
    """Return the interval of the mean of values in [lowest, 1]."""
    if codes is None:
        units = resampling.units_of_histogram(mean, *np.unique(values, return_counts=True))
    else:
        units = resampling.units_of_clusters(mean, values, codes)
    return interval_of_units(units, lowest, codes is not None, level, resamples, seed)


def interval_of_ratio(parts: Integers, wholes: Integers, level: float, resamples: int, seed: int) -> Interval | None:
    """Return the interval of sum(parts) / sum(wholes) by resampling documents; None if all wholes are 0."""
    drawn = wholes > 0  # the others change no resample
    if not drawn.any():
        return None
    mean = int(parts.sum()) / int(wholes.sum())
    width = int(parts.max()) + 1
    kinds, counts = np.unique(wholes[drawn] * width + parts[drawn], return_counts=True)
    sizes, sums = (own.astype(np.float64) for own in np.divmod(kinds, width))
    return interval_of_units(Units(mean, sums - mean * sizes, sizes, counts), 0.0, True, level, resamples, seed)


def interval_over_documents(mean: float, values: Floats, level: float, resamples: int, seed: int) -> Interval:
    """Return the interval of the mean of values in [0, 1], one for each document."""
    units = resampling.units_of_histogram(mean, *np.unique(values, return_counts=True))
    return interval_of_units(units, 0.0, True, level, resamples, seed)


def interval_of_units(
    units: Units, lowest: float, has_clusters: bool, level: float, resamples: int, seed: int
) -> Interval:
    """Return the interval of the mean of units whose values are in [lowest, 1]."""
    notes = []
    what = "clusters" if has_clusters else "questions"
    # Markov's inequality holds for every distribution. A bootstrap cannot know scores that it has not seen: of a good
    # system with few questions it claims too much (benchmarks/coverage.py).
    share = ((1 - level) / 2) ** (1 / (units.effective_number if has_clusters else units.number))
    outer = lowest + share * (units.mean - lowest), 1 - share * (1 - units.mean)
    if units.are_equal:
        method = "Markov bound"
        low, high = outer
        notes.append(
            f"all {what} have the same score, so the interval is a conservative bound that holds for any distribution"
        )
    else:
        method = "BCa bootstrap"
        low, high = _bootstrap_bounds(units, level, resamples, seed)
        is_outer = not has_clusters and lowest == 0
        if has_clusters and units.number < _FEWEST_CLUSTERS:
            notes.append(f"too few clusters ({units.number}) for an interval: the bounds hold for any distribution")
            is_outer = True
        elif units.effective_number < FEW_UNITS:
            worth = f", as informative as {units.effective_number:.1f} of equal size"
            number = f"{units.number}{'' if units.number < FEW_UNITS else worth}"
            notes.append(f"too few {what} for a reliable interval: {number}; expected at least {FEW_UNITS}")
            if has_clusters:  # so few resamples differ that their range is too narrow (benchmarks/coverage.py)
                reach = units.standard_error * resampling.student_quantile((1 + level) / 2, units.effective_number - 1)
                low, high = min(low, units.mean - reach), max(high, units.mean + reach)
        if is_outer:
            low, high = min(low, outer[0]), max(high, outer[1])
    return Interval(
        mean=units.mean,
        low=max(low, lowest),
        high=min(high, 1.0),
        level=level,
        n=int(units.questions),
        clusters=units.number if has_clusters else None,
        standard_error=units.standard_error,
        method=method,
        notes=tuple(notes),
    )


def _bootstrap_bounds(units: Units, level: float, resamples: int, seed: int) -> tuple[float, float]:
    """Return the BCa bounds, from all resamples of units of one size, or from some that are drawn."""
    if units.have_one_size:
        every = all_resamples(units)
        return resampling.bca_bounds(units, every.below, every.quantiles, level)
    drawn = resampling.bootstrap_deviations(units, resamples, np.random.default_rng(seed))
    return resampling.bca_bounds(units, resampling.share_below_0(drawn), functools.partial(np.quantile, drawn), level)
