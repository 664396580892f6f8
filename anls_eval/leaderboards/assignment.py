"""The solver that benchmarks pair rows and groups with; scipy is loaded when one needs it."""

from __future__ import annotations

from typing import Any

import numpy as np


def assign_rows(costs: np.ndarray[Any, np.dtype[Any]]) -> list[tuple[int, int]]:
    """Return pairs of a row and a column with the least total cost; which of equally good ones, scipy decides."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(costs)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
