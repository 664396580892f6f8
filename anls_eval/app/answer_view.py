"""One answer: its score with the reasons, at every threshold, and under every protocol."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from anls_eval.analysis.thresholds import ThresholdSweep, sweep_measured
from anls_eval.app.limits import check_text
from anls_eval.app.protocols import OF_TEXTS, options_of
from anls_eval.errors import Note, Remedy, check_choice
from anls_eval.explanation.answers import AnswersExplanation, explain_answers
from anls_eval.extract.hints import count_steps, extract_note, steps_in
from anls_eval.leaderboards import Benchmark
from anls_eval.registry import get_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words
from anls_eval.structure import answers_in
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
    is_benchmark: bool = False


@dataclasses.dataclass(frozen=True)
class AnswerView:
    """What the page shows of an answer."""

    found: AnswersExplanation
    sweep: ThresholdSweep | None  # the score at every threshold; None for a leaderboard
    protocols: tuple[ProtocolScore, ...]  # the chosen one, then the most different first
    not_applicable: tuple[str, ...]  # leaderboards that need an answer type, options or another kind of answer
    hints: tuple[str, ...]  # what may help


def read_answers(text: str, protocol: str, parse: str | None) -> tuple[list[str], tuple[str, ...]]:
    """Return the answers in the lines of a text, of which a single one can print a list, and the notes on it."""
    if parse not in (None, "none"):
        check_choice("parse", parse, ("none",))
    lines = [line.removesuffix("\r") for line in text.split("\n") if line.strip()]
    if len(lines) != 1 or parse == "none" or getattr(get_rules(protocol), "reads_lists", False):
        return lines, ()
    found = answers_in(lines[0])
    if not found:
        return lines, ()
    apart = f"the answers are a printed list and were taken apart into {len(found)}"
    return [str(own) for own in found], (Note(apart, [Remedy("parse", "none", "compare the line as it is")]),)


def explain(
    prediction: Any,
    answers: list[str],
    protocol: str,
    threshold: float | None,
    answer_type: str | None,
    extract: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> AnswersExplanation:
    """Explain the score of an answer within the limits; a leaderboard takes a single answer as it is, even a list."""
    if not answers:
        raise ValueError("there is no accepted answer: enter at least one, one per line")
    check_text(str(prediction), list(map(str, answers)))
    rules = get_rules(protocol, threshold)
    accepted: Any = answers[0] if not isinstance(rules, Protocol) and len(answers) == 1 else answers
    return explain_answers(
        prediction,
        accepted,
        protocol=protocol,
        threshold=threshold,
        extract=extract,
        answer_type=answer_type,
        options=options,
    )


def view(
    prediction: str,
    answers: list[str],
    protocol: str,
    threshold: float | None,
    answer_type: str | None,
    extract: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> AnswerView:
    """Collect what the page shows of an answer; takes and refuses what `explain` does."""
    found = explain(prediction, answers, protocol, threshold, answer_type, extract, options)
    if math.isnan(found.score):
        raise ValueError(f"protocol {found.protocol!r} reports no figure for this question alone")
    given = prediction
    prediction = get_rules(protocol, None, extract).extracted(prediction) or ""
    rules_or_board = get_rules(protocol, threshold)
    chosen = rules_or_board if isinstance(rules_or_board, Protocol) else None
    scores = [
        _by_texts(prediction, answers, rules, found.score, chosen) for rules in PROTOCOLS.values() if not rules.tree
    ]
    not_applicable = []
    boards = {name: own for name, own in OF_TEXTS.items() if not isinstance(own, Protocol)}
    for name, board in boards.items():
        try:
            # A protocol that takes the answer out itself is given the whole output.
            text = given if board.extract else prediction
            kind = answer_type if board.answer_types else None
            other = explain(text, answers, name, None, kind, options=options_of(board, options))
        except ValueError:
            not_applicable.append(name)
            continue
        if math.isnan(other.score):
            not_applicable.append(name)
            continue
        difference = other.score - found.score
        why = other.rule.replace("`", "") if difference else ""
        is_chosen, is_benchmark = board is rules_or_board, isinstance(board, Benchmark)
        scores.append(ProtocolScore(name, other.score, difference, why, is_chosen, is_benchmark))
    sweep = None if chosen is None else sweep_measured(_measured(found, chosen), chosen)
    scores.sort(key=lambda row: (not row.is_chosen, -abs(row.difference), row.name))
    return AnswerView(found, sweep, tuple(scores), tuple(not_applicable), tuple(_hints(given, found)))


def _hints(prediction: str, found: AnswersExplanation) -> list[str]:
    """Return the note on an answer that scores 0 and has marks around it."""
    names = () if found.score or found.raw_prediction is not None else steps_in(prediction)
    return extract_note(1, 1, ", ".join(names), count_steps({0: names}), ()) if names else []


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
