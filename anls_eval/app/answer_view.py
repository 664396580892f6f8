"""One answer: its score with the reasons, at every threshold, and under every protocol."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from anls_eval.analysis.thresholds import ThresholdSweep, sweep_measured
from anls_eval.app.limits import check_text
from anls_eval.explanation.answers import AnswersExplanation, explain_answers
from anls_eval.leaderboards import LEADERBOARDS, Leaderboard
from anls_eval.registry import get_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words
from anls_eval.text.measure import Measured
from anls_eval.text.similarity import measure_one

_RULES = {
    "texts": ("prediction_steps", "answer_steps"),
    "prediction": ("prediction_steps", "answer_steps"),
    "answers": ("prediction_steps", "answer_steps"),
    "length": ("prediction_length", "answer_length"),
    "keep": ("keep", "threshold"),
    "empty": ("both_empty",),
    "special": ("zero_predictions",),
    "substitution": ("substitution_cost",),
}
"""The attributes of a protocol that each sentence of `words.in_words` describes."""


@dataclasses.dataclass(frozen=True)
class ProtocolScore:
    """The score of the answer under one protocol."""

    name: str
    score: float
    difference: float  # from the score under the chosen protocol
    why: str  # which rules cause the difference, in words; empty without one
    is_chosen: bool


@dataclasses.dataclass(frozen=True)
class AnswerView:
    """What the page shows of an answer."""

    found: AnswersExplanation
    sweep: ThresholdSweep | None  # the score at every threshold; None for a leaderboard
    protocols: tuple[ProtocolScore, ...]  # the chosen one, then the most different first
    not_applicable: tuple[str, ...]  # leaderboards that need an answer type or another kind of answer


def explain(
    prediction: Any,
    answers: list[str],
    protocol: str,
    threshold: float | None,
    answer_type: str | None,
    extract: str | None = None,
) -> AnswersExplanation:
    """Explain the score of an answer within the limits; a leaderboard takes a single answer as it is, even a list."""
    if not answers:
        raise ValueError("there is no accepted answer: enter at least one, one per line")
    check_text(str(prediction), list(map(str, answers)))
    rules = get_rules(protocol, threshold)
    accepted: Any = answers[0] if isinstance(rules, Leaderboard) and len(answers) == 1 else answers
    return explain_answers(
        prediction, accepted, protocol=protocol, threshold=threshold, extract=extract, answer_type=answer_type
    )


def view(
    prediction: str,
    answers: list[str],
    protocol: str,
    threshold: float | None,
    answer_type: str | None,
    extract: str | None = None,
) -> AnswerView:
    """Collect what the page shows of an answer; takes and refuses what `explain` does."""
    found = explain(prediction, answers, protocol, threshold, answer_type, extract)
    prediction = get_rules(protocol, None, extract).extracted(prediction) or ""
    rules_or_board = get_rules(protocol, threshold)
    chosen = rules_or_board if isinstance(rules_or_board, Protocol) else None
    scores = [
        _by_texts(prediction, answers, rules, found.score, chosen) for rules in PROTOCOLS.values() if not rules.tree
    ]
    not_applicable = []
    for name, board in LEADERBOARDS.items():
        try:
            other = explain(prediction, answers, name, None, answer_type if board.answer_types else None)
        except ValueError:
            not_applicable.append(name)
            continue
        difference = other.score - found.score
        why = other.rule.replace("`", "") if difference else ""
        scores.append(ProtocolScore(name, other.score, difference, why, board is rules_or_board))
    sweep = None if chosen is None else sweep_measured(_measured(found, chosen), chosen)
    scores.sort(key=lambda row: (not row.is_chosen, -abs(row.difference), row.name))
    return AnswerView(found, sweep, tuple(scores), tuple(not_applicable))


def _measured(found: AnswersExplanation, rules: Protocol) -> Measured:
    """Return what was measured for the explanation of one question."""
    closest = found.comparisons[found.closest or 0]
    values = found.score, found.closest, closest.distance, closest.length
    is_zero = closest.compared_prediction in rules.zero_predictions
    return Measured(*(np.array([value]) for value in (*values, is_zero)))


def _by_texts(
    prediction: str, answers: list[str], rules: Protocol, score: float, chosen: Protocol | None
) -> ProtocolScore:
    other = measure_one(prediction, answers, rules)[0]
    is_chosen = chosen is not None and chosen.name == rules.name
    if is_chosen and chosen is not None and chosen.exact_threshold == rules.exact_threshold:
        return ProtocolScore(rules.name, other, 0.0, "", True)
    why = "" if other == score or chosen is None else _why(prediction, answers, rules, chosen, score)
    return ProtocolScore(rules.name, other, other - score, why, is_chosen)


def _why(prediction: str, answers: list[str], rules: Protocol, chosen: Protocol, score: float) -> str:
    """Name the rules that change the score when they alone replace the chosen ones; if none does, all that differ."""
    words, chosen_words = in_words(rules), in_words(chosen)
    different = [key for key in words if words[key] != chosen_words.get(key)]
    alone = []
    for key in different:
        changed = dataclasses.replace(chosen, **{name: getattr(rules, name) for name in _RULES[key]})
        if measure_one(prediction, answers, changed)[0] != score:
            alone.append(key)
    return "; ".join(words[key] for key in alone or different)
