"""A diagnosis of documents finds how a number was made that was computed here in another way."""

import json
from typing import Any

import numpy as np
import pytest
from places import DATA

from anls_eval import anls_star_scores, diagnose, leaderboard_figures
from anls_eval.analysis.causes import Cause, Diagnosis

# What is said of texts that are JSON is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Documents = tuple[list[Any], list[Any]]


@pytest.fixture(scope="module")
def invoices() -> Documents:
    lines = (DATA / "documents" / "invoices.jsonl").read_text(encoding="utf-8").splitlines()
    rows = list(map(json.loads, lines))
    return [row["pred"] for row in rows], [row["gold"] for row in rows]


def mean(predictions: list[Any], references: list[Any], **options: Any) -> float:
    return float(np.mean(anls_star_scores(predictions, references, **options)))


def simplest(documents: Documents, value: float, decimals: int = 6) -> Cause:
    found = diagnose(*documents, f"{value:.{decimals}f}")
    assert found.fits
    assert found.of_documents
    assert found.standard == mean(*documents)
    assert found.conclusion.endswith(found.causes[0].reason) or found.causes[0].reason[6:] in found.conclusion
    return found.causes[0]


def test_the_plain_score_is_the_simplest(invoices: Documents) -> None:
    found = simplest(invoices, mean(*invoices))
    assert (found.protocol, found.habits, found.lists, found.keys) == ("anls_star", 0, "any order", "all")
    assert found.reason == f"It is {mean(*invoices):.8f} if the protocol is anls_star."


@pytest.mark.parametrize("name", ["donut_f1", "cc_ocr_kie_f1", "idp_kie", "varex", "extractbench_value"])
def test_finds_a_benchmark_and_its_figures(invoices: Documents, name: str) -> None:
    figures = leaderboard_figures(*invoices, protocol=name)
    assert figures["score"] is not None
    own = simplest(invoices, figures["score"])
    assert name in (own.protocol, *own.also)
    for value in figures.values():
        if value is not None and 0 < value < 1:
            found = diagnose(*invoices, f"{value:.6f}")
            assert any(abs(cause.value / cause.scale - value) < 1e-6 for cause in found.causes)


def test_finds_missing_keys_that_were_ignored() -> None:
    documents: Documents = (
        [{"total": "5.0", "items": [{"a": "x"}]}, {"date": "2024"}],
        [{"total": "5.00", "items": [{"a": "x", "b": "y"}], "vat": "1"}, {"date": "2023", "total": "7"}],
    )
    pruned = [{"total": "5.00", "items": [{"a": "x"}]}, {"date": "2023"}]
    figures = leaderboard_figures(documents[0], pruned, protocol="donut_f1")
    assert figures["score"] == 1 / 3
    found = diagnose(*documents, "0.3333")
    own = next(cause for cause in found.causes if "donut_f1" in (cause.protocol, *cause.also))
    assert own.keys == "missing ignored"
    assert "what the predictions lack is not counted" in own.reason
    assert simplest(documents, mean(documents[0], pruned)).keys == "missing ignored"


def test_finds_unexpected_keys_that_were_ignored() -> None:
    documents: Documents = (
        [{"total": "abcdefx", "note": "paid"}, {"a": "x", "b": "y"}],
        [{"total": "abcdefg"}, {"a": "x", "b": "z"}],
    )
    pruned = [{"total": "abcdefx"}, documents[0][1]]
    found = diagnose(*documents, f"{mean(pruned, documents[1]):.6f}")
    assert [own.keys for own in found.causes if own.protocol == "anls_star"] == ["unexpected ignored"]


def test_finds_lists_compared_in_their_order(invoices: Documents) -> None:
    documents: Documents = (
        [{"items": [{"name": "pen"}, {"name": "ink"}], "tags": ["a", "b", "c"]}],
        [{"items": [{"name": "ink"}, {"name": "pen"}], "tags": ["a", "c"]}],
    )
    by_place = [{"items": {"0": own["items"][0], "1": own["items"][1]}} for side in documents for own in side]
    tags = {"0": "a", "1": "b", "2": "c"}, {"0": "a", "1": "c"}
    as_dicts = [{**own, "tags": tag} for own, tag in zip(by_place, tags, strict=True)]
    own = simplest(documents, mean(as_dicts[:1], as_dicts[1:]))
    assert (own.lists, own.keys) == ("kept order", "all")
    assert "compared one by one, in their order" in own.reason


@pytest.mark.parametrize("threshold", [0, 0.7, 0.8, 0.9])
def test_finds_another_threshold(threshold: float) -> None:
    documents: Documents = (
        [{"a": "abcdefghix", "b": "abcdefxy", "c": "abcxyz"}, {"a": "abcxxxx"}],
        [{"a": "abcdefghij", "b": "abcdefgh", "c": "abcdef"}, {"a": "abcdefg"}],
    )
    found = diagnose(*documents, f"{mean(*documents, threshold=threshold):.6f}")
    assert any(own.protocol == "anls_star" and own.threshold == threshold for own in found.causes)


def test_finds_exact_match_of_leaves(invoices: Documents) -> None:
    found = diagnose(*invoices, f"{mean(*invoices, threshold=1):.6f}")
    assert any(own.scoring == "exact match" and own.protocol == "anls_star" for own in found.causes)


def test_finds_documents_without_a_fault(invoices: Documents) -> None:
    share = float(np.mean(anls_star_scores(*invoices) == 1))
    found = diagnose(*invoices, f"{share:.6f}")
    assert any(own.scoring == "whole documents" and own.protocol == "anls_star" for own in found.causes)


def test_finds_documents_left_out() -> None:
    documents: Documents = [{"a": "abcd"}, None], [{"a": "abce"}, {"a": "z"}]
    own = simplest(documents, 0.75)
    assert (own.left_out, own.n) == (("missing",), 1)
    assert "the documents without a prediction, 1 of 2, are left out" in own.reason


@pytest.mark.parametrize(
    ("written", "step"),
    [
        ('{"a": "abcd"}', {"parse": True, "extract": ()}),
        ("{'a': 'abcd'}", {"parse": True, "extract": ()}),
        ('Here it is:\n```json\n{"a": "abcd"}\n```', {"parse": False, "extract": ("json",)}),
        ('<think>{"a": "q"}</think> {"a": "abcd"} so it is', {"parse": False, "extract": ("json",)}),
    ],
)
def test_finds_how_texts_were_read(written: str, step: dict[str, Any]) -> None:
    documents: Documents = [written, {"a": "x"}], [{"a": "abce"}, {"a": "x"}]
    found = diagnose(*documents, f"{(0.75 + 1) / 2:.6f}")
    own = next(cause for cause in found.causes if cause.protocol == "anls_star")
    assert {name: getattr(own, name) for name in step} == step


def test_says_what_is_closest_if_nothing_fits(invoices: Documents) -> None:
    found = diagnose(*invoices, "0.1234567")
    assert not found.fits
    assert len(found.causes) == 5
    assert found.conclusion.startswith(f"None of {found.tried} ways to score these predictions gives 0.1234567.")
    differences = [abs(own.difference) for own in found.causes]
    assert differences == sorted(differences)


def test_reads_percentages_and_truncated_numbers(invoices: Documents) -> None:
    value = mean(*invoices)
    percent = diagnose(*invoices, f"{100 * value:.2f}").causes[0]
    assert (percent.protocol, percent.scale, percent.habits) == ("anls_star", 100, 0)
    truncated = diagnose(*invoices, f"{int(value * 10**5) / 10**5:.5f}")
    assert any(own.protocol == "anls_star" for own in truncated.causes)


def test_same_for_any_order_of_documents(invoices: Documents) -> None:
    predictions, references = invoices
    value = f"{mean(*invoices):.6f}"
    assert said(diagnose(predictions[::-1], references[::-1], value)) == said(diagnose(*invoices, value))


def said(found: Diagnosis) -> tuple[str, int]:
    return found.conclusion, found.tried
