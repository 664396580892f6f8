"""Benchmarks in files: the score of a submission is what `leaderboard_figures` gives."""

import json
from pathlib import Path
from typing import Any

import pytest
from places import DATA

from anls_eval import leaderboard_figures, open_predictions, open_references, score_submission
from anls_eval.submission.score import score_questions
from anls_eval.submission.totals import Totals

PROTOCOLS = ("donut_f1", "donut_ted", "varex", "extractbench_value", "idp_kie")
ROWS = [json.loads(line) for line in (DATA / "extraction.jsonl").read_text(encoding="utf-8").strip().split("\n")]
PAIRS = [
    (row["prediction"], row["reference"])
    for row in ROWS
    if row["id"].startswith("donut-")
    and (row["protocol"], row["kind"]) == ("donut_f1", "document")
    and all(isinstance(row[side], dict) and row[side] for side in ("prediction", "reference"))
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for side, (name, key) in enumerate((("predictions", "prediction"), ("references", "answers"))):
        rows = [{"question_id": str(row), key: pair[side]} for row, pair in enumerate(PAIRS)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path / "predictions.jsonl", tmp_path / "references.jsonl"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_figures_are_those_of_all_documents(protocol: str, files: tuple[Path, Path]) -> None:
    found = score_submission(*files, protocol=protocol)
    figures = leaderboard_figures(*zip(*PAIRS, strict=True), protocol=protocol)
    assert found.score == pytest.approx(figures["score"], abs=1e-12)
    assert {"score": found.score, **found.figures} == pytest.approx(figures, abs=1e-12)
    assert found.interval.low <= found.score <= found.interval.high
    assert found.to_dict()["score"] == found.score
    assert f"|protocol:{protocol}|" in found.signature


def test_an_interval_of_resampled_documents_is_deterministic(files: tuple[Path, Path]) -> None:
    intervals = {score_submission(*files, protocol="donut_f1", seed=3).interval for _ in range(2)}
    [interval] = intervals
    assert interval.method == "percentile bootstrap"
    assert 0 < interval.standard_error < 0.2
    assert interval.n == len(PAIRS)


def test_what_is_no_mean_is_not_compared_question_by_question(files: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match="'donut_f1' is no mean of questions"):
        score_questions(open_predictions(files[0]), open_references(files[1]), protocol="donut_f1")
    with pytest.raises(ValueError, match="'donut_f1' is no mean of questions"):
        score_submission(*files, protocol="donut_f1", by=["question_id"])


@pytest.mark.parametrize("protocol", ["vrdu", "chartqapro", "chartqapro_vlmevalkit"])
def test_options_are_not_read_from_files(protocol: str, files: tuple[Path, Path]) -> None:
    with pytest.raises(ValueError, match=r"needs the options .* in Python with anls_eval\.leaderboard_figures"):
        score_submission(*files, protocol=protocol)


def test_totals_keep_what_was_counted() -> None:
    one, other = Totals(), Totals()
    one.counted["[]"] = 2
    other.counted["[]"] = 1
    one.add(Totals.from_json(other.to_json()))
    assert one.counted == {"[]": 3}


def test_answer_types_come_from_a_column(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"question_id": "1", "prediction": "5 kg", "answers": 5, "answer_type": "Integer"},
        {"question_id": "2", "prediction": "room", "answers": "roo", "answer_type": "String"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert score_submission(path, path, protocol="longdocurl_full").figures == {"accuracy": 1.0, "f1": 1.0}
