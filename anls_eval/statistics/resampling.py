"""Bootstrap over the distribution of scores, whose cost hardly grows with the number of questions.

The mean of a resample depends only on how often each distinct score was drawn, and these counts are multinomial:
drawing the counts gives exactly the distribution of the bootstrap. With clusters, whole clusters are drawn, each
represented by its sum and its size. Where all units have one size, `all_resamples` draws nothing.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

EQUAL_WITHIN = 1e-12  # means that differ by less differ by rounding alone
MAX_VALUES = 500  # drawing takes one step per distinct value; more values are pooled
_LARGEST = 100  # of units of different sizes: those that are not pooled
_CELLS = MAX_VALUES // 2  # two values are kept for each cell
_CHUNK = 500_000  # counts drawn at a time: 4 MB
_SERIES_FROM = 500  # degrees of freedom from which the series of Student's t is exact to about 1e-13

NORMAL = NormalDist()


@dataclasses.dataclass(frozen=True)
class Units:
    """What a resample draws, questions or whole clusters, grouped into k kinds of equal units."""

    mean: float  # over all questions
    deviations: Floats  # shape (k,): the sum of score - mean over the questions of one unit
    sizes: Floats  # shape (k,): the number of questions in one unit
    counts: Integers  # shape (k,): the number of units of this kind

    @property
    def number(self) -> int:
        """The number of units."""
        return int(self.counts.sum())

    @property
    def questions(self) -> float:
        """The number of questions."""
        return float(self.counts @ self.sizes)

    @property
    def effective_number(self) -> float:
        """The number of units of equal size that would be as informative: fewer than `number` if sizes differ."""
        return self.questions**2 / float(self.counts @ self.sizes**2)

    @property
    def have_one_size(self) -> bool:
        """Whether all units have the same number of questions."""
        return bool(self.sizes.min() == self.sizes.max())

    @property
    def are_equal(self) -> bool:
        """Whether all units have the same mean, so that all resamples are equal."""
        return bool(np.abs(self.deviations / self.sizes).max() <= EQUAL_WITHIN)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; for clusters, that of the ratio of sums to sizes, linearised."""
        if self.are_equal:
            return 0.0
        squares = math.fsum(self.counts * self.deviations**2)
        return math.sqrt(squares * self.number / (self.number - 1)) / self.questions

    @property
    def acceleration(self) -> float:
        """The acceleration of BCa, from the jackknife over the units; for a ratio of sums it has a closed form."""
        influences = self.deviations / (self.questions - self.sizes)
        influences = influences - math.fsum(self.counts * influences) / self.number
        squares, cubes = (math.fsum(self.counts * influences**power) for power in (2, 3))
        return cubes / (6 * math.sqrt(squares) ** 3)


def exact_sum(*arrays: Floats) -> float:
    """Return the sum of all values, rounded once at the end, so that their order does not matter."""
    parts = (array[start : start + _CHUNK].tolist() for array in arrays for start in range(0, len(array), _CHUNK))
    return math.fsum(itertools.chain.from_iterable(parts))


def units_of_histogram(mean: float, values: Floats, counts: Integers) -> Units:
    """Make each question a unit, from the distinct scores and the number of times each occurs."""
    return Units(mean, values - mean, np.ones_like(values), counts)


def units_of_clusters(mean: float, values: Floats, codes: Integers) -> Units:
    """Make each cluster a unit, from the scores and the number, from 0, of each question's cluster."""
    sums, sizes = cluster_sums(values, codes)
    # As complex numbers, pairs sort as they do in np.unique(..., axis=0), eight times as fast.
    kinds, counts = np.unique(sizes + 1j * sums, return_counts=True)
    return Units(mean, kinds.imag - mean * kinds.real, np.ascontiguousarray(kinds.real), counts)


def cluster_sums(values: Floats, codes: Integers) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values of each cluster."""
    order = np.lexsort((values, codes))  # by value as well: the last bit of a sum depends on the order
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.add.reduceat(values[order], starts), sizes.astype(np.float64)


def cluster_codes(clusters: npt.ArrayLike | None, n: int) -> Integers | None:
    """Number the clusters of n questions from 0, if there are any, or raise a ValueError if a name is missing."""
    if clusters is None:
        return None
    names = clusters if isinstance(clusters, np.ndarray) else np.asarray(clusters, dtype=object)
    if names.shape != (n,):
        given = f"{len(names)} names" if names.ndim == 1 else f"an array of shape {names.shape}"
        raise ValueError(f"clusters: {given} for {n} scores; expected the document of each question")
    codes_by_name: dict[object, int] = collections.defaultdict(itertools.count().__next__)
    codes = np.fromiter(map(codes_by_name.__getitem__, names.tolist()), np.int64, n)
    missing = [code for name, code in codes_by_name.items() if is_nameless(name)]
    if missing:
        first, *others = np.flatnonzero(np.isin(codes, missing)).tolist()
        more = f" and {len(others)} more rows" if others else ""
        raise ValueError(
            f"clusters: no name in row {first}{more}; expected the document of each question. "
            "To make a question without a document its own cluster, use its question_id as the name"
        )
    return codes


def is_nameless(name: object) -> bool:
    """Return whether there is no name: None, NaN, the NaT and NA of pandas, and blanks, as of empty cells."""
    return name is None or str(name).strip() in ("", "<NA>") or name != name


def pooled(values: Floats, sizes: Floats, counts: Integers) -> tuple[Floats, Floats, Integers]:
    """Reduce kinds of units to at most `MAX_VALUES`, keeping the mean and variance of the resampled means."""
    if len(values) <= MAX_VALUES:
        return values, sizes, counts
    if sizes.min() < sizes.max():  # the largest units, of which one can outweigh all others, stay as they are
        order = np.argsort(-sizes, kind="stable")
        largest, others = order[:_LARGEST], order[_LARGEST:]
        rest = _pooled(values[others], sizes[others], counts[others], (MAX_VALUES - _LARGEST) // 2)
        alone = values[largest], sizes[largest], counts[largest]
        joined = [np.concatenate(pair) for pair in zip(alone, rest, strict=True)]
        return joined[0], joined[1], joined[2]
    return _pooled(values, sizes, counts, _CELLS)


def _pooled(values: Floats, sizes: Floats, counts: Integers, cells_of: int) -> tuple[Floats, Floats, Integers]:
    """Reduce kinds of units to two for each of so many cells."""
    # The values in each cell of equal width are replaced by two with the same total count, mean and variance,
    # which keeps the skewness up to the cube of the cell width. Sizes in a cell become their mean.
    lowest = values.min()
    width = (values.max() - lowest) / cells_of or 1.0
    _, cells = np.unique(np.minimum((values - lowest) // width, cells_of - 1), return_inverse=True)
    numbers = np.bincount(cells, counts)
    centres = np.bincount(cells, counts * values) / numbers
    spreads = np.sqrt(np.bincount(cells, counts * (values - centres[cells]) ** 2) / numbers)
    upper = np.ceil(numbers / 2)
    lower = numbers - upper
    two = np.concatenate(
        [centres + spreads * np.sqrt(lower / upper), centres - spreads * np.sqrt(upper / np.maximum(lower, 1))]
    )
    both = np.concatenate([upper, lower]).astype(np.int64)
    mean_sizes = np.tile(np.bincount(cells, counts * sizes) / numbers, 2)
    return two[both > 0], mean_sizes[both > 0], both[both > 0]


def bootstrap_deviations(units: Units, resamples: int, generator: np.random.Generator) -> Floats:
    """Draw resamples of the units and return the mean of each, minus the mean of all; shape (resamples,)."""
    deviations, sizes, counts = pooled(units.deviations, units.sizes, units.counts)
    columns = np.column_stack([deviations, sizes])
    number = int(counts.sum())
    most = max(1, _CHUNK // len(counts))  # resamples at a time
    sums: Floats = np.concatenate(
        [
            generator.multinomial(number, counts / number, size=min(most, resamples - start)).astype(float) @ columns
            for start in range(0, resamples, most)
        ]
    )
    means: Floats = sums[:, 0] / sums[:, 1]
    return means


def share_below_0(deviations: Floats) -> float:
    """Return the share of deviations below 0, and half of those at 0."""
    below = np.count_nonzero(deviations < -EQUAL_WITHIN) + np.count_nonzero(np.abs(deviations) <= EQUAL_WITHIN) / 2
    return below / len(deviations)


def bca_bounds(
    units: Units, below: float, quantiles: Callable[[Sequence[float]], Floats], level: float
) -> tuple[float, float]:
    """Return the BCa bounds of the mean of two or more units that differ.

    Given are the share of the resamples with a mean `below` that of all, and quantiles of what they deviate by.
    """
    # Efron, Better Bootstrap Confidence Intervals, 1987. A bootstrap interval of n units is too narrow by the factor
    # sqrt((n - 1) / n), and because it uses the normal distribution in place of Student's t: the level is expanded
    # (Hesterberg, What Teachers Should Know About the Bootstrap, 2015, arXiv 1411.5279). For clusters of different
    # sizes, n is the effective number (Carter, Schnepel and Steigerwald, Asymptotic Behavior of a t-Test Robust to
    # Cluster Heterogeneity, 2017).
    n = units.effective_number
    wanted = math.sqrt(n / (n - 1)) * student_quantile((1 + level) / 2, n - 1)
    bias = NORMAL.inv_cdf(below)
    shifted = bias + np.array([-wanted, wanted])
    slowed = 1 - units.acceleration * shifted
    # With very few units and a high level, the formula is past its pole: the bound is the outermost resample.
    corrected = np.where(slowed > 0, bias + shifted / np.where(slowed > 0, slowed, 1), np.copysign(np.inf, shifted))
    low, high = units.mean + quantiles(list(map(NORMAL.cdf, corrected.tolist())))
    return float(low), float(high)


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t distribution."""
    if freedom < _SERIES_FROM:
        # Takes 0.1 s, longer than scoring 1,000 questions; nothing lighter gives the same bits.
        from scipy.special import stdtrit

        return float(stdtrit(freedom, probability))
    # Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5
    x = NORMAL.inv_cdf(probability)
    s = x * x
    terms = (
        (s + 1) / 4,
        ((5 * s + 16) * s + 3) / 96,
        (((3 * s + 19) * s + 17) * s - 15) / 384,
        ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return x + x * sum(term / freedom**power for power, term in enumerate(terms, 1))
