"""The accounting of leaves by field: each sentence of its rules, and sums that agree with the score."""

import math
from typing import Any

import numpy as np
import pytest
from any_trees import PREDICTIONS, REFERENCES
from hypothesis import given, settings
from hypothesis import strategies as st

from anls_eval.analysis.accounting import FieldReport, field_report
from anls_eval.scoring import anls_star_score, anls_star_scores, explain

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* lists? of strings with"),
    pytest.mark.filterwarnings("ignore:.* (is|are) None or NaN where the reference is a document"),
    pytest.mark.filterwarnings("ignore:the field .* matches nothing"),
]

NUMBER = {"$.x": {"compare": "number"}}


def counts(report: FieldReport) -> dict[str, tuple[int, ...]]:
    """Right, wrong, missing, invented, absent and empty by path."""
    return {
        row.path: (row.right, row.wrong, row.missing, row.invented, row.absent, row.empty) for row in report.by_field
    }


ROWS = [
    ("right", {"x": "a"}, {"x": "A "}, {}, {"$.x": (1, 0, 0, 0, 0, 0)}),
    ("aligned, below", {"x": "ab"}, {"x": "ac"}, {}, {"$.x": (0, 1, 0, 0, 0, 0)}),
    ("beside nothing", {}, {"x": "a"}, {}, {"$.x": (0, 0, 1, 0, 0, 0)}),
    ("beside None", {"x": None}, {"x": "a"}, {}, {"$.x": (0, 0, 1, 0, 0, 0)}),
    ("beside an empty text", {"x": ""}, {"x": "a"}, {}, {"$.x": (0, 0, 1, 0, 0, 0)}),
    ("a leaf beside nothing", {"x": "a"}, {}, {}, {"$.x": (0, 0, 0, 1, 0, 0)}),
    ("a leaf beside None", {"x": "a"}, {"x": None}, {}, {"$.x": (0, 0, 0, 1, 0, 0)}),
    ("a leaf beside an empty text", {"x": "a"}, {"x": ""}, {}, {"$.x": (0, 0, 0, 1, 0, 0)}),
    ("None beside None", {"x": None}, {"x": None}, {}, {"$.x": (0, 0, 0, 0, 1, 0)}),
    ("None beside an empty text", {"x": ""}, {"x": None}, {}, {"$.x": (0, 0, 0, 0, 1, 0)}),
    ("None beside nothing", {}, {"x": None}, {}, {"$.x": (0, 0, 0, 0, 1, 0)}),
    ("nothing beside None", {"x": None}, {}, {}, {"$.x": (0, 0, 0, 0, 1, 0)}),
    ("empty texts", {"x": ""}, {"x": ""}, {}, {"$.x": (0, 0, 0, 0, 1, 0)}),
    ("blank numbers", {"x": " "}, {"x": "  "}, NUMBER, {"$.x": (0, 0, 0, 0, 1, 0)}),
    ("a number beside a blank", {"x": "5"}, {"x": "  "}, NUMBER, {"$.x": (0, 0, 0, 1, 0, 0)}),
    ("a blank beside a number", {"x": " "}, {"x": 5}, NUMBER, {"$.x": (0, 0, 1, 0, 0, 0)}),
    ("numbers", {"x": "5.0"}, {"x": 5}, NUMBER, {"$.x": (1, 0, 0, 0, 0, 0)}),
    ("no number", {"x": "five"}, {"x": 5}, NUMBER, {"$.x": (0, 1, 0, 0, 0, 0)}),
    (
        "types that differ",
        {"x": {"y": "a", "z": ["b", None]}},
        {"x": "c"},
        {},
        {"$.x": (0, 0, 1, 0, 0, 0), "$.x.y": (0, 0, 0, 1, 0, 0), "$.x.z[*]": (0, 0, 0, 1, 0, 0)},
    ),
    ("ignored", {"x": "a", "y": "b"}, {"y": "b"}, {"$.x": {"compare": "ignore"}}, {"$.y": (1, 0, 0, 0, 0, 0)}),
    ("an empty container", {}, {"x": []}, {}, {"$.x": (0, 0, 0, 0, 0, 1)}),
    ("equal empty containers", {"x": {}}, {"x": {}}, {}, {"$.x": (0, 0, 0, 0, 0, 1)}),
    ("lists", {"l": ["a", "b"]}, {"l": ["b", "c", "a"]}, {}, {"$.l[*]": (2, 0, 1, 0, 0, 0)}),
    ("alternatives add no step", {"x": "b"}, {"x": ("a", "b")}, {}, {"$.x": (1, 0, 0, 0, 0, 0)}),
    ("kept", {"l": ["b"]}, {"l": ["a", "b"]}, {"$.l": {"order": "kept"}}, {"$.l[*]": (0, 1, 1, 0, 0, 0)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("prediction", "reference", "fields", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_outcomes(prediction: Any, reference: Any, fields: Any, expected: dict[str, tuple[int, ...]]) -> None:
    found = field_report([prediction], [reference], fields=fields)
    assert counts(found) == expected
    many = field_report([{"other": "x"}, prediction, prediction], [{"other": "x"}, reference, reference], fields=fields)
    doubled = {path: tuple(2 * count for count in row) for path, row in expected.items()}
    assert counts(many) == doubled | {"$.other": (1, 0, 0, 0, 0, 0)}


def test_a_leaf_is_right_from_match_at_on() -> None:
    pair = [{"x": "abcde", "y": "abcd"}], [{"x": "abcdx", "y": "abcx"}]
    assert [field_report(*pair, match_at=least).micro.right for least in (1, "0.8", "4/5", 0.75)] == [0, 1, 1, 2]


def test_lost_points_have_weights_and_counts_do_not() -> None:
    found = field_report([{"x": "a", "y": "b"}], [{"x": "c", "y": "c"}], fields={"$.x": {"weight": "2.5"}})
    assert [(row.path, row.wrong, row.lost) for row in found.by_field] == [("$.x", 1, 2.5), ("$.y", 1, 1)]
    assert (found.micro.wrong, found.lost) == (2, 3.5)


def test_ratios() -> None:
    predictions = [{"a": "x", "b": "y", "c": "z"}, {"a": "x"}, {}]
    references = [{"a": "x", "b": "q", "d": "z"}, {"a": "x"}, {}]
    found = field_report(predictions, references)
    assert (found.micro.right, found.micro.wrong, found.micro.missing, found.micro.invented) == (2, 1, 1, 1)
    assert (found.micro.precision, found.micro.recall, found.micro.f1) == (2 / 4, 2 / 4, 0.5)
    assert (found.macro["precision"].mean, found.macro["precision"].documents) == ((1 / 3 + 1) / 2, 2)
    assert (found.perfect, found.n) == (2, 3)
    rates = {row.path: (row.fabrication_rate, row.documents, row.precision, row.recall) for row in found.by_field}
    assert rates["$.c"] == (1 / 3, 0, 0.0, None)
    assert rates["$.d"] == (0.0, 1, None, 0.0)
    assert rates["$.a"] == (0.0, 2, 1.0, 1.0)
    interval = found.intervals["f1"]
    assert interval is not None
    assert interval.mean == found.micro.f1
    assert interval.low <= 0.5 <= interval.high


def test_nothing_is_no_ratio() -> None:
    found = field_report([{}], [{}])
    assert (found.micro.precision, found.micro.f1, found.macro["f1"].mean, found.intervals["f1"]) == (None,) * 4
    assert (found.perfect, counts(found)) == (1, {"$": (0, 0, 0, 0, 0, 1)})
    none = field_report([], [])
    assert (none.n, none.micro.recall, none.intervals["perfect"]) == (0, None, None)
    always = field_report([{"x": "a"}], [{"x": "a"}]).by_field[0]
    assert always.fabrication_rate is None


def test_as_json() -> None:
    found = field_report([{"x": "a"}], [{"x": "a"}]).to_dict()
    micro: Any = found["micro"]
    assert micro == {"right": 1, "wrong": 0, "missing": 0, "invented": 0, "absent": 0} | {
        "precision": 1.0, "recall": 1.0, "f1": 1.0
    }  # fmt: skip


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"row 1: reference \$\.x: 'n/a' is not a number"):
        field_report([{"x": 1}] * 2, [{"x": 1}, {"x": "n/a"}], fields=NUMBER)
    with pytest.raises(ValueError, match=r"expected a number from 0 to 1"):
        field_report([], [], match_at=2)
    with pytest.raises(ValueError, match=r"scores texts"):
        field_report([], [], protocol="rrc")


def test_failures_with_the_same_texts_are_one_kind_and_equals_are_ordered_by_text() -> None:
    texts = [*"gfedcba", "c", 5, "5", "\ud800", "\ud800"]
    found = field_report([{"x": own} for own in texts], [{"x": "zzz"}] * len(texts), resamples=1_000)
    [row] = found.by_field
    assert [(own.prediction, own.count, own.rows) for own in row.worst] == [
        ("5", 2, (8, 9)),
        ("c", 2, (4, 7)),
        ("\ud800", 2, (10, 11)),
        ("a", 1, (6,)),
        ("b", 1, (5,)),
    ]
    assert row.confusions == row.worst
    [other] = field_report([{"x": own} for own in reversed(texts)], [{"x": "zzz"}] * len(texts)).by_field
    assert [(own.prediction, own.count) for own in other.worst] == [(own.prediction, own.count) for own in row.worst]


@pytest.mark.parametrize(
    ("fields", "value", "outcome"),
    [
        ({}, "a", "missing"),
        ({}, "", "absent"),
        (NUMBER, "5", "missing"),
        (NUMBER, 5, "missing"),
        (NUMBER, " ", "absent"),
    ],
)
def test_one_side_alone_in_many_documents(fields: Any, value: Any, outcome: str) -> None:
    with_it, without = {"x": value, "y": "a"}, {"y": "a"}
    missing = field_report([with_it, without, without], [with_it] * 3, fields=fields).by_field
    row = next(own for own in missing if own.path == "$.x")
    assert getattr(row, outcome) == (2 if outcome == "missing" else 3)
    invented = field_report([with_it] * 3, [with_it, without, without], fields=fields).by_field
    row = next(own for own in invented if own.path == "$.x")
    assert (row.invented, row.absent) == ((2, 0) if outcome == "missing" else (0, 3))


@pytest.mark.parametrize("prediction", ["", "  "])
@pytest.mark.parametrize("protocol", ["anls_star", "anls_star_paper"])
def test_blank_numbers_on_both_sides_lose_nothing(prediction: str, protocol: str) -> None:
    pair = [{"x": prediction, "y": "a"}], [{"x": "", "y": "a"}]
    assert anls_star_scores(*pair, fields=NUMBER, protocol=protocol) == 1
    found = field_report(*pair, fields=NUMBER, protocol=protocol)
    assert (found.lost, found.micro.absent) == (0, 1)


def test_a_missing_leaf_must_parse_all_the_same() -> None:
    for run in (field_report, anls_star_scores):
        with pytest.raises(ValueError, match=r"row 1: reference \$\.x: 'n/a' is not a number"):
            run([{"x": 1}, {}], [{"x": 1}, {"x": "n/a"}], fields=NUMBER)


@given(PREDICTIONS, REFERENCES, st.sampled_from(["anls_star", "anls_star_paper"]))
@settings(max_examples=150, deadline=None)
def test_sums_agree_with_the_score(prediction: Any, reference: Any, protocol: str) -> None:
    found = field_report([prediction] * 2, [reference] * 2, protocol=protocol, resamples=1_000)
    explained = explain(prediction, reference, protocol=protocol)
    length = explained.length
    lost = length - math.fsum(match.credit for match in explained.matches)
    assert found.lost == pytest.approx(2 * lost, abs=1e-9)
    assert anls_star_score(prediction, reference, protocol=protocol) == pytest.approx(
        1 - lost / length if length else 1
    )
    table = np.array(list(counts(found).values()) or [(0,) * 6])
    micro = found.micro
    assert table.sum(axis=0).tolist()[:5] == [micro.right, micro.wrong, micro.missing, micro.invented, micro.absent]
