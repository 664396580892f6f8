"""Texts that print lists and dicts in the files of a submission: what is taken apart, and what is said of it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anls_eval.errors import AnlsError, Note
from anls_eval.files import open_references
from anls_eval.metric import ANLS
from anls_eval.submission.score import SubmissionScore, score_submission


def score(
    folder: Path, predictions: list[Any], answers: list[Any], form: str = "json", **options: Any
) -> SubmissionScore:
    for side, name, values in ("prediction", "p", predictions), ("answers", "r", answers):
        rows = [{"id": n, side: value, "group": value} for n, value in enumerate(values)]
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), folder / name)
        elif form == "csv":
            lines = [",".join('"' + str(cell).replace('"', '""') + '"' for cell in row.values()) for row in rows]
            (folder / name).write_text("\n".join([f"id,{side},group", *lines]), encoding="utf-8")
        else:
            (folder / name).write_text(json.dumps(rows), encoding="utf-8")
    return score_submission(folder / "p", folder / "r", **options)


PRINTED = ["['Oslo']", "['12 May' 'May 12']", "{'text': array(['x'], dtype=object), 'answer_start': array([3])}"]
GIVEN = ["Oslo", "May 12", "x"]


@pytest.mark.parametrize("form", ["json", "parquet", "csv"])
def test_a_whole_column(tmp_path: Path, form: str) -> None:
    found = score(tmp_path, GIVEN, PRINTED, form)
    assert found.score == 1.0
    assert "|parse:references|" in found.signature
    [note] = [own for own in found.notes if "printed" in own]
    apart = "3 of 3 answers are printed lists or dicts and were taken apart."
    assert note == f'{apart} To compare texts as they are, pass parse="none".'


@pytest.mark.parametrize("form", ["json", "parquet", "csv"])
def test_any_whitespace_before_a_list(tmp_path: Path, form: str) -> None:
    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) not in "\r\n"]
    printed = [f"{space}['Rome', 'Lima']" for space in spaces]
    found = score(tmp_path, ["Lima"] * len(spaces), printed, form)
    assert (len(spaces), found.score) == (27, 1.0)


@pytest.mark.parametrize("opened", [pq.ParquetWriter, pa.ipc.new_file, pa.ipc.new_stream])
def test_a_column_of_the_type_json(tmp_path: Path, opened: Any) -> None:
    """Of which DuckDB writes its JSON columns."""
    texts = pa.array(['["Oslo", "Rome"]', '["May"]', None])
    table = pa.table({"id": [1, 2, 3], "answers": pa.ExtensionArray.from_storage(pa.json_(), texts)})
    with opened(str(tmp_path / "r"), table.schema) as writer:
        writer.write_table(table.slice(0, 2))
    (tmp_path / "p").write_text('[{"id": 1, "prediction": "Rome"}, {"id": 2, "prediction": "May"}]', encoding="utf-8")
    found = score_submission(tmp_path / "p", tmp_path / "r")
    assert (found.score, "|parse:references|" in found.signature) == (1.0, True)


@pytest.mark.parametrize(("form", "expected"), [("json", 0.25), ("parquet", 0.25), ("csv", 1.0)])
def test_some_of_a_column(tmp_path: Path, form: str, expected: float) -> None:
    answers = ["['x']", "May 12", "['y']", "['z']"]
    given = ["x", "May 12", "y", "z"]
    found = score(tmp_path, given, answers, form)
    assert found.score == expected
    if form != "csv":
        assert "|parse:" not in found.signature
        [note] = [own for own in found.notes if isinstance(own, Note)]
        assert note.startswith("3 of 4 answers are printed lists or dicts and were compared as text, such as")
        assert note.endswith('To take them apart one by one, pass parse="answers".')
    asked = score(tmp_path, given, answers, form, parse="answers")
    assert (asked.score, "|parse:references|" in asked.signature) == (1.0, True)
    none = score(tmp_path, given, answers, form, parse="none")
    assert (none.score, [own for own in none.notes if isinstance(own, Note)]) == (0.25, [])


def test_a_list_that_is_cut_off(tmp_path: Path) -> None:
    found = score(tmp_path, ["a", "b"], ["['a', ... truncated", "b"])
    assert found.score == 0.5
    assert [own for own in found.notes if "cannot be read" in own] == [
        "1 of 2 answers begins like a printed list or dict but cannot be read as one, such as \"['a', ... truncated\""
    ]


def test_a_list_without_quotes(tmp_path: Path) -> None:
    """DuckDB writes lists so to CSV; what is in them cannot be told, since a text may hold commas."""
    answers = ["[Oslo]", "[12 May, May 12]", "[1]", "[0.28]", "[sic", "Oslo]"]
    found = score(tmp_path, ["[none]"] * 6, answers, "csv")
    [unread] = [own for own in found.notes if "cannot be read" in own]
    assert unread == "2 of 6 answers begin like a printed list or dict but cannot be read as one, such as '[Oslo]'"


def test_predictions_of_texts_stay(tmp_path: Path) -> None:
    assert score(tmp_path, ["['Oslo']"], [["['Oslo']"]], "json").score == 1.0
    with pytest.raises(AnlsError, match="protocol 'standard' compares predictions as they are"):
        score(tmp_path, ["a"], ["a"], parse=["predictions"])


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_what_an_extraction_makes_documents_of(tmp_path: Path, form: str) -> None:
    given = ['{"a": "x"}', 'It is {"a": "x"}', '{"a": "x"} ]', "['x', 'y']", "no idea"]
    answers = [json.dumps({"a": "x"})] * len(given)
    found = score(tmp_path, given, answers, form, protocol="anls_star", extract="json")
    assert found.score == 3 / 5
    printed = [own for own in found.notes if own.split()[3] == "predictions"]
    assert [own.partition(", such as")[::2] for own in printed] == [
        (
            "1 of 5 predictions is a printed list or dict and was compared as text",
            " \"['x', 'y']\". To take them apart one by one, pass parse=\"predictions\".",
        )
    ]
    with pytest.warns(UserWarning, match="^1 of 5 predictions is a printed list or dict and was compared as text"):
        metric = ANLS("anls_star").compute(predictions=given, references=[{"a": "x"}] * len(given), extract="json")
    assert metric is not None
    assert metric["anls_star_score"] == 3 / 5


@pytest.mark.parametrize("form", ["json", "parquet", "csv"])
def test_documents(tmp_path: Path, form: str) -> None:
    found = score(tmp_path, ['{"a": 1}', "['x', 'y']"], ['{"a": 2}', '["x", "y"]'], form, protocol="anls_star")
    assert found.score == 0.5  # a list is one document, not two alternatives
    assert "|parse:predictions+references|" in found.signature


def test_groups(tmp_path: Path) -> None:
    groups = [["a", "b"], ["a"], ["a"]]
    found = score(tmp_path, ["x"] * 3, list(map(str, groups)), by=["group"], parse=["group"])
    assert {name: own.n for name, own in found.by["group"].items()} == {"a": 3, "b": 1}
    assert "|parse:references+group|" in found.signature


def test_lists_that_a_protocol_reads_itself(tmp_path: Path) -> None:
    rows = [{"id": 1, "prediction": "['b', 'a']", "answer": "['a', 'b']", "answer_type": "List"}]
    (tmp_path / "both").write_text(json.dumps(rows), encoding="utf-8")
    found = score_submission(tmp_path / "both", tmp_path / "both", protocol="mmlongbench")
    assert (found.score, [own for own in found.notes if "printed" in own]) == (1.0, [])
    with pytest.raises(AnlsError, match="reads lists from texts itself"):
        score_submission(tmp_path / "both", tmp_path / "both", protocol="mmlongbench", parse="answers")


def test_a_column_of_blanks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the column 'answers' is blank in every row"):
        score(tmp_path, ["a", "b"], ["", " "], "csv", missing="zero")
    columns: list[list[Any]] = [[None, None], [[], []], ["", None], [[], " "]]
    for blank in columns:
        with pytest.raises(ValueError, match="the column 'answers' is blank in every row"):
            score(tmp_path, ["a", "b"], blank)
    with pytest.raises(ValueError, match="the reference is empty"):
        score(tmp_path, ["a", "b"], [None, "b"])


def test_tuples_and_sets_are_said_to_be_compared_as_text(tmp_path: Path) -> None:
    for answers in (["('a', 'b')", "('x',)"], ["{'a', 'b'}", "{'x'}"]):
        [note] = [own for own in score(tmp_path, ["a", "x"], answers).notes if "cannot be read" in own]
        assert note.startswith("2 of 2 answers begin like a printed list or dict")


def test_lists_stay_lists_in_rows(tmp_path: Path) -> None:
    for number, suffix in enumerate(("jsonl", "parquet")):
        out = tmp_path / f"rows.{suffix}"
        score(tmp_path, ["x", "x"], ["['a', 'b']", "['a']"], by=["group"], per_question=out)
        rows = pq.read_table(out).to_pylist() if number else list(map(json.loads, out.read_text().splitlines()))
        assert [row["group"] for row in rows] == [["a", "b"], ["a"]]


def test_readers_take_apart_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "r").write_text(json.dumps([{"id": 1, "answers": "['a']"}]), encoding="utf-8")
    [batch] = open_references(tmp_path / "r").batches()
    assert batch.values == [["a"]]


class TestCompute:
    """The metric takes nothing apart unless asked, and warns."""

    def test_default(self) -> None:
        with pytest.warns(UserWarning, match=r'3 of 3 answers are printed .*pass parse="answers"'):
            result = ANLS().compute(predictions=GIVEN, references=PRINTED, detailed=True)
        assert result is not None
        assert result["anls_score"] < 0.2
        assert "|parse:" not in result["signature"]

    def test_asked(self) -> None:
        with pytest.warns(UserWarning, match="were taken apart"):
            result = ANLS().compute(predictions=GIVEN, references=PRINTED, detailed=True, parse="answers")
        assert result is not None
        assert result["anls_score"] == 1.0
        assert "|parse:references|" in result["signature"]

    @pytest.mark.filterwarnings("error")
    def test_none(self) -> None:
        result = ANLS().compute(predictions=GIVEN, references=PRINTED, parse="none")
        assert result is not None
        assert result["anls_score"] < 0.2

    def test_trees(self) -> None:
        with pytest.warns(UserWarning, match="taken apart"):
            result = ANLS("anls_star").compute(
                predictions=['{"a": "x"}'], references=[{"a": "x"}], parse=["predictions", "answers"]
            )
        assert result == {"anls_star_score": 1.0}

    def test_predictions_of_texts(self) -> None:
        with pytest.raises(AnlsError, match="compares predictions as they are"):
            ANLS().compute(predictions=["a"], references=["a"], parse="predictions")
