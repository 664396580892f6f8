"""Files that hold one document each."""

import gzip
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from contents import contents

from anls_eval.files import FormatError, many, open_predictions, open_references
from anls_eval.files.documents import are_documents, document_id
from anls_eval.files.errors import ChangedFileError
from anls_eval.submission.score import score_submission


class TestDocuments:
    DOCUMENTS: ClassVar = {
        "b.x": {"total": "1", "lines": [{"name": "a"}]},
        "a": {"total": "2"},
        "c": {},
    }

    def write(self, folder: Path, suffix: str = ".json") -> Path:
        folder.mkdir()
        for name, document in self.DOCUMENTS.items():
            (folder / f"{name}{suffix}").write_text(json.dumps(document))
        return folder

    def test_a_folder(self, tmp_path: Path) -> None:
        for opener in (open_predictions, open_references):
            reader = opener(tmp_path / "d") if (tmp_path / "d").exists() else opener(self.write(tmp_path / "d"))
            assert contents(reader) == [(name, self.DOCUMENTS[name]) for name in ("a", "b.x", "c")]
            assert (reader.rows, len(reader.parts)) == (3, 1)

    def test_compressed(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "d")
        (folder / "z.json.gz").write_bytes(gzip.compress(b'{"total": "3"}'))
        assert contents(open_predictions(folder))[-1] == ("z", {"total": "3"})

    @pytest.mark.parametrize(
        "change", [Path.unlink, lambda path: path.write_text("{}"), lambda path: path.write_text("")]
    )
    @pytest.mark.parametrize("when", ["before", "while", "between"])
    def test_of_which_one_changes(self, when: str, change: Callable[[Path], None], tmp_path: Path) -> None:
        folder = self.write(tmp_path / "d")
        reader = open_predictions(folder)
        if when == "between":
            contents(reader)
        batches = reader.batches(1)
        if when == "while":
            next(batches)
        change(folder / "c.json")
        what = "changed" if (folder / "c.json").exists() else "removed"
        with pytest.raises(ChangedFileError, match=rf"^{folder}/c\.json: {what} while it was read\."):
            list(batches)

    @pytest.mark.parametrize("is_list", [False, True])
    def test_of_which_one_is_not_there(self, is_list: bool, tmp_path: Path) -> None:
        """A list can name it; in a folder, it was there when its files were listed."""
        folder = self.write(tmp_path / "d")
        paths = sorted(folder.iterdir())
        lost = folder / "c.json"

        def look(*given: Any, **words: Any) -> bool:
            found = are_documents(*given, **words)
            lost.unlink(missing_ok=True)
            return found

        if is_list:
            lost.unlink()
        told = rf"^{lost}: {'cannot be opened: No such file .* Check the path' if is_list else 'removed while it was'}"
        with pytest.MonkeyPatch.context() as patch, pytest.raises(FormatError, match=told):  # noqa: PT012
            patch.setattr(many, "are_documents", look)
            contents(open_predictions(paths if is_list else folder))

    @pytest.mark.parametrize("ending", [".zip", ".json.zip"])
    def test_in_zip_files(self, ending: str, tmp_path: Path) -> None:
        (tmp_path / "d").mkdir()
        for name, document in self.DOCUMENTS.items():
            with zipfile.ZipFile(tmp_path / "d" / f"{name}{ending}", "w") as archive:
                archive.writestr(f"{name}.json", json.dumps(document))
        read = contents(open_predictions(tmp_path / "d"))
        assert read == [(name, self.DOCUMENTS[name]) for name in ("a", "b.x", "c")]
        os.truncate(tmp_path / "d" / f"c{ending}", 20)
        with pytest.raises(FormatError, match=rf"^{tmp_path}/d/c{ending}: not a readable zip file .* truncated"):
            contents(open_predictions(tmp_path / "d"))

    def test_tables_in_zip_files_are_no_documents(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
                archive.writestr(f"{name}.jsonl", f'{{"id": "{name}", "prediction": "x"}}\n')
        assert contents(open_predictions(tmp_path)) == [("a", "x"), ("b", "x")]

    def test_ids(self) -> None:
        assert [document_id(name) for name in ("x/a.json", "a.b.json.gz", "a.JSON", "a.json.zst")] == [
            "a", "a.b", "a", "a",
        ]  # fmt: skip

    def test_with_ids_of_their_own_inside(self, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / f"{name}.json").write_text(json.dumps({"id": 7, "items": [{"id": 1, "sum": name}]}))
        assert [id_ for id_, _ in contents(open_predictions(tmp_path))] == ["a", "b"]

    @staticmethod
    def invoices(folder: Path, field: str, totals: str, *others: str) -> Path:
        folder.mkdir()
        for name, total in zip("abcd", totals, strict=True):
            row = {"id": f"no {name}", field: f"PO {name}", "total": total, **dict.fromkeys(others, "x")}
            (folder / f"{name}.json").write_text(json.dumps(row))
        return folder

    @pytest.mark.parametrize("field", ["reference", "answer", "Label", "output"])
    def test_fields_that_are_named_as_columns_are(self, field: str, tmp_path: Path) -> None:
        """Whether they are rows of one value or documents cannot be told, which matters where documents are scored."""
        sides = self.invoices(tmp_path / "p", field, "1234"), self.invoices(tmp_path / "r", field, "1235")
        roles = {"prediction": ("answer", "output"), "answers": ("reference", "answer", "Label")}
        either = [role for role, names in roles.items() if field in names]

        def score(**columns: str) -> float:
            readers = open_predictions(sides[0], columns=columns), open_references(sides[1], columns=columns)
            return score_submission(*readers, protocol="anls_star").score

        whole = dict.fromkeys(either, "*")
        for number, role in enumerate(either):
            given = dict.fromkeys(either[:number], "*")
            what = f"a JSON object with the field '{field}', which may be a row of this value or a whole document"
            words = rf"^{tmp_path}/[pr].*: {what}\. To compare the document, .*{role}.*\. To compare this value alone, "
            with pytest.raises(FormatError, match=words):
                score(**given)
        assert score(**whole) == (3 + 2 / 3) / 4
        assert score(prediction="*", answers="*", question_id="id") == (3 + 1 / 2) / 4
        assert score(prediction=field, answers=field) == 1.0
        for side in sides:  # an object without the field is a document, and so are the others then
            (side / "z.json").write_text(json.dumps({"id": "z", "total": "1"}))
        assert score() == (4 + 2 / 3) / 5

    def test_fields_that_are_named_as_columns_are_with_dask(self, tmp_path: Path) -> None:
        from anls_eval.cluster.run import score_dataset

        sides = self.invoices(tmp_path / "p", "reference", "1234"), self.invoices(tmp_path / "r", "reference", "1235")
        with pytest.raises(FormatError, match=r"a JSON object with the field 'reference'.* pass columns=.*\*"):
            score_dataset(*sides, protocol="anls_star", workers=1)
        found = score_dataset(*sides, protocol="anls_star", columns={"answers": "*"}, workers=1)
        assert found.submission.score == (3 + 2 / 3) / 4

    @pytest.mark.parametrize(
        ("protocol", "field", "others"),
        [
            ("standard", "answer", []),
            ("anls_star", "answer", ["question"]),
            ("anls_star", "gold", ["pages"]),
        ],
    )
    def test_rows_in_files_of_their_own(self, protocol: str, field: str, others: list[str], tmp_path: Path) -> None:
        """What is read of them is certain where texts are compared, by their other columns, or by the name."""
        side = self.invoices(tmp_path / "d", field, "1234", *others)
        answers = open_references(side)
        assert contents(answers) == [(f"no {name}", f"PO {name}") for name in "abcd"]
        predictions = open_predictions(side, columns={"prediction": field})
        assert score_submission(predictions, answers, protocol=protocol).score == 1.0

    def test_parts_of_an_object_from_id_to_value_are_none(self, tmp_path: Path) -> None:
        (tmp_path / "1.json").write_text('{"q1": "Lima"}')
        (tmp_path / "2.json").write_text('{"q2": "Rome"}')
        assert contents(open_predictions(tmp_path)) == [("q1", "Lima"), ("q2", "Rome")]

    def test_tables_are_none(self, tmp_path: Path) -> None:
        for number in range(2):
            (tmp_path / f"{number}.json").write_text(json.dumps({"data": [{"id": number, "prediction": "a"}]}))
        assert contents(open_predictions(tmp_path)) == [("0", "a"), ("1", "a")]

    def test_one_that_cannot_be_read(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "d")
        pointer = "version https://git-lfs.github.com/spec/v1\n"
        for text, told in (
            ("{", "not JSON"),
            ("[]", "this file holds a list"),
            ("", "the file is empty"),
            (pointer, "a pointer of Git LFS"),
            (
                '{"total": "2"}\n{"total": "3"}\n',
                r"a second value after the first\. Write each document to a file of its own\.$",
            ),
        ):
            (folder / "aa.json").write_text(text)
            with pytest.raises(FormatError, match=rf"^.*/aa.json.*: .*{told}"):
                contents(open_predictions(folder))

    @pytest.mark.parametrize(
        ("name", "text", "what"),
        [
            ("aa.json", "[1, 2]", "holds a list"),
            ("z.json", ' [{"id": 1, "prediction": "a"}]', "holds a list"),
            ("README.txt", "What these files are\n", "is not a JSON file"),
            ("aa.json", "5", "holds an int"),
            ("z.json", '{"data": [{"id": 1, "answer": "a"}]}', "is a table with the columns id, answer"),
            ("0.json", '{"id": 1, "answer": "a"}', "is a table with the columns id, answer"),
        ],
    )
    def test_a_stray_file(self, name: str, text: str, what: str, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "d")
        stray = folder / name
        stray.write_text(text)
        expected = f"{stray}: this file {what}; expected one document, a JSON object, as in 3 others. Remove it"
        for opener in (open_predictions, open_references):
            with pytest.raises(FormatError) as caught:
                opener(folder)
            assert str(caught.value) == f"{expected} or start its name with _."
            with pytest.raises(FormatError) as caught:
                opener(list(folder.iterdir()))  # in which a name with _ would count
            assert str(caught.value) == f"{expected}."
        stray.rename(folder / f"_{name}")
        assert len(contents(open_predictions(folder))) == len(self.DOCUMENTS)

    @pytest.mark.parametrize("values", [["x", "y", "z"], ["x", "x", "x"]])
    def test_the_table_is_named_wherever_it_is_among_documents(self, values: list[str], tmp_path: Path) -> None:
        table = json.dumps({"predictions": [{"id": 1, "prediction": "a"}]})
        for place in range(4):
            folder = tmp_path / str(place)
            folder.mkdir()
            texts = [json.dumps({"a": value}) for value in values]
            texts.insert(place, table)
            for number, text in enumerate(texts):
                (folder / f"{number}.json").write_text(text)
            expected = rf"{place}.json: this file is a table with the columns id, prediction; .* as in 3 others\."
            with pytest.raises(FormatError, match=expected):
                open_predictions(folder)

    def test_the_table_is_named_among_documents_by_dask(self, tmp_path: Path) -> None:
        from anls_eval.cluster.run import score_dataset

        for number in range(4):
            text = json.dumps({"predictions": [{"id": 1, "prediction": "a"}]} if number == 1 else {"a": "x"})
            (tmp_path / f"{number}.json").write_text(text)
        with pytest.raises(FormatError, match=r"1.json: this file is a table .* as in 3 others\."):
            score_dataset(tmp_path, tmp_path, workers=1)

    def test_tables_and_parts_from_id_to_value_are_none(self, tmp_path: Path) -> None:
        table = {"data": [{"id": "q2", "prediction": "Rome"}]}
        for name, rows in (("1", {"q1": "Lima"}), ("2", table), ("3", {"q3": "Oslo"})):
            (tmp_path / f"{name}.json").write_text(json.dumps(rows))
        assert contents(open_predictions(tmp_path)) == [("q1", "Lima"), ("q2", "Rome"), ("q3", "Oslo")]

    def test_parts_in_several_formats_are_none(self, tmp_path: Path) -> None:
        (tmp_path / "1.json").write_text('{"q1": "Lima", "q2": "Rome"}')
        (tmp_path / "2.json").write_text('{"q2": "Rome"}')
        (tmp_path / "3.csv").write_text("id,prediction\nq3,Oslo\n")
        assert len(contents(open_predictions(tmp_path))) == 4

    def test_two_files_with_one_id(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "d")
        (folder / "a.json.gz").write_bytes(gzip.compress(b'{"total": "3"}'))
        with pytest.raises(FormatError) as caught:
            open_predictions(folder)
        assert str(caught.value) == (
            f"{folder / 'a.json.gz'}: its id 'a', the name without the ending, is also that of {folder / 'a.json'}, "
            "which has different content. Remove or rename one of them."
        )
        (folder / "a.json.gz").write_bytes(gzip.compress(b'{"total": "2"}'))
        assert len(contents(open_predictions(folder))) == 4  # a repeated row, which is dropped with a note
