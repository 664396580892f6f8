"""A system to report on: its submission with every question, its documents and its confidences."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from anls_eval.decisions.automation import read_confidences
from anls_eval.files import Reader
from anls_eval.submission.passes import OptionWords
from anls_eval.submission.score import ScoredQuestions, score_questions
from anls_eval.submission.systems import system_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

CONFIDENCE_COLUMN = "answers_confidence"
"""The column of confidences in submissions to DUDE, which is read if there is one."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class System:
    """A system with its scored submission."""

    name: str  # in the report
    scored: ScoredQuestions  # from `score_questions`
    clusters: list[str] | None = None  # the document of each question, if questions of one are not independent
    seed: int = 0  # for intervals and tests
    confidences: list[Any] | None = None  # of each question, as `read_confidences` returns them, if there are any
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
    of_trees = scored.protocol is not None and bool(scored.protocol.tree)
    return System(
        name=system_name(predictions.detected.path) if name is None else name,
        scored=scored,
        clusters=None if cluster_by is None else scored.documents(cluster_by),
        seed=options.get("seed", 0),
        confidences=None if confidence is None else read_confidences(scored.columns[confidence], of_trees),
        match_at=match_at,
    )
