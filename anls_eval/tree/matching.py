"""The best matching of two lists by the canonical rule."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anls_eval.tree.ratios import NOISE, TIE, Matrix, Value, best_of, best_of_each, ratio_of, ratios_of

Way = tuple[tuple[int, int], ...]  # pairs of indexes

_FEW_WAYS = 24  # up to this many, trying each way to match two lists is faster than an assignment

MATRIX_CELLS = 4_000_000  # approximate size of one matrix

MAX_PAIRS = 50_000_000  # of values of two lists: more would take over 2 GB and minutes to match


@functools.lru_cache(maxsize=64)
def ways_to_match(rows: int, columns: int) -> Sequence[Way]:
    """List every way to match so many rows and columns, as pairs of indexes; empty if there are too many."""
    if rows > columns:
        return [tuple(sorted((i, j) for j, i in way)) for way in ways_to_match(columns, rows)]
    if rows and (columns > _FEW_WAYS or math.perm(columns, rows) > _FEW_WAYS):
        return []
    return [tuple(enumerate(way)) for way in itertools.permutations(range(columns), rows)]


def best_way(
    ways: Sequence[Way],
    values: list[list[Value]],
    rows: Sequence[int],
    columns: Sequence[int],
    identities: Sequence[Sequence[int]] | None = None,
    unit: int = 1,
) -> tuple[Way, Value]:
    """Return the best of several ways to match by the canonical rule, and its value, given the values of all pairs."""
    # `rows` and `columns` hold sizes. Pairs whose `identities` are the same are preferred among ways that tie.
    if len(ways) > 1:
        ratios = [list(map(ratio_of, row)) for row in values]
        sums = [math.fsum([ratios[i][j] for i, j in way]) for way in ways]
        top = max(sums) - TIE
        ways = [way for way, ratio in zip(ways, sums, strict=True) if ratio >= top]
    totals = [total_of([(i, j, *values[i][j]) for i, j in way], rows, columns) for way in ways]
    equal = None
    if identities is not None:
        equal = [sum(identities[0][i] == identities[1][j] for i, j in way) for way in ways]
    best = best_of(totals, equal, unit)
    return ways[best], totals[best]


def total_of(matched: list[tuple[int, int, float, int]], rows: Sequence[int], columns: Sequence[int]) -> Value:
    """Return the value of two lists, given the sizes of their elements, and their matched pairs with their values."""
    length = sum([pair_length - rows[i] - columns[j] for i, j, _, pair_length in matched])
    return math.fsum([s for _, _, s, _ in matched]), length + sum(rows) + sum(columns)


def match_lists(
    s: Matrix,
    lengths: Matrix,
    rows: Matrix,
    columns: Matrix,
    equal: Matrix | None = None,
    rest: Value = (0, 0),
    unit: int = 1,
) -> list[tuple[int, int]]:
    """Match rows and columns by the canonical rule; return the pairs of indexes in the order of the rows."""
    # `s` and `lengths` hold the values of all pairs. `rows` and `columns` hold the sizes that unmatched ones add to the
    # length, and `rest` is what else adds to it in any case. Pairs that are `equal` are preferred among matchings that
    # tie in all else.
    uniform = len({*rows.tolist(), *columns.tolist()}) == 1 and lengths.min() == lengths.max()
    if uniform and equal is None:  # all matchings have one length, so the greatest s is the greatest sum of ratios
        return list(zip(*(side.tolist() for side in assign(s)), strict=True))
    ratios = ratios_of(s, lengths)
    if 1 in s.shape:
        all_lengths = lengths - np.add.outer(rows, columns) + rows.sum() + columns.sum() + rest[1]
        allowed = ratios.ravel() >= ratios.max() - TIE
        preferred = None if equal is None else equal.ravel()
        best = int(best_of_each(s.ravel(), all_lengths.ravel(), allowed, preferred, unit))
        return [divmod(best, s.shape[1])]

    # A square, in which unmatched rows or columns are paired with nothing.
    n = max(s.shape)
    if n * n > MATRIX_CELLS:
        i, j = _needed_lines(s, lengths, rows, columns, equal)
        if len(i) < len(rows) or len(j) < len(columns):
            cells = np.ix_(i, j)
            dropped = int(rows.sum() - rows[i].sum() + columns.sum() - columns[j].sum())
            kept_equal = None if equal is None else equal[cells]
            new_rest = rest[0], rest[1] + dropped
            matched = match_lists(s[cells], lengths[cells], rows[i], columns[j], kept_equal, new_rest, unit)
            return [(i[a], j[b]) for a, b in matched]
    if n * n > MAX_PAIRS:
        raise ValueError(
            f"a list of {len(rows):,} and one of {len(columns):,} different values need a table of more than "
            f"{MAX_PAIRS:,} cells, which is the limit: score parts of them"
        )
    square_s, square_ratios = np.zeros((2, n, n))
    square_lengths = np.zeros((n, n), dtype=np.int64)
    square_lengths[: len(rows)] = rows[:, None]
    square_lengths[:, : len(columns)] += columns if len(rows) < n else 0
    square_lengths[: len(rows)] = np.where(np.arange(n) < len(columns), 0, rows[:, None])
    inside = np.s_[: len(rows), : len(columns)]
    square_s[inside], square_ratios[inside], square_lengths[inside] = s, ratios, lengths

    preferred = None
    if equal is not None:
        preferred = np.zeros((n, n))
        preferred[inside] = equal
    square = square_s, square_ratios, square_lengths
    order = _best_order(*square, np.ones((n, n), dtype=bool), preferred, rest, uniform, unit)
    return [(i, j) for i, j in enumerate(order.tolist()) if i < len(rows) and j < len(columns)]


def match_allowed(
    s: Matrix, lengths: Matrix, rows: Matrix, columns: Matrix, allowed: Matrix, equal: Matrix | None, unit: int
) -> list[tuple[int, int]]:
    """Match rows and columns of which only some pairs are allowed, by the canonical rule over all partial matchings."""
    ratios = ratios_of(s, lengths)
    # Two that only have each other, and gain by it, belong together.
    alone = allowed & (allowed.sum(axis=1) == 1)[:, None] & (allowed.sum(axis=0) == 1) & (ratios > 0)
    fixed: list[tuple[int, int]] = [(int(i), int(j)) for i, j in np.argwhere(alone)]
    open_pairs = allowed & ~alone
    i, j = np.flatnonzero(open_pairs.any(axis=1)), np.flatnonzero(open_pairs.any(axis=0))
    if not len(i):
        return fixed
    left_out = int(rows.sum() - rows[i].sum() + columns.sum() - columns[j].sum())
    rest = float(s[alone].sum()), left_out + int((lengths - np.add.outer(rows, columns))[alone].sum())

    # A square in which each row and each column also has a partner of its own that stands for none.
    n = len(i) + len(j)
    if n * n > MAX_PAIRS:
        raise ValueError(
            f"{len(i):,} and {len(j):,} elements without a key of their own need a table of more than {MAX_PAIRS:,} "
            "cells, which is the limit: score parts of them"
        )
    square_s, square_ratios, preferred = np.zeros((3, n, n))
    square_lengths = np.zeros((n, n), dtype=np.int64)
    may = np.zeros((n, n), dtype=bool)
    cells, inside = np.ix_(i, j), np.s_[: len(i), : len(j)]
    square_s[inside], square_ratios[inside], square_lengths[inside] = s[cells], ratios[cells], lengths[cells]
    may[inside], may[len(i) :, len(j) :] = open_pairs[cells], True
    own_rows, own_columns = np.arange(len(i)), np.arange(len(j))
    square_lengths[own_rows, len(j) + own_rows], may[own_rows, len(j) + own_rows] = rows[i], True
    square_lengths[len(i) + own_columns, own_columns], may[len(i) + own_columns, own_columns] = columns[j], True
    if equal is not None:
        preferred[inside] = equal[cells]
    order = _best_order(square_s, square_ratios, square_lengths, may, preferred, rest, False, unit)
    matched = [(int(i[a]), int(j[b])) for a, b in enumerate(order.tolist()) if a < len(i) and b < len(j)]
    return sorted(fixed + matched)


def _best_order(
    s: Matrix,
    ratios: Matrix,
    lengths: Matrix,
    allowed: Matrix,
    preferred: Matrix | None,
    rest: Value,
    uniform: bool,
    unit: int,
) -> npt.NDArray[np.int64]:
    """Return the column of each row of a square, by the canonical rule."""
    n = len(s)
    order = _assign(ratios, allowed)
    allowed = _optimal(ratios, order, allowed, NOISE if uniform else TIE)
    if not uniform and np.count_nonzero(allowed) > n:
        # Dinkelbach's iteration for the maximum of s / l: maximise s - ratio * l until the ratio stops growing.
        all_rows = np.arange(n)
        ratio, grown = -1.0, _total_ratio(s[all_rows, order], lengths[all_rows, order], rest)
        while grown > ratio + 1e-12:
            ratio = grown
            objective = s - ratio * lengths
            order = _assign(objective, allowed)
            grown = _total_ratio(s[all_rows, order], lengths[all_rows, order], rest)
        allowed = _optimal(objective, order, allowed, TIE * unit, unit)
        objective = s if ratio > 0 else -lengths.astype(np.float64)
        order = _assign(objective, allowed)
        allowed = _optimal(objective, order, allowed, NOISE * unit, unit)
    return order if preferred is None else _assign(preferred, allowed)


def _needed_lines(
    s: Matrix, lengths: Matrix, rows: Matrix, columns: Matrix, equal: Matrix | None
) -> tuple[list[int], list[int]]:
    """Return the rows and columns that can be needed: of identical ones, no more than there are partners."""
    cells = [s, lengths] if equal is None else [s, lengths, equal]
    kept = []
    for axis, sizes in enumerate((rows, columns)):
        lines = np.column_stack([sizes, *(matrix.T if axis else matrix for matrix in cells)])
        indexes: dict[bytes, list[int]] = {}
        for index, line in enumerate(lines):
            identical = indexes.setdefault(line.tobytes(), [])
            if len(identical) < s.shape[1 - axis]:
                identical.append(index)
        kept.append(sorted(itertools.chain.from_iterable(indexes.values())))
    return kept[0], kept[1]


def _total_ratio(s: Matrix, lengths: Matrix, rest: Value) -> float:
    return ratio_of((math.fsum([*s.tolist(), rest[0]]), int(lengths.sum()) + rest[1]))


def assign(weights: Matrix) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return rows and the columns assigned to them, with the maximum sum of weights."""
    from scipy.optimize import linear_sum_assignment  # takes 0.3 s, and only matching long lists needs it

    rows, columns = linear_sum_assignment(weights, maximize=True)
    return rows, columns


def _assign(weights: Matrix, allowed: Matrix) -> npt.NDArray[np.int64]:
    """Return the column assigned to each row, with the maximum sum of allowed weights."""
    return assign(np.where(allowed, weights, -np.inf))[1]


def _optimal(weights: Matrix, order: npt.NDArray[np.int64], allowed: Matrix, tolerance: float, unit: int = 1) -> Matrix:
    """Find the pairs of all optimal assignments, given one: those whose reduced cost is 0 within the tolerance."""
    # The dual prices that make the given assignment tight are the shortest paths in its residual graph, found by the
    # Bellman-Ford iteration, which ends soon if few rows compete.
    costs = np.where(allowed, -weights, np.inf)[:, order]
    costs -= np.diagonal(costs)[:, None].copy()  # of giving a row the column of another instead of its own
    prices = np.zeros(len(order))
    for _ in range(len(order)):
        lower = np.minimum(prices, (prices[:, None] + costs).min(axis=0))
        if (prices - lower).max() < NOISE * unit / 10:
            break
        prices = lower
    tight = np.empty(costs.shape, dtype=bool)
    tight[:, order] = costs + prices[:, None] - prices <= tolerance
    return tight
