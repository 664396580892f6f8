"""Several files are parts of one submission: the score of one file, to the bit."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from docvqa_runs import FOLDER
from places import DATA

from anls_eval.files import open_predictions, open_references
from anls_eval.files.joined import WITHOUT_END
from anls_eval.submission.passes import FileSide, Options, Pass, sides_of
from anls_eval.submission.score import SubmissionScore, score_questions, score_submission


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows_of(name: str) -> list[dict[str, Any]]:
    content = json.loads((FOLDER / name).read_text())
    return list(content["data"] if isinstance(content, dict) else content)


def in_parts(folder: Path, rows: list[dict[str, Any]], cuts: list[int]) -> Path:
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        lines(folder / f"part-{number}.jsonl", rows[start:end])
    return folder


def scored(predictions: Path, references: Path, **options: Any) -> SubmissionScore:
    return score_submission(open_predictions(predictions), open_references(references), **options)


def with_dask(predictions: Path, references: Path) -> object:
    from anls_eval.cluster.run import score_dataset

    return score_dataset(predictions, references, workers=1)


@pytest.mark.parametrize("cuts", [[], [1], [300, 301, 900], list(range(20, 1000, 20))])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_same_score(cuts: list[int], reverse: bool, tmp_path: Path) -> None:
    expected = scored(FOLDER / "pred_qwen2_vl_7b.json", FOLDER / "references.json")
    predictions, references = rows_of("pred_qwen2_vl_7b.json"), rows_of("references.json")
    if reverse:
        predictions.reverse()
    found = scored(in_parts(tmp_path / "p", predictions, cuts), in_parts(tmp_path / "r", references, cuts[:2]))
    assert found == expected


def test_trees_and_questions(tmp_path: Path) -> None:
    source = DATA / "documents" / "invoices.jsonl"
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    folder = in_parts(tmp_path / "d", rows, [1, 3])
    whole, parts = (
        score_questions(
            open_predictions(path, columns={"prediction": "pred"}),
            open_references(path, columns={"answers": "gold"}),
            protocol="anls_star",
        )
        for path in (source, folder)
    )
    assert parts.submission == whole.submission
    assert (parts.question_ids, parts.predictions, parts.scores.tolist()) == (
        whole.question_ids,
        whole.predictions,
        whole.scores.tolist(),
    )


class TestIds:
    ROWS: ClassVar = [{"id": number, "prediction": "a", "answers": ["a"]} for number in range(4)]

    def test_repeated_with_the_same_content(self, tmp_path: Path) -> None:
        lines(tmp_path / "p" / "1.jsonl", self.ROWS[:3])
        lines(tmp_path / "p" / "2.jsonl", self.ROWS[2:])
        lines(tmp_path / "r.jsonl", self.ROWS)
        found = scored(tmp_path / "p", tmp_path / "r.jsonl")
        assert (found.n, found.score) == (4, 1.0)
        assert found.notes[:1] == ("1 repeated row in the predictions (same question_id, same content): left out",)

    def test_repeated_with_other_content(self, tmp_path: Path) -> None:
        lines(tmp_path / "p" / "1.jsonl", self.ROWS[:3])
        lines(tmp_path / "p" / "2.jsonl", [self.ROWS[3], {**self.ROWS[2], "prediction": "b"}])
        lines(tmp_path / "r.jsonl", self.ROWS)
        with pytest.raises(ValueError, match=r"duplicate question_id '2' in predictions") as caught:
            scored(tmp_path / "p", tmp_path / "r.jsonl")
        assert f"'a' in {tmp_path}/p/1.jsonl and 'b' in {tmp_path}/p/2.jsonl" in str(caught.value)
        lines(tmp_path / "p" / "1.jsonl", [*self.ROWS[:3], {**self.ROWS[2], "prediction": "b"}])
        with pytest.raises(ValueError, match=r"content: 'a' and 'b'; expected"):  # one file is not named
            scored(tmp_path / "p" / "1.jsonl", tmp_path / "r.jsonl")

    def test_missing_in_one_part(self, tmp_path: Path) -> None:
        lines(tmp_path / "p" / "1.jsonl", self.ROWS[:1])
        lines(tmp_path / "p" / "2.jsonl", self.ROWS[2:])
        lines(tmp_path / "r" / "1.jsonl", self.ROWS[:2])
        lines(tmp_path / "r" / "2.jsonl", self.ROWS[2:])
        with pytest.raises(ValueError, match="1 question has no prediction: question_id '1'"):
            scored(tmp_path / "p", tmp_path / "r")
        found = scored(tmp_path / "p", tmp_path / "r", missing="zero")
        assert (found.n, found.missing, found.score) == (4, 1, 0.75)

    def test_without_ids_in_one_part(self, tmp_path: Path) -> None:
        lines(tmp_path / "p" / "1.jsonl", self.ROWS[:3])
        lines(tmp_path / "p" / "2.jsonl", [{"prediction": "a"}])
        with pytest.raises(ValueError, match=r"2.jsonl: no column for question_id, which is 'id' in .*1.jsonl"):
            open_predictions(tmp_path / "p")

    def test_parts_without_rows(self, tmp_path: Path) -> None:
        whole = in_parts(tmp_path / "d", self.ROWS, [1])
        expected = scored(whole, whole)
        for name in ("part-00.jsonl", "part-9.jsonl"):
            (whole / name).touch()
        found = scored(whole, whole)
        notes = tuple(
            f"{whole}/{name} is empty: read as a part without rows" for name in ("part-00.jsonl", "part-9.jsonl")
        )
        assert found == dataclasses.replace(expected, notes=(*notes, *expected.notes))

    @pytest.mark.parametrize("score", [scored, with_dask], ids=["one process", "dask"])
    def test_a_part_that_became_empty(self, score: Callable[[Path, Path], object], tmp_path: Path) -> None:
        """The error names it: the program that wrote it may have ended too early."""
        predictions, references = (in_parts(tmp_path / name, self.ROWS, [1, 2]) for name in "pr")
        for number in (1, *range(3, 9)):
            (predictions / f"part-{number}.jsonl").write_text("")
        first, last = (f"{predictions}/part-{number}.jsonl is empty: read as a part without rows" for number in (1, 6))
        words = (
            rf"1 question .*\. Expected the same ids on both sides\. {first}\. .* {last}\. "
            r"2 more are empty or incomplete\. To count"
        )
        with pytest.raises(ValueError, match=words):
            score(predictions, references)

    @pytest.mark.parametrize("score", [scored, with_dask], ids=["one process", "dask"])
    def test_a_part_whose_writer_died(self, score: Callable[[Path, Path], object], tmp_path: Path) -> None:
        predictions, references = (in_parts(tmp_path / name, self.ROWS, [1, 2]) for name in "pr")
        path = predictions / "part-2.jsonl"  # whose format its content tells
        table = pa.table({"id": ["1"], "prediction": ["a"]})
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(0, 0))
        os.truncate(path, path.stat().st_size - 8)
        told = rf"questions? .*\. Expected the same ids on both sides\. predictions: {path} {WITHOUT_END}\. To count"
        with pytest.raises(ValueError, match=told):
            score(predictions, references)

    @pytest.mark.parametrize(
        ("name", "way"), [("{}.0", "differ in a final .0"), (" {}", "differ in whitespace"), ("{}", None)]
    )
    @pytest.mark.parametrize("score", [scored, with_dask], ids=["one process", "dask"])
    def test_ids_that_are_written_otherwise(
        self, score: Callable[[Path, Path], object], name: str, way: str | None, tmp_path: Path
    ) -> None:
        """The first of the files are compared and named, with workers too, which match ids in no order."""
        for number in range(4):
            ids = [f"{number}{row}" for row in range(1, 10)]
            lines(tmp_path / "r" / f"{number}.jsonl", [{"id": id_, "answers": ["a"]} for id_ in ids])
            given = [name.format(id_ if way else f"x{id_[::-1]}") for id_ in ids]
            lines(tmp_path / "p" / f"{number}.jsonl", [{"id": id_, "prediction": "a"} for id_ in given])
        of_predictions = name.format("01" if way else "x10")
        words = rf"question_ids '01', .* question_ids '{of_predictions}', .*There is no id in common: "
        words += f"they {way}" if way else "are they from different splits"
        with pytest.raises(ValueError, match=words):
            score(tmp_path / "p", tmp_path / "r")

    def test_a_part_that_is_lost(self, tmp_path: Path) -> None:
        predictions, references = in_parts(tmp_path / "p", self.ROWS, [1, 2]), in_parts(tmp_path / "r", self.ROWS, [1])
        reader = open_predictions(predictions)
        (predictions / "part-1.jsonl").unlink()
        with pytest.raises(ValueError, match=r"p/part-1.jsonl: removed while it was read"):
            score_submission(reader, open_references(references))
        with pytest.raises(ValueError, match=r"^1 question has no prediction"):
            scored(predictions, references)

    def test_a_group_column_in_one_part_only(self, tmp_path: Path) -> None:
        lines(tmp_path / "p" / "1.jsonl", self.ROWS)
        lines(tmp_path / "r" / "1.jsonl", [{**row, "page": 1} for row in self.ROWS[:2]])
        lines(tmp_path / "r" / "2.jsonl", self.ROWS[2:])
        with pytest.raises(ValueError, match=r"r/2.jsonl: no column 'page', which .*1.jsonl has"):
            scored(tmp_path / "p", tmp_path / "r", by=["page"])
        with pytest.raises(ValueError, match=rf"neither {tmp_path}/r nor {tmp_path}/p/1.jsonl has the column 'x'"):
            scored(tmp_path / "p", tmp_path / "r", by=["x"])


class TestWithoutIds:
    def sides(self, folder: Path, predictions: dict[int, list[str]], references: dict[int, list[str]]) -> list[Path]:
        for number, texts in predictions.items():
            lines(folder / "p" / f"part-{number}.jsonl", [{"prediction": text} for text in texts])
        for number, texts in references.items():
            lines(folder / "r" / f"part-{number}.jsonl", [{"answers": [text]} for text in texts])
        return [folder / "p", folder / "r"]

    def test_files_pair_by_the_natural_order_of_their_names(self, tmp_path: Path) -> None:
        texts = {2: ["a", "b"], 10: ["c"]}
        assert scored(*self.sides(tmp_path, texts, texts)).score == 1.0

    @pytest.mark.parametrize("references", [{1: ["a"], 2: ["b", "c"]}, {1: ["a", "b"], 2: ["c", "d"]}])
    def test_other_numbers_of_rows(self, references: dict[int, list[str]], tmp_path: Path) -> None:
        sides = self.sides(tmp_path, {1: ["a", "b"], 2: ["c"]}, references)
        with pytest.raises(ValueError, match="no question_ids; expected the same number of rows in both") as caught:
            scored(*sides)
        at = 1 if len(references[1]) == 1 else 2
        ours, theirs = {1: ("2 rows", "1 row"), 2: ("1 row", "2 rows")}[at]
        assert f"p/part-{at}.jsonl has {ours}" in str(caught.value)
        assert f"r/part-{at}.jsonl has {theirs}" in str(caught.value)

    @pytest.mark.parametrize("of_references", [{0: ["a"], 1: ["b"]}, {1: ["a"], 3: ["b"]}])
    def test_other_numbers_in_their_names(self, of_references: dict[int, list[str]], tmp_path: Path) -> None:
        sides = self.sides(tmp_path, {1: ["a"], 2: ["b"]}, of_references)
        with pytest.raises(
            ValueError, match=r"p/part-\d.jsonl would be paired with .*r/part-\d.jsonl: without question"
        ):
            scored(*sides)

    def test_parts_without_rows(self, tmp_path: Path) -> None:
        texts = {1: [], 2: ["a", "b"], 3: [], 4: ["c"]}
        found = scored(*self.sides(tmp_path, texts, texts))
        assert (found.n, found.score) == (3, 1.0)
        lines(tmp_path / "p" / "part-3.jsonl", [{"prediction": "a"}])
        with pytest.raises(
            ValueError, match=r"p/part-3.jsonl has 1 row but .*r/part-3.jsonl has 0 rows, and there are"
        ):
            scored(tmp_path / "p", tmp_path / "r")

    def test_other_numbers_of_files(self, tmp_path: Path) -> None:
        sides = self.sides(tmp_path, {1: ["a"], 2: ["b"]}, {1: ["a", "b"]})
        with pytest.raises(ValueError, match="There are 2 prediction files but 1 reference file, and no question_ids"):
            scored(*sides)


def test_files_in_the_same_order_are_read_side_by_side(tmp_path: Path) -> None:
    """Memory stays bounded: no file is read before its questions can be scored."""
    rows = [{"id": number, "prediction": "a", "answers": ["a"]} for number in range(300)]
    folder = in_parts(tmp_path / "d", rows, list(range(10, 300, 10)))
    options = Options()
    readers = open_predictions(folder), open_references(folder)
    sides = sides_of(readers, options)
    run = Pass(sides, options, whole=False)
    scored = 0
    for questions in run.questions():
        for side in sides:
            assert isinstance(side, FileSide)
            assert sum(side.rows) <= scored + 10
        scored += questions.num_rows
    assert scored == 300
