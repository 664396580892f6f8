"""Faults that people reported of other implementations, each with the value that is right here.

tests/data/reports.jsonl holds them with their public source. Those of the flat metric are here; a report that is
about more than a score (batches, ids, processes) has its test beside its subject, named in a docstring by its number.
"""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import evaluate
import pytest
from places import DATA, ROOT

from anls_eval.files import open_predictions, open_references
from anls_eval.registry import get_protocol
from anls_eval.scoring import anls_scores
from anls_eval.submission.score import SubmissionScore, score_submission

REPORTS = {
    report["id"]: report
    for report in map(json.loads, (DATA / "reports.jsonl").read_text(encoding="utf-8").splitlines())
}


def texts(values: list[Any]) -> list[Any]:
    return [float("nan") if value == "__NaN__" else value for value in values]


def compute(metric_class: Any, report_id: str, protocol: str = "standard") -> dict[str, Any]:
    given = REPORTS[report_id]["input"]
    metric = metric_class(protocol)
    result = metric.compute(predictions=texts(given["predictions"]), references=given["references"], detailed=True)
    assert isinstance(result, dict)
    return result


WITH_A_VALUE = [
    id_
    for id_, report in REPORTS.items()
    if report["input"]["call"] == "anls" and "anls" in report["expected"] and "alternative" not in report["expected"]
]
# Where no prediction was given, a warning says so.
UNANSWERED = {"R15": "row 1", "R21": "row 0"}


@pytest.mark.parametrize("report_id", WITH_A_VALUE)
def test_value(metric_class: Any, report_id: str) -> None:
    expected = REPORTS[report_id]["expected"]
    if report_id in UNANSWERED:
        with pytest.warns(UserWarning, match=UNANSWERED[report_id]):
            result = compute(metric_class, report_id)
    else:
        result = compute(metric_class, report_id)
    assert result["anls_score"] == pytest.approx(expected["anls"], abs=1e-6)
    assert result["scores"] == pytest.approx(expected.get("scores", result["scores"]), abs=1e-6)
    assert result["anls_score"] != expected.get("not_value")
    assert result["n"] == len(REPORTS[report_id]["input"]["predictions"])
    assert f"|n:{result['n']}|" in result["signature"]


def test_these_are_all() -> None:
    flat = {id_ for id_, report in REPORTS.items() if report["input"]["call"] == "anls"}
    elsewhere = {"R03", "R17", "R22", "R26", "R30", "R46", "R71"}
    assert flat == set(WITH_A_VALUE) | elsewhere


def test_r03_both_sides_of_the_boundary(metric_class: Any) -> None:
    expected = REPORTS["R03"]["expected"]
    inclusive, strict = compute(metric_class, "R03"), compute(metric_class, "R03", "paper")
    assert (inclusive["anls_score"], strict["anls_score"]) == (expected["value_inclusive"], expected["value_strict"])
    assert "keep:>=0.5" in inclusive["signature"]
    assert "keep:>0.5" in strict["signature"]


@pytest.mark.parametrize("report_id", ["R17", "R26"])
def test_error(metric_class: Any, report_id: str) -> None:
    with pytest.raises(ValueError, match=REPORTS[report_id]["expected"]["message_has"][0]) as caught:
        compute(metric_class, report_id)
    assert all(part in str(caught.value) for part in REPORTS[report_id]["expected"]["message_has"])


def test_r22_squad_form(metric_class: Any) -> None:
    assert compute(metric_class, "R22")["anls_score"] == REPORTS["R22"]["expected"]["anls"]


def test_r30_nested_too_deep(metric_class: Any) -> None:
    with pytest.raises(ValueError, match=r"predictions\[0\] is a list of 1 str.*Pass the string itself"):
        compute(metric_class, "R30")


@pytest.mark.parametrize("path", ["anls.py", "."])
def test_r48_a_local_path_needs_no_network(metric_path: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a clone, as the README says; a path that is not there is not taken for a name on the Hub."""
    clone = Path(metric_path).parent
    monkeypatch.chdir(clone)
    metric = evaluate.load(f"./{path}" if path != "." else str(clone / "anls.py"))
    assert metric.compute(predictions=["Lima"], references=[["Lima"]]) == {"anls_score": 1.0}
    assert 'In a clone, the name is `"./anls.py"`' in (clone / "README.md").read_text(encoding="utf-8")


def test_r55_the_title_of_the_app(metric_path: str) -> None:
    card = (Path(metric_path).parent / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\A---\ntitle: ANLS\b", card)


def test_every_report_has_its_test() -> None:
    """Each row of the table in docs/reliability.md names an existing function."""
    rows = re.findall(
        r"^\| (R\d\d) \| .* \| `([\w/]+\.py)`, `(\w+)` \|$",
        (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [id_ for id_, _, _ in rows] == list(REPORTS)
    for id_, file, name in rows:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *(def|class) {name}\b", text, re.MULTILINE), (id_, file, name)


def test_r71_composed_and_decomposed() -> None:
    given, expected = REPORTS["R71"]["input"], REPORTS["R71"]["expected"]
    composed = dataclasses.replace(
        get_protocol("standard"), prediction_steps=("nfc", "lower"), answer_steps=("nfc", "lower")
    )
    assert anls_scores(**columns(given))[0] == pytest.approx(expected["value_without_normalisation"], abs=1e-6)
    assert anls_scores(**columns(given), protocol=composed)[0] == expected["value_with_NFC"]


def columns(given: dict[str, Any]) -> dict[str, Any]:
    return {"predictions": given["predictions"], "answers": given["references"]}


@pytest.mark.parametrize("report_id", ["R34", "R36", "R38", "R40"])
def test_submission(report_id: str, tmp_path: Path) -> None:
    """Through files of the portal's form, read and scored as a whole."""
    given, expected = (REPORTS[report_id][name] for name in ("input", "expected"))
    for name in ("gold", "submission"):
        (tmp_path / f"{name}.json").write_text(json.dumps(given[name]), encoding="utf-8")

    def score(**options: str) -> SubmissionScore:
        sides = open_predictions(tmp_path / "submission.json"), open_references(tmp_path / "gold.json")
        return score_submission(*sides, **options)  # type: ignore[arg-type]

    if "anls" in expected:
        result = score()
        assert (result.score, result.n) == (expected["anls"], expected["n"])
        return
    with pytest.raises(ValueError, match=r"\w") as error:
        score()
    assert all(part in str(error.value) for part in expected["message_has"])
    if "option" in expected:
        assert score(missing="zero", unknown="ignore").score == pytest.approx(1 / 3)
