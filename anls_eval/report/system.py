"""A system to report on: its submission with every question, its documents and its confidences."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
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
"""The column of confidences in submissions to DUDE, which is read where there is one."""

_NO_CONFIDENCE = -1.0  # what DUDE's evaluation takes as no confidence (github.com/Jordy-VL/DUDEeval)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class System:
    """A system with its scored submission."""

    name: str  # in the report
    scored: ScoredQuestions  # from `score_questions`
    clusters: list[str] | None = None  # the document of each question, if questions of one are not independent
    seed: int = 0  # for intervals and tests
    # Of shape (n,), in [0, 1], NaN where there is none; None if the submission has no confidences.
    confidences: npt.NDArray[np.float64] | None = None


def read_system(
    predictions: Reader,
    references: Reader,
    *,
    name: str | None = None,
    confidence: str | None = None,
    per_question: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
    **options: Unpack[OptionWords],
) -> System:
    r"""Read and score a submission for a report.

    Args:
        predictions: From `anls_eval.open_predictions`.
        references: From `anls_eval.open_references`.
        name: The name of the system in the report. Defaults to that of the file or folder.
        confidence: The column of confidences, from 0 to 1; by default ``answers_confidence`` where there is one. Of
            several confidences the first counts, and -1 is none, as in DUDE.
        per_question: As in `score_submission`.
        on_progress: Called with the number of questions scored so far.
        options: As in `score_submission`; the seed is that of all intervals and tests of the report.

    Returns:
        The system.

    Raises:
        ValueError: As in `score_submission`, or a confidence is not a number from 0 to 1.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from anls_eval.files import open_predictions, open_references
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "ours.csv").write_text("id,prediction,sure\n1,Lima,0.9\n2,Roma,0.5\n")
        >>> _ = (folder / "references.csv").write_text("id,answer\n1,Lima\n2,Rome\n")
        >>> system = read_system(
        ...     open_predictions(folder / "ours.csv"), open_references(folder / "references.csv"), confidence="sure"
        ... )
        >>> system.name, system.confidences.tolist()
        ('ours', [0.9, 0.5])
    """
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
    )


def _confidences(scored: ScoredQuestions, column: str) -> npt.NDArray[np.float64]:
    found = np.full(len(scored.scores), np.nan)
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
                "to 1, or nothing where there is none"
            )
        found[row] = value
    return found
