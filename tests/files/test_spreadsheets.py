"""Spreadsheets as programs write them: several sheets, formulas, errors in cells."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from in_process import run_command

from anls_eval.app import tasks
from anls_eval.app.options import Options
from anls_eval.check.check import check_submission
from anls_eval.files import FormatError, open_predictions, open_references
from anls_eval.submission.score import score_submission

ROWS: list[list[Any]] = [["id", "prediction"], [1, "Oslo"], [2, "Rome"]]
MORE: list[list[Any]] = [["id", "prediction"], [3, "Bern"]]
NOTES: list[list[Any]] = [["model", "date"], ["a", "May"]]


def saved(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]], hidden: Sequence[str] = ()) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if title in hidden else "visible"
    book.save(path)
    return path


def with_cell(path: Path, cell: str, prefix: str = "", at: str = "B2") -> Path:
    """Save a table of two rows in which a cell is this XML, with the prefix that some programs give all elements."""
    book = io.BytesIO()
    saved(book, {"A": [["id", "prediction", "comment"], [1, "Oslo", "x"], [2, "Rome", "y"]]})  # type: ignore[arg-type]
    with zipfile.ZipFile(book) as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as changed:
        for name in archive.namelist():
            text = archive.read(name)
            if name == "xl/worksheets/sheet1.xml":
                start = text.index(f'<c r="{at}"'.encode())
                text = text[:start] + cell.encode() + text[text.index(b"</c>", start) + 4 :]
                if prefix:
                    text = text.replace(b"</", f"</{prefix}:".encode()).replace(b"<", f"<{prefix}:".encode())
                    text = text.replace(f"<{prefix}:/{prefix}:".encode(), f"</{prefix}:".encode())
                    text = text.replace(b"xmlns=", f"xmlns:{prefix}=".encode())
            changed.writestr(name, text)
    return path


def values(path: Path) -> list[Any]:
    return [value for batch in open_predictions(path).batches(1) for value in batch.values]


# ---------------------------------------------------------------------------------------------------
# Several sheets
# ---------------------------------------------------------------------------------------------------


def test_a_note_names_the_sheets_that_are_left_out(tmp_path: Path) -> None:
    blank: list[list[Any]] = []
    sheets = {"A": ROWS, "blank": blank, "Info": NOTES, "spaces": [[None, None], [None]], "log": NOTES}
    reader = open_predictions(saved(tmp_path / "p.xlsx", sheets, hidden=["log"]))
    assert reader.notes == ("predictions: only the first sheet, 'A', is read, not 'Info', 'log' (hidden)",)
    assert values(tmp_path / "p.xlsx") == ["Oslo", "Rome"]
    reader = open_references(
        saved(tmp_path / "r.xlsx", {"A": ROWS, "B": NOTES}, hidden=["A"]), columns={"answers": "prediction"}
    )
    assert reader.notes == ("references: only the first sheet, 'A' (hidden), is read, not 'B'",)


def test_blank_sheets_and_headers_alone_are_nothing_to_tell(tmp_path: Path) -> None:
    path = saved(tmp_path / "p.xlsx", {"A": ROWS, "Sheet2": [], "template": ROWS[:1], "Sheet3": [[None]]})
    assert open_predictions(path).notes == ()


@pytest.mark.parametrize("header", [["id", "prediction"], ["prediction", "id"], ["id", "prediction", None]])
@pytest.mark.parametrize("hidden", [[], ["C"]])
def test_sheets_with_the_columns_of_the_first_are_refused(tmp_path: Path, header: list[Any], hidden: list[str]) -> None:
    path = saved(tmp_path / "p.xlsx", {"A": ROWS, "B": NOTES, "C": [header, *MORE[1:]]}, hidden)
    named = r"'C' \(hidden\)" if hidden else "'C'"
    with pytest.raises(
        FormatError, match=f"only the first sheet, 'A', would be read, but {named} has the same columns"
    ):
        open_predictions(path)
    path = saved(tmp_path / "p.xlsx", {"A": ROWS, "B": MORE, "C": MORE})
    with pytest.raises(FormatError, match=r"but 'B', 'C' have the same columns\. Put all rows into the first sheet"):
        open_predictions(path)


def test_an_empty_first_sheet(tmp_path: Path) -> None:
    path = saved(tmp_path / "p.xlsx", {"A": [], "B": ROWS})
    with pytest.raises(FormatError, match="the first sheet, 'A', is empty, and only the first is read, not 'B'"):
        open_predictions(path)
    with pytest.raises(FormatError, match="the table is empty"):
        open_predictions(saved(tmp_path / "p.xlsx", {"A": [], "B": []}))


def test_a_table_that_is_on_another_sheet(tmp_path: Path) -> None:
    path = saved(tmp_path / "p.xlsx", {"Info": NOTES, "A": ROWS})
    expected = r"the columns are: model, date\. Only the first sheet, 'Info', is read, not 'A'\. To name the right one"
    with pytest.raises(FormatError, match=expected):
        open_predictions(path)


def test_the_note_is_shown_by_dask(tmp_path: Path) -> None:
    from anls_eval.cluster.run import score_dataset

    gold: list[list[Any]] = [["id", "answers"], [1, "Oslo"], [2, "Rome"]]
    first, references = saved(tmp_path / "p.xlsx", {"A": ROWS, "B": NOTES}), saved(tmp_path / "r.xlsx", {"G": gold})
    notes = score_dataset(first, references, workers=1).submission.notes
    assert any("only the first sheet, 'A', is read, not 'B'" in note for note in notes)


def test_the_note_is_shown_wherever_files_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gold: list[list[Any]] = [["id", "answers"], [1, "Oslo"], [2, "Rome"]]
    first = saved(tmp_path / "p.xlsx", {"A": ROWS, "B": NOTES})
    second = saved(tmp_path / "q.xlsx", {"A": ROWS, "B": NOTES})
    references = saved(tmp_path / "r.xlsx", {"G": gold, "H": NOTES})
    told = ["only the first sheet, 'A', is read, not 'B'", "only the first sheet, 'G', is read, not 'H'"]
    for command in (
        ("score", first, "-r", references),
        ("compare", first, second, "-r", references),
        ("check", first, "-r", references),
    ):
        ran = run_command(capsys, monkeypatch, command)
        assert [text in " ".join((ran.out + ran.err).split()) for text in told] == [True, True], command
    for notes in (
        score_submission(first, references).notes,
        [own.found for own in check_submission(first, references).problems],
        tasks.compare_as_json([str(first), str(second)], str(references), Options(), lambda *_: None)["notes"],
    ):
        assert [any(text in note for note in notes) for text in told] == [True, True]


# ---------------------------------------------------------------------------------------------------
# Formulas
# ---------------------------------------------------------------------------------------------------

VALUED = {
    '<c r="B2" t="str"><f>CONCATENATE("a","b")</f><v>ab</v></c>': "ab",
    '<c r="B2" t="str"><f>CONCATENATE("a","b")</f><v xml:space="preserve"> ab</v></c>': " ab",
    '<c r="B2" t="str"><f t="array" ref="B2">CONCATENATE("a","b")</f><v>ab</v></c>': "ab",
    '<c r="B2" t="str"><f t="shared" si="0" ref="B2:B3">A2</f><v>ab</v></c>': "ab",
    '<c r="B2" t="str"><f t="shared" si="0"/>\n<v>ab</v></c>': "ab",
    '<c r="B2"><f>1/2</f><v>0.5</v></c>': 0.5,
    '<c r="B2" t="b"><f>1=1</f><v>1</v></c>': True,
    '<c r="B2" t="str"><f>IF(A2="","","")</f><v></v></c>': "",
    '<c r="B2" t="str"><f>IF(A2="","","")</f><v/></c>': "",
    '<c r="B2" t="inlineStr"><is><t>=1+1</t></is></c>': "=1+1",
    '<c r="B2" t="inlineStr"><is><t>#N/A</t></is></c>': "#N/A",
    '<c r="B2" t="str"><f>"=1+1"</f><v>=1+1</v></c>': "=1+1",
    '<c r="B2" t="str"><f>"f&gt;"</f><v>a f></v></c>': "a f>",
}


@pytest.mark.parametrize("prefix", ["", "x"])
@pytest.mark.parametrize(("cell", "value"), VALUED.items())
def test_a_formula_is_read_as_its_value(tmp_path: Path, cell: str, value: Any, prefix: str) -> None:
    path = with_cell(tmp_path / "p.xlsx", cell, prefix)
    assert values(path) == [value, "Rome"]
    assert open_predictions(path).notes == ()


@pytest.mark.parametrize("prefix", ["", "x"])
@pytest.mark.parametrize(
    "cell",
    [
        '<c r="B2"><f>1+1</f><v></v></c>',
        '<c r="B2"><f>1+1</f><v/></c>',
        '<c r="B2"><f>1+1</f></c>',
        '<c r="B2"><f t="array" ref="B2">1+1</f></c>',
        '<c r="B2"><f t="shared" ref="B2:B3" si="0">1+1</f> <v /></c>',
    ],
)
def test_a_formula_without_a_value_is_refused(tmp_path: Path, cell: str, prefix: str) -> None:
    path = with_cell(tmp_path / "p.xlsx", cell, prefix)
    expected = (
        r"row 2, column prediction: the cell B2 holds the formula '=1\+1' without its value\. Open the file in a "
    )
    with pytest.raises(FormatError, match=expected + "spreadsheet program and save it"):
        values(path)
    assert sum(map(len, open_predictions(path, columns={"prediction": "comment"}).batches())) == 2


def test_formulas_as_libraries_write_them(tmp_path: Path) -> None:
    path = saved(tmp_path / "p.xlsx", {"A": [*ROWS, [3, "=1+1"]]})
    with pytest.raises(
        FormatError, match=r"the cell B4 holds the formula '=1\+1' .* write it as text, or the table as CSV"
    ):
        values(path)


@pytest.mark.parametrize("formula", ["", "<f>1/0</f>", '<f t="shared" si="0"/>'])
@pytest.mark.parametrize("error", ["#N/A", "#DIV/0!", "#NAME?"])
def test_errors_in_cells_are_refused(tmp_path: Path, error: str, formula: str) -> None:
    cell = f'<c r="B2" t="e">{formula}<v>{error}</v></c>'
    path = with_cell(tmp_path / "p.xlsx", cell)
    with pytest.raises(FormatError) as caught:
        values(path)
    assert f"row 2, column prediction: the cell B2 holds the error {error}. Correct the formula" in str(caught.value)
    assert sum(map(len, open_predictions(path, columns={"prediction": "comment"}).batches())) == 2


def test_values_of_zero_are_noted(tmp_path: Path) -> None:
    path = with_cell(tmp_path / "p.xlsx", '<c r="B2"><f>1+1</f><v>0</v></c>')
    assert values(path) == [0, "Rome"]
    (note,) = open_predictions(path).notes
    assert note.startswith("predictions: formulas whose stored value is 0 were read as 0, which some programs store")


@pytest.mark.parametrize("size", [1, 7, 50, 400])
def test_cells_are_found_wherever_they_are_in_a_block(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anls_eval.files.spreadsheets._READ_AT_ONCE", size)
    with pytest.raises(FormatError, match="without its value"):
        values(with_cell(tmp_path / "p.xlsx", '<c r="B2"><f>1+1</f>   <v></v></c>'))
    with pytest.raises(FormatError, match="the error #N/A"):
        values(with_cell(tmp_path / "p.xlsx", '<c r="B2" t="e"><v>#N/A</v></c>'))
    assert values(with_cell(tmp_path / "p.xlsx", '<c r="B2" t="str"><f>A1</f><v>ab</v></c>')) == ["ab", "Rome"]


def test_a_formula_in_the_header(tmp_path: Path) -> None:
    path = with_cell(tmp_path / "p.xlsx", '<c r="B1" t="str"><f>"pre"&amp;"diction"</f><v>prediction</v></c>', at="B1")
    assert values(path) == ["Oslo", "Rome"]


# ---------------------------------------------------------------------------------------------------
# Formats of numbers
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "form"),
    [
        (0.05, "0%"),
        (1234.5, '"$"#,##0.00'),
        (17, "0000"),
        (1234567, "#,##0"),
        (12.5, "0.00"),
        (2.75, "0"),
        (3, "0_)"),
    ],
)
def test_a_note_names_numbers_that_are_shown_otherwise(tmp_path: Path, number: float, form: str) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in (["id", "prediction", "page"], [1, "Oslo", number], [2, number, number], [3, number, number]):
        book.active.append(row)
    for row in book.active.iter_rows(min_row=2):
        for cell in row[1:]:
            cell.number_format = form
    book.save(tmp_path / "p.xlsx")
    reader = open_predictions(tmp_path / "p.xlsx")
    assert [value for batch in reader.batches(1) for value in batch.values] == ["Oslo", number, number]
    assert reader.notes == (
        f"predictions: row 3, column prediction (and 1 more): the cell B3 is read as {number}, as it is stored, and "
        f"not as the format {form!r} shows it. To compare what is shown, write such cells as text",
    )
    [problem] = [own for own in check_submission(tmp_path / "p.xlsx").problems if own.code == "read-otherwise"]
    assert problem.found in reader.notes[0]


def test_numbers_that_are_shown_as_they_are(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    forms = ["General", "@", "0", "#,##0", "0.00", "0%"]
    values_of_cells = [0.05, 12, 12, 999, 12.25, "5%"]
    for row in (["id", "prediction"], *map(list, enumerate(values_of_cells))):
        book.active.append(row)
    for row, form in enumerate(forms, 2):
        book.active.cell(row, 2).number_format = form
    book.save(tmp_path / "p.xlsx")
    reader = open_predictions(tmp_path / "p.xlsx")
    assert [value for batch in reader.batches() for value in batch.values] == values_of_cells
    assert reader.notes == ()


def test_a_format_beside_an_error(tmp_path: Path) -> None:
    """Cells are looked at in another way where one of them has no value."""
    path = tmp_path / "p.xlsx"
    with_cell(path, '<c r="B2" s="1"><v>0.5</v></c><c r="C2" t="e"><v>#N/A</v></c>')
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(b'<c r="C2" t="s"><v>4</v></c>', b"")
    name = "xl/styles.xml"
    kinds = parts[name].index(b"<cellXfs")
    parts[name] = parts[name][:kinds] + parts[name][kinds:].replace(b"</cellXfs>", b'<xf numFmtId="9"/></cellXfs>', 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    reader = open_predictions(path)
    assert [value for batch in reader.batches() for value in batch.values] == [0.5, "Rome"]
    assert "row 2, column prediction: the cell B2 is read as 0.5" in reader.notes[0]
