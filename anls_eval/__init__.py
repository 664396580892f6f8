"""ANLS and ANLS*: answers, extracted documents and whole submissions, scored as every leaderboard does it.

These are the public names. Each is imported when it is first used, so that ``import anls_eval`` takes no time and loads
nothing that the caller does not need.
"""

from __future__ import annotations

import importlib
from _thread import RLock  # threading and typing would take ten times as long as the rest

from anls_eval.version import __version__

TYPE_CHECKING = False  # which type checkers take for true
if TYPE_CHECKING:
    from anls_eval.analysis.accounting import FieldReport, field_report
    from anls_eval.analysis.diagnosis import compare_protocols, diagnose
    from anls_eval.analysis.thresholds import threshold_sweep
    from anls_eval.check.check import check_submission
    from anls_eval.cluster.run import score_dataset
    from anls_eval.decisions.agreement import AgreementReport, agreement
    from anls_eval.decisions.audit import Audit, audit
    from anls_eval.decisions.automation import Automation, automate
    from anls_eval.explanation.answers import explain_answers
    from anls_eval.explanation.result import Explanation, Match, ScoreNode
    from anls_eval.fields.field import Field
    from anls_eval.fields.fields import Fields
    from anls_eval.files import open_predictions, open_references
    from anls_eval.leaderboards import (
        BENCHMARKS,
        LEADERBOARDS,
        leaderboard_figures,
        leaderboard_score,
        leaderboard_scores,
    )
    from anls_eval.registry import get_protocol, protocol_from_signature, signature
    from anls_eval.rules.protocol import Protocol
    from anls_eval.rules.table import PROTOCOLS
    from anls_eval.scoring import anls_score, anls_scores, anls_star_score, anls_star_scores, explain
    from anls_eval.statistics import confidence_interval, paired_comparison, rank_systems
    from anls_eval.submission.score import score_submission
    from anls_eval.submission.systems import score_systems
    from anls_eval.tree.nodes import one_of

_HOMES = {
    "BENCHMARKS": "leaderboards.benchmarks",
    "LEADERBOARDS": "leaderboards.table",
    "PROTOCOLS": "rules.table",
    "AgreementReport": "decisions.agreement",
    "Audit": "decisions.audit",
    "Automation": "decisions.automation",
    "Explanation": "explanation.result",
    "Field": "fields.field",
    "FieldReport": "analysis.accounting",
    "Fields": "fields.fields",
    "Match": "explanation.result",
    "Protocol": "rules.protocol",
    "ScoreNode": "explanation.result",
    "agreement": "decisions.agreement",
    "anls_score": "scoring",
    "anls_scores": "scoring",
    "anls_star_score": "scoring",
    "anls_star_scores": "scoring",
    "audit": "decisions.audit",
    "automate": "decisions.automation",
    "check_submission": "check.check",
    "compare_protocols": "analysis.diagnosis",
    "confidence_interval": "statistics",
    "diagnose": "analysis.diagnosis",
    "explain": "scoring",
    "explain_answers": "explanation.answers",
    "field_report": "analysis.accounting",
    "get_protocol": "registry",
    "leaderboard_figures": "leaderboards.scoring",
    "leaderboard_score": "leaderboards.scoring",
    "leaderboard_scores": "leaderboards.scoring",
    "one_of": "tree.nodes",
    "open_predictions": "files",
    "open_references": "files",
    "paired_comparison": "statistics",
    "protocol_from_signature": "registry",
    "rank_systems": "statistics",
    "score_dataset": "cluster.run",
    "score_submission": "submission.score",
    "score_systems": "submission.systems",
    "signature": "registry",
    "threshold_sweep": "analysis.thresholds",
}

__all__ = [
    "BENCHMARKS",
    "LEADERBOARDS",
    "PROTOCOLS",
    "AgreementReport",
    "Audit",
    "Automation",
    "Explanation",
    "Field",
    "FieldReport",
    "Fields",
    "Match",
    "Protocol",
    "ScoreNode",
    "__version__",
    "agreement",
    "anls_score",
    "anls_scores",
    "anls_star_score",
    "anls_star_scores",
    "audit",
    "automate",
    "check_submission",
    "compare_protocols",
    "confidence_interval",
    "diagnose",
    "explain",
    "explain_answers",
    "field_report",
    "get_protocol",
    "leaderboard_figures",
    "leaderboard_score",
    "leaderboard_scores",
    "one_of",
    "open_predictions",
    "open_references",
    "paired_comparison",
    "protocol_from_signature",
    "rank_systems",
    "score_dataset",
    "score_submission",
    "score_systems",
    "signature",
    "threshold_sweep",
]


# Python raises _DeadlockError where one thread imports a package and another a module of it.
_IMPORTING = RLock()


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'anls_eval' has no attribute {name!r}")
    with _IMPORTING:
        value: object = getattr(importlib.import_module(f"anls_eval.{_HOMES[name]}"), name)
    globals()[name] = value  # so that this is asked once
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
