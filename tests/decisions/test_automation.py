"""`automate`: its counts by brute force, its bound by scipy, its promise by simulation, and its command line."""

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from anls_eval import automate
from anls_eval.decisions.automation import Acceptance, read_confidences
from anls_eval.statistics.bounds import allowed_errors, binomial_upper_bound, questions_for_bound
from benchmarks.automation import CELLS, failed_promises


@pytest.mark.parametrize(("errors", "n"), [(0, 1), (0, 298), (0, 299), (3, 100), (5, 5), (17, 2000)])
def test_the_bound_is_that_of_scipy(errors: int, n: int) -> None:
    expected = binomtest(errors, n).proportion_ci(0.9, "exact").high  # two-sided 90 %: one-sided 95 %
    assert binomial_upper_bound(errors, n) == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 400), st.sampled_from([0.01, 0.05, 0.3]))
def test_allowed_errors_by_trying_all(n: int, most: float) -> None:
    expected = max((k for k in range(n) if binomial_upper_bound(k, n) <= most), default=-1)
    assert allowed_errors(np.array([n]), most).tolist() == [expected]


@pytest.mark.parametrize(
    ("rate", "most", "n"), [(0, 0.01, 299), (0, 0.05, 59), (0.0025, 0.01, 628), (0.075, 0.3, 19), (0.02, 0.01, None)]
)
def test_questions_for_bound(rate: float, most: float, n: int | None) -> None:
    assert questions_for_bound(rate, most) == n
    if n is not None:
        holds = [size for size in range(1, n + 1) if binomial_upper_bound(math.ceil(rate * size - 1e-12), size) <= most]
        assert holds[0] == n


def test_299_documents_without_an_error_show_one_percent() -> None:
    found = automate(["Lima"] * 900, [["Lima"]] * 900, [0.9] * 900, max_error=0.01).whole
    assert (found.is_shown, found.needed, found.share, found.errors) == (True, 299, 1.0, 0)
    few = automate(["Lima"] * 500, [["Lima"]] * 500, [0.9] * 500, max_error=0.01).whole
    assert (few.is_shown, few.threshold, few.needed) == (False, None, 299)


Rows = list[tuple[str, float, bool]]
"""Document, confidence and error of each question."""


def counts_at(rows: Rows, threshold: float) -> tuple[float, int, int]:
    """The share of the questions, the documents and the erring documents that are accepted, counted one by one."""
    accepted = [row for row in rows if row[1] >= threshold]
    documents = {document for document, *_ in accepted}
    return len(accepted) / max(len(rows), 1), len(documents), len({own for own, _, errs in accepted if errs})


def halves_of(rows: Rows) -> tuple[Rows, Rows]:
    halves: tuple[Rows, Rows] = ([], [])
    for row in rows:
        halves[hashlib.sha256(row[0].encode()).digest()[0] % 2].append(row)
    return halves


def promises(first: Rows, second: Rows, max_error: float) -> dict[float, float]:
    """The share times the probability that the second half shows it, by threshold."""
    documents = [len({document for document, *_ in half}) for half in (first, second)]
    found = {}
    for threshold in {confidence for _, confidence, _ in first}:
        share, accepted, errors = counts_at(first, threshold)
        n = round(accepted * documents[1] / documents[0])
        allowed = max((k for k in range(n) if binom.cdf(k, n, max_error) <= 0.05), default=-1)
        found[threshold] = share * float(binom.cdf(allowed, n, (errors + 0.5) / (accepted + 1)))
    return found


@given(st.randoms(use_true_random=False), st.booleans(), st.sampled_from([0.1, 0.2]))
def test_counts_by_hand(random: Any, by_document: bool, max_error: float) -> None:
    rows = []
    for number in range(random.randint(0, 160)):
        errs = random.random() < 0.1
        confidence = random.choice([0.2, 0.5, 0.5, 0.9]) if errs else random.choice([0.5, 0.8, 0.9, 1.0])
        rows.append((f"d{number // random.choice([1, 3]) if by_document else number}", confidence, errs))
    found = automate(
        ["no" if errs else "Lima" for *_, errs in rows],
        [["Lima"]] * len(rows),
        [confidence for _, confidence, _ in rows],
        max_error=max_error,
        documents=[document for document, *_ in rows],
    ).whole
    first, second = halves_of(rows)
    by_threshold = promises(first, second, max_error)
    best = max(by_threshold.values(), default=0.0)
    if found.threshold is None:
        assert best == 0
        assert (found.share, found.accepted, found.errors) == (0, 0, 0)
    else:
        assert by_threshold[found.threshold] == pytest.approx(best)
        assert (found.share, found.accepted, found.errors) == counts_at(second, found.threshold)


def test_equal_confidences_are_accepted_together_and_none_never() -> None:
    right = [number % 50 != 0 for number in range(3000)]
    confidences = [None if number % 10 == 0 else 0.7 for number in range(3000)]
    predictions = ["Lima" if own else "Rome" for own in right]
    found = automate(predictions, [["Lima"]] * 3000, confidences, max_error=0.02)
    assert (found.without_confidence, found.whole.threshold, found.whole.errors) == (300, 0.7, 0)
    assert 0.88 < found.whole.share < 0.92
    [point] = found.whole.curve
    assert (point.threshold, point.share, point.error) == (0.7, 0.9, 0.0)


def test_match_at_says_what_is_right() -> None:
    predictions = ["abcdefgh", "abcdefgx"] * 400
    asked: dict[str, Any] = {"confidences": [0.9] * 800, "max_error": 0.05}
    strict = automate(predictions, [["abcdefgh"]] * 800, **asked).whole
    lenient = automate(predictions, [["abcdefgh"]] * 800, match_at="7/8", **asked).whole
    assert (strict.is_shown, strict.needed) == (False, None)
    assert (lenient.is_shown, lenient.errors) == (True, 0)


def trees(n: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Documents: in one of ten the name is wrong, with a low confidence, and in another the total is missing."""
    references, predictions, confidences = [], [], []
    for number in range(n):
        references.append({"name": "ACME", "total": 7, "items": [{"p": "1"}, {"p": "2"}]})
        predictions.append({"name": "ACME", "total": 7, "items": [{"p": "1"}, {"p": "2"}]})
        confidences.append({"name": 0.9, "total": 0.99, "items": [{"p": 0.95}, {"p": 0.97}]})
        if number % 10 == 0:
            predictions[-1]["name"], confidences[-1]["name"] = "ACNE", 0.3
        if number % 10 == 1:
            del predictions[-1]["total"], confidences[-1]["total"]
    return predictions, references, confidences


def test_a_tree_errs_if_any_leaf_does_and_has_the_lowest_confidence() -> None:
    predictions, references, confidences = trees(1000)
    found = automate(predictions, references, confidences, max_error=0.15, protocol="anls_star")
    assert list(found.by_field) == ["$.items[*].p", "$.name", "$.total"]
    whole = found.whole
    assert whole.threshold == 0.9  # the name's, the lowest of each document
    points = [(point.threshold, point.share, point.error) for point in whole.curve]
    assert points == [(0.9, 0.9, pytest.approx(100 / 900)), (0.3, 1.0, 0.2)]
    shown = {path: (own.threshold, own.errors, own.is_shown) for path, own in found.by_field.items()}
    assert shown == {
        "$.items[*].p": (0.95, 0, True),
        "$.name": (0.3, shown["$.name"][1], True),
        "$.total": (0.99, 0, True),
    }
    assert [point.share for point in found.by_field["$.total"].curve] == [1.0]  # of the documents that predict one


def test_one_number_for_a_tree_counts_for_all_its_leaves() -> None:
    predictions, references, _ = trees(400)
    confidences = [0.2 if number % 10 < 2 else 0.8 for number in range(400)]
    found = automate(predictions, references, confidences, max_error=0.05, protocol="anls_star")
    assert (found.whole.threshold, found.whole.errors, found.whole.is_shown) == (0.8, 0, True)
    assert found.by_field["$.name"].threshold == 0.8


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        (1.5, r"question_id '0' at \$ is 1\.5; expected a number from 0 to 1"),
        (True, r"at \$ is True"),
        ({"a": 0.5}, r"another shape than its prediction at \$\.b"),
        ({"a": 0.5, "b": {}}, r"another shape than its prediction at \$\.b"),
        ({"a": 0.5, "b": [0.5]}, r"another shape than its prediction at \$\.b"),
        ({"a": [0.5], "b": 0.5}, r"another shape than its prediction at \$\.a"),
        ([0.5, 0.5], r"another shape than its prediction at \$;"),
        ({"a": 0.5, "b": [0.5, "high"]}, r"at \$\.b\[1\] is 'high'"),
    ],
)
def test_confidences_that_do_not_fit(confidence: Any, message: str) -> None:
    tree = {"a": "x", "b": ["y", "z"]}
    with pytest.raises(ValueError, match=message):
        automate([tree], [tree], [confidence], max_error=0.1, protocol="anls_star")


@pytest.mark.parametrize("cell", ["", " ", "null", "NULL", "None", "NA", "<NA>", "N/A", "nan", "-1"])
def test_a_cell_without_a_confidence(cell: str) -> None:
    """As pandas, R, SQL and DUDE write them."""
    read = read_confidences([["0.5"], [], None, [cell]] * 50, False)
    assert read[:3] == [0.5, None, None]
    given = automate(["a"] * 200, [["a"]] * 200, read, max_error=0.1)
    assert given == automate(["a"] * 200, [["a"]] * 200, [0.5, None, None, None] * 50, max_error=0.1)
    assert max(point.share for point in given.whole.curve) < 0.5


def test_fields_that_are_ignored() -> None:
    """Nothing is known of them, so nothing is shown, and a document is as sure as what counts."""
    given = [{"note": f"n{row}", "lines": [{"sku": "a", "x": 1}], "total": row} for row in range(100)]
    expected = [{"note": "", "lines": [{"sku": "a", "x": 2}], "total": row} for row in range(100)]
    confidences = [{"note": 0.1, "lines": [{"sku": 0.8, "x": -1}], "total": 0.9} for _ in given]
    fields = {"$.note": {"compare": "ignore"}, "$.lines[*].x": {"compare": "ignore"}}
    found = automate(given, expected, confidences, max_error=0.1, protocol="anls_star", fields=fields)
    assert list(found.by_field) == ["$.lines[*].sku", "$.total"]
    assert (found.without_confidence, found.whole.threshold, found.whole.errors) == (0, 0.8, 0)
    all_count = automate(given, expected, confidences, max_error=0.1, protocol="anls_star")
    assert (len(all_count.by_field), all_count.without_confidence) == (4, 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidences": [1.2]}, "question_id '0' is 1.2"),
        ({"confidences": []}, "1 prediction but 0 confidences"),
        ({"documents": []}, "1 prediction but 0 documents; expected one for each"),
        ({"question_ids": ["a", "b"]}, "1 prediction but 2 question_ids; expected one for each"),
        *(({"documents": [own]}, "there is no document in row 0") for own in (None, math.nan, "", " ", pd.NA)),
        ({"max_error": "5%"}, "max_error='5%': expected a number between 0 and 1"),
        ({"max_error": 0}, "max_error=0: expected a number between 0 and 1"),
        ({"max_error": 1}, "max_error=1: expected a number between 0 and 1"),
        ({"match_at": 2}, "match_at=2: expected a number from 0 to 1"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"confidences": [0.5], "max_error": 0.1} | change
    with pytest.raises(ValueError, match=message):
        automate(["a"], [["a"]], **asked)


@pytest.mark.parametrize("cell", CELLS[1:5:3])
@pytest.mark.long
def test_a_promise_fails_in_at_most_five_percent(cell: Any) -> None:
    runs = 100
    assert failed_promises(cell, runs) <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)


def test_columns_of_other_libraries() -> None:
    columns: list[Any] = [
        [0.9, None, 0.5],
        pa.array([0.9, None, 0.5]),
        pd.Series([0.9, None, 0.5]),
        np.array([0.9, np.nan, 0.5]),
    ]
    first, *others = (automate(["a"] * 3, [["a"]] * 3, own, max_error=0.1) for own in columns)
    assert all(own == first for own in others)
    documents = [["a", "b", "b"], pa.array(["a", "b", "b"]), pd.Series(["a", "b", "b"], dtype="category")]
    first, *others = (automate(["a"] * 3, [["a"]] * 3, columns[0], max_error=0.1, documents=own) for own in documents)
    assert all(own == first for own in others)


def test_nothing_at_all() -> None:
    found = automate([], [], [], max_error=0.1).whole
    assert found == Acceptance(
        threshold=None, share=0.0, accepted=0, errors=0, bound=1.0, is_shown=False, needed=29, curve=()
    )


def test_command_line(run: Any, tmp_path: Path) -> None:
    predictions, references, confidences = trees(1000)
    rows = zip(predictions, confidences, strict=True)
    given = [{"id": f"d{n}", "prediction": own, "confidence": sure} for n, (own, sure) in enumerate(rows)]
    (tmp_path / "p.json").write_text(json.dumps(given))
    (tmp_path / "g.json").write_text(
        json.dumps([{"id": f"d{n}", "answers": [own]} for n, own in enumerate(references)])
    )
    asked = ["automate", tmp_path / "p.json", "-r", tmp_path / "g.json", "-p", "anls_star", "-q"]
    asked += ["--confidence", "confidence", "--max-error", "0.15"]
    found = json.loads(run(*asked, "--json").out)
    ids = [f"d{number}" for number in range(1000)]
    own = automate(
        predictions, references, confidences, max_error=0.15, protocol="anls_star", question_ids=ids
    ).to_dict()
    del found["signature"], own["signature"]
    assert found == json.loads(json.dumps(own))
    shown = run(*asked, "--report", tmp_path / "page.html").out
    assert re.match(r"\d+\.\d% of the documents can be accepted at a confidence of at least 0\.9: ", shown)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('class="line"') == 4
    assert "<script" not in page
    refused = run(*asked, "--cluster-by", "id")
    assert (refused.status, "each row is a document itself" in refused.err) == (2, True)
