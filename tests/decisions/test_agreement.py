"""`agreement`: measures of scikit-learn and of papers, the corrected rate, labels, and the command line."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from anls_eval import agreement
from anls_eval.decisions.agreement import Agreement, corrected_bounds, read_labels
from benchmarks.agreement import CELLS, coverage


@pytest.mark.parametrize(
    ("counts", "kappa", "accuracy", "sensitivity", "specificity"),
    [  # scikit-learn 1.9.1: cohen_kappa_score, accuracy_score, and recall_score of the people's right and wrong
        ((3, 1, 0, 1), 0.5454545454545454, 0.8, 1.0, 0.5),
        ((25, 2, 6, 7), 0.5046439628482972, 0.8, 0.8064516129032258, 0.7777777777777778),
        ((574, 53, 128, 245), 0.596605243686092, 0.819, 0.8176638176638177, 0.8221476510067114),
    ],
)
def test_measures_of_scikit_learn(
    counts: tuple[int, int, int, int], kappa: float, accuracy: float, sensitivity: float, specificity: float
) -> None:
    own = Agreement(sum(counts), *counts)
    assert own.kappa == pytest.approx(kappa, abs=1e-14)
    assert (own.accuracy, own.sensitivity, own.specificity) == pytest.approx((accuracy, sensitivity, specificity))


def test_the_example_of_gwet() -> None:
    """Gwet 2008, table 2, of 125 patients: kappa fails where nearly everyone is in one class, AC1 does not."""
    own = Agreement(125, 118, 5, 2, 0)
    assert own.kappa == pytest.approx(-0.0234, abs=5e-5)
    assert own.ac1 == pytest.approx(0.9408, abs=5e-5)


def test_kappa_of_raters_that_always_say_the_same() -> None:
    assert Agreement(4, 4, 0, 0, 0).kappa is None
    assert Agreement(4, 4, 0, 0, 0).ac1 == 1


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.75, 1.0]), st.booleans()), min_size=1, max_size=40))
def test_thresholds_by_counting(rows: list[tuple[float, bool]]) -> None:
    found = agreement([score for score, _ in rows], [str(right) for _, right in rows])
    assert [own.threshold for own in found.thresholds] == sorted({0.0, *(score for score, _ in rows)})
    for own in found.thresholds:
        same = sum((score >= own.threshold) == right for score, right in rows)
        assert own.agreement.accuracy == same / len(rows)
    kappas = [1 if own.agreement.kappa is None else own.agreement.kappa for own in found.thresholds]
    assert (1 if found.best.agreement.kappa is None else found.best.agreement.kappa) == max(kappas)
    wrong = [row for row, (score, right) in enumerate(rows) if (score >= found.best.threshold) != right]
    assert list(found.disagreements) == wrong


def bounds_of_the_paper(p: float, n: int, q0: float, m0: int, q1: float, m1: int, alpha: float) -> tuple[float, float]:
    """Equations 5 to 12 of arXiv 2511.21140, in its letters."""
    z = norm.ppf(1 - alpha / 2)
    n_, m0_, m1_ = n + z**2, m0 + 2, m1 + 2
    p_, q0_, q1_ = (n * p + z**2 / 2) / n_, (m0 * q0 + 1) / m0_, (m1 * q1 + 1) / m1_
    theta = (p_ + q0_ - 1) / (q0_ + q1_ - 1)
    v0, v1 = q0_ * (1 - q0_) / m0_, q1_ * (1 - q1_) / m1_
    centre = theta + 2 * z**2 * (theta * v1 - (1 - theta) * v0)
    half = z * math.sqrt(p_ * (1 - p_) / n_ + (1 - theta) ** 2 * v0 + theta**2 * v1) / (q0_ + q1_ - 1)
    return max(centre - half, 0.0), min(centre + half, 1.0)


@pytest.mark.parametrize("counts", [(40, 3, 5, 12), (8, 1, 2, 9), (90, 0, 10, 100), (500, 40, 60, 200)])
@pytest.mark.parametrize(("rate", "n"), [(0.7, 200), (0.55, 1000)])
def test_the_interval_is_that_of_the_paper(counts: tuple[int, int, int, int], rate: float, n: int) -> None:
    both, only_judge, only_human, neither = counts
    right, wrong = both + only_human, neither + only_judge
    expected = bounds_of_the_paper(rate, n, neither / wrong, wrong, both / right, right, 0.05)
    assert corrected_bounds(rate, n, Agreement(sum(counts), *counts)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("cell", CELLS[:2])
def test_coverage(cell: Any) -> None:
    runs = 1000
    assert coverage(cell, runs).covered >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)


def test_the_rate_of_what_only_the_judge_rated_is_corrected() -> None:
    human = ["right"] * 80 + ["wrong"] * 20 + [None] * 200
    judge = ["yes"] * 72 + ["no"] * 8 + ["yes"] * 5 + ["no"] * 15 + ["yes"] * 150 + ["no"] * 50
    found = agreement([0.0] * 300, human, judge=judge)
    assert (found.n, found.unrated, found.human_rate) == (100, 200, 0.8)
    assert found.judge == Agreement(100, 72, 5, 8, 15)
    assert found.corrected is not None
    assert (found.corrected.judged, found.corrected.n) == (0.75, 200)
    assert found.corrected.rate == pytest.approx((0.75 + 0.75 - 1) / (0.9 + 0.75 - 1))
    assert found.corrected.low < found.corrected.rate < found.corrected.high


def test_where_people_rated_everything_the_corrected_rate_is_theirs() -> None:
    human, judge = ["right"] * 7 + ["wrong"] * 3, ["yes"] * 6 + ["no"] * 3 + ["yes"]
    found = agreement([0.0] * 10, human, judge=judge)
    assert found.corrected is not None
    assert found.corrected.rate == pytest.approx(0.7)
    assert found.notes == ("people rated every question that the judge did: their own rate needs no correction",)


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        (["true", "False", None, "  "], None, [True, False, None, None]),
        (["1", "0.0", "1.0", float("nan")], None, [True, False, True, None]),
        ([True, False, 1, 0], None, [True, False, True, False]),
        (["Correct", "wrong", "yes"], None, [True, False, True]),
        (["right", "NA", "wrong", "null"], None, [True, None, False, None]),
        (pa.array([True, None, False]), None, [True, None, False]),
        (pd.Series(["yes", pd.NA, "no"], dtype="string"), None, [True, None, False]),
        (["A", "b", "a"], "A", [True, False, True]),
        (["good enough"], "perfect", [False]),
    ],
)
def test_labels(labels: Any, positive: str | None, expected: list[bool | None]) -> None:
    assert read_labels(labels, "human", positive) == expected


@pytest.mark.parametrize(
    ("human", "options", "message"),
    [
        (["a", "b", "c"], {}, "human: 3 different labels: 'a', 'b', 'c'; expected two"),
        (["a", "b", "c"], {"positive": "a"}, "human: 3 different labels"),
        (["1", "0", "2"], {}, "human: 3 different labels"),
        (["a", "b", "b"], {}, "human: the labels are 'b', 'a', and it is not known which means right"),
        (["a", "b", "b"], {"positive": "c"}, "not a label of human, which has 'b', 'a'"),
        ([None, "", None], {}, "human: no question has a label"),
        (["yes"], {}, "human: 3 scores but 1 labels"),
        (["yes", "no", None], {"judge": [None, None, "yes"]}, "judge: no question has both"),
        (["yes", "no", "no"], {"judge": ["no", "yes", "no"]}, "judge: the judge is no better than chance: its sensi"),
    ],
)
def test_refused(human: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agreement([1.0, 0.5, 0.0], human, **options)


def test_command_line(run: Any, tmp_path: Path) -> None:
    human, judge = ["right", "wrong", "right", None, None], ["ok", "bad", "bad", "ok", "bad"]
    texts = ["Lima", "Rome", "Lima Peru", "Lima", "x"]
    rows = [
        {"id": str(number), "prediction": text, "human": own, "judge": other}
        for number, (text, own, other) in enumerate(zip(texts, human, judge, strict=True))
    ]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    (tmp_path / "g.json").write_text(json.dumps([{"id": str(number), "answers": ["Lima"]} for number in range(5)]))
    asked = ["agreement", tmp_path / "p.json", "-r", tmp_path / "g.json", "--human", "human", "-q"]
    out_file = tmp_path / "out.jsonl"
    found = json.loads(run(*asked, "--judge", "judge", "--json", "--out", out_file).out)
    assert found["best"]["accuracy"] == pytest.approx(2 / 3)
    assert found["judge"]["sensitivity"] == 0.5
    assert [row["question_id"] for row in found["disagreements"]] == ["2"]
    assert [json.loads(line) for line in out_file.read_text().splitlines()] == found["disagreements"]
    shown = run(*asked, "--judge", "judge")
    assert "the judge calls 50.0% of 2 questions right; corrected for its errors, 100.0%" in shown.out
    for change, message in (
        (["--human", "nobody"], "has the column 'nobody'"),
        (["--positive", "fine"], "--positive fine: not a label of human"),
        (["--out", tmp_path / "g.json"], "is one of the input files"),
    ):
        refused = run(*asked, *change)
        assert (refused.status, message in refused.err) == (2, True), refused.err
    labels = [{"id": row["id"], "prediction": row["prediction"], "human": "AB"[n % 2]} for n, row in enumerate(rows)]
    (tmp_path / "p.json").write_text(json.dumps(labels))
    refused = run(*asked)
    assert (refused.status, "To say which one means right, such as the first, pass --positive A." in refused.err) == (
        2,
        True,
    )


def test_scores_outside_the_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected numbers in \[0, 1\]"):
        agreement(np.array([2.0]), ["yes"])
