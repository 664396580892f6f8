"""scikit-learn: the example, as a scorer in a search and in cross-validation."""

import json

from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold, cross_val_score

from anls_eval.scoring import anls_scores
from examples import sklearn_scorer as example

ROWS = [json.loads(line) for line in example.QUESTIONS.read_text(encoding="utf-8").splitlines()]
CONTEXTS, ANSWERS = [row["context"] for row in ROWS], [row["answers"] for row in ROWS]


def test_example_finds_the_best_line() -> None:
    found = example.search()
    scores = anls_scores([context.splitlines()[0] for context in CONTEXTS], ANSWERS)
    assert found.best_params_ == {"number": 0}
    assert found.best_score_ == (scores[:3].mean() + scores[3:].mean()) / 2


def test_cross_validation_with_options() -> None:
    scorer = make_scorer(example.mean_anls, protocol="mistral_evals", threshold=0.1)
    found = cross_val_score(example.LineOf(5), CONTEXTS, ANSWERS, scoring=scorer, cv=KFold(3))
    lines = [context.splitlines()[5] for context in CONTEXTS]
    scores = anls_scores(lines, ANSWERS, protocol="mistral_evals", threshold=0.1)
    assert scores.sum() > 0
    assert found.tolist() == [scores[start : start + 2].mean() for start in (0, 2, 4)]
