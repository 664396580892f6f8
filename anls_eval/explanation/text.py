"""Why a text has its score."""

from __future__ import annotations

from typing import Any

from anls_eval.explanation.result import Explanation, Match
from anls_eval.inputs.values import to_answers, to_text
from anls_eval.notes import text_notes_of_one
from anls_eval.registry import signature_of_one
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import apply_steps
from anls_eval.text.similarity import compute_similarity, measure_one
from anls_eval.tree.credit import BELOW_THRESHOLD, MISSING_PART


def explain_text(prediction: Any, answers: Any, rules: Protocol) -> tuple[Explanation, list[str]]:
    """Explain the score of one prediction; also return the warnings about it."""
    text, options = to_text(prediction, "prediction", "one string"), to_answers(answers, "answers")
    score, closest, *measured = measure_one(text, options, rules)
    best = max(closest, 0)  # without a prediction no answer is the closest
    distance, length, similarity, reason = None, None, None, MISSING_PART
    if text is not None:
        distance, length = measured
        similarity = float(compute_similarity(distance, length, rules))
        by_rule = apply_steps(rules.prediction_steps, text) in rules.zero_predictions
        reason = "" if score else "scores 0 by rule" if by_rule else BELOW_THRESHOLD
    match = Match(
        reference_path=f"$[{best}]",
        prediction_path=None if text is None else "$",
        reference=options[best],
        prediction=text,
        distance=distance,
        length=length,
        similarity=similarity,
        reason=reason,
        weight=1,
        credit=score,
    )
    explanation = Explanation(score, 1, None if text is None else options[best], {}, [match], signature_of_one(rules))
    return explanation, text_notes_of_one(text, options, score, rules)
