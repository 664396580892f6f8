"""Everything whose results are recorded, by name. No other module of the recorder imports the project."""

from anls_eval import (
    PROTOCOLS,
    Protocol,
    anls_score,
    anls_scores,
    anls_star_score,
    anls_star_scores,
    explain,
    get_protocol,
    one_of,
    protocol_from_signature,
    signature,
)
from anls_eval.__main__ import main
from anls_eval.analysis.confusions import character_confusions
from anls_eval.analysis.diagnosis import compare_protocols, diagnose
from anls_eval.analysis.losses import classify_losses
from anls_eval.analysis.thresholds import threshold_sweep
from anls_eval.check.check import check_submission
from anls_eval.explanation.answers import explain_answers
from anls_eval.files import open_predictions, open_references
from anls_eval.leaderboards import LEADERBOARDS, leaderboard_score, leaderboard_scores, leaderboard_summary
from anls_eval.metric import ANLS
from anls_eval.report import read_system
from anls_eval.report.content import collect
from anls_eval.statistics import calibration, confidence_interval, paired_comparison, rank_systems
from anls_eval.submission.score import score_questions, score_submission
from anls_eval.submission.systems import score_systems

__all__ = [
    "ANLS",
    "LEADERBOARDS",
    "PROTOCOLS",
    "Protocol",
    "anls_score",
    "anls_scores",
    "anls_star_score",
    "anls_star_scores",
    "calibration",
    "character_confusions",
    "check_submission",
    "classify_losses",
    "collect",
    "compare_protocols",
    "confidence_interval",
    "diagnose",
    "explain",
    "explain_answers",
    "get_protocol",
    "leaderboard_score",
    "leaderboard_scores",
    "leaderboard_summary",
    "main",
    "one_of",
    "open_predictions",
    "open_references",
    "paired_comparison",
    "protocol_from_signature",
    "rank_systems",
    "read_system",
    "score_questions",
    "score_submission",
    "score_systems",
    "signature",
    "threshold_sweep",
]
