"""Scores of leaderboards and benchmarks whose rules need more than two texts: an answer type, a list, a document.

The rules are those of the code that each leaderboard publishes, bugs included: a name means its exact numbers.
"""

from anls_eval.leaderboards.base import Leaderboard
from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.benchmarks import BENCHMARKS
from anls_eval.leaderboards.scoring import (
    LeaderboardSummary,
    leaderboard_figures,
    leaderboard_score,
    leaderboard_scores,
    leaderboard_summary,
)
from anls_eval.leaderboards.table import LEADERBOARDS, get_leaderboard

__all__ = [
    "BENCHMARKS",
    "LEADERBOARDS",
    "Benchmark",
    "Leaderboard",
    "LeaderboardSummary",
    "get_leaderboard",
    "leaderboard_figures",
    "leaderboard_score",
    "leaderboard_scores",
    "leaderboard_summary",
]
