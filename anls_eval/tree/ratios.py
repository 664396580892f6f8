"""The value of a pair of nodes, a sum of similarities and a length, and the canonical choice among several."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

Value = tuple[float, int]  # of a pair of nodes: the sum s of its similarities, and its length l

TIE = 1e-9  # sums of ratios that differ by less are equal

NOISE = 1e-12  # what rounding can add to such a sum

Matrix = npt.NDArray[Any]


def ratio_of(value: Value) -> float:
    """Return s / l, or 1 where l is 0."""
    return value[0] / value[1] if value[1] else 1.0


def best_of(values: list[Value], liked: list[int] | None = None) -> int:
    """The index of the greatest ratio; then of the greatest s, of the smallest l, and of what is liked most."""
    if len(values) == 1:
        return 0
    ratios = list(map(ratio_of, values))
    top = max(ratios) - TIE
    tied = [index for index, ratio in enumerate(ratios) if ratio >= top]
    most = max(values[index][0] for index in tied) - TIE
    tied = [index for index in tied if values[index][0] >= most]
    best = min(tied, key=lambda index: (values[index][1], -values[index][0]))
    if liked:
        best = max((index for index in tied if values[index] == values[best]), key=lambda index: liked[index])
    return best


def best_of_each(s: Matrix, lengths: Matrix, allowed: Matrix | bool, liked: Matrix | None) -> Matrix:
    """The same for every column, or cell, of values that are stacked along the first axis."""
    ratios = np.where(allowed, ratios_of(s, lengths), -1)
    tied = ratios >= ratios.max(axis=0) - TIE
    tied &= s >= np.where(tied, s, -1).max(axis=0) - TIE
    tied &= lengths == np.where(tied, lengths, np.iinfo(np.int64).max).min(axis=0)
    value = np.where(tied, s, -1)
    if liked is not None:
        value = np.where(value >= value.max(axis=0) - NOISE, liked, -1)
    return cast(Matrix, value.argmax(axis=0))


def ratios_of(s: Matrix, lengths: Matrix) -> Matrix:
    """Return s / l of every cell, or 1 where l is 0."""
    return np.divide(s, lengths, out=np.ones(s.shape), where=lengths > 0)
