"""The protocols that each tab offers: the common ones first, then all others that apply there."""

from __future__ import annotations

from anls_eval.analysis.side_by_side import scores_documents
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS, Benchmark, Leaderboard
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS

Rules = Protocol | Leaderboard | Benchmark

_OF_TEXTS = ("standard", "rrc", "stvqa", "mpdocvqa", "due", "dude", "mmlongbench", "ocrbench_v2", "icdar2026")
_OF_DOCUMENTS = ("anls_star", "donut_f1", "donut_ted", "cc_ocr_kie_f1", "kieval_entity_f1", "extractbench_value")
_COMMON = (*_OF_TEXTS, *_OF_DOCUMENTS)
MORE = "More \u00b7 "
"""Before the names of the protocols that are not common."""

# What needs more than an answer type, such as the year flags of ChartQAPro, has no field in the app.
_OFFERED: dict[str, Rules] = {
    **PROTOCOLS,
    **LEADERBOARDS,
    **{name: own for name, own in BENCHMARKS.items() if not own.required_options},
}


def has_means(rules: Rules) -> bool:
    """Return whether the score is the mean of the scores of the questions."""
    return not isinstance(rules, Benchmark) or rules.averages


OF_TEXTS = {name: own for name, own in _OFFERED.items() if not scores_documents(own)}
OF_DOCUMENTS = {name: own for name, own in _OFFERED.items() if scores_documents(own)}
OF_FILES = {**OF_TEXTS, **OF_DOCUMENTS}


def choices(offered: dict[str, Rules]) -> list[tuple[str, str]]:
    """Return protocols with what they are for, as choices of a `gr.Dropdown`."""
    common = [(_label(name, offered[name]), name) for name in _COMMON if name in offered]
    more = [(MORE + _label(name, own), name) for name, own in offered.items() if name not in _COMMON]
    return common + more


def _label(name: str, rules: Rules) -> str:
    return ": ".join(filter(None, (name, _users(rules))))


def _users(rules: Rules) -> str:
    if isinstance(rules, Protocol):
        return ", ".join(rules.leaderboards)
    if isinstance(rules, Benchmark):
        return f"{rules.family}, {rules.reports.partition(';')[0]}"
    return rules.source.partition(",")[0]
