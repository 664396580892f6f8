"""Submissions in two files: the score, groups, rows by question, and what is refused."""

import datetime
import json
import math
import os
import re
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docvqa_runs import FOLDER, RUNS
from places import DATA, EXAMPLES

from anls_eval.check.check import check_submission
from anls_eval.files import Reader, open_predictions, open_references
from anls_eval.leaderboards import LEADERBOARDS
from anls_eval.metric import ANLS
from anls_eval.questions import stream as alignment
from anls_eval.registry import get_protocol
from anls_eval.submission.score import (
    MAX_INTERVALS,
    Group,
    SubmissionScore,
    read_questions,
    score_questions,
    score_submission,
)
from anls_eval.submission.systems import score_systems, system_name
from anls_eval.text.similarity import compute_similarity

GOLD = FOLDER / "references.json"


def opened(predictions: Path, references: Path, **columns: str) -> tuple[Reader, Reader]:
    own = {role: name for role, name in columns.items() if role != "answers"}
    other = {role: name for role, name in columns.items() if role != "prediction"}
    return open_predictions(predictions, columns=own), open_references(references, columns=other)


def written(folder: Path, predictions: list[Any], references: list[Any]) -> tuple[Reader, Reader]:
    """Two JSON Lines files of rows."""
    paths = folder / "predictions.jsonl", folder / "references.jsonl"
    for path, rows in zip(paths, (predictions, references), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return opened(*paths)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


REFERENCE_SCORES = {
    row["model"]: row for row in json.loads((FOLDER / "reference_scores.json").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("protocol", ["standard", "paper", "rrc"])
def test_real_submissions(run: str, protocol: str) -> None:
    result = score_submission(*opened(FOLDER / f"pred_{run}.json", GOLD), protocol=protocol)
    assert round(result.score, 6) == REFERENCE_SCORES[run][protocol]
    assert (result.n, result.missing, result.unknown) == (1000, 0, 0)
    metric = ANLS(protocol)
    gold = json.loads(GOLD.read_text(encoding="utf-8"))["data"]
    given = json.loads((FOLDER / f"pred_{run}.json").read_text(encoding="utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        expected = metric.compute(
            predictions=[{"question_id": row["questionId"], "prediction_text": row["answer"]} for row in given],
            references=[{"question_id": row["questionId"], "answers": row["answers"]} for row in gold],
            detailed=True,
        )
    assert expected is not None
    assert (result.score, result.signature) == (expected["anls_score"], expected["signature"])


class TestRowsByQuestion:
    def test_say_what_each_score_is_made_of(self, tmp_path: Path) -> None:
        predictions = [{"id": 1, "prediction": "12/15/89"}, {"id": 2, "prediction": None}, {"id": 3, "prediction": "x"}]
        references = [{"id": own, "answers": ["12/15/88", "Dec 15"], "page": own % 2} for own in (1, 2, 3)]
        sides = written(tmp_path, predictions, references)
        score_submission(*sides, by=["page"], per_question=tmp_path / "rows.jsonl")
        assert rows(tmp_path / "rows.jsonl") == [
            {
                "question_id": "1",
                "prediction": "12/15/89",
                "closest_reference": "12/15/88",
                "distance": 1,
                "length": 8,
                "similarity": 0.875,
                "loss": "misread",
                "score": 0.875,
                "page": "1",
            },
            {
                "question_id": "2",
                "prediction": None,
                "closest_reference": None,
                "distance": None,
                "length": None,
                "similarity": None,
                "loss": "no_answer",
                "score": 0.0,
                "page": "0",
            },
            {
                "question_id": "3",
                "prediction": "x",
                "closest_reference": "12/15/88",
                "distance": 8,
                "length": 8,
                "similarity": 0.0,
                "loss": "wrong",
                "score": 0.0,
                "page": "1",
            },
        ]

    @pytest.mark.parametrize("run", ["qwen2_vl_7b", "llama_scout"])
    @pytest.mark.parametrize("protocol", ["standard", "rrc", "mpdocvqa"])
    def test_sum_to_the_score(self, run: str, protocol: str, tmp_path: Path) -> None:
        path = tmp_path / "rows.parquet"
        result = score_submission(*opened(FOLDER / f"pred_{run}.json", GOLD), protocol=protocol, per_question=path)
        table = pq.read_table(path)
        assert math.fsum(table["score"].to_pylist()) / 1000 == result.score
        gold = json.loads(GOLD.read_text(encoding="utf-8"))["data"]
        assert table["question_id"].to_pylist() == [str(row["questionId"]) for row in gold]
        rules = get_protocol(protocol)
        for row in table.to_pylist():
            similarity = compute_similarity(row["distance"], row["length"], rules)
            assert row["similarity"] == similarity
            assert row["score"] in (similarity, 0.0)

    def test_what_is_read_is_not_written_over(self, tmp_path: Path) -> None:
        """Nor what is no file, such as a FIFO."""
        sides = written(tmp_path, [{"id": 1, "prediction": "a"}], [{"id": 1, "answers": ["a"]}])
        paths = [Path(side.detected.path) for side in sides]
        content = [path.read_bytes() for path in paths]
        (tmp_path / "link.jsonl").symlink_to(paths[1])
        os.mkfifo(tmp_path / "fifo.csv")
        for path in *paths, tmp_path / "link.jsonl":
            for given in sides, paths, [str(tmp_path / "pred*.jsonl"), [paths[1]]]:
                with pytest.raises(ValueError, match=f"^{path} is one of the input files; write to another name"):
                    score_submission(*given, per_question=str(path))
        with pytest.raises(ValueError, match=r"fifo\.csv: is a pipe or socket; expected the name of a file to write"):
            score_submission(*sides, per_question=tmp_path / "fifo.csv")
        assert [path.read_bytes() for path in paths] == content
        assert stat.S_ISFIFO((tmp_path / "fifo.csv").stat().st_mode)

    def test_a_file_that_cannot_be_written_leaves_nothing(self, tmp_path: Path) -> None:
        sides = written(tmp_path, [{"id": 1, "prediction": "a"}, {"id": 2, "prediction": ["b"]}], [
            {"id": 1, "answers": ["a"]}, {"id": 2, "answers": ["b"]},
        ])  # fmt: skip
        with pytest.raises(ValueError, match=r"predictions.jsonl, line 2 \(question_id '2'\): the prediction is a"):
            score_submission(*sides, per_question=tmp_path / "rows.csv")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["predictions.jsonl", "references.jsonl"]

    @pytest.mark.parametrize(
        ("name", "text", "place"),
        [
            ("p.jsonl", '{"id": 1, "prediction": "a"}\n\n{"id": 2, "prediction": {"b": 1}}\n', "line 3"),
            ("p.json", '[{"id": 1, "prediction": "a"}, {"id": 2, "prediction": {"b": 1}}]', "[1]"),
            ("p.json", '{"1": "a", "2": {"b": 1}}', "key '2'"),
        ],
    )
    def test_a_row_has_the_name_that_a_check_gives_it(self, name: str, text: str, place: str, tmp_path: Path) -> None:
        path, references = tmp_path / name, tmp_path / "r.csv"
        path.write_text(text)
        references.write_text("id,answers\n1,a\n2,b\n")
        assert [problem.place for problem in check_submission(path).problems if problem.code == "answer-object"] == [
            place
        ]
        with pytest.raises(ValueError, match=re.escape(f"{name}, {place} (question_id '2'): the prediction is a dict")):
            score_submission(path, references)

    def test_alternatives_without_effect_are_named(self, tmp_path: Path) -> None:
        for side, document in (("p", {"a": {"$one_of": ["x"]}}), ("r", {"a": {"$oneof": ["x"]}, "b": "x"})):
            (tmp_path / side).mkdir()
            for id_, own in (("1", document), ("2", {"a": "x"})):
                (tmp_path / side / f"{id_}.json").write_text(json.dumps(own))
        found = score_submission(tmp_path / "p", tmp_path / "r", protocol="anls_star")
        assert found.score == 0.5
        assert found.notes[0].startswith("1 of 2 predictions has the key '$one_of' (question_id '1' at $.a['$one_of'])")
        (tmp_path / "p" / "1.json").write_text('{"a": "x"}')
        found = score_submission(tmp_path / "p", tmp_path / "r", protocol="anls_star")
        assert found.notes[0].startswith(
            "1 of 2 references has a key like '$one_of' (question_id '1' at $.a['$oneof'])"
        )

    def test_a_column_with_the_name_of_another(self, tmp_path: Path) -> None:
        sides = written(tmp_path, [{"id": 1, "prediction": "a"}], [{"id": 1, "answers": ["a"], "score": 7, "loss": []}])
        result = score_submission(*sides, by=["score", "loss"], per_question=tmp_path / "rows.jsonl")
        assert result.by == {"score": {"7": Group(1, 1.0)}, "loss": {}}
        [row] = rows(tmp_path / "rows.jsonl")
        assert (row["score"], row["by score"], row["by loss"]) == (1.0, "7", None)


class TestGroups:
    def test_a_question_can_be_in_several_or_none(self, tmp_path: Path) -> None:
        predictions = [{"id": own, "prediction": text, "model": "m"} for own, text in enumerate("abz")]
        references = [
            {"id": 0, "answers": ["a"], "kinds": ["table", "figure"]},
            {"id": 1, "answers": ["b"], "kinds": "table"},
            {"id": 2, "answers": ["c"], "kinds": None},
        ]
        result = score_submission(*written(tmp_path, predictions, references), by=["kinds", "model"])
        assert result.by == {
            "kinds": {"figure": Group(1, 1.0), "table": Group(2, 1.0)},
            "model": {"m": Group(3, 2 / 3)},
        }

    @pytest.mark.parametrize("kind", [pa.int32(), pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.bool_()])
    def test_columns_of_any_type(self, kind: pa.DataType, tmp_path: Path) -> None:
        values = pa.array([1, 0, None]).cast(pa.int32()) if kind == pa.int32() else pa.array(["1", "0", None])
        values = pa.array([True, False, None]) if kind == pa.bool_() else values.cast(kind)
        pq.write_table(pa.table({"id": [1, 2, 3], "pred": ["a", "b", "c"]}), tmp_path / "p.parquet")
        pq.write_table(
            pa.table({"id": [1, 2, 3], "answers": [["a"], ["b"], ["x"]], "own": values}), tmp_path / "r.parquet"
        )
        result = score_submission(*opened(tmp_path / "p.parquet", tmp_path / "r.parquet"), by=["own"])
        assert [group.score for group in result.by["own"].values()] == [1.0, 1.0]

    def test_a_column_that_neither_file_has(self, tmp_path: Path) -> None:
        sides = written(tmp_path, [{"id": 1, "prediction": "a"}], [{"id": 1, "answers": ["a"], "page": 7}])
        with pytest.raises(ValueError, match=r"the column 'pages'; expected one of id, answers, page, prediction"):
            score_submission(*sides, by=["pages"])


def permuted(folder: Path, size: int, waiting: int) -> SubmissionScore:
    """Questions in two orders, of which 1 in 7 lacks a prediction, read with little room to wait."""
    generator = np.random.default_rng(0)
    references = [{"id": own, "answers": [str(own), "none"]} for own in range(size)]
    predictions = [{"id": own, "prediction": str(own) + "x" * (own % 3)} for own in range(-9, size) if own % 7]
    generator.shuffle(predictions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "WAITING_ROWS", waiting)
        patch.setattr(Reader.batches, "__defaults__", (500,))
        return score_submission(*written(folder, predictions, references), missing="zero", unknown="ignore")


def test_the_score_does_not_depend_on_how_much_waits(tmp_path: Path) -> None:
    few, many = permuted(tmp_path, 4000, 100), permuted(tmp_path, 4000, 10**6)
    assert few == many
    assert (few.n, few.missing, few.unknown) == (4000, 572, 8)
    assert len(few.notes) == 2


class TestRepeats:
    def test_with_the_same_content_are_left_out(self, tmp_path: Path) -> None:
        predictions = [{"id": own, "prediction": text} for own, text in ((1, "a"), (2, "x"), (1, "a"))]
        references = [{"id": 1, "answers": ["a"]}, {"id": 2, "answers": ["b"]}]
        path = tmp_path / "rows.jsonl"
        result = score_submission(*written(tmp_path, predictions, references), per_question=path)
        assert (result.score, result.n) == (0.5, 2)
        assert "1 repeated row in the predictions" in result.notes[0]
        assert len(rows(path)) == 2

    def test_with_other_content_are_refused(self, tmp_path: Path) -> None:
        predictions = [{"id": own, "prediction": text} for own, text in ((1, "a"), (2, "x"), (1, "b"))]
        references = [{"id": 1, "answers": ["a"]}, {"id": 2, "answers": ["b"]}]
        with pytest.raises(ValueError, match="duplicate question_id '1' in predictions with different content"):
            score_submission(*written(tmp_path, predictions, references))


class TestTrees:
    def test_real_documents(self, tmp_path: Path) -> None:
        path = DATA / "documents" / "invoices.jsonl"
        result = score_submission(
            *opened(path, path, prediction="pred", answers="gold"),
            protocol="anls_star",
            per_question=tmp_path / "rows.jsonl",
        )
        documents = rows(path)
        mean = math.fsum(row["anls_star"] for row in documents) / len(documents)  # by anls_star, to six digits
        assert result.to_dict()["anls_star_score"] == pytest.approx(mean, abs=1e-6)
        metric = ANLS("anls_star")
        expected = metric.compute(
            predictions=[{"question_id": row["id"], "prediction_text": row["pred"]} for row in documents],
            references=[{"question_id": row["id"], "answers": row["gold"]} for row in documents],
            detailed=True,
        )
        assert expected is not None
        assert result.key_scores == expected["key_scores"]
        written_rows = rows(tmp_path / "rows.jsonl")
        assert [row["score"] for row in written_rows] == expected["scores"]
        assert [json.loads(row["closest_reference"]) for row in written_rows] == expected["closest_references"]

    def test_a_list_of_answers_is_alternatives(self, tmp_path: Path) -> None:
        sides = written(
            tmp_path, [{"id": 1, "prediction": {"a": "x"}}], [{"id": 1, "answers": [{"a": "y"}, {"a": "x"}]}]
        )
        assert score_submission(*sides, protocol="anls_star").score == 1.0


class TestLeaderboards:
    @pytest.mark.parametrize(("submission", "score"), [("perfect", 1.0), ("imperfect", 0.7659461750370841)])
    def test_dude(self, submission: str, score: float) -> None:
        """The scores of DUDEeval's evaluate_submission.py."""
        folder = EXAMPLES / "dude"
        sides = opened(folder / f"DUDE_demo_submission_{submission}.json", folder / "DUDE_demo_gt.json")
        result = score_submission(*sides, protocol="dude", by=["answer_type"])
        assert result.score == pytest.approx(score, abs=1e-15)
        assert result.n == sum(group.n for group in result.by["answer_type"].values())

    def test_figures(self, tmp_path: Path) -> None:
        samples = rows(DATA / "mmlongbench" / "samples.jsonl")
        predictions = [{"id": row, "prediction": own["answer"]} for row, own in enumerate(samples)]
        references = [
            {"id": row, "answer": own["answer"], "answer_type": own["answer_format"]} for row, own in enumerate(samples)
        ]
        result = score_submission(*written(tmp_path, predictions, references), protocol="mmlongbench")
        assert result.score == 1069 / 1071
        assert result.to_dict().keys() >= {"anls_score", "accuracy", "f1", "n", "missing", "signature", "by"}

    def test_without_answer_types(self, tmp_path: Path) -> None:
        sides = written(tmp_path, [{"id": 1, "prediction": "a"}], [{"id": 1, "answers": ["a"]}])
        with pytest.raises(ValueError, match=r'name its column, pass columns=\{"answer_type": "NAME"\}'):
            score_submission(*sides, protocol="dude")

    @pytest.mark.parametrize("name", LEADERBOARDS)
    def test_a_missing_prediction_scores_0(self, name: str, tmp_path: Path) -> None:
        kind = next(iter(reversed(LEADERBOARDS[name].answer_types)), None)
        references = [{"id": own, "answer": "['Not answerable']", "answer_type": kind} for own in (1, 2)]
        sides = written(tmp_path, [{"id": 1, "prediction": "['Not answerable']"}], references)
        result = score_submission(*sides, protocol=name, missing="zero", per_question=tmp_path / "rows.jsonl")
        assert rows(tmp_path / "rows.jsonl")[1]["score"] == 0.0
        assert result.missing == 1

    def test_a_threshold(self, tmp_path: Path) -> None:
        sides = written(tmp_path, [{"id": 1, "prediction": "a"}], [{"id": 1, "answers": ["a"]}])
        with pytest.raises(ValueError, match="'icdar2026' has its own"):
            score_submission(*sides, protocol="icdar2026", threshold=0.8)


def test_notes_are_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader.batches, "__defaults__", (2,))
    predictions = [{"id": own, "prediction": "zz   " if own % 2 else None} for own in range(20)]
    references = [{"id": own, "answers": ["zy"]} for own in range(20)]
    result = score_submission(*written(tmp_path, predictions, references), protocol="rrc")
    first, second = result.notes
    assert first.startswith("10 of 20 predictions are None or NaN (question_id '0', '2', '4', '6', '8', ...)")
    assert "raised the score of 10 of 20 questions: the mean is 0.400000 with it and 0.250000 without" in second
    assert result.unanswered == 10


def test_read_questions(tmp_path: Path) -> None:
    predictions = [{"id": own, "prediction": str(own)} for own in (3, 1, 9)]
    references = [{"id": own, "answers": [str(own)]} for own in (1, 2, 3)]
    questions = read_questions(*written(tmp_path, predictions, references))
    assert questions.question_ids == ["1", "2", "3"]
    assert questions.predictions.to_pylist() == ["1", None, "3"]
    assert questions.answers.to_pylist() == [["1"], ["2"], ["3"]]
    assert len(questions.notes) == 2


def test_lone_surrogates(tmp_path: Path) -> None:
    sides = written(tmp_path, [{"id": 1, "prediction": "a\ud800b"}], [{"id": 1, "answers": ["a\ud800b"]}])
    assert score_submission(*sides, per_question=tmp_path / "rows.csv").score == 1.0


def test_lone_surrogates_in_rows(tmp_path: Path) -> None:
    sides = written(tmp_path, [{"id": "\ud800", "prediction": "\udfff"}], [{"id": "\ud800", "answers": ["\udfff"]}])
    score_submission(*sides, per_question=tmp_path / "rows.parquet")
    [row] = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert (row["question_id"], row["prediction"], row["score"]) == ("\\ud800", "\\udfff", 1.0)


def test_lone_surrogates_in_groups(tmp_path: Path) -> None:
    predictions = [{"id": 1, "prediction": "a"}, {"id": 2, "prediction": "x"}]
    references = [{"id": 1, "answers": ["a"], "kind": "\ud800"}, {"id": 2, "answers": ["a"], "kind": ["\udfff", "k"]}]
    found = score_submission(*written(tmp_path, predictions, references), by=["kind"])
    assert found.by == {"kind": {"\\ud800": Group(1, 1.0), "\\udfff": Group(1, 0.0), "k": Group(1, 0.0)}}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.string_view(), "a", "a"),
        (pa.duration("s"), datetime.timedelta(seconds=7), "7"),
        (pa.binary(), b"\xff", "b'\\xff'"),
        (pa.decimal128(5, 2), Decimal("1.50"), "1.50"),
        (pa.date32(), datetime.date(2024, 1, 2), "2024-01-02"),
    ],
)
def test_groups_of_arrow_types(tmp_path: Path, kind: pa.DataType, value: Any, text: str) -> None:
    column = pa.array([value, None], kind)
    path = tmp_path / "both.arrow"
    table = pa.table({"id": [1, 2], "prediction": ["a", "b"], "answers": ["a", "a"], "kind": column})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert score_submission(*opened(path, path), by=["kind"]).by == {"kind": {text: Group(1, 1.0)}}


@pytest.mark.parametrize("option", [{"missing": "skip"}, {"unknown": "zero"}, {"threshold": "2"}, {"threshold": "x"}])
def test_options(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        score_submission(*opened(FOLDER / "pred_qwen2_vl_7b.json", GOLD), **option)


def test_paths(tmp_path: Path) -> None:
    """What `open_predictions` and `open_references` take is opened."""
    (tmp_path / "a.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
    (tmp_path / "gold.csv").write_text("id,answers\n1,Lima\n2,Rome\n")
    sides = tmp_path / "a.csv", tmp_path / "gold.csv"
    assert score_submission(*sides) == score_submission(*opened(*sides))
    assert score_systems([str(sides[0])], str(sides[1])).scores["a"].tolist() == [1.0, 0.75]


def test_by_is_a_list() -> None:
    with pytest.raises(ValueError, match=r'^by is a str; expected a list of column names: by=\["docId"\]\.$'):
        score_submission(*opened(FOLDER / "pred_qwen2_vl_7b.json", GOLD), by="docId")


def test_one_document_is_no_table(tmp_path: Path) -> None:
    for side in ("pred", "gold"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.json").write_text('{"total": "17.99", "lines": [1, 2]}')
        (tmp_path / f"{side}.json").write_text('{"a": {"total": "17.99"}}')
    gold = tmp_path / "gold" / "a.json"
    found = score_submission(tmp_path / "pred" / "a.json", gold, protocol="anls_star")
    assert found.notes[0].startswith(f"{gold} was read as a table of 2 rows, one per key. To score it as one document")
    for sides in (("pred", "gold"), ("pred.json", "gold.json")):
        found = score_submission(*(tmp_path / side for side in sides), protocol="anls_star")
        assert (found.n, [note for note in found.notes if "table" in note]) == (1, [])
    with pytest.raises(ValueError, match=r"has columns to group by$"):
        score_submission(tmp_path / "pred", tmp_path / "gold", protocol="anls_star", by=["country"])


@pytest.mark.parametrize(
    ("path", "name"),
    [("runs/model-7b.jsonl.gz", "model-7b"), ("runs/model-7b/part-*.jsonl", "model-7b"), ("*.csv", "*.csv")],
)
def test_system_name(path: str, name: str) -> None:
    assert system_name(path) == name


def test_kept_columns(tmp_path: Path) -> None:
    (tmp_path / "predictions.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
    (tmp_path / "references.csv").write_text("id,answer,page\n2,Rome,7\n1,Lima,8\n")
    sides = open_predictions(tmp_path / "predictions.csv"), open_references(tmp_path / "references.csv")
    found = score_questions(*sides, columns=["page"])
    assert dict(zip(found.question_ids, found.scores.tolist(), strict=True)) == {"1": 1.0, "2": 0.75}
    assert dict(zip(found.question_ids, found.columns["page"], strict=True)) == {"1": ["8"], "2": ["7"]}


class TestIntervalsOfGroups:
    """Intervals of groups, and of the mean over them."""

    def written(self, folder: Path, rows: list[dict[str, Any]]) -> Path:
        path = folder / "both.json"
        path.write_text(json.dumps([{"id": str(row), "answers": ["yes"], **own} for row, own in enumerate(rows)]))
        return path

    def test_in_a_stream_and_in_memory(self, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [
            {
                "prediction": "yes" if row % 3 else "no!",
                "kind": ["a", "b"] if row % 7 == 0 else "ab"[row % 2],
                "document": row,
            }
            for row in range(120)
        ]
        path = self.written(tmp_path, rows)
        alone = score_submission(path, path, by=["kind"])
        documents = score_submission(path, path, by=["kind"], cluster_by="document")
        assert alone.by == documents.by
        assert alone.macro == documents.macro
        macro = alone.macro["kind"]
        assert macro.score == pytest.approx(sum(own.score for own in alone.by["kind"].values()) / 2)
        for ours, theirs in (
            (macro, documents.macro["kind"]),
            *zip(alone.by["kind"].values(), documents.by["kind"].values(), strict=True),
        ):
            assert ours.interval is not None
            assert theirs.interval is not None
            assert ours.interval.low == pytest.approx(theirs.interval.low, abs=0.02)
        assert alone.to_dict()["macro"] == {"kind": macro.to_dict()}

    def test_one_document_has_none(self, tmp_path: Path) -> None:
        rows = [{"prediction": "yes", "kind": "ab"[row > 3], "document": "x" if row < 4 else row} for row in range(20)]
        path = self.written(tmp_path, rows)
        found = score_submission(path, path, by=["kind"], cluster_by="document")
        assert found.by["kind"]["a"].to_dict() == {"n": 4, "score": 1.0, "interval": None}
        assert found.by["kind"]["b"].interval is not None
        assert found.macro["kind"].interval is None

    def test_very_many_groups_have_none(self, tmp_path: Path) -> None:
        path = self.written(tmp_path, [{"prediction": "yes", "kind": str(row)} for row in range(MAX_INTERVALS + 1)])
        found = score_submission(path, path, by=["kind"])
        assert {own.interval for own in found.by["kind"].values()} == {None}
