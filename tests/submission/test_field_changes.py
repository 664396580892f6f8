"""Fields that differ between systems: differences, tests and intervals of credits that were computed by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anls_eval import Fields, anls_star_score, open_references, paired_comparison, score_systems
from anls_eval.analysis.field_credits import field_credits
from anls_eval.registry import resolve_rules
from anls_eval.statistics.ranking import holm
from anls_eval.submission.field_changes import field_differences


def written(folder: Path) -> tuple[list[str], Path]:
    """Two systems on 60 documents: b has a wrong total in one of three and an invented note in one of ten."""
    gold: list[Any] = [{"total": "abcd", "lines": [{"p": "11"}, {"p": "22"}], "same": "x"} for _ in range(60)]
    a, b = json.loads(json.dumps(gold)), json.loads(json.dumps(gold))
    for row in range(60):
        if row % 3 == 0:
            b[row]["total"] = "abcx"
        if row % 10 == 0:
            b[row]["note"] = "paid"
        if row % 20 == 0:
            a[row]["lines"] = [{"p": "22"}, {"p": "zz"}]
    for name, rows in (("a", a), ("b", b)):
        content = [{"id": f"d{row}", "prediction": own} for row, own in enumerate(rows)]
        (folder / f"{name}.json").write_text(json.dumps(content[::-1] if name == "b" else content))
    references = [{"id": f"d{row}", "answers": [own], "group": row // 2} for row, own in enumerate(gold)]
    (folder / "gold.json").write_text(json.dumps(references))
    return [str(folder / "a.json"), str(folder / "b.json")], folder / "gold.json"


BY_HAND = {
    "$.total": (np.ones(60), np.where(np.arange(60) % 3 == 0, 0.75, 1.0), np.arange(60)),
    "$.note": (np.ones(6), np.zeros(6), np.arange(0, 60, 10)),
    "$.lines[*].p": (np.where(np.arange(60) % 20 == 0, 0.5, 1.0), np.ones(60), np.arange(60)),
}


@pytest.mark.parametrize("cluster_by", [None, "group"])
def test_differences_of_credits_by_hand(tmp_path: Path, cluster_by: str | None) -> None:
    paths, gold = written(tmp_path)
    found = score_systems(paths, open_references(gold), protocol="anls_star", cluster_by=cluster_by)
    ranking = found.rank()
    differences = field_differences(found, ranking)
    assert {own.group for own in differences} == BY_HAND.keys()
    expected = {}
    for path, (ours, theirs, rows) in BY_HAND.items():
        clusters = None if cluster_by is None else rows // 2
        expected[path] = paired_comparison(ours, theirs, clusters=clusters)
    adjusted = holm([*(own.p_value for own in expected.values()), 1.0])  # $.same is a test, too
    for path, p_adjusted in zip(expected, adjusted.tolist(), strict=False):
        [own] = [one for one in differences if one.group == path]
        assert (own.a, own.b, own.n) == ("a", "b", len(BY_HAND[path][0]))
        assert own.comparison.difference == pytest.approx(expected[path].difference)
        assert own.comparison.p_value == pytest.approx(expected[path].p_value)
        assert own.p_adjusted == pytest.approx(p_adjusted)
        assert own.interval is not None
        bounds = expected[path].interval
        assert (own.interval.low, own.interval.high) == pytest.approx((bounds.low, bounds.high))


def test_texts_have_no_fields(tmp_path: Path) -> None:
    for name, key in (("a", "prediction"), ("b", "prediction"), ("gold", "answers")):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"id": "1", key: "Lima"}]))
    found = score_systems([str(tmp_path / "a.json"), str(tmp_path / "b.json")], tmp_path / "gold.json")
    assert field_differences(found, found.rank()) == []


def test_credits_add_up_to_the_score_of_documents_with_one_leaf_a_field() -> None:
    """With every field a leaf, the score is the mean of the credits with weights."""
    reference = {"a": "abcd", "b": "1299", "c": "x", "d": "gone"}
    prediction = {"a": "abcx", "b": "1,299.00", "c": "y"}
    fields = Fields({"$.b": {"compare": "number", "weight": 3}, "$.c": {"weight": "0.5"}})
    found = field_credits([prediction], [reference], resolve_rules("anls_star", None, True), fields)
    shown = {path: own.means.tolist() for path, own in found.items()}
    assert shown == {"$.a": [0.75], "$.b": [1.0], "$.c": [0.0], "$.d": [0.0]}
    score = (0.75 + 3 * 1 + 0 + 0) / (1 + 3 + 0.5 + 1)
    assert anls_star_score(prediction, reference, fields=fields) == pytest.approx(score)


def test_other_types_and_alternatives() -> None:
    rules = resolve_rules("anls_star", None, True)
    pairs: list[tuple[Any, Any]] = [("x", {"k": "x"}), (["a"], ("b", ["a"])), (None, {"k": "v"})]
    pairs.append(({"k": None}, {"k": None}))
    found = field_credits([p for p, _ in pairs], [g for _, g in pairs], rules, None)
    shown = {path: dict(zip(own.rows.tolist(), own.means.tolist(), strict=True)) for path, own in found.items()}
    assert shown == {"$": {0: 0.0}, "$.k": {0: 0.0, 2: 0.0}, "$[*]": {1: 1.0}}
