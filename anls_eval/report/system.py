"""A system to report on: its submission with every question, its documents and its confidences."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from anls_eval.files import Reader
from anls_eval.submission.passes import OptionWords
from anls_eval.submission.score import ScoredQuestions, score_questions
from anls_eval.submission.systems import system_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

CONFIDENCE_COLUMN = "answers_confidence"
"""The column of confidences in submissions to DUDE, which is read if there is one."""

_NO_CONFIDENCE = -1.0  # in DUDE's evaluation (github.com/Jordy-VL/DUDEeval)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class System:
    """A system with its scored submission."""

    name: str  # in the report
    scored: ScoredQuestions  # from `score_questions`
    clusters: list[str] | None = None  # the document of each question, if questions of one are not independent
    seed: int = 0  # for intervals and tests
    # Of shape (n,), in [0, 1], NaN where there is none; None if the submission has no confidences.
    confidences: npt.NDArray[np.float64] | None = None
    match_at: Fraction = Fraction(1)  # minimum similarity of a leaf of a tree that is right


def read_system(
    predictions: Reader,
    references: Reader,
    *,
    name: str | None = None,
    confidence: str | None = None,
    per_question: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
    match_at: Fraction = Fraction(1),
    **options: Unpack[OptionWords],
) -> System:
    """Read and score a submission for a report; the column of confidences defaults to DUDE's if there is one."""
    if confidence is None and CONFIDENCE_COLUMN in predictions.names:
        confidence = CONFIDENCE_COLUMN
    scored = score_questions(
        predictions,
        references,
        columns=[] if confidence is None else [confidence],
        measure=True,
        per_question=per_question,
        on_progress=on_progress,
        **options,
    )
    cluster_by = options.get("cluster_by")
    return System(
        name=system_name(predictions.detected.path) if name is None else name,
        scored=scored,
        clusters=None if cluster_by is None else [document for [document] in scored.columns[cluster_by]],
        seed=options.get("seed", 0),
        confidences=None if confidence is None else _confidences(scored, confidence),
        match_at=match_at,
    )


def _confidences(scored: ScoredQuestions, column: str) -> npt.NDArray[np.float64]:
    found = np.full(len(scored.scores), np.nan)  # as for DUDE, the first of several confidences counts
    for row, values in enumerate(scored.columns[column]):
        if not values:
            continue
        try:
            value = float(values[0])
        except ValueError:
            value = np.nan
        if value == _NO_CONFIDENCE:
            continue
        if not 0 <= value <= 1:
            raise ValueError(
                f"{column} of question_id {scored.question_ids[row]!r} is {values[0]!r}; expected a confidence from 0 "
                "to 1, or no value if there is none"
            )
        found[row] = value
    return found
