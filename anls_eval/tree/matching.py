"""The best matching of two lists by the canonical rule."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anls_eval.tree.ratios import NOISE, TIE, Matrix, best_of_each, ratio_of, ratios_of

_FEW_WAYS = 24  # to match two lists, up to which trying each is faster than an assignment

MATRIX_CELLS = 4_000_000  # of one matrix, about

MAX_PAIRS = 50_000_000  # of the values of two lists: 2 GB, and minutes of matching


@functools.lru_cache(maxsize=64)
def ways_to_match(rows: int, columns: int) -> Sequence[tuple[tuple[int, int], ...]]:
    """Every way to match so many rows and columns, as pairs of indexes; none if there are too many ways."""
    if rows > columns:
        return [tuple(sorted((i, j) for j, i in way)) for way in ways_to_match(columns, rows)]
    if rows and (columns > _FEW_WAYS or math.perm(columns, rows) > _FEW_WAYS):
        return []
    return [tuple(enumerate(own)) for own in itertools.permutations(range(columns), rows)]


def match_lists(
    s: Matrix, lengths: Matrix, rows: Matrix, columns: Matrix, equal: Matrix | None = None, left: int = 0
) -> list[tuple[int, int]]:
    """Match rows and columns by the canonical rule.

    Args:
        s: The sums of similarities of all pairs.
        lengths: Their lengths.
        rows: The sizes of the rows, which a row that is left over adds to the length.
        columns: The same for the columns.
        equal: Which pairs are to be preferred among matchings that are equal in all else.
        left: The sizes of what is left over whatever is matched.

    Returns:
        The pairs of indexes, in the order of the rows.
    """
    uniform = len({*rows.tolist(), *columns.tolist()}) == 1 and lengths.min() == lengths.max()
    if uniform and equal is None:  # all matchings have one length, so the greatest s is the greatest sum of ratios
        return list(zip(*(side.tolist() for side in assign(s)), strict=True))
    ratios = ratios_of(s, lengths)
    if 1 in s.shape:
        all_lengths = lengths - np.add.outer(rows, columns) + rows.sum() + columns.sum() + left
        allowed = ratios.ravel() >= ratios.max() - TIE
        best = int(best_of_each(s.ravel(), all_lengths.ravel(), allowed, None if equal is None else equal.ravel()))
        return [divmod(best, s.shape[1])]

    # A square, in which what is left over is matched with nothing.
    n = max(s.shape)
    if n * n > MATRIX_CELLS:
        i, j = _enough_of_each(s, lengths, rows, columns, equal)
        if len(i) < len(rows) or len(j) < len(columns):
            own = np.ix_(i, j)
            left += int(rows.sum() - rows[i].sum() + columns.sum() - columns[j].sum())
            found = match_lists(s[own], lengths[own], rows[i], columns[j], None if equal is None else equal[own], left)
            return [(i[a], j[b]) for a, b in found]
    if n * n > MAX_PAIRS:
        raise ValueError(
            f"a list of {len(rows):,} and one of {len(columns):,} values that differ need a table of more than "
            f"{MAX_PAIRS:,} cells, which is the limit: score their parts"
        )
    square_s, square_ratios = np.zeros((2, n, n))
    square_lengths = np.zeros((n, n), dtype=np.int64)
    square_lengths[: len(rows)] = rows[:, None]
    square_lengths[:, : len(columns)] += columns if len(rows) < n else 0
    square_lengths[: len(rows)] = np.where(np.arange(n) < len(columns), 0, rows[:, None])
    inside = np.s_[: len(rows), : len(columns)]
    square_s[inside], square_ratios[inside], square_lengths[inside] = s, ratios, lengths

    allowed = np.ones((n, n), dtype=bool)
    order = _assign(square_ratios, allowed)
    allowed = _optimal(square_ratios, order, allowed, NOISE if uniform else TIE)
    if not uniform and np.count_nonzero(allowed) > n:
        # Dinkelbach's iteration for the greatest s / l: maximise s - ratio * l until the ratio does not grow.
        all_rows = np.arange(n)
        ratio, grown = -1.0, _total_ratio(square_s[all_rows, order], square_lengths[all_rows, order], left)
        while grown > ratio + 1e-12:
            ratio = grown
            objective = square_s - ratio * square_lengths
            order = _assign(objective, allowed)
            grown = _total_ratio(square_s[all_rows, order], square_lengths[all_rows, order], left)
        allowed = _optimal(objective, order, allowed, TIE)
        objective = square_s if ratio > 0 else -square_lengths.astype(np.float64)
        order = _assign(objective, allowed)
        allowed = _optimal(objective, order, allowed, NOISE)
    if equal is not None:
        preferred = np.zeros((n, n))
        preferred[inside] = equal
        order = _assign(preferred, allowed)
    return [(i, j) for i, j in enumerate(order.tolist()) if i < len(rows) and j < len(columns)]


def _enough_of_each(
    s: Matrix, lengths: Matrix, rows: Matrix, columns: Matrix, equal: Matrix | None
) -> tuple[list[int], list[int]]:
    """The rows and columns that can be needed: of those that are alike, no more than there are partners."""
    cells = [s, lengths] if equal is None else [s, lengths, equal]
    kept = []
    for number, sizes in enumerate((rows, columns)):
        lines = np.column_stack([sizes, *(own.T if number else own for own in cells)])
        numbers: dict[bytes, list[int]] = {}
        for at, line in enumerate(lines):
            alike = numbers.setdefault(line.tobytes(), [])
            if len(alike) < s.shape[1 - number]:
                alike.append(at)
        kept.append(sorted(itertools.chain.from_iterable(numbers.values())))
    return kept[0], kept[1]


def _total_ratio(s: Matrix, lengths: Matrix, left: int) -> float:
    return ratio_of((math.fsum(s.tolist()), int(lengths.sum()) + left))


def assign(weights: Matrix) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows and their columns so that the sum of the weights is greatest."""
    from scipy.optimize import linear_sum_assignment  # takes 0.3 s, which only a match of long lists needs

    rows, columns = linear_sum_assignment(weights, maximize=True)
    return rows, columns


def _assign(weights: Matrix, allowed: Matrix) -> npt.NDArray[np.int64]:
    """The column of each row, so that the sum of the weights is greatest."""
    return assign(np.where(allowed, weights, -np.inf))[1]


def _optimal(weights: Matrix, order: npt.NDArray[np.int64], allowed: Matrix, tolerance: float) -> Matrix:
    """The pairs that optimal assignments consist of, given one: those whose reduced cost is 0 within the tolerance.

    The dual prices that make the given assignment tight are the shortest paths in its residual graph, found by
    Bellman and Ford's iteration, which ends soon where few rows compete.
    """
    costs = np.where(allowed, -weights, np.inf)[:, order]
    costs -= np.diagonal(costs)[:, None].copy()  # of giving a row the column of another, in place of its own
    prices = np.zeros(len(order))
    for _ in range(len(order)):
        lower = np.minimum(prices, (prices[:, None] + costs).min(axis=0))
        if (prices - lower).max() < NOISE / 10:
            break
        prices = lower
    tight = np.empty(costs.shape, dtype=bool)
    tight[:, order] = costs + prices[:, None] - prices <= tolerance
    return tight
