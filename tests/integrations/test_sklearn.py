"""scikit-learn: as a scorer in cross-validation and in a search."""

import json
import math

import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, cross_val_score

from anls_eval.integrations.sklearn import mean_anls
from anls_eval.scoring import anls_scores
from examples import sklearn_scorer as example

ROWS = [json.loads(line) for line in example.QUESTIONS.read_text(encoding="utf-8").splitlines()]
CONTEXTS, ANSWERS = [row["context"] for row in ROWS], [row["answers"] for row in ROWS]


def test_example_finds_the_best_line() -> None:
    found = example.search()
    scores = anls_scores([context.splitlines()[0] for context in CONTEXTS], ANSWERS).tolist()
    assert found.best_params_ == {"number": 0}
    assert found.best_score_ == np.mean([math.fsum(scores[:3]) / 3, math.fsum(scores[3:]) / 3])


def test_cross_validation_with_options() -> None:
    scorer = make_scorer(mean_anls, protocol="mistral_evals", threshold=0.1)
    found = cross_val_score(example.LineOf(5), CONTEXTS, ANSWERS, scoring=scorer, cv=KFold(3))
    lines = [context.splitlines()[5] for context in CONTEXTS]
    scores = anls_scores(lines, ANSWERS, protocol="mistral_evals", threshold=0.1).tolist()
    assert math.fsum(scores) > 0
    assert found.tolist() == [math.fsum(scores[start : start + 2]) / 2 for start in (0, 2, 4)]


def test_one_answer_each() -> None:
    assert mean_anls(np.array(["abcd", "x"]), np.array(["abcx", "x"])) == 0.875


def test_nothing() -> None:
    with pytest.raises(ValueError, match="nothing to score"):
        mean_anls([], [])
