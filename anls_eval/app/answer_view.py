"""One answer: its score with the reasons, at every threshold, and by every protocol."""

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
"""The attributes that each sentence of `words.in_words` is about."""


@dataclasses.dataclass(frozen=True)
class ProtocolScore:
    """The same answer by another protocol.

    Args:
        name: Of the protocol.
        score: From 0 to 1.
        difference: From the score by the chosen protocol.
        why: What makes the difference, in words; empty where there is none.
        is_own: Whether it is the chosen one.
    """

    name: str
    score: float
    difference: float
    why: str
    is_own: bool


@dataclasses.dataclass(frozen=True)
class AnswerView:
    """What the page shows of an answer.

    Args:
        found: The score with the reasons.
        sweep: The score at every threshold; None for a leaderboard.
        protocols: All others, those that differ first, the most different of them before all.
        untold: The leaderboards that cannot score it, since they need an answer type or another kind of answer.
    """

    found: AnswersExplanation
    sweep: ThresholdSweep | None
    protocols: tuple[ProtocolScore, ...]
    untold: tuple[str, ...]


def explain(
    prediction: Any, answers: list[str], protocol: str, threshold: float | None, answer_type: str | None
) -> AnswersExplanation:
    """Score an answer and say why, within the limits.

    Args:
        prediction: As `answers.explain_answers` takes it.
        answers: The accepted answers; a leaderboard takes a single one for what it is, which can be a list.
        protocol: A name or alias of a protocol of texts or of a leaderboard.
        threshold: Minimum similarity that counts. Defaults to the protocol's.
        answer_type: The answer type, for leaderboards that need one.

    Raises:
        ValueError: No answer, texts over the limits, or what `answers.explain_answers` refuses.
    """
    if not answers:
        raise ValueError("there is no accepted answer: enter at least one, one a line")
    check_text(str(prediction), list(map(str, answers)))
    rules = get_rules(protocol, threshold)
    accepted: Any = answers[0] if isinstance(rules, Leaderboard) and len(answers) == 1 else answers
    return explain_answers(prediction, accepted, protocol=protocol, threshold=threshold, answer_type=answer_type)


def view(
    prediction: str, answers: list[str], protocol: str, threshold: float | None, answer_type: str | None
) -> AnswerView:
    """Give what the page shows of an answer.

    Args:
        prediction: The predicted text.
        answers: As in `explain`.
        protocol: The same.
        threshold: The same.
        answer_type: The same.

    Raises:
        ValueError: As in `explain`.

    Example:
        >>> shown = view("ab", ["ac"], "standard", None, None)
        >>> next((own.name, own.score, own.why) for own in shown.protocols if own.name == "paper")
        ('paper', 0.0, 'a similarity counts only above 0.5; exactly 0.5 gives 0')
    """
    found = explain(prediction, answers, protocol, threshold, answer_type)
    chosen = get_rules(protocol, threshold)
    own = chosen if isinstance(chosen, Protocol) else None
    scores = [_by_texts(prediction, answers, rules, found.score, own) for rules in PROTOCOLS.values() if not rules.tree]
    untold = []
    for name, board in LEADERBOARDS.items():
        try:
            other = explain(prediction, answers, name, None, answer_type if board.answer_types else None)
        except ValueError:
            untold.append(name)
            continue
        difference = other.score - found.score
        is_own = board is chosen
        why = other.rule.replace("`", "") if difference else ""
        scores.append(ProtocolScore(name, other.score, difference, why, is_own))
    sweep = None if own is None else sweep_measured(_measured(found, own), own)
    ordered = sorted(scores, key=lambda each: (not each.is_own, -abs(each.difference), each.name))
    return AnswerView(found, sweep, tuple(ordered), tuple(untold))


def _measured(found: AnswersExplanation, rules: Protocol) -> Measured:
    """What was measured for the explanation of one question that has a prediction."""
    closest = found.comparisons[found.closest or 0]
    values = found.score, found.closest, closest.distance, closest.length
    is_zero = closest.compared_prediction in rules.zero_predictions
    return Measured(*(np.array([value]) for value in (*values, is_zero)))


def _by_texts(
    prediction: str, answers: list[str], rules: Protocol, score: float, own: Protocol | None
) -> ProtocolScore:
    other = measure_one(prediction, answers, rules)[0]
    is_own = own is not None and own.name == rules.name
    if is_own and own is not None and own.exact_threshold == rules.exact_threshold:
        return ProtocolScore(rules.name, other, 0.0, "", True)
    why = "" if other == score or own is None else _why(prediction, answers, rules, own, score)
    return ProtocolScore(rules.name, other, other - score, why, is_own)


def _why(prediction: str, answers: list[str], rules: Protocol, own: Protocol, score: float) -> str:
    """The rules that change the score if they alone take the place of one's own; all that differ, if none does."""
    words, own_words = in_words(rules), in_words(own)
    different = [key for key in words if words[key] != own_words.get(key)]
    alone = []
    for key in different:
        changed = dataclasses.replace(own, **{name: getattr(rules, name) for name in _RULES[key]})
        if measure_one(prediction, answers, changed)[0] != score:
            alone.append(key)
    return "; ".join(words[key] for key in alone or different)
