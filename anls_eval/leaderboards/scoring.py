"""The public functions that score questions as a leaderboard does."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

from anls_eval.arrow import Floats
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.leaderboards.table import get_leaderboard
from anls_eval.statistics.tally import Tally
from anls_eval.types import Texts, Tree


def leaderboard_score(prediction: Tree, reference: Tree, *, protocol: str, answer_type: str | None = None) -> float:
    """Score one prediction as a leaderboard does.

    Args:
        prediction: The predicted text; for a list type, a list or its Python text. A number is read as its `str`;
            None and NaN are no answer, which scores 0 with a warning, and is correct if ``dude`` has no answer.
        reference: The answer or a list of accepted answers; for a list type, the one list or its Python text.
        protocol: A name or alias in `LEADERBOARDS`.
        answer_type: One of the leaderboard's `answer_types`; None for a leaderboard without answer types.

    Returns:
        The score, from 0 to 1.

    Raises:
        ValueError: The protocol or answer type is unknown, the prediction has the wrong type, or the reference cannot
            be read for its answer type.

    Example:
        >>> leaderboard_score("America", "North America", protocol="mmlongbench", answer_type="Str")
        0.5384615384615384
        >>> leaderboard_score("['10 %', 'white']", "['White', '10%']", protocol="mmlongbench", answer_type="List")
        1.0

    Source: the code named in `LEADERBOARDS`.
    """
    score, notes = get_leaderboard(protocol).score_one(prediction, reference, answer_type)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def leaderboard_scores(predictions: Texts, references: Texts, *, protocol: str, answer_types: Texts = None) -> Floats:
    """Score n predictions as a leaderboard does, in one batch.

    Args:
        predictions: n predictions, each as in `leaderboard_score`.
        references: n references, each as in `leaderboard_score`.
        protocol: A name or alias in `LEADERBOARDS`.
        answer_types: n answer types; None for a leaderboard without answer types.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: As in `leaderboard_score`, with the row in the message; or the columns differ in length.

    Example:
        >>> leaderboard_scores(["5", "0.1 %"], ["6", "0.1"], protocol="mmlongbench", answer_types=["Int", "Float"])
        array([0., 1.])

    Source: the code named in `LEADERBOARDS`.
    """
    board = get_leaderboard(protocol)
    sides = read_column(predictions, "predictions"), read_column(references, "references")
    check_same_length(*sides, "references")
    given = None if answer_types is None else read_column(answer_types, "answer_types")
    scores, notes = board.score_all(*sides, given)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return scores


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeaderboardSummary:
    """The figures of a submission; None for those that the leaderboard does not report."""

    protocol: str
    n: int
    mean: float
    accuracy: float | None = None
    f1: float | None = None


def leaderboard_summary(
    scores: Sequence[float] | Floats, predictions: Any, references: Any, *, protocol: str
) -> LeaderboardSummary:
    """Return the mean, accuracy and F1 of scores; None is an answer, and without answerable questions the F1 is 0."""
    board = get_leaderboard(protocol)
    values = [float(score) for score in scores]
    sides = read_column(predictions, "predictions"), read_column(references, "references")
    lengths = len(values), *map(len, sides)
    if len(set(lengths)) > 1 or not values:
        raise ValueError(
            "{} scores, {} predictions and {} references; expected one of each for each question, at least one".format(
                *lengths
            )
        )
    tally = Tally.of(values)
    figures = board.figures(tally, *board.tally_answerable(values, *sides))
    return LeaderboardSummary(protocol=board.name, n=tally.n, mean=tally.mean, **figures)
