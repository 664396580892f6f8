"""Everything whose results are recorded, by name. No other module of the recorder imports the project."""

from anls import (
    ANLS,
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
from anls_eval.answers import explain_answers
from anls_eval.calibration import calibration
from anls_eval.confusions import character_confusions
from anls_eval.diagnosis import compare_protocols, diagnose
from anls_eval.formats import open_predictions, open_references
from anls_eval.leaderboards import LEADERBOARDS, leaderboard_score, leaderboard_scores, leaderboard_summary
from anls_eval.losses import classify_losses
from anls_eval.report import read_system
from anls_eval.report.content import collect
from anls_eval.statistics import confidence_interval, paired_comparison, rank_systems
from anls_eval.submission import score_questions, score_submission
from anls_eval.submission_check import check_submission
from anls_eval.systems import score_systems
from anls_eval.threshold_sweep import threshold_sweep

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
