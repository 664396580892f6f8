"""Choose the parameter of an answer extractor by ANLS, with scikit-learn.

Run ``python examples/sklearn_scorer.py``.
"""

import json
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from anls_eval import anls_scores

QUESTIONS = Path(__file__).resolve().parent / "receipts.jsonl"


def mean_anls(answers: list[list[str]], predictions: list[str], **options: Any) -> float:
    """Give the mean score, with the argument order of scikit-learn."""
    score: float = anls_scores(predictions, answers, **options).mean()
    return score


class LineOf(BaseEstimator):
    """Answers with one line of the receipt, whatever was asked."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def fit(self, contexts: list[str], answers: Any = None) -> "LineOf":
        """Learn nothing."""
        self.fitted_ = True
        return self

    def predict(self, contexts: list[str]) -> list[str]:
        """Give the line of each receipt."""
        return [context.splitlines()[self.number] for context in contexts]


def search() -> GridSearchCV:
    """Try every line."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    scorer = make_scorer(mean_anls, protocol="standard")
    return GridSearchCV(LineOf(), {"number": range(6)}, scoring=scorer, cv=2).fit(
        [row["context"] for row in rows], [row["answers"] for row in rows]
    )


if __name__ == "__main__":
    found = search()
    print(f"line {found.best_params_['number']}: ANLS {found.best_score_:.4f}")
