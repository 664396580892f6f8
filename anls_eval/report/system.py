"""A system to report on: its submission with every question, its documents and its confidences."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from anls_eval.files import Reader
from anls_eval.rules.protocol import Protocol
from anls_eval.submission.score import ScoredQuestions, score_questions
from anls_eval.submission.systems import system_name
from anls_eval.types import Missing, Unknown

CONFIDENCE_COLUMN = "answers_confidence"
"""The column of confidences in submissions to DUDE, which is read where there is one."""

_NO_CONFIDENCE = -1.0  # what DUDE's evaluation takes as no confidence (github.com/Jordy-VL/DUDEeval)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class System:
    """A system with its scored submission.

    Args:
        name: What the report calls it.
        scored: From `submission.score_questions`.
        clusters: The document of each question, if questions of one document are not independent.
        seed: Of all that chance decides: intervals and tests.
        confidences: Of shape (n,), in [0, 1], NaN where there is none; None if the submission has no confidences.
    """

    name: str
    scored: ScoredQuestions
    clusters: list[str] | None = None
    seed: int = 0
    confidences: npt.NDArray[np.float64] | None = None


def read_system(
    predictions: Reader,
    references: Reader,
    *,
    name: str | None = None,
    protocol: str | Protocol = "standard",
    threshold: float | str | Fraction | Decimal | None = None,
    by: Sequence[str] = (),
    cluster_by: str | None = None,
    seed: int = 0,
    confidence: str | None = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
    per_question: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> System:
    r"""Read and score a submission for a report.

    Args:
        predictions: From `formats.open_predictions`.
        references: From `formats.open_references`.
        name: What the report calls the system; by default the name of the file without its endings.
        protocol: As in `submission.score_submission`.
        threshold: The same.
        by: Columns to break the score down by.
        cluster_by: The same.
        seed: The same; also of all other intervals and tests of the report.
        confidence: The column of confidences, from 0 to 1; by default ``answers_confidence`` where there is one. Of
            several confidences the first counts, and -1 is none, as in DUDE.
        missing: As in `submission.score_submission`.
        unknown: The same.
        per_question: The same.
        on_progress: The same.

    Returns:
        The system.

    Raises:
        ValueError: As in `submission.score_submission`, or a confidence is not a number from 0 to 1.

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
        protocol=protocol,
        threshold=threshold,
        by=by,
        cluster_by=cluster_by,
        seed=seed,
        columns=[] if confidence is None else [confidence],
        missing=missing,
        unknown=unknown,
        per_question=per_question,
        on_progress=on_progress,
    )
    return System(
        name=system_name(predictions.detected.path) if name is None else name,
        scored=scored,
        clusters=None if cluster_by is None else [document for [document] in scored.columns[cluster_by]],
        seed=seed,
        confidences=None if confidence is None else _confidences(scored, confidence),
    )


def _confidences(scored: ScoredQuestions, column: str) -> npt.NDArray[np.float64]:
    values = zip(scored.columns[column], scored.question_ids, strict=True)
    return np.array([_confidence(own, column, question_id) for own, question_id in values])


def _confidence(values: list[str], column: str, question_id: str) -> float:
    if not values:
        return float("nan")
    try:
        value = float(values[0])
    except ValueError:
        value = float("nan")
    if value == _NO_CONFIDENCE:
        return float("nan")
    if not 0 <= value <= 1:
        raise ValueError(
            f"{column} of question_id {question_id!r} is {values[0]!r}; expected a confidence from 0 to 1, "
            "or nothing where there is none"
        )
    return value
