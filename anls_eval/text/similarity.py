"""The similarity of one prediction and one answer: the formula, the threshold, the distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import LENGTHS, apply_steps, normaliser

Numbers = Any  # an int or an int64 array: the formulas below are the same for both


def compute_similarity(distance: Numbers, length: Numbers, rules: Protocol) -> Any:
    """Return 1 - distance / length; a length of 0 means two empty strings."""
    if length.all() if isinstance(length, np.ndarray) else length:
        return 1 - distance / length
    empty = length == 0
    return 1 - distance / (length + empty) - empty * (1 - rules.both_empty)


def reaches_threshold(distance: Numbers, length: Numbers, rules: Protocol) -> Any:
    """Return whether the similarity reaches the threshold, compared in integers."""
    numerator, denominator = rules.exact_threshold.as_integer_ratio()
    if not isinstance(length, np.ndarray):
        length = length or 1
    else:
        length = np.maximum(length, 1)
        if denominator * int(length.max(initial=1)) >= 2**62:
            distance, length = distance.astype(object), length.astype(object)  # thresholds of very many digits
    have, need = (length - distance) * denominator, numerator * length
    return have > need if rules.keep == ">" else have >= need


def max_kept_distance(length: int, rules: Protocol) -> int:
    """Return the maximum distance that is kept for texts of this length: a search may give up beyond it."""
    exact = rules.exact_threshold
    return length * (exact.denominator - exact.numerator) // exact.denominator


def kept_similarity(distance: Numbers, length: Numbers, rules: Protocol) -> Any:
    """Return the similarity where the protocol keeps it, and 0 elsewhere."""
    return (
        compute_similarity(distance, length, rules) * reaches_threshold(distance, length, rules) + 0.0
    )  # + 0.0: never -0.0


def edit_costs(rules: Protocol) -> tuple[int, int, int]:
    """Return the costs of inserting, deleting and replacing; replacing never costs more than the other two."""
    return 1, 1, min(rules.substitution_cost, 2)


def measure_one(prediction: str | None, answers: Sequence[str], rules: Protocol) -> tuple[float, int, int, int]:
    """Return the score of one question, the index of its closest answer (-1: no prediction), distance and length."""
    if prediction is None:
        return 0.0, -1, 0, 0
    # As `compare_texts` and `compute_similarity`, whose calls would take a third of the time.
    prepare, costs = normaliser(rules.answer_steps), edit_costs(rules)
    left = normaliser(rules.prediction_steps)(prediction)
    left_length, right_text = len(LENGTHS[rules.prediction_length](prediction, left)), LENGTHS[rules.answer_length]
    best_similarity, best, best_distance, best_length = -math.inf, -1, 0, 0
    for index, answer in enumerate(answers):
        right = prepare(answer)
        distance = Levenshtein.distance(left, right, weights=costs)
        length = len(right_text(answer, right))
        length = left_length if length < left_length else length
        similarity = 1 - distance / length if length else float(rules.both_empty)
        if similarity > best_similarity:
            best_similarity, best, best_distance, best_length = similarity, index, distance, length
    is_kept = left not in rules.zero_predictions and reaches_threshold(best_distance, best_length, rules)
    return best_similarity if is_kept else 0.0, best, best_distance, best_length


def compare_leaves(left: str, right: str, rules: Protocol) -> tuple[int, int, bool]:
    """Return the distance of two leaves of trees after their steps, the length to divide by, and whether it counts."""
    longest = len(left) if len(left) > len(right) else len(right) or 1
    distance = 0 if left == right else Levenshtein.distance(left, right, weights=edit_costs(rules))
    return distance, longest, reaches_threshold(distance, longest, rules)


def compare_texts(prediction: str, left: str, answer: str, rules: Protocol) -> tuple[int, int]:
    """Return the distance of a prediction, raw and after its steps, to an answer, and the length to divide it by."""
    right = apply_steps(rules.answer_steps, answer)
    sides = LENGTHS[rules.prediction_length](prediction, left), LENGTHS[rules.answer_length](answer, right)
    return Levenshtein.distance(left, right, weights=edit_costs(rules)), max(map(len, sides))
