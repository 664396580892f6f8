"""Calibration: whether confidences match scores, and what is gained by leaving uncertain questions unanswered."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.statistics.resampling import Floats
from anls_eval.statistics.tally import checked_columns

CURVE_POINTS = 200
_MOST_BINS = 100


@dataclasses.dataclass(frozen=True)
class ReliabilityPoint:
    """One bin of the reliability diagram: mean confidence, mean score and number of questions."""

    confidence: float
    score: float
    count: int


@dataclasses.dataclass(frozen=True)
class RiskCoveragePoint:
    """One point of the risk-coverage curve.

    Attributes:
        coverage: Share of the questions that are answered, most confident first, in (0, 1].
        risk: 1 minus their mean score.
    """

    coverage: float
    risk: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How well confidences match scores. For every number, lower is better.

    Attributes:
        ece: Expected calibration error, in [0, 1].
        ece_if_calibrated: The ECE that these bins would show on average if confidences were right: the chance, from 0
            to 1, that each answer is correct.
        brier: Brier score, in [0, 1].
        aurc: Area under the risk-coverage curve, in [0, 1].
        e_aurc: Excess of that area over the best possible order of confidences, in [0, 1].
        n: Number of questions.
        reliability: Bins of the reliability diagram, by increasing confidence.
        risk_coverage: Points of the risk-coverage curve, at most 200, by increasing coverage.
    """

    ece: float
    ece_if_calibrated: float
    brier: float
    aurc: float
    e_aurc: float
    n: int
    reliability: tuple[ReliabilityPoint, ...]
    risk_coverage: tuple[RiskCoveragePoint, ...]


def calibration(scores: npt.ArrayLike, confidences: npt.ArrayLike, *, bins: int | None = None) -> Calibration:
    """Measure how well confidences match graded scores; for right and wrong as in DUDE, pass ``scores >= 0.5``.

    - ECE (Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian Binning, 2015): the absolute difference
      between the mean score and the mean confidence of a bin, averaged over the questions. Bins hold equal numbers of
      questions, and there are fewer bins than questions, as in the evaluation of DUDE (github.com/Jordy-VL/DUDEeval
      @8bd6dea), which however counts scores of at least 0.5 as 1 and takes the upper edge of a bin as its mean
      confidence. Questions with equal confidence stay together, in the bin of the middle one.
    - Brier (Verification of Forecasts Expressed in Terms of Probability, 1950): the mean of (confidence - score)².
    - AURC (Geifman et al., Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, 2019): the mean, over
      k = 1 to n, of the risk (1 - score) of the k most confident answers, with ties in random order.
    - E-AURC (same source): AURC minus the AURC of confidences in the order of the scores.

    Args:
        scores: Shape (n,), in [0, 1].
        confidences: Shape (n,), in [0, 1], in the same order.
        bins: Maximum number of bins, at least 1. Defaults to the square root of n, at most 100: with more bins, the
            ECE of a few questions measures the sample. DUDE's evaluation has 100.

    Returns:
        The measures, and the points of both diagrams; they do not depend on the order of the questions.

    Raises:
        ValueError: There are no questions; a score or confidence is missing or outside [0, 1]; their numbers differ; or
            bins is below 1.

    Example:
        >>> found = calibration([1.0, 1.0, 0.5, 0.0], [0.9, 0.8, 0.7, 0.4], bins=2)
        >>> round(found.ece, 6), round(found.brier, 6), round(found.aurc, 6), found.e_aurc
        (0.225, 0.0625, 0.135417, 0.0)
    """
    scored, confident = checked_columns({"scores": scores, "confidences": confidences})
    if bins is None:
        bins = min(_MOST_BINS, math.isqrt(len(scored)))
    if bins < 1:
        raise ValueError(f"bins={bins!r}: expected at least 1")
    order = np.lexsort((scored, confident))
    scored, confident = scored[order], confident[order]
    reliability = _reliability(scored, confident, max(1, min(bins, len(scored) - 1)))
    risks = _risks(scored, confident)
    best = _risks(np.sort(scored), np.arange(len(scored)))
    aurc, lowest = (math.fsum(curve.tolist()) / len(curve) for curve in (risks, best))
    shown = np.unique(np.linspace(1, len(risks), CURVE_POINTS).round().astype(np.int64))
    return Calibration(
        ece=math.fsum(point.count * abs(point.score - point.confidence) for point in reliability) / len(scored),
        ece_if_calibrated=_ece_if_calibrated(confident, reliability),
        brier=math.fsum(((confident - scored) ** 2).tolist()) / len(scored),
        aurc=aurc,
        e_aurc=max(aurc - lowest, 0.0),  # rounding can make it negative
        n=len(scored),
        reliability=reliability,
        risk_coverage=tuple(RiskCoveragePoint(k / len(risks), float(risks[k - 1])) for k in shown.tolist()),
    )


def _reliability(scores: Floats, confidences: Floats, bins: int) -> tuple[ReliabilityPoint, ...]:
    """Return the bins of questions sorted by confidence."""
    n = len(scores)
    starts, counts = _ties(confidences)
    numbers = (2 * starts + counts) * bins // (2 * n)
    bounds = [*starts[np.flatnonzero(np.diff(numbers, prepend=-1))].tolist(), n]
    return tuple(
        ReliabilityPoint(
            confidence=math.fsum(confidences[start:end].tolist()) / (end - start),
            score=math.fsum(scores[start:end].tolist()) / (end - start),
            count=end - start,
        )
        for start, end in itertools.pairwise(bounds)
    )


def _ece_if_calibrated(confidences: Floats, reliability: tuple[ReliabilityPoint, ...]) -> float:
    """Return the expected ECE of right and wrong answers whose chances are the confidences."""
    # The mean of a bin is nearly normal around its confidence, and the mean absolute value of a normal variable is
    # sqrt(2 / pi) standard deviations.
    ends = np.cumsum([point.count for point in reliability])
    variances = np.add.reduceat(confidences * (1 - confidences), np.concatenate([[0], ends[:-1]]))
    return math.fsum(np.sqrt(2 / math.pi * variances).tolist()) / len(confidences)


def _risks(scores: Floats, confidences: npt.NDArray[Any]) -> Floats:
    """Return the mean risk of the k most confident of n questions sorted by confidence, for k from 1 to n."""
    starts, counts = _ties(confidences)
    expected = np.repeat(np.add.reduceat(1 - scores, starts) / counts, counts)
    risks: Floats = np.cumsum(expected[::-1]) / np.arange(1, len(scores) + 1)
    return risks


def _ties(confidences: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the start and the number of occurrences of each distinct confidence in a sorted array."""
    _, starts, counts = np.unique(confidences, return_index=True, return_counts=True)
    return starts, counts
