"""The closest accepted answer of each question, with both texts: what every analysis of lost points starts from."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from anls_eval.arrow import TEXT_LISTS, TEXTS, as_list
from anls_eval.inputs.columns import check_same_length, each_prediction, read_column
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import LENGTHS, apply_steps
from anls_eval.text.measure import Scored, score_columns
from anls_eval.text.similarity import edit_costs

_Ints = npt.NDArray[np.int64]


class ClosestPairs(NamedTuple):
    """Columns with one item for each question."""

    predictions: list[str | None]  # as text; None where no answer was given
    answers: list[str | None]  # the closest accepted answer; None where no answer was given
    scored: Scored

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The score of each question."""
        return self.scored.scores


def closest_pairs(predictions: Any, answers: Any, rules: Protocol) -> ClosestPairs:
    """Score two columns as `anls_scores` does, and keep the pair of texts behind each score."""
    texts = read_column(predictions, "predictions", TEXTS)
    options = read_column(answers, "answers", TEXT_LISTS)
    check_same_length(texts, options, "answers")
    scored = score_columns(texts, options, rules, closest=True)
    given = each_prediction(as_list(texts), lambda row: f"predictions[{row}]")
    return ClosestPairs(given, scored.closest, scored)


def measure(pairs: ClosestPairs, rules: Protocol, rows: _Ints) -> tuple[_Ints, _Ints]:
    """Measure the distances behind some of the scores.

    Args:
        pairs: From `closest_pairs`.
        rules: The protocol of their scores.
        rows: Of questions with a prediction.

    Returns:
        The distances and the lengths that they are divided by, one of each for each row.
    """
    prediction_length, answer_length = LENGTHS[rules.prediction_length], LENGTHS[rules.answer_length]
    left, right, lengths = [], [], []
    for row in rows.tolist():
        prediction, answer = pairs.predictions[row], pairs.answers[row]
        left.append(apply_steps(rules.prediction_steps, prediction or ""))
        right.append(apply_steps(rules.answer_steps, answer or ""))
        sides = prediction_length(prediction or "", left[-1]), answer_length(answer or "", right[-1])
        lengths.append(max(map(len, sides)))
    weights = {"weights": edit_costs(rules)}
    distances = cpdist(left, right, scorer=Levenshtein.distance, scorer_kwargs=weights, dtype=np.int32)
    return distances.astype(np.int64), np.array(lengths, dtype=np.int64)
