"""Texts inside the objects of a column, and the errors that name the way to them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz.files import WRITERS

from anls_eval.check.check import check_submission
from anls_eval.errors import AnlsError, Note
from anls_eval.files import FormatError, open_predictions, open_references
from anls_eval.submission.score import score_submission

ANSWERS = [{"question_id": "1", "answers": ["Oslo"]}, {"question_id": "2", "answers": ["12 May"]}]
TEXTS = {"1": "Oslo", "2": "13 May"}
SCORE = (1 + 5 / 6) / 2


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "refusal": None}


def chat(text: str) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "message": says(text), "logprobs": None}]}


def message(*parts: dict[str, str]) -> dict[str, Any]:
    return {"type": "succeeded", "message": {"type": "message", "role": "assistant", "content": list(parts)}}


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


THOUGHT = {"type": "thinking", "thinking": "so"}
FORMS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "OpenAI": lambda id_, text: {"id": f"r{id_}", "custom_id": id_, "response": {"body": chat(text)}},
    "OpenAI's responses": lambda id_, text: {
        "custom_id": id_,
        "response": {"body": {"output": [{"type": "reasoning"}, {"type": "message", "content": [text_part(text)]}]}},
    },
    "Anthropic": lambda id_, text: {"custom_id": id_, "result": message(text_part(text))},
    "Anthropic, thinking": lambda id_, text: {"custom_id": id_, "result": message(THOUGHT, text_part(text))},
    "Gemini": lambda id_, text: {"id": id_, "response": {"candidates": [{"content": {"parts": [{"text": text}]}}]}},
    "vLLM": lambda id_, text: {"id": id_, "outputs": [{"index": 0, "text": text, "token_ids": [1]}]},
    "transformers": lambda id_, text: {"id": id_, "output": [{"generated_text": text}]},
    "candidates": lambda id_, text: {"id": id_, "output": [{"score": 0.9, "answer": text}, {"answer": ""}]},
    "evalscope": lambda id_, text: {"id": id_, "model_output": chat(text)},
    "messages": lambda id_, text: {"id": id_, "messages": [{"role": "user", "content": "?"}, says(text)]},
    "ShareGPT": lambda id_, text: {"id": id_, "conversations": [{"from": "human"}, {"from": "gpt", "value": text}]},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_remedy_of_the_error_scores_what_models_return(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "out.jsonl", [FORMS[form](id_, text) for id_, text in TEXTS.items()])
    answers = written(tmp_path / "answers.jsonl", ANSWERS)
    with pytest.raises(AnlsError) as caught:
        score_submission(open_predictions(path), answers)
    [remedy] = caught.value.remedies
    assert remedy.option == "columns"
    assert isinstance(remedy.value, dict)
    assert score_submission(open_predictions(path, columns=remedy.value), answers).score == pytest.approx(
        SCORE, abs=1e-12
    )
    assert not check_submission(path, answers, columns=remedy.value).problems


def test_a_request_that_failed_is_unanswered(tmp_path: Path) -> None:
    failed = {"custom_id": "2", "response": {"body": {"error": {"message": "Rate limit"}}}}
    for last in (failed, {"custom_id": "2", "response": None}):
        path = written(tmp_path / "out.jsonl", [FORMS["OpenAI"]("1", "Oslo"), last])
        column = {"prediction": "response.body.choices.0.message.content"}
        answers = written(tmp_path / "answers.jsonl", ANSWERS)
        result = score_submission(open_predictions(path, columns=column), answers)
        assert (result.score, result.unanswered) == (0.5, 1)


@pytest.mark.parametrize("rest", ["body.choises.0", "body.choices.x", "body.choices.1", "status_code.0"])
def test_a_way_that_no_row_has_is_an_error(tmp_path: Path, rest: str) -> None:
    path = written(tmp_path / "out.jsonl", [FORMS["OpenAI"](id_, text) for id_, text in TEXTS.items()])
    reader = open_predictions(path, columns={"prediction": f"response.{rest}"})
    with pytest.raises(FormatError, match=f"no row has a value at 'response.{rest}'"):
        list(reader.batches(1))


def test_a_column_whose_name_has_dots_comes_first(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [{"id": "1", "a.b": "of the name", "a": {"b": "inside"}}])
    [batch] = open_predictions(path, columns={"prediction": "a.b"}).batches()
    assert batch.values == ["of the name"]
    with pytest.raises(FormatError, match=r"no column 'c\.b', named as prediction"):
        open_predictions(path, columns={"prediction": "c.b"})


def test_objects_in_parquet_and_ids_inside_them(tmp_path: Path) -> None:
    rows = [{"doc": {"key": id_}, "turns": [{"text": text}]} for id_, text in TEXTS.items()]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=1)
    reader = open_predictions(path, columns={"prediction": "turns.-1.text", "question_id": "doc.key"})
    assert [(list(own.question_ids), own.values) for own in reader.within(1, 2).batches()] == [(["2"], ["13 May"])]
    assert reader.detected.columns == {"question_id": "doc.key", "prediction": "turns.-1.text"}


def test_a_part_without_values_is_fine_where_another_has_some(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = [{"id": "1", "turn": {"text": "Oslo"}}, {"id": "2", "turn": {"text": None}}]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=1)
    reader = open_predictions(path, columns={"prediction": "turn.text"})
    assert [own.values for own in reader.within(1, 2).batches()] == [[None]]
    misspelt = open_predictions(path, columns={"prediction": "turn.txt"})
    with pytest.raises(FormatError, match=r"no row has a value at 'turn\.txt'"):
        list(misspelt.within(1, 2).batches())


def test_exports_of_label_studio(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    result = [{"value": {"text": ["Oslo", "Oslo, Norway"]}, "from_name": "answer", "type": "textarea"}]
    path.write_text(json.dumps([{"data": {"key": 1}, "annotations": [{"result": result}]}]), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        open_references(path)
    [remedy] = caught.value.remedies
    assert remedy.value == {"answers": "annotations.0.result.0.value.text"}
    [batch] = open_references(path, columns=remedy.value).batches()
    assert batch.values == [["Oslo", "Oslo, Norway"]]


def test_read_words_of_a_test_split_are_not_offered_as_answers(tmp_path: Path) -> None:
    path = written(tmp_path / "test.jsonl", [{"id": 1, "question": "Where?", "ocr": [{"text": "Oslo"}]}])
    with pytest.raises(FormatError) as caught:
        open_references(path)
    assert [remedy.value for remedy in caught.value.remedies] == [{"answers": "NAME"}]


JSON_FORMS: dict[str, Callable[[str], str]] = {
    "bare": lambda text: json.dumps({"answer": text}),
    "fenced": lambda text: f"```json\n{json.dumps({'answer': text}, indent=2)}\n```",
    "after words": lambda text: f"The date is on page 2. {json.dumps({'page': 2, 'answer': text})}",
    "deep": lambda text: json.dumps({"result": {"value": text}, "confidence": 0.9}),
}


@pytest.mark.parametrize("form", JSON_FORMS)
@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_the_remedy_of_the_note_scores_what_models_write_as_json(tmp_path: Path, form: str, ending: str) -> None:
    rows = [{"question_id": id_, "prediction": JSON_FORMS[form](text)} for id_, text in TEXTS.items()]
    path, answers = tmp_path / f"out.{ending}", written(tmp_path / "answers.jsonl", ANSWERS)
    path.write_bytes(WRITERS[ending](rows))
    found = score_submission(path, answers)
    [note] = [note for note in found.notes if isinstance(note, Note)]
    assert note.startswith("predictions: texts that are JSON objects are compared as they are written. To take")
    [remedy] = note.remedies
    assert isinstance(remedy.value, dict)
    told = check_submission(path, answers)
    assert [problem.code for problem in told.problems] == ["answer-json"] * 2
    again = open_predictions(path, columns=remedy.value)
    assert score_submission(again, answers).score == pytest.approx(SCORE, abs=1e-12)
    assert not check_submission(path, answers, columns=remedy.value).problems


def test_few_predictions_that_are_json_are_not_noted(tmp_path: Path) -> None:
    texts = ["Oslo", '{"answer": "12 May"}', "{curly}", ""]
    rows = [{"id": row, "prediction": text, "answers": ["Oslo"]} for row, text in enumerate(texts)]
    both = written(tmp_path / "both.jsonl", rows)
    assert not any("JSON objects" in note for note in score_submission(both, both).notes)


def test_documents_in_texts_are_not_noted(tmp_path: Path) -> None:
    document = json.dumps({"answer": "Oslo"})
    both = written(tmp_path / "both.jsonl", [{"id": 1, "prediction": document, "answers": {"answer": "Oslo"}}])
    found = score_submission(both, both, protocol="anls_star")
    assert found.score == 1.0
    assert not any("JSON objects" in note for note in found.notes)


def under_rows(rows: list[dict[str, Any]]) -> str:
    """What ``DataFrame.to_json(orient="index")`` writes."""
    return json.dumps({str(number): row for number, row in enumerate(rows)})


@pytest.mark.parametrize("side", ["predictions", "references"])
@pytest.mark.parametrize("name", ["questionId", "question_id", "id"])
def test_a_number_of_a_row_is_not_taken_for_an_id(tmp_path: Path, side: str, name: str) -> None:
    """The first rows have the ids of their numbers, as where a row in the middle was left out."""
    texts = ["Oslo", "12 May", "Rome", "Bern"]
    numbers = [0, 1, 3, 2]
    values = {"predictions": [{name: own, "prediction": texts[own]} for own in numbers]}
    values["references"] = [{name: own, "answers": [texts[own]]} for own in numbers]
    paths = {own: tmp_path / f"{own}.json" for own in values}
    for own, path in paths.items():
        path.write_text(under_rows(values[own]) if own == side else json.dumps(values[own]))
    column = {"predictions": {"prediction": "value.prediction"}, "references": {"answers": "value.answers"}}[side]

    def scored(columns: dict[str, Any]) -> float:
        sides = (
            open_predictions(paths["predictions"], columns=columns),
            open_references(paths["references"], columns=columns),
        )
        return score_submission(*sides).score

    with pytest.raises(FormatError, match=f"key '2': its {name} is '3', so the key may be the number") as refused:
        scored(column)
    first, second = (column | remedy.value for remedy in refused.value.remedies if isinstance(remedy.value, dict))
    assert scored(first) == 1.0
    assert scored(second) == 0.5
    if side == "predictions":
        [problem] = check_submission(paths[side], paths["references"], columns=column).problems
        assert f"its {name} is '3'" in problem.found


@pytest.mark.parametrize(
    "rows",
    [
        {"q1": {"id": "7", "prediction": "Oslo"}, "q2": {"id": "8", "prediction": "12 May"}},
        {"1": {"id": "chatcmpl-7", "prediction": "Oslo"}, "2": {"id": "chatcmpl-8", "prediction": "12 May"}},
        {"1": {"id": 1, "prediction": "Oslo"}, "2": {"page": 8, "prediction": "12 May"}, "3": "x"},
    ],
    ids=["keys that are no numbers", "ids of responses", "the same"],
)
def test_keys_are_ids_beside_other_ids(tmp_path: Path, rows: dict[str, Any]) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    [batch] = open_predictions(path, columns={"prediction": "value.prediction"}).batches()
    assert list(batch.question_ids) == list(rows)
    assert list(batch.values)[:2] == ["Oslo", "12 May"]
