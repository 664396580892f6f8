"""Files joined end to end, as `cat` does: every row is read, or the file is refused; none is lost in silence."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from in_process import run_command

from anls_eval.arrow import as_list
from anls_eval.check.check import check_submission
from anls_eval.errors import AnlsError
from anls_eval.files import FormatError, open_predictions

SEVERAL = "several files were joined, or the file is damaged. Write the rows of all of them into one file"


def rows(start: int, stop: int, width: int = 1) -> pa.Table:
    numbers = [f"{number:04d}" for number in range(start, stop)]
    answers = ["x" * width + number for number in numbers]
    return pa.table({"id": numbers, "prediction": answers, "answers": [[own] for own in answers]})


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def feather_of(table: pa.Table, compression: str = "uncompressed") -> bytes:
    sink = io.BytesIO()
    feather.write_feather(table, sink, compression=compression, chunksize=7)
    return sink.getvalue()


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, 7)
    return sink.getvalue()


def zipped(text: str, comment: bytes = b"") -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("rows.csv", text)
        archive.comment = comment
    return sink.getvalue()


def spreadsheet(table: pa.Table) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["id", "prediction"])
    for number, text in zip(table["id"].to_pylist(), table["prediction"].to_pylist(), strict=True):
        book.active.append([number, text])
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    "parquet": parquet,
    "parquet, plain": lambda table: parquet(table, compression="none", use_dictionary=False),
    "parquet, row groups": lambda table: parquet(table, row_group_size=5),
    "parquet, index": lambda table: parquet(table, write_page_index=True, row_group_size=5),
    "parquet, index, dictionaries of short texts": lambda table: parquet(table.select([0, 1]), write_page_index=True),
    "feather": feather_of,
    "feather, lz4": lambda table: feather_of(table, "lz4"),
    "feather, zstd": lambda table: feather_of(table, "zstd"),
    "feather, dictionaries": lambda table: feather_of(
        pa.table({"id": table["id"], "prediction": table["prediction"].dictionary_encode()})
    ),
    "stream": stream,
    "stream, zstd": lambda table: stream(table, "zstd"),
    "spreadsheet": spreadsheet,
    "zip": lambda table: zipped("id,prediction\n" + "".join(f"{own},x\n" for own in table["id"].to_pylist())),
}
OTHERS = {
    "alike": rows(20, 40),
    "one row more": rows(20, 41),
    "many more": rows(20, 400),
    "longer texts": rows(20, 40, 50),
    "no rows": rows(20, 20),
}


def read(path: Path) -> int:
    return sum(len(as_list(batch.values)) for batch in open_predictions(path).batches(6))


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_binary_files_joined(tmp_path: Path, name: str, is_packed: bool) -> None:
    written, path = WRITERS[name], tmp_path / "rows"
    first = written(rows(0, 20))
    if is_packed and first.startswith(b"PK"):
        return  # a zip file is not packed again
    pack = gzip.compress if is_packed else bytes
    path.write_bytes(pack(first))
    assert read(path) == 20
    for other in OTHERS.values():
        for parts in ((first, written(other)), (written(other), first), (first, first, written(other))):
            path.write_bytes(pack(b"".join(parts)))
            with pytest.raises(FormatError, match=f"{SEVERAL}|truncated or damaged: write or download it again"):
                read(path)


@pytest.mark.parametrize("name", ["parquet", "parquet, index", "feather", "stream", "spreadsheet", "zip"])
def test_joined_files_of_the_same_size_are_told_as_joined(tmp_path: Path, name: str) -> None:
    path = tmp_path / "rows"
    path.write_bytes(WRITERS[name](rows(0, 20)) + WRITERS[name](rows(20, 40)))
    with pytest.raises(FormatError, match=SEVERAL):
        read(path)


def test_the_border_is_found_wherever_it_is_in_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, first = tmp_path / "rows", parquet(rows(0, 20))
    path.write_bytes(first + parquet(rows(20, 40)))
    for size in (9, 10, len(first) - 1, len(first), len(first) + 1):
        monkeypatch.setattr("anls_eval.files.joined._READ_AT_ONCE", size)
        with pytest.raises(FormatError, match=SEVERAL):
            read(path)


def test_files_that_hold_no_rows_at_all_are_whole(tmp_path: Path) -> None:
    for name in ("parquet", "feather", "feather, dictionaries", "stream", "stream, zstd"):
        (tmp_path / "rows").write_bytes(WRITERS[name](rows(0, 0)))
        with pytest.raises(FormatError, match="there are columns but no rows"):
            read(tmp_path / "rows")


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_what_follows_an_arrow_stream(tmp_path: Path, compression: str | None) -> None:
    path, whole = tmp_path / "rows.arrow", stream(rows(0, 20), compression)
    path.write_bytes(whole[:-8])  # no mark of its end, as of a process that was ended
    assert read(path) == 20
    for more in (b"\0", b"junk", whole, whole[:-8], feather_of(rows(0, 20))):
        path.write_bytes(whole + more)
        with pytest.raises(FormatError, match=rf"ends after {len(whole):,} bytes, and what follows .*: {SEVERAL}"):
            read(path)
    path.write_bytes(whole[:-8] + whole)
    with pytest.raises(FormatError, match="truncated or damaged"):
        read(path)


def test_what_is_around_a_zip_archive(tmp_path: Path) -> None:
    path, text = tmp_path / "rows.zip", "id,prediction\n1,Oslo\n2,Rome\n"
    path.write_bytes(zipped(text, comment=b"written by hand"))
    assert read(path) == 2
    for after in (b"\n", b"3,Bern\n", gzip.compress(b"3,Bern\n")):
        for comment in (b"", b"written by hand"):
            path.write_bytes(zipped(text, comment) + after)
            with pytest.raises(FormatError, match=f"after the zip archive in it would not be read: {SEVERAL}"):
                read(path)
    first = zipped(text)
    path.write_bytes(first + zipped(text))
    with pytest.raises(FormatError, match=f"{len(first)} bytes before the last zip archive .*{SEVERAL}"):
        read(path)


def test_compressed_members_and_frames_are_all_read(tmp_path: Path) -> None:
    for ending, pack in ((".gz", gzip.compress), (".zst", lambda data: pa.compress(data, "zstd", asbytes=True))):
        path = tmp_path / f"rows.csv{ending}"
        path.write_bytes(pack(b"id,prediction\n1,Oslo\n") + pack(b"2,Rome\n") + pack(b""))
        assert read(path) == 2
        for more in (b"junk", b"3,Bern\n"):
            path.write_bytes(pack(b"id,prediction\n1,Oslo\n") + more)
            with pytest.raises(FormatError, match="truncated or damaged"):
                read(path)


@pytest.mark.parametrize("name", ["parquet", "feather", "stream"])
def test_wherever_they_are_scored(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows"
    path.write_bytes(WRITERS[name](rows(0, 20)) + WRITERS[name](rows(20, 40)))
    other = tmp_path / "other"
    other.write_bytes(path.read_bytes())
    for command in (("score", path), ("check", path), ("compare", path, other, "-r", path)):
        ran = run_command(capsys, monkeypatch, command)
        assert (ran.status, SEVERAL in " ".join(ran.err.split())) == (2, True)
    with pytest.raises(FormatError, match=SEVERAL):
        check_submission(path, path)


@pytest.mark.parametrize("name", ["parquet", "stream"])
def test_with_dask(tmp_path: Path, name: str) -> None:
    from anls_eval.cluster.run import score_dataset

    path = tmp_path / "rows"
    path.write_bytes(WRITERS[name](rows(0, 20)) + WRITERS[name](rows(20, 40)))
    with pytest.raises(AnlsError, match=SEVERAL):
        score_dataset(path, workers=1)


def test_further_lists_of_an_object_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"data": [{"id": 1, "prediction": "Oslo"}], "more": [{"id": 2, "prediction": "Rome"}]}))
    reader = open_predictions(path)
    assert read(path) == 1
    assert reader.notes == ("predictions: only the list 'data' is read, not more",)


# ---------------------------------------------------------------------------------------------------
# A header among the rows
# ---------------------------------------------------------------------------------------------------

REPEATED = "the header is repeated, as in files that were joined. Remove it here"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("second", ["id,prediction", "prediction,id"])
def test_tables_of_text_joined(tmp_path: Path, second: str, separator: str, encoding: str) -> None:
    parts = ["id,prediction\n1,Oslo\n2,Rome\n", f"{second}\n3,Bern\n"]
    path = tmp_path / "rows.csv"
    path.write_bytes(b"".join(part.replace(",", separator).encode(encoding) for part in parts))
    for size in (1, 2, 3, 100):
        with pytest.raises(FormatError, match=f"line 4: {REPEATED}"):
            list(open_predictions(path).batches(size))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("rows.csv", ["prediction\nOslo\n", "Rome\nBern\n"]),
        ("rows.csv", ["id,prediction\n1,Oslo\n", "2,Rome\n3,Bern\n"]),
        ("rows.csv", ["prediction,id\nOslo,1\n", '"Rome",2\n', "", "\n", "Bern,3"]),
        ("rows.jsonl", ['{"prediction": "Oslo"}\n', '{"prediction": "Rome"}\n{"prediction": "Bern"}\n']),
    ],
)
def test_the_mark_of_each_file_is_left_out(tmp_path: Path, name: str, parts: list[str], encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path = tmp_path / name
    path.write_bytes(b"".join((mark + part).encode(encoding) for part in parts))
    [batch] = open_predictions(path).batches()
    assert list(batch.values) == ["Oslo", "Rome", "Bern"]
    assert batch.question_ids is None or list(batch.question_ids) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (",prediction,question\n0,Oslo,x\n,prediction,question\n0,Rome,y\n", 3),  # as pandas writes an index
        ("question,prediction\nx,Oslo\nquestion,prediction\ny,Rome\n", 3),  # without ids
        ('"id","prediction"\n1,"O\nslo"\nid,prediction\n2,Rome\n', 4),
        ("sep=,\nid,prediction\n1,Oslo\nsep=,\nid,prediction\n2,Rome\n", 5),
    ],
)
def test_headers_in_many_forms(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=f"line {line}: {REPEATED}"):
        read(path)


def test_a_header_in_a_spreadsheet(tmp_path: Path) -> None:
    path, book = tmp_path / "rows.xlsx", openpyxl.Workbook()
    assert book.active is not None
    for row in (["id", "prediction", None], [1, "Oslo", "x"], ["id", "prediction", None], [2, "Rome"]):
        book.active.append(row)
    book.save(path)
    with pytest.raises(FormatError, match=f"row 3: {REPEATED}"):
        read(path)


def test_words_of_the_header_in_answers_are_no_header(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,prediction,page\nid,Oslo,1\nprediction,prediction,page\n3,id,\nid,prediction,2\n")
    assert read(path) == 4


def test_the_name_of_the_only_column_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("prediction\nOslo\nprediction\nRome\nprediction\n")
    reader = open_predictions(path)
    assert [value for batch in reader.batches(1) for value in batch.values] == [
        "Oslo",
        "prediction",
        "Rome",
        "prediction",
    ]
    assert "predictions: line 3 is 'prediction', the name of the only column, which was read as a value" in reader.notes


def test_a_check_lists_repeated_headers(tmp_path: Path) -> None:
    path, gold = tmp_path / "rows.csv", tmp_path / "gold.csv"
    path.write_text("id,prediction\n1,Oslo\nid,prediction\n2,Rome\nid,prediction\n3,Bern\n")
    gold.write_text("id,answers\n1,Oslo\n2,Rome\n3,Bern\n")
    problems = check_submission(path, gold).problems
    assert [(own.code, own.place) for own in problems] == [("row-unreadable", "line 3"), ("row-unreadable", "line 5")]


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ([{"id": 1, "prediction": "Oslo"}], "."),
        ([{"questionId": 1, "answer": "Oslo"}, {"questionId": 2, "answer": "Rome"}], "."),
        ({"dataset": "x", "data": [{"id": 1, "prediction": "Oslo"}]}, ".data"),
        ({"data": [{"title": "x", "paragraphs": [{"qas": [{"id": 1, "answers": []}]}]}]}, ".data"),
    ],
)
def test_json_documents_joined(tmp_path: Path, document: object, key: str) -> None:
    text = json.dumps(document)
    for path, joined in (("rows.json", f"{text}\n{text}\n"), ("rows.jsonl", text), ("rows", f"{text}\n\n{text}")):
        (tmp_path / path).write_text(joined)
        with pytest.raises(FormatError, match=rf"line 1: a list of rows on one line, .* as jq -c '\{key}\[\]' does"):
            read(tmp_path / path)
    for joined in (text + text, json.dumps(document, indent=1) + "\n" + text):
        (tmp_path / "rows.json").write_text(joined)
        with pytest.raises(FormatError, match="a second value after the first"):
            read(tmp_path / "rows.json")


def test_lists_that_are_values_are_no_rows(tmp_path: Path) -> None:
    for values in ([["a", "b"], ["c"]], [[{"id": 1, "name": "x"}], [{"id": 2, "name": "y"}]]):
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))
        assert read(tmp_path / "rows.jsonl") == 2
