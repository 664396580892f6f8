"""ANLS for scikit-learn: ``make_scorer(mean_anls)``."""

from __future__ import annotations

import math
from typing import Any

from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.scoring import anls_scores


def mean_anls(
    y_true: Any,
    y_pred: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> float:
    """Return the mean score of n predictions, with the argument order of scikit-learn.

    Args:
        y_true: Lists of accepted answers, or one string each; shape (n,).
        y_pred: Predicted texts; shape (n,).
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.

    Returns:
        The mean score, from 0 to 1.

    Raises:
        ValueError: There is nothing to score, or as for `anls_scores`.

    Example:
        >>> mean_anls(["Denver Broncos", "12/15/88"], ["Denver Broncos", "12/15/89"])
        0.9375
    """
    scores = anls_scores(y_pred, y_true, protocol=protocol, threshold=threshold).tolist()
    if not scores:
        raise ValueError("nothing to score: y_true and y_pred are empty")
    return math.fsum(scores) / len(scores)
