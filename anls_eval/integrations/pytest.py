"""The fixture ``anls_gate`` for pytest: ``pytest_plugins = ["anls_eval.integrations.pytest"]`` in conftest.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import pytest

from anls_eval.decisions.baseline import load_baseline
from anls_eval.decisions.gate import GateResult, check_gate_options, run_gate
from anls_eval.decisions.gate_words import as_text
from anls_eval.fields.fields import FieldsLike
from anls_eval.files import open_predictions, open_references
from anls_eval.files.paths import Paths
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.structure import Parse
from anls_eval.submission.score import ScoredQuestions, score_questions
from anls_eval.types import Extract, Missing, Unknown


def check_gate(
    predictions: Paths,
    references: Paths,
    *,
    baseline: str | os.PathLike[str] | None = None,
    max_drop: float = 0.0,
    strict: bool = False,
    min_score: float | None = None,
    by: Sequence[str] = (),
    by_field: bool = False,
    cluster_by: str | None = None,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
    parse: Parse = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
) -> GateResult:
    """Fail the test if ``anls gate`` would fail.

    Args:
        predictions: What `open_predictions` takes: a path, a pattern or a list of them.
        references: What `open_references` takes.
        baseline: Predictions of the old system, or a file that ``anls gate --save-baseline`` wrote.
        max_drop: The drop of the mean score that is allowed, in [0, 1].
        strict: Whether to fail if a greater drop is not ruled out, too.
        min_score: The minimum of the score, in [0, 1].
        by: Columns whose groups must hold, too.
        by_field: Whether the mean credit of each field of documents must hold, too.
        cluster_by: The column with the document of each question.
        protocol: A protocol, or its name or alias.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, as in `score_submission`.
        fields: For trees, how their parts are compared and weighed, as in `score_submission`.
        parse: Whose texts are taken apart where they print a list or a dict, as in `score_submission`.
        missing: ``"error"``, or ``"zero"`` to score questions without a prediction 0.
        unknown: ``"error"``, or ``"ignore"`` to leave out predictions without a question.

    Returns:
        The verdict with all comparisons, if the gate does not fail.

    Raises:
        ValueError: As in `score_submission`; the baseline does not exist, or has other questions or rules; there is
            neither a baseline nor a minimum; or an option is out of range.

    Example:
        >>> def test_no_worse(anls_gate):  # in a file of tests
        ...     anls_gate("new.json", "references.json", baseline="baseline.json", max_drop=0.01)
    """
    if baseline is None and min_score is None:
        raise ValueError("nothing to compare with: pass baseline= or min_score=")
    check_gate_options(max_drop, min_score)
    of_references = open_references(references)

    def scored(paths: Paths, columns: Sequence[str] = ()) -> ScoredQuestions:
        return score_questions(
            open_predictions(paths),
            of_references,
            columns=columns,
            protocol=protocol,
            threshold=threshold,
            extract=extract,
            fields=fields,
            parse=parse,
            missing=missing,
            unknown=unknown,
        )

    new = scored(predictions, [*by, *([] if cluster_by is None else [cluster_by])])
    old = None if baseline is None else load_baseline(os.fspath(baseline), scored, by_field=by_field)
    result = run_gate(
        new,
        old,
        max_drop=max_drop,
        strict=strict,
        min_score=min_score,
        by=by,
        by_field=by_field,
        cluster_by=cluster_by,
    )
    if not result.is_open:
        pytest.fail(as_text(result), pytrace=False)
    return result


@pytest.fixture
def anls_gate() -> Callable[..., GateResult]:
    """The function `check_gate`."""
    return check_gate
