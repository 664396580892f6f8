"""Several files that are one side of a submission."""

import gzip
import json
import os
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contents import contents
from ordinary_user import ordinary_user

from anls_eval.check.check import check_submission
from anls_eval.check.fix import fix_submission
from anls_eval.check.rows import open_rows
from anls_eval.errors import AnlsError
from anls_eval.files import FormatError, Reader, open_predictions
from anls_eval.files.errors import ChangedFileError
from anls_eval.files.paths import check_order, file_paths, natural_order
from anls_eval.files.watch import changes_told, file_state
from anls_eval.submission.score import score_submission
from anls_eval.submission.systems import score_systems


def csv(path: Path, *rows: tuple[str, ...], header: str = "id,prediction") -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three parts, of which the last comes before the second by its letters."""
    for number in (1, 2, 10):
        csv(tmp_path / "runs" / f"part-{number}.csv", (str(number), f"answer {number}"))
    return tmp_path / "runs"


EXPECTED = [("1", "answer 1"), ("2", "answer 2"), ("10", "answer 10")]


class TestWhichFiles:
    def test_a_folder_a_pattern_and_a_list_in_any_order(self, folder: Path) -> None:
        given: Any
        paths = [folder / f"part-{number}.csv" for number in (10, 2, 1)]
        for given in (folder, str(folder / "*.csv"), paths, [folder / "part-10.csv", f"{folder}/part-[12].csv"]):
            assert contents(open_predictions(given)) == EXPECTED

    @pytest.mark.parametrize("given", ["", [""]])
    def test_an_empty_path_is_not_the_current_folder(
        self, folder: Path, given: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(folder)
        with pytest.raises(ValueError, match="an empty path; expected a file"):
            open_predictions(given)

    def test_natural_order(self) -> None:
        names = ["b", "a10", "a9b2", "a9b10", "a", "a09", "a9", "10", "9"]
        assert sorted(names, key=natural_order) == ["9", "10", "a", "a09", "a9", "a9b2", "a9b10", "a10", "b"]

    def test_hidden_files_are_skipped(self, folder: Path) -> None:
        for name in (".hidden.csv", "_SUCCESS", "_part-3.csv"):
            (folder / name).write_text("not a table")
        for given in (folder, str(folder / "*")):
            assert contents(open_predictions(given)) == EXPECTED
        assert file_paths(str(folder / "_part*")) == [str(folder / "_part-3.csv")]

    def test_one_file_is_that_file(self, folder: Path) -> None:
        path = folder / "part-1.csv"
        alone = open_predictions(path)
        for given in ([path], f"{folder}/*-1.csv"):
            assert open_predictions(given).detected == alone.detected

    def test_a_name_that_looks_like_a_pattern(self, tmp_path: Path) -> None:
        path = csv(tmp_path / "runs[1].csv", ("1", "a"))
        assert contents(open_predictions(path)) == [("1", "a")]

    def test_no_files(self, tmp_path: Path) -> None:
        (tmp_path / "_hidden").touch()
        for given in (tmp_path, f"{tmp_path}/*.csv"):
            with pytest.raises(FormatError, match=r"no files\. Expected a folder with files or a pattern"):
                open_predictions(given)
        with pytest.raises(ValueError, match="empty list of files"):
            open_predictions([])

    def test_a_folder_among_the_files(self, folder: Path) -> None:
        (folder / "more").mkdir()
        for given in (folder, f"{folder}/*"):
            with pytest.raises(FormatError, match=r"^.*/more: a folder among the files of .*runs"):
                open_predictions(given)
        assert contents(open_predictions(f"{folder}/*.csv")) == EXPECTED

    def test_folders_in_folders(self, folder: Path) -> None:
        csv(folder / "more" / "part-3.csv", ("3", "answer 3"))
        with pytest.raises(FormatError, match=r"name the files by a pattern, such as '.*runs/\*\*/\*.csv'") as caught:
            open_predictions(folder)
        pattern = str(caught.value).split("'")[1]
        assert sorted(contents(open_predictions(pattern))) == sorted([*EXPECTED, ("3", "answer 3")])

    def test_a_file_given_twice(self, folder: Path) -> None:
        path = folder / "part-1.csv"
        for given in ([path, folder / "part-*.csv"], [str(path)] * 2):
            with pytest.raises(FormatError, match=r"part-1.csv: given twice\. Expected each file once\."):
                open_predictions(given)
        (folder / "link.csv").symlink_to(path)
        with pytest.raises(FormatError, match=rf"link.csv: the same file as {path}\. Expected each"):
            open_predictions(folder)

    @pytest.mark.parametrize("name", ["nothing.csv", "no\0where", "nothing/*.csv"])
    def test_a_file_that_is_not_there(self, name: str, folder: Path) -> None:
        with pytest.raises(FormatError):
            open_predictions([folder / "part-1.csv", name])


class TestOneSide:
    def test_formats_and_names_of_columns_may_differ(self, folder: Path) -> None:
        with gzip.open(folder / "part-3.json.gz", "wt") as stream:
            json.dump([{"questionId": 3, "answer": "answer 3"}], stream)
        (folder / "part-4.jsonl.zst").write_bytes(
            pa.compress(b'{"qid": 4, "pred": "answer 4"}\n', codec="zstd", asbytes=True)
        )
        pq.write_table(pa.table({"question_id": ["5"], "response": ["answer 5"]}), folder / "part-5.parquet")
        reader = open_predictions(folder)
        assert contents(reader) == contents(reader) == [(str(n), f"answer {n}") for n in (1, 2, 3, 4, 5, 10)]
        assert reader.detected.path == str(folder)
        assert reader.detected.format == "csv, rrc, jsonl, parquet"
        assert reader.detected.compression == "gzip, zstd"

    def test_rows_are_known_where_all_files_say_it(self, tmp_path: Path) -> None:
        for number in range(3):
            pq.write_table(pa.table({"id": ["5"], "prediction": ["a"]}), tmp_path / f"{number}.parquet")
        assert open_predictions(tmp_path).rows == 3
        csv(tmp_path / "x.csv", ("7", "a"))
        assert open_predictions(tmp_path).rows is None

    def test_the_same_roles_in_all(self, folder: Path) -> None:
        csv(folder / "part-3.csv", ("a",), header="prediction")
        with pytest.raises(FormatError, match=r"part-3.csv: no column for question_id, which is 'id' in .*part-1.csv"):
            open_predictions(folder)
        csv(folder / "part-0.csv", ("a",), header="prediction")
        with pytest.raises(FormatError, match=r"part-0.csv: no column for question_id, which is 'id' in .*part-1.csv"):
            open_predictions(folder)

    def test_columns_for_groups_in_all(self, folder: Path) -> None:
        csv(folder / "part-3.csv", ("3", "a", "x"), header="id,prediction,page")
        with pytest.raises(FormatError, match=r"part-1.csv: no column 'page', which .*part-3.csv has"):
            open_predictions(folder).also(["page"])
        with pytest.raises(FormatError, match=r"part-1.csv: no column 'page'"):
            open_predictions(folder, by=["page"])

    @pytest.mark.parametrize(
        ("name", "text"),
        [("part-3.json", "[{"), ("part-3.jsonl", '{"id": 1'), ("part-3.csv", "x,y\n1,2\n")],
    )
    def test_one_bad_file(self, name: str, text: str, folder: Path) -> None:
        (folder / name).write_text(text)
        with pytest.raises(FormatError, match=rf"^{folder}/{name}"):
            contents(open_predictions(folder))

    def test_one_file_cut_off_at_its_end(self, folder: Path) -> None:
        (folder / "part-3.csv").write_text('id,prediction\n1,a\n2,"b')
        with pytest.raises(FormatError, match=r"part-3.csv, line"):
            contents(open_predictions(folder))

    def test_one_file_that_may_not_be_read(self, folder: Path) -> None:
        (folder / "part-2.csv").chmod(0)
        with ordinary_user(), pytest.raises(FormatError, match=r"part-2.csv: cannot be opened"):
            open_predictions(folder)

    @pytest.mark.parametrize("mode", [0, 0o300, 0o600], ids=oct)
    @pytest.mark.parametrize(
        "given", ["a/**/*.jsonl", "a/*/*.jsonl", "*/*/x.jsonl", "a/b", "a/b/*.jsonl", "**/x.jsonl"]
    )
    def test_one_folder_that_may_not_be_read(
        self, given: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its files are not left out."""
        for name in ("b", "c"):
            path = tmp_path / "a" / name / "x.jsonl"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"id": name, "prediction": name}), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a" / "b").chmod(mode)
        try:
            with ordinary_user():
                if given == "*/*/x.jsonl" and mode & 0o100:  # of which no list is needed
                    assert contents(open_predictions(given)) == [("b", "b"), ("c", "c")]
                    return
                for asked in (Path(given), tmp_path / given):
                    told = r"a/b(/|/x.jsonl)?: (the folder cannot be read|cannot be opened): Permission denied"
                    with pytest.raises(FormatError, match=told):
                        open_predictions(asked)
        finally:
            (tmp_path / "a" / "b").chmod(0o700)


@pytest.mark.parametrize("given", ["a" * 10_000, ["a" * 10_000], "a" * 10_000 + "*", "a" * 300 + "/b:train"])
def test_a_path_that_is_too_long(given: str | list[str]) -> None:
    with pytest.raises(FormatError, match=r"cannot be opened: File name too long. Check the path|no files"):
        open_predictions(given)


class TestRowsOfParquet:
    @pytest.fixture
    def reader(self, tmp_path: Path) -> Reader:
        ids = [str(row) for row in range(10)]
        table = pa.table({"id": ids, "prediction": [f"answer {id_}" for id_ in ids]})
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
        return open_predictions(tmp_path / "a.parquet")

    def test_cuts(self, reader: Reader) -> None:
        assert reader.cuts == (4, 8, 10)

    @pytest.mark.parametrize(("start", "stop"), [(0, 10), (0, 4), (4, 8), (8, 10), (3, 9), (5, 6), (0, 1), (9, 10)])
    def test_within(self, start: int, stop: int, reader: Reader) -> None:
        part = reader.within(start, stop)
        batches = list(part.batches(3))
        assert [id_ for batch in batches for id_ in batch.question_ids.to_pylist()] == [
            str(row) for row in range(start, stop)
        ]
        assert (batches[0].first_row, part.rows) == (start, stop - start)

    def test_other_formats_have_none(self, folder: Path) -> None:
        reader = open_predictions(folder / "part-1.csv")
        assert reader.cuts == ()
        with pytest.raises(ValueError, match="rows of csv cannot be read by themselves"):
            reader.within(0, 1)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (5, "an int"),
        (b"x", "a bytes"),
        ({"id": "text"}, "a dict"),
        (np.array(["a.csv"]), "a ndarray"),
        (pa.table({"id": [1], "prediction": ["x"]}), "a Table"),
        ([{"id": 1, "prediction": "x"}], "a dict"),
    ],
)
def test_what_is_no_path(given: Any, kind: str, tmp_path: Path) -> None:
    words = f"^({kind}|a list) is not a path; expected a path.* Values in memory are scored by anls_scores"
    path = tmp_path / "rows.csv"
    path.write_text("id,prediction,answers\n1,Oslo,Oslo\n")
    for call in (
        lambda: open_predictions(given),
        lambda: score_submission(given, path),
        lambda: score_submission(path, given),
        lambda: check_submission(given),
        lambda: check_submission(path, given),
        lambda: fix_submission(given, tmp_path / "fixed.csv"),
        lambda: score_systems([path, given], path),
    ):
        with pytest.raises(AnlsError, match=words):
            call()
    with pytest.raises(AnlsError, match=r"^paths is a str; expected a list of them, with one for"):
        score_systems(str(path), path)
    assert list(score_systems(tmp_path.glob("*.csv"), path).scores) == ["rows"]


class TestPartsWithoutRows:
    """As Spark, Dask and datasets write them."""

    NO_ROWS: ClassVar = {
        "part-3.csv": b"id,prediction\n",
        "part-4.jsonl": b"",
        "part-5.json": b"[]",
        "part-8.jsonl": b"\xef\xbb\xbf",
        "part-9.csv": b"\xef\xbb\xbf\n",
        "part-6.csv.gz": gzip.compress(b""),
        "part-7.parquet": None,
        "part-0.parquet": None,
    }

    def write(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name, content in self.NO_ROWS.items():
            if content is None:
                pq.write_table(pa.table({"id": pa.nulls(0), "prediction": pa.nulls(0)}), folder / name)
            else:
                (folder / name).write_bytes(content)

    def test_are_parts_like_any_other(self, folder: Path) -> None:
        self.write(folder)
        reader = open_predictions(folder)
        assert contents(reader) == contents(reader.holding({})) == EXPECTED
        assert len(reader.parts) == len(EXPECTED) + len(self.NO_ROWS)
        empty = ("part-4.jsonl", "part-5.json", "part-6.csv.gz", "part-8.jsonl", "part-9.csv")
        assert reader.detected.notes == tuple(
            f"{folder / name} is empty: read as a part without rows" for name in empty
        )

    def test_an_error_if_no_part_has_a_row(self, tmp_path: Path) -> None:
        self.write(tmp_path / "all")
        with pytest.raises(FormatError, match=rf"^{tmp_path}/all: none of its 8 files has a row\.$"):
            contents(open_predictions(tmp_path / "all"))
        for name in ("part-4.jsonl", "part-5.json"):
            with pytest.raises(FormatError, match=rf"^{tmp_path}/all/{name}.*: the (file|list) is empty"):
                open_predictions([tmp_path / "all" / name])

    def test_an_error_of_a_single_file(self, tmp_path: Path) -> None:
        path = csv(tmp_path / "a.csv")
        with pytest.raises(FormatError, match="there are columns but no rows"):
            contents(open_predictions(path))


class TestFilesThatChange:
    ROWS: ClassVar = [(str(number), f"answer {number}") for number in range(5)]

    @pytest.fixture(
        params=["a.csv", "a.jsonl", "a.json", "a.parquet", "a.arrow", "a.csv.gz", "a.csv.zst", "a.zip", "a.xlsx"]
    )
    def path(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        path = tmp_path / str(request.param)
        self.write(path, self.ROWS)
        return path

    def write(self, path: Path, rows: list[tuple[str, str]]) -> None:
        table = pa.table({"id": [id_ for id_, _ in rows], "prediction": [text for _, text in rows]})
        if path.suffix == ".parquet":
            pq.write_table(table, path, row_group_size=2)
        elif path.suffix == ".arrow":
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table, 2)
        elif path.suffix == ".json":
            path.write_text(json.dumps(table.to_pylist()))
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        else:
            text = "id,prediction\n" + "".join(f"{id_},{answer}\n" for id_, answer in rows)
            if path.suffix == ".xlsx":
                book = openpyxl.Workbook()
                for line in text.splitlines():
                    book.active.append(line.split(","))
                book.save(path)
            elif path.suffix == ".zip":
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr("a.csv", text)
            elif path.suffix in (".gz", ".zst"):
                with pa.output_stream(path, compression={".gz": "gzip", ".zst": "zstd"}[path.suffix]) as stream:
                    stream.write(text.encode())
            else:
                path.write_text(text)

    def test_while_they_are_read(self, path: Path) -> None:
        batches = open_predictions(path).batches(2)
        next(batches)
        self.write(path, [*self.ROWS, ("6", "one more")])
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read\. Run again once"):
            list(batches)

    def test_between_two_readings(self, path: Path) -> None:
        reader = open_predictions(path)
        list(reader.batches())
        self.write(path, [("1", "another")])
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read"):
            list(reader.batches())

    def test_to_nothing(self, path: Path) -> None:
        reader = open_predictions(path)
        path.unlink()
        with pytest.raises(FormatError, match=rf"^{path}: removed while it was read"):
            list(reader.batches())

    def test_to_a_fifo(self, path: Path) -> None:
        """To open it by its name would wait for somebody who writes to it."""
        reader = open_predictions(path)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read\. Run again once"):
            list(reader.batches())

    def test_one_of_several_to_a_fifo(self, path: Path) -> None:
        other = path.with_name(f"b{''.join(path.suffixes)}")
        self.write(other, [("b", "another")])
        reader = open_predictions([path, other])
        other.unlink()
        os.mkfifo(other)
        with pytest.raises(FormatError, match=rf"^{other}: changed while it was read"):
            list(reader.batches())

    def test_rows_of_a_check(self, path: Path) -> None:
        rows = open_rows(str(path), None, {})
        assert [id_ for own in rows.ids() for id_ in own] == [id_ for id_, _ in self.ROWS]
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read"):
            list(rows.blocks())

    def test_to_a_shorter_one(self, path: Path) -> None:
        reader = open_predictions(path)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read"):
            list(reader.batches())

    def test_to_an_empty_one(self, path: Path) -> None:
        reader = open_predictions(path)
        os.truncate(path, 0)
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read"):
            list(reader.batches())

    @pytest.mark.parametrize("content", [b"", b"\0", b"{}", b"[]", b"PK\x03\x04", b"PAR1", b"ARROW1", b"\x1f\x8b"])
    def test_to_anything(self, path: Path, content: bytes) -> None:
        reader = open_predictions(path)
        path.write_bytes(content)
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read"):
            list(reader.batches())

    def test_as_it_is_read_to_what_its_format_cannot_be(self, path: Path) -> None:
        """Whatever the error is then."""
        told = changes_told(str(path), file_state(str(path)))
        with pytest.raises(ChangedFileError), told:  # noqa: PT012 # what changes the file is part of it
            path.write_bytes(b"")
            raise RuntimeError

    def test_to_another_and_back(self, path: Path) -> None:
        """What was read would be of the other one."""
        reader = open_predictions(path)
        kept = path.rename(path.with_name("kept"))
        self.write(path, [("1", "another")])
        with pytest.raises(FormatError, match=rf"^{path}: changed while it was read"):
            next(reader.batches(1))
        kept.replace(path)
        assert sum(map(len, reader.batches())) == len(self.ROWS)

    def test_one_of_several(self, folder: Path) -> None:
        (folder / "part-3.json").write_text('[{"id": 3, "prediction": "answer 3"}]')
        reader = open_predictions(folder)
        (folder / "part-3.json").write_text('[{"id": 3, "prediction": "answer three"}]')
        with pytest.raises(FormatError, match=r"part-3.json: changed while it was read"):
            list(reader.batches())

    def test_rows_of_parquet(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        self.write(path, self.ROWS)
        part = open_predictions(path).within(2, 4)
        self.write(path, [*self.ROWS, ("6", "one more")])
        with pytest.raises(FormatError, match="changed while it was read"):
            list(part.batches())


class TestNamesInTheirOrder:
    @pytest.mark.parametrize(
        ("predictions", "references"),
        [
            ([f"pred_{n}.csv" for n in range(1, 13)], [f"ref_{n:02d}.csv" for n in range(1, 13)]),
            (["model7_1.csv", "model7_2.csv"], ["gold_1_of_2.csv", "gold_2_of_2.csv"]),
            (["2024-01-31.csv", "2024-02-01.csv"], ["r 01-31.csv", "r 02-01.csv"]),
            (["part-0-4f1a.csv", "part-1-77bc.csv"], ["part-0-1de9.csv", "part-1-20ac.csv"]),
            (["01-31.csv", "02-01.csv"], ["01-31.csv", "02-02.csv"]),  # the months tell all names apart
            (["a.csv", "b.csv"], ["1.csv", "2.csv"]),
            (["7.csv"], ["3.csv"]),
            (["a.csv", "b.csv"], ["A.jsonl.gz", "B.jsonl.gz"]),
            (["scan.csv", "scan2.csv", "scan10.csv"], ["gold.csv", "gold2.csv", "gold10.csv"]),
            (["part-0.csv", "part-1.csv", "rerun.csv"], ["part-0.csv", "part-1.csv", "part-2.csv"]),
            (["a.1.csv", "a.2.csv"], ["a.1.csv", "a.2.csv"]),
        ],
    )
    def test_agree(self, predictions: list[str], references: list[str]) -> None:
        check_order(predictions, references)

    @pytest.mark.parametrize(
        ("predictions", "references", "pair"),
        [
            (["p_0.csv", "p_1.csv"], ["r_1.csv", "r_2.csv"], "p_0.csv would be paired with r_1.csv"),
            (["p_1.csv", "p_3.csv"], ["r_1.csv", "r_2.csv"], "p_3.csv would be paired with r_2.csv"),
            (["1-1.csv", "1-2.csv", "2-1.csv"], ["1-1.csv", "1-2.csv", "2-2.csv"], "2-1.csv would be paired with 2-2"),
            (
                ["part-0.csv", "part-1.csv", "part-3.csv", "rerun.csv"],
                [f"part-{n}.csv" for n in range(4)],
                "part-3.csv would be paired with part-2.csv",
            ),
            (
                ["part.csv", "part(1).csv", "part(2).csv"],
                ["part-0.csv", "part-1.csv", "part-2.csv"],
                r"part\(1\).csv would be paired with part-0.csv",
            ),
            (
                ["invoices.csv", "receipts.csv"],
                ["forms.csv", "invoices.csv"],
                "invoices.csv would be paired with forms",
            ),
            (["Bills.csv", "amends.csv"], ["amends.csv", "bills.csv"], "Bills.csv would be paired with amends.csv"),
            (["c.csv", "d.csv"], ["a.csv", "c.csv"], "c.csv would be paired with a.csv"),
        ],
    )
    def test_do_not(self, predictions: list[str], references: list[str], pair: str) -> None:
        with pytest.raises(ValueError, match=f"^{pair}.*: without question_ids.*Rename the files, or add question_ids"):
            check_order(sorted(predictions, key=natural_order), references)
