"""Bootstrap and sign flips over the distribution of scores, so that their cost hardly grows with the questions.

The mean of a resample depends only on how often each distinct score was drawn, and these counts are multinomial:
drawing them has exactly the distribution of the bootstrap. In the same way the sign flips of all equal differences
are one binomial draw. With documents, whole documents are drawn or flipped, each by its sum and its size.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from anls_eval.inputs.values import is_missing_value
from anls_eval.statistics.quantiles import normal_cdf, normal_quantile, student_quantile

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SAME = 1e-12  # means that differ by less are equal: they differ by rounding alone
MOST_VALUES = 500  # a draw costs a step for each distinct value; beyond so many they are pooled
_CELLS = MOST_VALUES // 2  # a cell has two values
_CHUNK = 500_000  # so many counts are drawn at a time: 4 MB


@dataclasses.dataclass(frozen=True)
class Units:
    """What a resample draws, questions or whole clusters, by kind.

    Args:
        mean: The mean score over all questions.
        deviations: Of shape (k,): for each kind of unit, the sum over its questions of score - mean.
        sizes: Of shape (k,): its number of questions.
        counts: Of shape (k,): how many units are of this kind.
    """

    mean: float
    deviations: Floats
    sizes: Floats
    counts: Integers

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
        """How many units of one size would tell as much: the number of units, or fewer if their sizes differ."""
        return self.questions**2 / float(self.counts @ self.sizes**2)

    @property
    def are_equal(self) -> bool:
        """Whether all units have the same mean, so that resamples do not differ."""
        return bool(np.abs(self.deviations / self.sizes).max() <= SAME)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; with clusters, that of the ratio of sums and sizes, by linearisation."""
        if self.are_equal:
            return 0.0
        squares = math.fsum(self.counts * self.deviations**2)
        return math.sqrt(squares * self.number / (self.number - 1)) / self.questions

    @property
    def acceleration(self) -> float:
        """The acceleration of BCa, from the jackknife over the units, which for a ratio of sums has a closed form."""
        influences = self.deviations / (self.questions - self.sizes)
        influences = influences - math.fsum(self.counts * influences) / self.number
        squares, cubes = (math.fsum(self.counts * influences**power) for power in (2, 3))
        return cubes / (6 * math.sqrt(squares) ** 3)


def exact_sum(*arrays: Floats) -> float:
    """Add up all values, with one rounding at the end.

    Args:
        arrays: Each of shape (n,).

    Returns:
        The sum, whatever the order.
    """
    parts = (array[start : start + _CHUNK].tolist() for array in arrays for start in range(0, len(array), _CHUNK))
    return math.fsum(itertools.chain.from_iterable(parts))


def units_of_histogram(mean: float, values: Floats, counts: Integers) -> Units:
    """Make each question a unit.

    Args:
        mean: The mean over the questions.
        values: Of shape (k,), the distinct scores.
        counts: Of shape (k,), how often each occurs.

    Returns:
        The units.
    """
    return Units(mean, values - mean, np.ones_like(values), counts)


def units_of_clusters(mean: float, values: Floats, codes: Integers) -> Units:
    """Make each cluster a unit.

    Args:
        mean: The mean over the questions.
        values: Of shape (n,), the scores.
        codes: Of shape (n,), for each question the number of its cluster; 0 to the number of clusters - 1.

    Returns:
        The units.
    """
    sums, sizes = cluster_sums(values, codes)
    kinds, counts = np.unique(np.column_stack([sizes, sums]), axis=0, return_counts=True)
    return Units(mean, kinds[:, 1] - mean * kinds[:, 0], np.ascontiguousarray(kinds[:, 0]), counts)


def cluster_sums(values: Floats, codes: Integers) -> tuple[Floats, Floats]:
    """Sum and count by cluster.

    Args:
        values: Of shape (n,).
        codes: Of shape (n,), for each value the number of its cluster.

    Returns:
        Two arrays of shape (clusters,): the sums, and the numbers of values.
    """
    order = np.lexsort((values, codes))  # by value as well: the last bit of a sum depends on the order
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.add.reduceat(values[order], starts), sizes.astype(np.float64)


def cluster_codes(clusters: npt.ArrayLike, n: int) -> Integers:
    """Number the clusters.

    Args:
        clusters: Of shape (n,), for each question the name of its document.
        n: The number of questions.

    Returns:
        Of shape (n,), for each question the number of its cluster, from 0.

    Raises:
        ValueError: There are more or fewer names than questions, or a name is missing.
    """
    names = clusters if isinstance(clusters, np.ndarray) else np.asarray(clusters, dtype=object)
    if names.shape != (n,):
        given = f"{len(names)} names" if names.ndim == 1 else f"an array of shape {names.shape}"
        raise ValueError(f"clusters: {given} for {n} scores; expected the name of a document for each question")
    numbers: dict[object, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, n)
    unnamed = [number for name, number in numbers.items() if is_missing_value(name)]
    missing = np.flatnonzero(np.isin(codes, unnamed))
    if len(missing):
        raise ValueError(
            f"clusters: no name in row {missing[0]} and {len(missing) - 1} more; expected the document of each "
            "question. Name each question without a document by its question_id to make it a cluster of its own."
        )
    return codes


def pooled(values: Floats, sizes: Floats, counts: Integers) -> tuple[Floats, Floats, Integers]:
    """Pool values, if there are more than `MOST_VALUES`.

    The range of the values is cut in 250 cells of one width, and what lies in a cell is replaced by two values with
    the same number, mean and variance. The resampled means keep their mean and variance exactly, and their skewness
    but for the cube of a cell's width. All sizes in a cell become their mean.

    Args:
        values: Of shape (k,).
        sizes: Of shape (k,).
        counts: Of shape (k,), how often each pair of value and size occurs.

    Returns:
        The same three, of at most `MOST_VALUES` pairs.
    """
    if len(values) <= MOST_VALUES:
        return values, sizes, counts
    least = values.min()
    width = (values.max() - least) / _CELLS
    _, cells = np.unique(np.minimum((values - least) // width, _CELLS - 1), return_inverse=True)
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
    """Draw resamples of the units.

    Args:
        units: The units.
        resamples: How many resamples.
        generator: The source of chance.

    Returns:
        Of shape (resamples,): the mean of each resample less the mean.
    """
    deviations, sizes, counts = pooled(units.deviations, units.sizes, units.counts)
    columns = np.column_stack([deviations, sizes])
    number = int(counts.sum())
    sums: Floats = np.concatenate(
        [
            generator.multinomial(number, counts / number, size=chunk).astype(np.float64) @ columns
            for chunk in _chunks(resamples, len(counts))
        ]
    )
    means: Floats = sums[:, 0] / sums[:, 1]
    return means


def bca_bounds(units: Units, deviations: Floats, level: float) -> tuple[float, float]:
    """Read the bounds of the interval off the resamples.

    Bias-corrected and accelerated (BCa: Efron, Better Bootstrap Confidence Intervals, 1987). A bootstrap interval of
    n units is too narrow by the factor sqrt((n - 1) / n) and by the difference of Student's t from the normal, which
    matters for few clusters: the level is expanded by as much (Hesterberg, What Teachers Should Know About the
    Bootstrap, 2015, arXiv 1411.5279). For clusters of different sizes, n is the effective number (Carter, Schnepel
    and Steigerwald, Asymptotic Behavior of a t-Test Robust to Cluster Heterogeneity, 2017).

    Args:
        units: Two or more, which are not all equal.
        deviations: Of shape (resamples,), as from `bootstrap_deviations`.
        level: Of the interval, in (0, 1).

    Returns:
        The least and the greatest mean.
    """
    n = units.effective_number
    wanted = math.sqrt(n / (n - 1)) * student_quantile(n - 1, (1 + level) / 2)
    below = np.count_nonzero(deviations < -SAME) + np.count_nonzero(np.abs(deviations) <= SAME) / 2
    bias = normal_quantile(below / len(deviations))
    shifted = bias + np.array([-wanted, wanted])
    slowed = 1 - units.acceleration * shifted
    # With hardly any units and a high level, the formula has passed its pole: the bound is the outermost resample.
    corrected = np.where(slowed > 0, bias + shifted / np.where(slowed > 0, slowed, 1), np.copysign(np.inf, shifted))
    low, high = units.mean + np.quantile(deviations, list(map(normal_cdf, corrected.tolist())))
    return float(low), float(high)


def flipped_p_value(sums: Floats, resamples: int, generator: np.random.Generator) -> float:
    """Test that the differences are as likely of either sign, by flipping signs at random.

    The p-value is two-sided. What was seen counts as one of the flips, so that it is never 0 (Phipson and Smyth,
    Permutation P-values Should Never Be Zero, 2010).

    Args:
        sums: Of shape (units,): the difference of each question, or its sum over each cluster.
        resamples: How many flips of all signs.
        generator: The source of chance.

    Returns:
        The p-value, in (0, 1].
    """
    sizes, counts = np.unique(np.abs(sums), return_counts=True)
    sizes, _, counts = pooled(sizes, np.ones_like(sizes), counts)
    seen = abs(exact_sum(sums)) - SAME * len(sums)
    flipped = np.zeros(resamples)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        flipped += size * (2 * generator.binomial(count, 0.5, resamples) - count)
    as_great = int(np.count_nonzero(np.abs(flipped) >= seen))
    return (as_great + 1) / (resamples + 1)


def _chunks(resamples: int, values: int) -> Iterator[int]:
    """Cut the resamples in parts whose counts fit in memory."""
    most = max(1, _CHUNK // values)
    for start in range(0, resamples, most):
        yield min(most, resamples - start)
