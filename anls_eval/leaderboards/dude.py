"""DUDE."""

from __future__ import annotations

import functools
import math
from itertools import product

import numpy as np

from anls_eval.inputs.values import is_missing_value
from anls_eval.leaderboards.base import Leaderboard, by_protocol
from anls_eval.leaderboards.question import Outcome, Pairs, Question, item_texts, plain_list
from anls_eval.rules.table import PROTOCOLS
from anls_eval.tree.matching import assign


def _dude_text(question: Question) -> Outcome:
    """Return the pairs for the highest `rrc` similarity. Of a list of predictions the first counts; [] counts as ""."""
    first = plain_list(question.prediction)
    if isinstance(first, (list, tuple)):
        first = first[0] if len(first) else ""
    text = question.with_prediction(first).prediction_text()
    answers = question.accepted_answers()
    return Pairs([text] * len(answers), answers, max)


def _dude_not_answerable(question: Question) -> Outcome:
    """Score as text against the answer "", which files write as [""] or []: an empty prediction is correct."""
    reference = plain_list(question.reference)
    is_empty = is_missing_value(reference) or (isinstance(reference, (list, tuple)) and not reference)
    return _dude_text(question.with_reference([""]) if is_empty else question)


def _dude_list(question: Question) -> Outcome:
    """Return the pairs for the best one-to-one sum, divided by the larger of distinct answers and predictions."""
    # Sorted: which of several equally good assignments is found depends on the order.
    answers = sorted(item_texts(question.reference_items(), f"reference{question.row}"))
    predictions = sorted(item_texts(question.prediction_items(), f"prediction{question.row}"))
    length = max(len(set(answers)), len(predictions))
    if not length:
        return 1.0
    texts, others = zip(*product(predictions, answers), strict=True) if predictions and answers else ((), ())
    shape = len(predictions), len(answers)
    return Pairs(list(texts), list(others), functools.partial(_best_sum, shape=shape, length=length))


def _best_sum(similarities: list[float], shape: tuple[int, int], length: int) -> float:
    matrix = np.reshape(similarities, shape)
    return math.fsum(matrix[assign(matrix)]) / length


DUDE = Leaderboard(
    name="dude",
    description="Texts: `rrc`. Lists: the best sum of one-to-one `rrc` similarities, divided by the larger of the "
    "number of distinct answers and the number of predictions. Not answerable: an empty prediction is correct. If "
    "there are several predictions for a type other than list, the first counts.",
    rules={
        "extractive": _dude_text,
        "abstractive": _dude_text,
        "list/extractive": _dude_list,
        "list/abstractive": _dude_list,
        "not-answerable": _dude_not_answerable,
    },
    similarity=by_protocol(PROTOCOLS["rrc"]),
    source="Jordy-VL/DUDEeval, evaluate_submission.py. For two empty lists the original gives NaN; here the score is "
    "1. It divides by the length of the raw strings, so whitespace around a wrong answer raises its score.",
)
