"""ANLS for scikit-learn: ``make_scorer(mean_anls)``."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_scores


def mean_anls(
    y_true: Any,
    y_pred: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> float:
    """Average the scores of n predictions, in the argument order of scikit-learn.

    Args:
        y_true: n lists of accepted answers, or n strings.
        y_pred: n predicted texts.
        protocol: A name or alias in `PROTOCOLS`, or an `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        The mean, from 0 to 1.

    Raises:
        ValueError: What `anls_scores` refuses, or nothing to score.

    Example:
        >>> mean_anls(["Denver Broncos", "12/15/88"], ["Denver Broncos", "12/15/89"])
        0.9375
    """
    scores = anls_scores(y_pred, y_true, protocol=protocol, threshold=threshold).tolist()
    if not scores:
        raise ValueError("nothing to score: y_true and y_pred are empty")
    return math.fsum(scores) / len(scores)
