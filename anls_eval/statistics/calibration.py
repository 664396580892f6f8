"""Whether confidences mean what they say: calibration, and what is gained by leaving out unsure answers.

Graded scores take the place of right and wrong: a system is calibrated if answers with the confidence c have the mean
score c. Whoever wants right and wrong passes ``scores >= 0.5``, as the evaluation of DUDE counts.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.statistics.checks import check_lengths, checked_scores

Floats = npt.NDArray[np.float64]

CURVE_POINTS = 200


@dataclasses.dataclass(frozen=True)
class ReliabilityPoint:
    """One bin of the reliability diagram.

    Args:
        confidence: The mean confidence in the bin.
        score: The mean score.
        count: The number of questions.
    """

    confidence: float
    score: float
    count: int


@dataclasses.dataclass(frozen=True)
class RiskCoveragePoint:
    """One point of the risk-coverage curve.

    Args:
        coverage: The share of the questions that is answered, the surest first, in (0, 1].
        risk: What their mean score lacks to 1.
    """

    coverage: float
    risk: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How confidences and scores agree. Less is better, in every number.

    Args:
        ece: The expected calibration error, in [0, 1].
        brier: The Brier score, in [0, 1].
        aurc: The area under the risk-coverage curve, in [0, 1].
        e_aurc: By how much that is more than with the best order of confidences, in [0, 1].
        n: The number of questions.
        reliability: The bins, by increasing confidence.
        risk_coverage: The curve, by increasing coverage, of at most `CURVE_POINTS` points.
    """

    ece: float
    brier: float
    aurc: float
    e_aurc: float
    n: int
    reliability: tuple[ReliabilityPoint, ...]
    risk_coverage: tuple[RiskCoveragePoint, ...]


def calibration(scores: npt.ArrayLike, confidences: npt.ArrayLike, *, bins: int = 100) -> Calibration:
    """Compare confidences with scores.

    - ECE (Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian Binning, 2015): the mean over the
      questions of how far the mean score of their bin is from its mean confidence. Bins hold equally many questions,
      100 but fewer than there are questions, as in the evaluation of DUDE (github.com/Jordy-VL/DUDEeval @8bd6dea).
      Questions of one confidence stay together, in the bin of the middle one.
    - Brier (Verification of Forecasts Expressed in Terms of Probability, 1950): the mean of (confidence - score)².
    - AURC (Geifman et al., Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, 2019): the mean, over
      k = 1 to n, of the risk 1 - score of the k surest answers. Among answers of one confidence, chance decides.
    - E-AURC (there as well): AURC less that of confidences in the order of the scores.

    DUDE's own ECE is another number: it counts scores from 0.5 on as 1, and takes a bin's upper edge for its mean
    confidence.

    Args:
        scores: Of shape (n,), in [0, 1].
        confidences: Of shape (n,), in [0, 1], in the same order.
        bins: The greatest number of bins.

    Returns:
        All numbers, and the points of both diagrams. The order of the questions changes nothing.

    Raises:
        ValueError: There is no question; a score or confidence is missing or not in [0, 1]; both sides differ in
            length; there is no bin.

    Example:
        >>> found = calibration([1.0, 1.0, 0.5, 0.0], [0.9, 0.8, 0.7, 0.4], bins=2)
        >>> round(found.ece, 6), round(found.brier, 6), round(found.aurc, 6), found.e_aurc
        (0.225, 0.0625, 0.135417, 0.0)
        >>> found.reliability[0].score, found.risk_coverage[-1]
        (0.25, RiskCoveragePoint(coverage=1.0, risk=0.375))
    """
    scored, confident = checked_scores(scores, "scores"), checked_scores(confidences, "confidences")
    check_lengths({"scores": scored, "confidences": confident})
    if bins < 1:
        raise ValueError(f"bins: {bins!r}; expected 1 or more")
    order = np.lexsort((scored, confident))
    scored, confident = scored[order], confident[order]
    reliability = _reliability(scored, confident, max(1, min(bins, len(scored) - 1)))
    risks = _risks(scored, confident)
    best = _risks(np.sort(scored), np.arange(len(scored)))
    aurc, least = (math.fsum(curve.tolist()) / len(curve) for curve in (risks, best))
    shown = np.unique(np.linspace(1, len(risks), CURVE_POINTS).round().astype(np.int64))
    return Calibration(
        ece=math.fsum(point.count * abs(point.score - point.confidence) for point in reliability) / len(scored),
        brier=math.fsum(((confident - scored) ** 2).tolist()) / len(scored),
        aurc=aurc,
        e_aurc=max(aurc - least, 0.0),  # rounding may take it below
        n=len(scored),
        reliability=reliability,
        risk_coverage=tuple(RiskCoveragePoint(k / len(risks), float(risks[k - 1])) for k in shown.tolist()),
    )


def _reliability(scores: Floats, confidences: Floats, bins: int) -> tuple[ReliabilityPoint, ...]:
    """Put questions that are sorted by confidence in bins."""
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


def _risks(scores: Floats, confidences: npt.NDArray[Any]) -> Floats:
    """Give the mean risk of the k surest of questions that are sorted by confidence, for k = 1 to n."""
    starts, counts = _ties(confidences)
    expected = np.repeat(np.add.reduceat(1 - scores, starts) / counts, counts)
    risks: Floats = np.cumsum(expected[::-1]) / np.arange(1, len(scores) + 1)
    return risks


def _ties(confidences: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find where each confidence begins in a sorted array, and how often it occurs."""
    _, starts, counts = np.unique(confidences, return_index=True, return_counts=True)
    return starts, counts
