"""The value of a pair of nodes (a sum of similarities and a length), and the canonical choice among several."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

Value = tuple[float, int]  # of a pair of nodes: the sum s of the similarities, and the length l, both with weights

TIE = 1e-9  # sums of ratios that differ by less are equal

NOISE = 1e-12  # what rounding can add to such a sum

Matrix = npt.NDArray[Any]


def ratio_of(value: Value) -> float:
    """Return s / l, or 1 where l is 0."""
    return value[0] / value[1] if value[1] else 1.0


def best_of(values: list[Value], preference: list[int] | None = None, unit: int = 1) -> int:
    """Return the index of the maximum ratio; of ties, by maximum s, then minimum l, then maximum preference."""
    if len(values) == 1:
        return 0
    ratios = list(map(ratio_of, values))
    top = max(ratios) - TIE
    tied = [index for index, ratio in enumerate(ratios) if ratio >= top]
    top_s = max(values[index][0] for index in tied) - TIE * unit
    tied = [index for index in tied if values[index][0] >= top_s]
    best = min(tied, key=lambda index: (values[index][1], -values[index][0]))
    if preference:
        best = max((index for index in tied if values[index] == values[best]), key=lambda index: preference[index])
    return best


def best_of_each(
    s: Matrix, lengths: Matrix, allowed: Matrix | bool, preference: Matrix | None, unit: int = 1
) -> Matrix:
    """Apply `best_of` along the first axis, to the allowed values."""
    ratios = np.where(allowed, ratios_of(s, lengths), -1)
    tied = ratios >= ratios.max(axis=0) - TIE
    tied &= s >= np.where(tied, s, -1).max(axis=0) - TIE * unit
    tied &= lengths == np.where(tied, lengths, np.iinfo(np.int64).max).min(axis=0)
    value = np.where(tied, s, -1)
    if preference is not None:
        value = np.where(value >= value.max(axis=0) - NOISE * unit, preference, -1)
    return cast(Matrix, value.argmax(axis=0))


def ratios_of(s: Matrix, lengths: Matrix) -> Matrix:
    """Return s / l of every cell, or 1 where l is 0."""
    return np.divide(s, lengths, out=np.ones(s.shape), where=lengths > 0)
