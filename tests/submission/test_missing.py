"""A question without a prediction scores 0 under every protocol, if it may be missing at all."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from anls_eval import open_predictions, open_references, score_submission
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS
from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.metric import ANLS
from anls_eval.registry import get_rules
from anls_eval.rules.table import PROTOCOLS

NAMES = (*PROTOCOLS, *LEADERBOARDS, *BENCHMARKS)

# Answers that a text in place of the missing prediction would match: nothing, what Python writes for it, a zero.
OF_TEXTS = ["Oslo", "", "None", "null", "nan", "0"]
OF_DOCUMENTS: dict[str, list[Any]] = {
    "due_group_anls": [{"item": {"children": {"name": [own]}}} for own in ("tea", "")],
    "due": [{"total": [own]} for own in ("8", "")],
    "kieval": [{"groups": {"0": [{"name": own}]}, "entities": {"total": ["8"]}} for own in ("tea", "None")],
    "vrdu": [[["date", ["5 May"]]], [["date", [""]]]],
    "": [{"total": "8"}, {"total": "None", "date": "null"}],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "vrdu": {"appearance": {"date": "unrepeated"}},
    "chartqapro": {"year": "year"},
    "chartqapro_vlmevalkit": {"year": "year"},
}
# Of what these types accept, a missing prediction must not be right.
TYPES = {
    "dude": ["extractive", "not-answerable"],
    "mmlongbench": ["Str", "None"],
    "mmesgbench": ["Str", "None"],
    "mmesgbench_documented": ["Str", "None"],
    "longdocurl_full": ["String", "None", "List"],
    "longdocurl_vlmevalkit": ["String", "None", "List"],
    "chartqapro": ["Factoid", "Multi Choice"],
    "chartqapro_vlmevalkit": ["Factoid", "Conversational"],
    "chartqapro_lmms": ["Factoid", "Fact Checking"],
}


def references(name: str) -> list[tuple[Any, str | None]]:
    """Answers that can be scored, each with its answer type."""
    rules: Any = get_rules(name)
    if getattr(rules, "tree", "") or getattr(rules, "unit", "") == "document":
        answers = OF_DOCUMENTS[next(own for own in OF_DOCUMENTS if name.startswith(own))]
        as_text = name.startswith("cc_ocr")
        return [(json.dumps(own) if as_text else own, None) for own in answers]
    types: list[Any] = TYPES.get(name, [*getattr(rules, "answer_types", ())][:2]) or [None]
    answers = [""] if name == "cc_ocr_v2_qa_official" else []  # which it leaves out
    return [(own, kind) for kind in types for own in OF_TEXTS if own not in answers]


def prediction(name: str, reference: Any) -> Any:
    """What is right for a reference."""
    if name == "vrdu":
        return [[own, texts[0]] for own, texts in reference]
    if name == "lmms_docvqa_reasoning":
        return f"<answer>{reference}</answer>"
    is_marked = name.removesuffix("_first") in ("evalscope_docvqa", "inspect_evals_docvqa", "chartqa_evalscope")
    return f"ANSWER: {reference}" if is_marked else reference


def rows_of(name: str) -> list[dict[str, Any]]:
    tree = name in PROTOCOLS and bool(PROTOCOLS[name].tree)
    return [
        {"question_id": number, "answers": {"$one_of": [own]} if tree else own, "answer_type": kind, "year": ["NO"]}
        for number, (own, kind) in enumerate(references(name))
    ]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_each_missing_prediction_scores_0(name: str, tmp_path: Path) -> None:
    rows, (first, _) = rows_of(name), references(name)[0]
    given = write(tmp_path / "p.jsonl", [{"question_id": 0, "prediction": prediction(name, first)}])
    expected = write(tmp_path / "r.jsonl", rows)
    table = tmp_path / "scores.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = score_submission(
            open_predictions(given), open_references(expected), protocol=name, missing="zero",
            options=OPTIONS.get(name), per_question=table,
        )  # fmt: skip
    scores = [json.loads(line)["score"] for line in table.read_text(encoding="utf-8").splitlines()]
    assert scores[0] > 0.9, "the one prediction is right"
    assert scores[1:] == [0.0] * (len(rows) - 1)
    assert (found.n, found.missing) == (len(rows), len(rows) - 1)
    rules = get_rules(name)
    if not isinstance(rules, Benchmark) or rules.averages:
        assert found.score == pytest.approx(sum(scores) / len(scores), abs=1e-12)
    assert found.score < 0.9


@pytest.mark.parametrize("name", NAMES)
def test_compute_says_the_same(name: str, tmp_path: Path) -> None:
    rows, (first, kind) = rows_of(name), references(name)[0]
    given = write(tmp_path / "p.jsonl", [{"question_id": 0, "prediction": prediction(name, first)}])
    options: Any = dict(OPTIONS.get(name) or {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = score_submission(
            given, write(tmp_path / "r.jsonl", rows), protocol=name, missing="zero", options=options
        ).score
        words: dict[str, Any] = {}
        if name not in PROTOCOLS:
            options |= {"year": [row["year"] for row in rows]} if "year" in options else {}
            types = None if kind is None else [row["answer_type"] for row in rows]
            words = {"answer_types": types, "options": options or None}
        found = ANLS(name).compute(
            predictions=[{"question_id": 0, "prediction_text": prediction(name, first)}],
            references=[{"question_id": row["question_id"], "answers": row["answers"]} for row in rows],
            missing="zero",
            **words,
        )
    assert found is not None
    assert next(iter(found.values())) == pytest.approx(expected, abs=1e-12)


def test_every_type_that_is_named_is_one() -> None:
    for name, types in TYPES.items():
        assert set(types) <= set(getattr(get_rules(name), "answer_types", ()))
