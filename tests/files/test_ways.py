"""Encodings, separators, archives, logs with filters, and objects that hold both sides."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from anls_eval.errors import AnlsError
from anls_eval.files import FormatError, Reader, open_predictions, open_references
from anls_eval.submission.score import score_submission

ROWS = "id,pred\n1,Zürich\n2,Oslo\n"
READ = (["1", "2"], ["Zürich", "Oslo"])


def contents(reader: Reader) -> tuple[list[Any], list[Any]]:
    batches = list(reader.batches(1))
    return [id_ for own in batches for id_ in own.question_ids or ()], [
        value for own in batches for value in own.values
    ]


def zipped(files: dict[str, str], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_tables(tmp_path: Path, encoding: str, ends: str, separator: str) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(ROWS.replace("\n", ends).replace(",", separator).encode(encoding))
    assert contents(open_predictions(path)) == READ


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"])
def test_byte_order_marks(tmp_path: Path, mark: bytes) -> None:
    name = {2: "utf-16", 4: "utf-32"}[len(mark)] + ("-le" if mark[0] == 0xFF else "-be")
    path = tmp_path / "file"
    path.write_bytes(mark + '[{"id": 1, "pred": "Zürich"}]'.encode(name))
    assert contents(open_predictions(path)) == (["1"], ["Zürich"])


def test_windows_1252_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(ROWS.encode("cp1252"))
    with pytest.raises(FormatError, match=r'line 2, byte 11: .*Windows-1252.*To read it so, pass encoding="cp1252"'):
        contents(open_predictions(path))
    assert contents(open_predictions(path, encoding="cp1252")) == READ


def test_a_given_encoding_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(ROWS.encode("cp1252"))
    for name, content in (("lines.csv", ROWS), ("whole.json", '[{"id": 1, "pred": "Zürich"}]')):
        (tmp_path / name).write_bytes(content.encode("cp1252"))
        with pytest.raises(FormatError, match=r"not utf-16: .*Name the encoding"):
            contents(open_predictions(tmp_path / name, encoding="utf-16"))


@pytest.mark.parametrize("encoding", ["rot13", "nothing", "", "\0"])
def test_an_encoding_that_is_none(encoding: str) -> None:
    with pytest.raises(AnlsError, match="expected the name of a text encoding"):
        open_predictions("any", encoding=encoding)


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n"])
def test_a_separator_that_is_none(separator: str) -> None:
    with pytest.raises(AnlsError, match="expected one character"):
        open_predictions("any", separator=separator)


@pytest.mark.parametrize(
    ("text", "separator", "expected"),
    [
        ("id~pred\n1~a;b\n", "~", ["a;b"]),
        ('"id";"pred"\n1;"a;b"\n', None, ["a;b"]),
        ("sep=;\nid;pred\n1;a,b\n", None, ["a,b"]),  # as Excel writes it
        ("id;pred;x,y\n1;a;b\n", ";", ["a"]),
    ],
)
def test_separators(tmp_path: Path, text: str, separator: str | None, expected: list[str]) -> None:
    path = tmp_path / "file.csv"
    path.write_text(text, encoding="utf-8")
    assert contents(open_predictions(path, separator=separator)) == (["1"], expected)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("a_x000D_b", "a\rb"),
        ("_x005F_x000D_", "_x000D_"),
        ("_xD83D__xDE00_", "\U0001f600"),
        ("_xD83D_", "\ufffd"),
        ("_x00_", "_x00_"),
    ],
)
def test_escapes_of_spreadsheets(tmp_path: Path, cell: str, text: str) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["id", "pred"])
    book.active.append(["1", cell])
    book.save(tmp_path / "file.xlsx")
    assert contents(open_predictions(tmp_path / "file.xlsx")) == (["1"], [text])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.csv": ROWS}, READ),
        ({"folder/a.csv": ROWS, "__MACOSX/folder/._a.csv": "x", "folder/.DS_Store": "x", "folder/": ""}, READ),
        ({"a.jsonl": '{"id": 1, "pred": "x"}\n'}, (["1"], ["x"])),
    ],
)
def test_zip_files(tmp_path: Path, files: dict[str, str], expected: Any) -> None:
    for kind in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        (tmp_path / "file.zip").write_bytes(zipped(files, kind))
        reader = open_predictions(tmp_path / "file.zip")
        assert (contents(reader), reader.detected.compression) == (expected, "zip")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zipped({"a.json": "[]", "b.json": "[]"}), "holds several files: a.json, b.json. Unpack"),
        (zipped({"__MACOSX/._a": ""}), "holds no file"),
        (zipped({"a.csv": ROWS * 1000})[:200], "not a readable zip file"),
        (zipped({"a.csv": ROWS}, zipfile.ZIP_STORED).replace(b"Oslo", b"Olso"), "Bad CRC-32.*truncated or damaged"),
        (zipped({"a.json": "[" + " " * (300 << 20) + "]"}), "made to exhaust memory"),
    ],
)
def test_zip_files_that_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "file.zip").write_bytes(content)
    with pytest.raises(FormatError, match=problem):
        contents(open_predictions(tmp_path / "file.zip"))


LOG = [
    {"doc_id": n, "target": "['Oslo']", "filtered_resps": [answer], "filter": name}
    for name, answer in (("none", "It is Oslo"), ("get-answer", "Oslo"))
    for n in range(200)
]


@pytest.mark.parametrize("form", ["lines", "list"])
def test_filters(tmp_path: Path, form: str) -> None:
    path = tmp_path / "samples"
    text = "".join(json.dumps(row) + "\n" for row in LOG) if form == "lines" else json.dumps(LOG)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r'several filters: none, get-answer\. To read .*pass filter="get-answer"'):
        contents(open_predictions(path))
    with pytest.raises(FormatError, match="no row has the filter 'x': none, get-answer"):
        contents(open_predictions(path, filter="x"))
    assert set(contents(open_predictions(path, filter="get-answer"))[1]) == {"Oslo"}


BOTH = [
    '{"predictions": ["Oslo", "Rom"], "ground_truths": [["Oslo"], "Rome"], "f1": 0.5}',
    '{"prediction": {"0": "Oslo", "1": "Rom"}, "answers": {"0": ["Oslo"], "1": ["Rome"]}}',
    '{"a": {"prediction": "Oslo", "answers": ["Oslo"]}, "b": {"prediction": "Rom", "answers": ["Rome"]}}',
    '{"predict": "Oslo", "label": "Oslo"}\n{"predict": "Rom", "label": "Rome"}\n',
    '{"response": "Oslo", "labels": "Oslo"}\n{"response": "Rom", "labels": "Rome"}\n',
    '[{"answer": "Oslo", "annotation": ["Oslo"]}, {"answer": "Rom", "annotation": ["Rome"]}]',
    '[{"answer": "Oslo", "gt_answers": ["Oslo"]}, {"answer": "Rom", "gt_answers": ["Rome"]}]',
    '[{"pred": "Oslo", "solution": "Oslo"}, {"pred": "Rom", "solution": "Rome"}]',
    '[{"output": "Oslo", "target": "Oslo"}, {"output": "Rom", "target": "Rome"}]',
]


@pytest.mark.parametrize("text", BOTH)
def test_both_sides_in_one_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    assert open_predictions(path).detected.has_references
    found = score_submission(path, path)
    assert (found.score, found.n) == (0.875, 2)


def test_an_object_with_both_sides_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"prediction": "Rom", "answers": ["Rome", "Roma"]}', encoding="utf-8")
    assert score_submission(tmp_path / "file", tmp_path / "file").score == 0.75


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"predictions": ["a"], "answers": ["a", "b"]}', "lists of different lengths: 1 in 'predictions' and 2 in"),
        ('{"predictions": [], "answers": []}', "the lists are empty"),
        ('{"prediction": {"0": "a"}, "answers": {"1": "a"}}', "'answers' has another index than 'prediction'"),
        ('{"results": {"docvqa": {"anls,none": 0.5}}, "configs": {}}', "the results of lm-eval or lmms-eval"),
    ],
)
def test_objects_that_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=problem):
        open_predictions(tmp_path / "file")


def test_documents_of_due(tmp_path: Path) -> None:
    rows = [
        {
            "name": name,
            "annotations": [
                {"id": "0", "key": "a", "values": [{"value": "x", "value_variants": ["x", "y"]}]},
                {"id": "1", "key": "b", "values": []},
            ],
        }
        for name in ("d1", "d2")
    ]
    (tmp_path / "document.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ids = ["d1: 0", "d1: 1", "d2: 0", "d2: 1"]
    assert contents(open_predictions(tmp_path / "document.jsonl")) == (ids, ["x", None, "x", None])
    references = open_references(tmp_path / "document.jsonl")
    assert contents(references) == (ids, [["x", "y"], [], ["x", "y"], []])
    assert references.detected.columns["document"] == "document"
    assert not references.detected.has_predictions


def test_rows_in_a_list_that_begins_on_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(
        '{"data": [\n{"id": 1, "pred": "x"},\n{"id": 2, "pred": "y"}]}', encoding="utf-8"
    )
    assert contents(open_predictions(tmp_path / "file.json")) == (["1", "2"], ["x", "y"])
