"""Scores of leaderboards whose rules need more than two texts: an answer type, a list, a containment or a date.

The rules are those of the code that each leaderboard publishes, bugs included: a name means its exact numbers.
"""

from anls_eval.leaderboards.base import Leaderboard
from anls_eval.leaderboards.scoring import (
    LeaderboardSummary,
    leaderboard_score,
    leaderboard_scores,
    leaderboard_summary,
)
from anls_eval.leaderboards.table import LEADERBOARDS, get_leaderboard

__all__ = [
    "LEADERBOARDS",
    "Leaderboard",
    "LeaderboardSummary",
    "get_leaderboard",
    "leaderboard_score",
    "leaderboard_scores",
    "leaderboard_summary",
]
