"""Why points were lost: each question of a submission in one class, with the points that each class cost."""

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.arrow import TEXT_LISTS, TEXTS, Floats, as_list
from anls_eval.inputs.columns import check_same_length, each_prediction, read_column
from anls_eval.notes import text_notes
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.rules.steps import apply_steps
from anls_eval.text import formatting
from anls_eval.text.measure import score_columns

LOSS_CLASSES = (
    "exact",
    "no_answer",
    "refused",
    "formatting",
    "partial_or_verbose",
    "false_answer",
    "misread",
    "wrong",
)
"""The classes in the order in which they are tried: the first that fits is the question's."""


@dataclasses.dataclass(frozen=True)
class LossClass:
    """One class of questions: how many there are and the points they lost, as the sum of 1 - score."""

    name: str
    count: int
    points_lost: float


@dataclasses.dataclass(frozen=True, eq=False)
class LossReport:
    """Every question with its class, and the totals of the classes.

    Attributes:
        classes: One row for each of `LOSS_CLASSES`, in that order, also for those without a question.
        question_classes: The class of each question.
        predictions: The predictions as text; None where no answer was given.
        closest_answers: The accepted answer that each score comes from; None where no answer was given.
        scores: A float64 array of shape (n,).
        protocol: The rules of the scores, with the threshold that was used.
    """

    classes: tuple[LossClass, ...]
    question_classes: list[str]
    predictions: list[str | None]
    closest_answers: list[str | None]
    scores: npt.NDArray[np.float64]
    protocol: Protocol

    @property
    def points_lost(self) -> float:
        """The points that all questions lost: n minus the sum of the scores."""
        return math.fsum((1 - self.scores).tolist())


def classify_losses(
    predictions: Any,
    answers: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> LossReport:
    """Put each question in the first of these classes that fits, comparing its prediction to the closest answer.

    ====================== ======================================================================================
    ``exact``              The score is 1: nothing was lost.
    ``no_answer``          The prediction is None, whitespace, or a text that the protocol takes as no answer.
    ``refused``            It is one of `formatting.REFUSALS` ("not answerable"), and there is an answer.
    ``formatting``         Both differ only in case, punctuation, articles, currency and thousands signs or
                           the way of writing a date (`formatting.compare_wording`): right to a person.
    ``partial_or_verbose`` The words of one stand in the other: "Denver" for "Denver Broncos", "It is 12." for "12".
    ``false_answer``       The answer is empty or one of `formatting.NOT_ANSWERABLE`: another text was predicted.
    ``misread``            Another text, close enough to score above 0.
    ``wrong``              Another text that scores 0.
    ====================== ======================================================================================

    The classes look at characters and words, not at the meaning: "not stable" for "stable" is ``partial_or_verbose``.

    Args:
        predictions: n predictions, as `anls_scores` takes them.
        answers: n lists of accepted answers, as `anls_scores` takes them.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`, that scores texts.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.

    Returns:
        The totals of each class and the class, closest answer and score of each question. The points of a class are
        the exact sum, rounded once, so they do not depend on the order of the questions.

    Raises:
        ValueError: What `anls_scores` refuses.

    Example:
        >>> report = classify_losses(["Denver", "$1,234.00", "Bingol"], [["Denver Broncos"], ["1234"], ["Bingo!"]])
        >>> report.question_classes
        ['partial_or_verbose', 'formatting', 'misread']
        >>> for row in report.classes:
        ...     if row.count:
        ...         print(row.name, row.count, round(row.points_lost, 4))
        formatting 1 1.0
        partial_or_verbose 1 1.0
        misread 1 0.1667
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    left, right = read_column(predictions, "predictions", TEXTS), read_column(answers, "answers", TEXT_LISTS)
    check_same_length(left, right, "answers")
    scored = score_columns(left, right, rules, detailed=True)
    for note in text_notes(scored, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    texts = each_prediction(as_list(left), lambda row: f"predictions[{row}]")
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
    """Return the class of each question, by the table of `classify_losses`."""
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
