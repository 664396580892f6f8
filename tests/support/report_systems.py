"""Systems to report on, made from real submissions and from rows given in a test."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docvqa_runs

from anls_eval.files import open_predictions, open_references
from anls_eval.report import System, read_system


def docvqa(run: str, **options: Any) -> System:
    return read_system(
        open_predictions(docvqa_runs.FOLDER / f"pred_{run}.json"),
        open_references(docvqa_runs.FOLDER / "references.json"),
        name=run,
        **options,
    )


def of_rows(
    folder: Path, predictions: Sequence[dict[str, Any]], references: Sequence[dict[str, Any]], **options: Any
) -> System:
    """Of rows with the keys id and prediction, and id and answers, and any others."""
    for name, rows in (("predictions", predictions), ("references", references)):
        (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    return read_system(
        open_predictions(folder / "predictions.json"), open_references(folder / "references.json"), **options
    )


def of_pairs(folder: Path, pairs: Sequence[tuple[Any, Any]], **options: Any) -> System:
    """Of a prediction and its answers each, with the ids 0, 1, ..."""
    return of_rows(
        folder,
        [{"id": str(row), "prediction": prediction} for row, (prediction, _) in enumerate(pairs)],
        [{"id": str(row), "answers": answers} for row, (_, answers) in enumerate(pairs)],
        **options,
    )
