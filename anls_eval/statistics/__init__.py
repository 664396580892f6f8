"""Statistics of scores by question: intervals, paired tests, rankings and calibration."""

from anls_eval.statistics.calibration import Calibration, ReliabilityPoint, RiskCoveragePoint, calibration
from anls_eval.statistics.intervals import (
    Comparison,
    Interval,
    confidence_interval,
    minimum_detectable_difference,
    paired_comparison,
)
from anls_eval.statistics.ranking import RankedPair, RankedSystem, Ranking, holm, rank_systems
from anls_eval.statistics.tally import Tally

__all__ = [
    "Calibration",
    "Comparison",
    "Interval",
    "RankedPair",
    "RankedSystem",
    "Ranking",
    "ReliabilityPoint",
    "RiskCoveragePoint",
    "Tally",
    "calibration",
    "confidence_interval",
    "holm",
    "minimum_detectable_difference",
    "paired_comparison",
    "rank_systems",
]
