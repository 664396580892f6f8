"""Fields of whole submissions: the scores of `anls_star_scores`, in one file, in parts, and through `evaluate`."""

import json
import math
from pathlib import Path
from typing import Any

import evaluate
import pytest
from places import ROOT

from anls_eval import Fields, anls_star_scores, score_submission, score_systems
from anls_eval.metric import ANLS
from anls_eval.submission.totals import Totals

FIELDS = Fields(
    {"$.total": {"compare": "number", "weight": 2}, "$.due": {"compare": "date"}, "$.items": {"key": "sku"}}
)
REFERENCES: list[Any] = [{"total": 1000 + row, "due": "2026-05-14", "vendor": f"ACME {row}"} for row in range(12)]
PREDICTIONS: list[Any] = [
    {**own, "total": f"1,0{row:02}.00", "due": "May 14, 2026"} for row, own in enumerate(REFERENCES)
]
PREDICTIONS[3] = {"total": 7}
SCORES = anls_star_scores(
    PREDICTIONS, REFERENCES, fields={path: FIELDS[path] for path in ("$.total", "$.due")}
).tolist()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for side, key, rows in (("predictions", "prediction", PREDICTIONS), ("references", "answers", REFERENCES)):
        lines = [json.dumps({"question_id": str(row), key: own}) for row, own in enumerate(rows)]
        (tmp_path / f"{side}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "predictions.jsonl", tmp_path / "references.jsonl"


def test_score_signature_and_fields_in_full(files: tuple[Path, Path]) -> None:
    found = score_submission(*files, protocol="anls_star", fields=FIELDS)
    assert found.score == math.fsum(SCORES) / 12
    assert f"|fields:{FIELDS.fingerprint()}|" in found.signature
    assert found.to_dict()["fields"] == FIELDS.to_dict()
    assert "the field $.items matches nothing in any reference; the nearest path there is $.due" in found.notes
    assert "fields" not in score_submission(*files, protocol="anls_star").to_dict()


def test_fields_as_a_dict_and_of_several_systems(files: tuple[Path, Path]) -> None:
    predictions, references = files
    found = score_systems([str(predictions)], references, protocol="anls_star", fields=FIELDS.to_dict())
    assert found.scores["predictions"].tolist() == SCORES


def test_totals_keep_paths() -> None:
    one, other = Totals(), Totals()
    one.note_paths(["$.a"])
    other.note_paths(["$.b", *(f"$.{number}" for number in range(2_000))])
    one.add(Totals.from_json(other.to_json()))
    assert list(one.paths)[:2] == ["$.a", "$.b"]
    assert len(one.paths) == 1_000


@pytest.mark.parametrize("given", [FIELDS, FIELDS.to_dict()], ids=["Fields", "dict"])
@pytest.mark.filterwarnings("ignore:the field")
def test_compute(given: Any) -> None:
    single = evaluate.load(str(ROOT / "anls.py"), "anls_star")  # which has classes of its own
    for metric in (ANLS("anls_star"), single):
        options: dict[str, Any] = {"predictions": PREDICTIONS, "references": REFERENCES, "fields": given}
        assert metric.compute(**options) == {"anls_star_score": math.fsum(SCORES) / 12}
        found: Any = metric.compute(**options, detailed=True)
        assert found["scores"] == SCORES
        assert f"|fields:{FIELDS.fingerprint()}|" in found["signature"]


@pytest.mark.parametrize("protocol", ["standard", "dude", "donut_f1"])
def test_other_protocols_have_no_fields(protocol: str, files: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match="fields are parts of trees, which protocol"):
        score_submission(*files, protocol=protocol, fields=FIELDS)
    with pytest.raises(ValueError, match="fields are parts of trees, which protocol"):
        ANLS(protocol).compute(predictions=["a"], references=[["a"]], fields=FIELDS)


def test_a_reference_that_does_not_parse_is_named() -> None:
    rows = [{"question_id": "q7", "answers": {"total": "five"}}]
    given = [{"question_id": "q7", "prediction_text": {"total": 5}}]
    with pytest.raises(ValueError, match=r"question_id 'q7': reference \$\.total: 'five'"):
        ANLS("anls_star").compute(predictions=given, references=rows, fields=FIELDS, detailed=True)
