"""The closest accepted answer of each question, with both texts: what every analysis of lost points starts from."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import anls


class ClosestPairs(NamedTuple):
    """Columns with one item for each question."""

    predictions: list[str | None]  # as text; None where no answer was given
    answers: list[str | None]  # the closest accepted answer; None where no answer was given
    scores: npt.NDArray[np.float64]
    notes: list[str]  # what the user must be told about the scores


def closest_pairs(predictions: Any, answers: Any, rules: anls.Protocol) -> ClosestPairs:
    """Score two columns as `anls.anls_scores` does, and keep the pair of texts behind each score.

    Args:
        predictions: n predictions, as `anls.anls_scores` takes them.
        answers: n lists of accepted answers, likewise.
        rules: A protocol of texts.

    Returns:
        Columns of n items.

    Raises:
        ValueError: What `anls.anls_scores` refuses.

    Example:
        >>> closest_pairs(["Denver Bronco"], [["Broncos", "Denver Broncos"]], anls.get_protocol("standard")).answers
        ['Denver Broncos']
    """
    texts = anls._column(predictions, "predictions", anls._TEXTS)
    options = anls._column(answers, "answers", anls._TEXT_LISTS)
    anls._check_lengths(texts, options, "answers")
    scored = anls._score(texts, options, rules, closest=True)
    given = anls._each_prediction(anls._listed(texts), lambda row: f"predictions[{row}]")
    return ClosestPairs(given, scored.closest, scored.scores, anls._notes(scored, rules))
