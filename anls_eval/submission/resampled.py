"""The confidence interval of a figure that is no mean: documents are resampled, and their counts added up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anls_eval.statistics import Interval

if TYPE_CHECKING:
    from anls_eval.leaderboards.benchmark import Benchmark, Counts

_RESAMPLES = 1_000
_LEVEL = 0.95
_FEW = 10


def resampled_interval(rules: Benchmark, documents: Sequence[Counts], numbers: Sequence[int], seed: int) -> Interval:
    """Return the interval between quantiles of the headline over resamples of documents, each of which came so often.

    The percentile bootstrap (Efron, 1979).
    """
    keys = list(dict.fromkeys(itertools.chain.from_iterable(documents)))
    of_scores = [key for key in keys if any(isinstance(own.get(key), tuple) for own in documents)]
    of_numbers = [key for key in keys if key not in of_scores]
    table = np.array([[own.get(key, 0) for key in of_numbers] for own in documents], dtype=np.int64)
    weights = np.array(numbers, dtype=np.int64)
    n = int(weights.sum())
    draws = np.random.default_rng(seed).multinomial(n, weights / n, size=_RESAMPLES)

    def headline(draw: np.ndarray[Any, np.dtype[np.int64]]) -> float:
        sums: dict[Any, Any] = dict(zip(of_numbers, (draw @ table).tolist(), strict=True))
        for key in of_scores:
            drawn = zip(documents, draw.tolist(), strict=True)
            sums[key] = tuple(itertools.chain.from_iterable(own.get(key, ()) * number for own, number in drawn))
        return rules.headline_of(sums)

    scores = np.array([headline(draw) for draw in draws])
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(scores, [tail, 1 - tail]).tolist()
    notes = (f"the interval rests on {n} documents, too few to trust it",) if n < _FEW else ()
    error = float(scores.std(ddof=1))
    return Interval(headline(weights), low, high, _LEVEL, n, None, error, "percentile bootstrap", notes)
