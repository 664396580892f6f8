"""The protocols that each tab offers: the common ones first, then all others that apply there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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

_OFFERED: dict[str, Rules] = {**PROTOCOLS, **LEADERBOARDS, **BENCHMARKS}
_EXAMPLES: dict[str, dict[str, object]] = {
    "year": {"year": ["NO"]},
    "match": {"match": {"date": "DateMatch"}, "appearance": {"date": "unrepeated"}},
}
"""By their first name, the options that a protocol needs, to start from."""


def option_names(rules: Rules) -> tuple[str, ...]:
    """Return the names of the options of a benchmark."""
    return rules.options if isinstance(rules, Benchmark) else ()


def options_of(rules: Rules, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return those of some options that a benchmark has."""
    return {name: value for name, value in (options or {}).items() if name in option_names(rules)}


def of_one(rules: Rules, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of one question or document as those of a list of one."""
    each = rules.question_options if isinstance(rules, Benchmark) else ()
    return {  # a dict, such as a schema, holds for all questions
        name: value if name not in each or isinstance(value, Mapping) else [value]
        for name, value in (options or {}).items()
    }


def example_options(rules: Rules) -> str:
    """Return options to start from as JSON text, for one answer or document; empty if none are needed."""
    needed = rules.required_options[:1] if isinstance(rules, Benchmark) else ()
    return "".join(json.dumps(_EXAMPLES[name]) for name in needed)


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
