"""Why points were lost: each question of a submission in one class, with the points that each class cost."""

import dataclasses
import math
from typing import Any

import numpy as np

from anls_eval.arrow import TEXTS, Floats, as_list
from anls_eval.inputs.columns import each_prediction, extracted_texts, read_column
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.rules.steps import apply_steps
from anls_eval.scoring import score_texts
from anls_eval.text import formatting

LOSS_CLASSES = {
    "exact": "Nothing was lost.",
    "no_answer": "No answer was given.",
    "refused": "The prediction says that there is no answer, but there is one.",
    "formatting": "Right to a human reader: only case, punctuation, symbols or the date format differ.",
    "partial_or_verbose": "The prediction contains the answer, or the answer contains the prediction.",
    "false_answer": "There is no answer, but the prediction gives one.",
    "misread": "Different text, close enough to score.",
    "wrong": "Different text, which scores 0.",
}
"""The classes, with their meaning, in the order in which they are tried: the first that applies is the question's."""


@dataclasses.dataclass(frozen=True)
class LossClass:
    """One class of questions: their number and the points they lost, the sum of 1 - score."""

    name: str
    count: int
    points_lost: float


@dataclasses.dataclass(frozen=True, eq=False)
class LossReport:
    """Every question with its class, and the totals of the classes.

    Attributes:
        classes: One for each of `LOSS_CLASSES`, in that order, even without a question.
        question_classes: The class of each question.
        predictions: The predictions as text; None where no answer was given.
        closest_answers: The accepted answer behind each score; None where no answer was given.
        scores: A float64 array of shape (n,).
        protocol: The rules of the scores, with the threshold that was used.
    """

    classes: tuple[LossClass, ...]
    question_classes: list[str]
    predictions: list[str | None]
    closest_answers: list[str | None]
    scores: Floats
    protocol: Protocol

    @property
    def points_lost(self) -> float:
        """The points that all questions lost: their number minus the sum of the scores."""
        return math.fsum((1 - self.scores).tolist())


def classify_losses(
    predictions: Any,
    answers: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> LossReport:
    """Put each question in the first of `LOSS_CLASSES` that applies, comparing its prediction to the closest answer.

    The classes look at characters and words, not at the meaning: "not stable" for "stable" is ``partial_or_verbose``.

    Args:
        predictions: n predictions, as for `anls_scores`.
        answers: n lists of accepted answers, as for `anls_scores`.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`, that scores texts.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.

    Returns:
        The totals of each class, and the class, closest answer and score of each question. The points of a class do not
        depend on the order of the questions.

    Raises:
        ValueError: As for `anls_scores`.

    Example:
        >>> report = classify_losses(["Denver", "$1,234.00", "Bingol"], [["Denver Broncos"], ["1234"], ["Bingo!"]])
        >>> report.question_classes
        ['partial_or_verbose', 'formatting', 'misread']
        >>> [(row.name, round(row.points_lost, 4)) for row in report.classes if row.count]
        [('formatting', 1.0), ('partial_or_verbose', 1.0), ('misread', 0.1667)]
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    column = read_column(predictions, "predictions", TEXTS)
    if rules.extract:
        column, rules = extracted_texts(column, rules.extract), rules.with_extract("none")
    scored = score_texts(column, answers, rules, detailed=True)
    texts = each_prediction(as_list(column), lambda row: f"predictions[{row}]")
    return loss_report(texts, scored.closest, scored.scores, rules)


def loss_report(
    predictions: list[str | None], closest_answers: list[str | None], scores: Floats, rules: Protocol
) -> LossReport:
    """Return the report of questions that were measured under the rules."""
    classes = question_classes(predictions, closest_answers, scores, rules)
    lost: dict[str, list[float]] = {name: [] for name in LOSS_CLASSES}
    for name, score in zip(classes, scores.tolist(), strict=True):
        lost[name].append(1 - score)
    return LossReport(
        classes=tuple(LossClass(name, len(points), math.fsum(points)) for name, points in lost.items()),
        question_classes=classes,
        predictions=predictions,
        closest_answers=closest_answers,
        scores=scores,
        protocol=rules,
    )


def question_classes(
    predictions: list[str | None], closest_answers: list[str | None], scores: Floats, rules: Protocol
) -> list[str]:
    """Return the class of each question, one of `LOSS_CLASSES`."""
    classes = ["exact"] * len(scores)
    known: dict[tuple[str | None, str | None], str] = {}
    for row in np.flatnonzero(scores < 1).tolist():
        pair = predictions[row], closest_answers[row]
        if pair not in known:
            known[pair] = _class_of(*pair, float(scores[row]), rules)
        classes[row] = known[pair]
    return classes


def _class_of(prediction: str | None, answer: str | None, score: float, rules: Protocol) -> str:
    """Return the class of a question that scored below 1."""
    if prediction is None or answer is None or not prediction.strip():
        return "no_answer"
    if apply_steps(rules.prediction_steps, prediction) in rules.zero_predictions:
        return "no_answer"
    refused, unanswerable = formatting.is_refusal(prediction), formatting.is_unanswerable(answer)
    if refused:
        return "formatting" if unanswerable else "refused"
    wording = formatting.compare_wording(prediction, answer)
    if wording != "different":
        return "formatting" if wording == "same" else "partial_or_verbose"
    if unanswerable:
        return "false_answer"
    return "misread" if score > 0 else "wrong"
