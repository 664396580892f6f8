"""Statistics of scores by question: intervals, paired tests, rankings and calibration."""

from anls_eval.statistics.calibration import Calibration, ReliabilityPoint, RiskCoveragePoint, calibration
from anls_eval.statistics.intervals import (
    Comparison,
    Interval,
    confidence_interval,
    minimum_detectable_difference,
    paired_comparison,
)
from anls_eval.statistics.ranking import Ranking, rank_systems

__all__ = [
    "Calibration",
    "Comparison",
    "Interval",
    "Ranking",
    "ReliabilityPoint",
    "RiskCoveragePoint",
    "calibration",
    "confidence_interval",
    "minimum_detectable_difference",
    "paired_comparison",
    "rank_systems",
]
