"""The closest accepted answer of each question, with both texts: what every analysis of lost points starts from."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

import anls

_Ints = npt.NDArray[np.int64]


class ClosestPairs(NamedTuple):
    """Columns with one item for each question."""

    predictions: list[str | None]  # as text; None where no answer was given
    answers: list[str | None]  # the closest accepted answer; None where no answer was given
    scored: anls._Scored

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The score of each question."""
        return self.scored.scores


def closest_pairs(predictions: Any, answers: Any, rules: anls.Protocol) -> ClosestPairs:
    """Score two columns as `anls.anls_scores` does, and keep the pair of texts behind each score."""
    texts = anls._column(predictions, "predictions", anls._TEXTS)
    options = anls._column(answers, "answers", anls._TEXT_LISTS)
    anls._check_lengths(texts, options, "answers")
    scored = anls._score(texts, options, rules, closest=True)
    given = anls._each_prediction(anls._listed(texts), lambda row: f"predictions[{row}]")
    return ClosestPairs(given, scored.closest, scored)


def measure(pairs: ClosestPairs, rules: anls.Protocol, rows: _Ints) -> tuple[_Ints, _Ints]:
    """Measure the distances behind some of the scores.

    Args:
        pairs: From `closest_pairs`.
        rules: The protocol of their scores.
        rows: Of questions with a prediction.

    Returns:
        The distances and the lengths that they are divided by, one of each for each row.
    """
    prediction_length, answer_length = anls.LENGTHS[rules.prediction_length], anls.LENGTHS[rules.answer_length]
    left, right, lengths = [], [], []
    for row in rows.tolist():
        prediction, answer = pairs.predictions[row], pairs.answers[row]
        left.append(anls._apply(rules.prediction_steps, prediction or ""))
        right.append(anls._apply(rules.answer_steps, answer or ""))
        sides = prediction_length(prediction or "", left[-1]), answer_length(answer or "", right[-1])
        lengths.append(max(map(len, sides)))
    weights = {"weights": anls._weights(rules)}
    distances = cpdist(left, right, scorer=Levenshtein.distance, scorer_kwargs=weights, dtype=np.int32)
    return distances.astype(np.int64), np.array(lengths, dtype=np.int64)
