"""Documents under every protocol have the scores that each protocol gives alone."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from places import DATA

from anls_eval import anls_star_score, anls_star_scores, leaderboard_figures, leaderboard_score
from anls_eval.analysis.diagnosis import compare_protocols
from anls_eval.leaderboards.benchmarks import BENCHMARKS
from anls_eval.tree.nodes import one_of

STAR = ("anls_star", "anls_star_paper")


def invoices() -> tuple[list[Any], list[Any]]:
    rows = [
        json.loads(line) for line in (DATA / "documents" / "invoices.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return [row["pred"] for row in rows], [row["gold"] for row in rows]


RECEIPTS: tuple[list[Any], list[Any]] = (
    [{"total": "17.9", "date": "2024-01-02"}, {"total": "5.00"}, {"total": "x", "company": "A"}],
    [{"total": "17.99", "date": "2024-01-02"}, {"total": "5.00"}, {"total": "7", "company": "A"}],
)


@pytest.mark.parametrize("documents", [RECEIPTS, invoices()], ids=["receipts", "invoices"])
def test_each_protocol_gives_what_it_gives_alone(documents: tuple[list[Any], list[Any]]) -> None:
    found = compare_protocols(*documents)
    assert found.n == len(documents[0])
    boards = {name for name, own in BENCHMARKS.items() if own.unit == "document" and not own.required_options}
    assert found.means.keys() | found.errors.keys() == boards | set(STAR)
    assert not found.means.keys() & found.errors.keys()
    star = float(np.mean(anls_star_scores(*documents)))
    for name, mean in found.means.items():
        alone = leaderboard_figures(*documents, protocol=name)["score"]
        assert mean == alone
        assert alone is not None
        assert found.differences[name] == alone - star
    for question in found.disagreements:
        prediction, reference = (side[question.row] for side in documents)
        assert (json.loads(question.prediction), json.loads(question.answers[0])) == (prediction, reference)
        for name, score in question.scores.items():
            alone = leaderboard_score(prediction, reference, protocol=name)
            assert score == (0 if np.isnan(alone) else alone)
        assert question.spread == max(question.scores.values()) - min(question.scores.values())
    spreads = [own.spread for own in found.disagreements]
    assert spreads == sorted(spreads, reverse=True)


def test_a_benchmark_that_cannot_score_a_document_says_why() -> None:
    found = compare_protocols([{"a": {"b": ["c"]}}], [{"a": {"b": ["c"]}}])
    assert found.means["anls_star"] == 1
    assert found.errors
    for name, error in found.errors.items():
        with pytest.raises(ValueError, match=r"\S"):
            raise_alone(name)
        assert error


def raise_alone(name: str) -> None:
    document = [{"a": {"b": ["c"]}}]
    if leaderboard_figures(document, document, protocol=name)["score"] is None:
        raise ValueError("no figure")


def test_documents_are_told_from_texts() -> None:
    as_table = pd.Series([{"a": "x"}, None]), pd.Series([{"a": "x"}, {"a": "y"}])
    as_arrow = pa.array([{"a": "x"}, None]), pa.array([{"a": "x"}, {"a": "y"}])
    for documents in (as_table, as_arrow, ([{"a": "x"}, None], [{"a": "x"}, {"a": "y"}])):
        assert compare_protocols(*documents, protocols=["anls_star"]).means == {"anls_star": 0.5}
        assert "donut_f1" in compare_protocols(*documents).means | compare_protocols(*documents).errors
    assert compare_protocols([[{"a": "x"}]], [[{"a": "x"}]]).means["anls_star"] == 1
    assert "standard" in compare_protocols(["x"], [["x"]]).means
    with pytest.raises(ValueError, match="Pass the string itself"):
        compare_protocols([["x"]], [["x"]])
    assert compare_protocols([["x", "y"]], [["y", "x"]], protocols=["anls_star"]).means == {"anls_star": 1}


def test_alternatives_are_shown_as_json() -> None:
    found = compare_protocols([{"a": "x"}], [{"a": one_of("y", "z")}], protocols=["anls_star", "due_f1"], most=1)
    assert found.means["anls_star"] == anls_star_score({"a": "x"}, {"a": one_of("y", "z")})
    for question in found.disagreements:
        assert json.loads(question.answers[0]) == {"a": {"$one_of": ["y", "z"]}}


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        (([], []), {"protocols": ["anls_star"]}, "nothing to score"),
        (([{}], []), {}, "1 prediction but 0 references"),
        (([{}], [{}]), {"protocols": ["donut_f1", "dude"]}, "protocol 'dude' does not score documents"),
        (([{}], [{}]), {"protocols": ["donut_f1", "donut_f1"]}, "'donut_f1' occurs more than once"),
        (([{"a": {1}}], [{"a": "x"}]), {"protocols": ["anls_star"]}, r"row 0: prediction \$.a is a set"),
    ],
)
def test_refuses(documents: tuple[list[Any], list[Any]], options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        compare_protocols(*documents, **options)
