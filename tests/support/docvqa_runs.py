"""Six real submissions to SP-DocVQA val, 1,000 questions each, as columns in the order of the questions."""

import functools
import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import EXAMPLES

from anls_eval.scoring import anls_scores

FOLDER = EXAMPLES / "docvqa"
RUNS = sorted(path.stem.removeprefix("pred_") for path in FOLDER.glob("pred_*.json"))


def some(*names: str) -> list[Any]:
    """These runs; the others are for `make test-long`."""
    return [run if run in names else pytest.param(run, marks=pytest.mark.long) for run in RUNS]


def answers() -> list[list[str]]:
    return [row["answers"] for row in _gold()]


def predictions(run: str) -> list[str]:
    rows = json.loads((FOLDER / f"pred_{run}.json").read_text(encoding="utf-8"))
    by_id = {row["questionId"]: row["answer"] for row in rows}
    return [by_id[row["questionId"]] for row in _gold()]


@functools.cache
def docvqa_scores() -> dict[str, npt.NDArray[np.float64]]:
    """The scores by question of each run."""
    return {run: anls_scores(predictions(run), answers()) for run in RUNS}


def _gold() -> list[dict[str, list[str]]]:
    rows: list[dict[str, list[str]]] = json.loads((FOLDER / "references.json").read_text(encoding="utf-8"))["data"]
    return rows
