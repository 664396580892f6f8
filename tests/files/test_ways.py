"""Encodings, separators, archives, logs with filters, and objects that hold both sides."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.errors import AnlsError
from anls_eval.files import FormatError, Reader, open_predictions, open_references
from anls_eval.files.json_text import CONTROL_CHARACTERS
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
    with zipfile.ZipFile(stream, "w", kind, compresslevel=1) as archive:
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_byte_order_marks_in_a_text(tmp_path: Path, encoding: str, ends: str) -> None:
    """At the start of a row, they are left of joined files; at that of another line of a cell, they are its text."""
    rows = ["id,pred", '1,"\n\ufeffa\n\ufeff"', "", '\ufeff2,"\ufeffb"', '\ufeff\ufeff"3",c', ""]
    path = tmp_path / "file.csv"
    path.write_bytes(ends.join(rows).encode(encoding))
    assert contents(open_predictions(path)) == (["1", "2", "3"], ["\n\ufeffa\n\ufeff", "\ufeffb", "c"])


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"])
def test_byte_order_marks(tmp_path: Path, mark: bytes) -> None:
    name = {2: "utf-16", 4: "utf-32"}[len(mark)] + ("-le" if mark[0] == 0xFF else "-be")
    path = tmp_path / "file"
    path.write_bytes(mark + '[{"id": 1, "pred": "Zürich"}]'.encode(name))
    assert contents(open_predictions(path)) == (["1"], ["Zürich"])


def test_windows_1252_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(ROWS.encode("cp1252"))
    words = r'line 2, byte 11: .*Windows-1252.* To read it in Windows-1252, pass encoding="cp1252"\.$'
    with pytest.raises(FormatError, match=words):
        contents(open_predictions(path))
    assert contents(open_predictions(path, encoding="cp1252")) == READ


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "发票号码"),
        ("big5", "發票"),
        ("euc-kr", "서울"),
        ("cp1251", "Москва"),
        ("cp1250", "Łódź"),
        ("cp932", "東京"),
    ],
)
def test_encodings_that_are_no_windows_1252(tmp_path: Path, encoding: str, text: str) -> None:
    """They are never said to be; the text as Windows-1252 has it is shown, and others are named."""
    path = tmp_path / "file.csv"
    path.write_bytes(f"id,pred\n1,{text}\n".encode(encoding))
    words = r"line 2, byte 10: not UTF-8: .* may be another encoding, such as GBK, .*Windows-1251\. Save it as UTF-8\."
    with pytest.raises(FormatError, match=words):
        contents(open_predictions(path))
    assert contents(open_predictions(path, encoding=encoding)) == (["1"], [text])


@pytest.mark.parametrize("byte", [0x81, 0x8D, 0x8F, 0x90, 0x9D])
def test_what_windows_1252_does_not_have_either(tmp_path: Path, byte: int) -> None:
    """It is not advised then, and who names it learns where the byte is."""
    path = tmp_path / "file.csv"
    path.write_bytes(b"id,pred\n1,Oslo\n2," + bytes([byte]) + b"Lima\n")
    with pytest.raises(FormatError, match=r"line 3, byte 17: not UTF-8: .*Download it again, or save it as UTF-8\.$"):
        contents(open_predictions(path))
    words = rf"line 3: not cp1252: the byte 0x{byte:02x} stands for no character\. Name the encoding"
    with pytest.raises(FormatError, match=words):
        contents(open_predictions(path, encoding="cp1252"))


def test_a_given_encoding_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(ROWS.encode("cp1252"))
    for name, content in (("lines.csv", ROWS), ("whole.json", '[{"id": 1, "pred": "Zürich"}]')):
        (tmp_path / name).write_bytes(content.encode("cp1252"))
        with pytest.raises(FormatError, match=r"not utf-16: .*Name the encoding"):
            contents(open_predictions(tmp_path / name, encoding="utf-16"))


ENCODINGS = ["cp1252", "latin-1", "cp1251", "gbk", "shift_jis", "utf-16", "utf-16-le", "utf-32-be", "utf-7", "cp500"]


@pytest.mark.parametrize("named", ENCODINGS)
@pytest.mark.parametrize("own", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_that_shows_its_encoding_is_read_in_it(tmp_path: Path, named: str, own: str) -> None:
    for name, text in (("file.csv", ROWS), ("file.json", '[{"id": 1, "pred": "Zürich"}, {"id": 2, "pred": "Oslo"}]')):
        (tmp_path / name).write_bytes(text.encode(own))
        reader = open_predictions(tmp_path / name, encoding=named)
        assert contents(reader) == READ
        said = [note for note in reader.detected.notes if f"so it was not read as {named}" in note]
        assert len(said) == (not named.startswith(own))
        assert all(note.startswith("predictions: ") for note in said)


def test_ascii_is_of_no_encoding_with_two_bytes(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("id,pred\n1,Oslo\n")
    for named, notes in (("cp1252", 0), ("utf-16-le", 1)):
        reader = open_predictions(tmp_path / "file.csv", encoding=named)
        assert (contents(reader), len(reader.notes)) == ((["1"], ["Oslo"]), notes)


@given(text=st.text("aÄéß中文Жя€", min_size=1, max_size=8), named=st.sampled_from(ENCODINGS), of_named=st.booleans())
def test_no_text_is_misread_in_silence(
    tmp_path_factory: pytest.TempPathFactory, text: str, named: str, of_named: bool
) -> None:
    path = tmp_path_factory.mktemp("text") / "file.csv"
    try:
        path.write_bytes(f"id,pred\n1,{text}\n".encode(named if of_named else "utf-8"))
    except UnicodeEncodeError:
        return
    try:
        reader = open_predictions(path, encoding=named)
    except FormatError:  # ASCII in an encoding that does not have ASCII's bytes: no such column
        return
    assert contents(reader) == (["1"], [text]) or reader.notes


def test_sides_in_different_encodings(tmp_path: Path) -> None:
    rows = "id,prediction,answers\n1,Málaga,Málaga\n"
    (tmp_path / "old.csv").write_bytes(rows.encode("cp1252"))
    (tmp_path / "new.csv.gz").write_bytes(gzip.compress(rows.encode()))
    (tmp_path / "parts").mkdir()
    for name, encoding in (("1.csv", "cp1252"), ("2.csv", "utf-8")):
        (tmp_path / "parts" / name).write_bytes(rows.replace("1,", f"{name[0]},").encode(encoding))
    for given_, expected in (("old.csv", "new.csv.gz"), ("new.csv.gz", "old.csv"), ("parts", "parts")):
        sides = [
            open_side(tmp_path / name, encoding="cp1252")
            for open_side, name in ((open_predictions, given_), (open_references, expected))
        ]
        found = score_submission(*sides)
        assert found.score == 1
        utf8 = {"old.csv": [], "parts": [1], "new.csv.gz": [1]}
        notes = [note for note in found.notes if note.endswith(": the text is UTF-8, so it was not read as cp1252")]
        assert len(notes) == len(utf8[given_]) + len(utf8[expected])


TWO_LINES = ["Oslo\nNorway", "a\tb"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("file.json", '[{"id": 1, "pred": "Oslo\nNorway"},\n {"id": 2, "pred": "a\tb"}]'),
        ("file.json", '{"1": "Oslo\nNorway", "2": "a\tb"}'),
        ("file.jsonl", '{"id": 1, "pred": "Oslo\\nNorway"}\n{"id": 2, "pred": "a\tb"}\n'),
    ],
)
def test_control_characters_in_json_are_read_with_a_note(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "gold.json").write_text(json.dumps(dict(enumerate(TWO_LINES, 1))))
    reader = open_predictions(tmp_path / name)
    assert contents(reader) == (["1", "2"], TWO_LINES)
    [note] = reader.notes
    assert note == f"predictions: {CONTROL_CHARACTERS}"
    found = score_submission(reader, open_references(tmp_path / "gold.json"))
    assert found.score == 1
    assert found.notes.count(note) == 1


def test_control_characters_in_documents_and_parts(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    for number in range(3):
        (tmp_path / "documents" / f"{number}.json").write_text('{"a": "x\ny", "b": "z"}')
    (tmp_path / "documents" / "2.json").write_text('{"a": "x", "b": "other"}')
    sides = open_predictions(tmp_path / "documents"), open_references(tmp_path / "documents")
    found = score_submission(*sides, protocol="anls_star")
    assert found.score == 1
    assert [note for note in found.notes if CONTROL_CHARACTERS in note] == [
        f"{side}: {CONTROL_CHARACTERS}" for side in ("predictions", "references")
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"id": 1, "pred": "Oslo,\n "id": 2}]', "line 2, column 3: not JSON"),
        ('{"a": "x\ny", "a": "z"}', "the key 'a' twice"),
        ('[{"id": 1, "pred": "Os\nlo', "not JSON: Unterminated string.*truncated"),
    ],
)
def test_other_errors_beside_control_characters(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(FormatError, match=problem):
        open_predictions(tmp_path / "file.json")


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
        ('#TYPE System.Data.DataRow\n"id","pred"\n"1","a;b"\n', None, ["a;b"]),  # as PowerShell writes it
        ("#TYPE System.Data.DataRow\nid;pred\n1;a,b\n", ";", ["a,b"]),
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
        (lambda: zipped({"a.json": "[]", "b.json": "[]"}), "holds several files: a.json, b.json. Unpack"),
        (lambda: zipped({"__MACOSX/._a": ""}), "holds no file"),
        (lambda: zipped({"a.csv": ROWS * 1000})[:200], "not a readable zip file"),
        (
            lambda: zipped({"a.csv": ROWS}, zipfile.ZIP_STORED).replace(b"Oslo", b"Olso"),
            "Bad CRC-32.*truncated or damaged",
        ),
        (lambda: zipped({"a.json": "[" + " " * (300 << 20) + "]"}), "made to exhaust memory"),
    ],
)
def test_zip_files_that_are_refused(tmp_path: Path, content: Callable[[], bytes], problem: str) -> None:
    (tmp_path / "file.zip").write_bytes(content())
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


def test_a_table_as_pandas_splits_it(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    data = [[1, "Zürich", ["Zürich"]], [2, "Oslo", ["Oslo", "Kristiania"]]]
    path.write_text(json.dumps({"columns": ["id", "pred", "answers"], "index": [5, 7], "data": data}))
    assert contents(open_predictions(path)) == READ
    assert contents(open_references(path)) == (["1", "2"], [["Zürich"], ["Oslo", "Kristiania"]])
    assert next(iter(open_predictions(path).batches())).place(1) == "data[1]"
