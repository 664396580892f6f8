"""Spreadsheets: the rows of the first sheet, with the values that formulas have."""

import contextlib
import dataclasses
import itertools
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from anls_eval.errors import short_repr
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.files import PART_OF_XLSX, File
from anls_eval.files.joined import check_zip
from anls_eval.files.source import ABSENT, Block, Source
from anls_eval.files.storage import storage_fault
from anls_eval.files.tables import Rows, blocks_of, checked_header
from anls_eval.limits import raise_limit

_ZEROS = (
    "formulas whose stored value is 0 were read as 0, which some programs store for every formula that they write; "
    "open and save the file in a spreadsheet program to be sure"
)


def open_xlsx(file: File) -> Source:
    """Open the first sheet of a spreadsheet, whose first row names the columns; an empty cell is the empty text."""
    with _unpacked(file) as (stream, archive):
        formulas = _look_at_formulas(archive)
        first, *others = _sheets(stream)
        header = _names(next(first.iter_rows(values_only=True), ()))
        others = _filled(others, header)
        left_out = listed(_title(sheet) for sheet, _ in others)
        if others and not _first_rows(first):
            problem = (
                f"the first sheet, {_title(first)}, is empty, and only the first is read, not {left_out}. "
                "Delete the empty one."
            )
            raise FormatError(file.path, problem)
        names = checked_header(header, file.path)
        _refuse_parts(file, first, names, others)
    if others:
        file.notes[f"only the first sheet, {_title(first)}, is read, not {left_out}"] = None
    if formulas.zeros:
        file.notes[_ZEROS] = None

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        with _unpacked(file) as (stream, _):
            rows = itertools.islice(_rows_of(stream, formulas), 1, None)
            width = len(names)
            filled = ((line, (*row, *[None] * (width - len(row)))) for line, row in rows if set(row) - {None})
            formatted: dict[str, tuple[str, _Formatted]] = {}  # the first of each column
            counts = Counter[str]()
            for block in blocks_of(filled, names, wanted, size, "row", file):
                for name, column in block.columns.items():
                    for row, cell in enumerate(column):
                        if isinstance(cell, _Formatted):
                            formatted.setdefault(name, (block.place(row), cell))
                            counts[name] += 1
                        column[row] = _value(cell, file.path, block, row, name)
                yield block
            file.notes.update(dict.fromkeys(_as_stored(formatted, counts)))

    return Source("xlsx", names, None, read, in_cells=True)


@contextlib.contextmanager
def _unpacked(file: File) -> Iterator[tuple[BinaryIO, zipfile.ZipFile]]:
    """Yield the bytes of a spreadsheet and the archive in them; every fault is a FormatError."""
    try:
        import openpyxl  # noqa: F401 # which has to be installed
    except ImportError:
        raise FormatError(
            file.path, "reading a spreadsheet needs openpyxl: pip install '.[eval]' in the folder of anls"
        ) from None
    with file.open_seekable() as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                check_zip(archive, stream, file.path)
                file.check_expansion(sum(part.file_size for part in archive.infolist()))
                if PART_OF_XLSX not in archive.namelist():
                    raise FormatError(file.path, "a zip file that is no .xlsx. Unpack it, or save it as .xlsx or CSV.")
                yield stream, archive
        except FormatError:
            raise
        except Exception as error:  # a damaged file makes openpyxl raise almost anything
            raise_limit(error)
            reason = str(error) or type(error).__name__
            remedy = "Save it again as .xlsx, or as CSV."
            if isinstance(error, zipfile.BadZipFile):
                remedy = "It is truncated or damaged: write or download it again."
            problem = f"not a readable spreadsheet: {reason}. {remedy}"
            raise FormatError(file.path, storage_fault(error, file.path) or problem) from None


def _sheets(stream: BinaryIO, *, values: bool = True) -> Any:
    """Return the sheets, hidden ones too, with the values of formulas or the formulas themselves."""
    import openpyxl

    with warnings.catch_warnings():  # from openpyxl, about styles and extensions that it ignores
        warnings.simplefilter("ignore")
        sheets = openpyxl.load_workbook(stream, read_only=True, data_only=values).worksheets
    for sheet in sheets:
        sheet.reset_dimensions()  # some programs write wrong ones, and cells would be lost
    return sheets


def _title(sheet: Any) -> str:
    return f"{sheet.title!r}" + (" (hidden)" if sheet.sheet_state != "visible" else "")


# ---------------------------------------------------------------------------------------------------
# Several sheets
# ---------------------------------------------------------------------------------------------------


def _filled(sheets: Iterable[Any], header: list[str]) -> list[tuple[Any, list[str]]]:
    """Return the sheets that hold anything but this header, each with its first row."""
    found = [(sheet, rows, _names(rows[0])) for sheet in sheets if (rows := _first_rows(sheet))]
    return [(sheet, names) for sheet, rows, names in found if len(rows) > 1 or not _are_alike(names, header)]


def _first_rows(sheet: Any) -> list[tuple[Any, ...]]:
    """Return the first two rows with a value, or fewer if there are none."""
    filled = (row for row in sheet.iter_rows(values_only=True) if set(row) - {None})
    return list(itertools.islice(filled, 2))


def _are_alike(names: Sequence[str], others: Sequence[str]) -> bool:
    return sorted(names) == sorted(others)


def _refuse_parts(file: File, first: Any, names: Sequence[str], others: Sequence[tuple[Any, Sequence[str]]]) -> None:
    """Raise a FormatError if another sheet has the columns of the first, as a part or another version of the table."""
    alike = [_title(sheet) for sheet, header in others if _are_alike(names, header)]
    if alike:
        has = "has" if len(alike) == 1 else "have"
        problem = (
            f"only the first sheet, {_title(first)}, would be read, but {listed(alike)} {has} the same columns. Put "
            "all rows into the first sheet, or save each sheet as a file and take them from one folder. Delete sheets "
            "that do not count."
        )
        raise FormatError(file.path, problem)


def _names(header: Sequence[Any]) -> list[str]:
    cells = list(header)
    while cells and cells[-1] is None:
        cells.pop()
    return ["" if cell is None else _unescaped(str(cell)) for cell in cells]


# ---------------------------------------------------------------------------------------------------
# Formulas
# ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Formulas:
    """What the cells of a spreadsheet tell before they are read."""

    need_both: bool  # whether a formula has no value or an empty one, or a cell holds an error such as #N/A
    zeros: bool  # whether a formula has the value 0


_NO_SHEET = re.compile(r"sharedStrings\.xml$|/charts/")
_READ_AT_ONCE = 1 << 20
_LONGEST_CELL = 1 << 20  # bytes; spreadsheet programs allow 32,767 characters
_END_OF_FORMULA = rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f(?:\s[^>]*)?/>)\s*"
_NOT_VALUED = re.compile(_END_OF_FORMULA + rb"(?!\s|<(?:\w+:)?v(?:\s[^>]*)?>[^<])")
_ZERO = re.compile(_END_OF_FORMULA + rb"<(?:\w+:)?v(?:\s[^>]*)?>0</")
_ERRORS = b' t="e"', b" t='e'"


def _look_at_formulas(archive: zipfile.ZipFile) -> _Formulas:
    """Look for formulas in the bytes of all parts, which takes far less time than reading the cells."""
    need_both = zeros = False
    for part in archive.infolist():
        if not part.filename.endswith(".xml") or _NO_SHEET.search(part.filename):
            continue
        for cells in _whole_cells(archive, part):
            if b"f>" in cells or b"<f " in cells or b":f " in cells:
                need_both = need_both or _NOT_VALUED.search(cells) is not None
                zeros = zeros or _ZERO.search(cells) is not None
            need_both = need_both or any(mark in cells for mark in _ERRORS)
    return _Formulas(need_both, zeros)


def _whole_cells(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a part in blocks that end where a cell ends."""
    held = b""
    with archive.open(part) as stream:
        while block := stream.read(_READ_AT_ONCE):
            held = held[-_LONGEST_CELL:] + block
            end = max(held.rfind(b"</c>"), held.rfind(b":c>"))
            if end >= 0:
                yield held[: end + 4]
                held = held[end + 4 :]
    yield held


@dataclasses.dataclass(frozen=True)
class _WithoutValue:
    """A cell that has no value to read: what it holds instead, and the remedy."""

    name: str  # such as "B2"
    text: str
    remedy: str

    def __str__(self) -> str:
        return self.text


_UNKNOWN = (
    "Open the file in a spreadsheet program and save it, which stores the value. If an answer begins with '=', write "
    "it as text, or the table as CSV."
)
_MISTAKEN = "Correct the formula or the cell. If it is the text of an answer, write it as text, or the table as CSV."


def _rows_of(stream: BinaryIO, formulas: _Formulas) -> Rows:
    """Yield the rows of the first sheet, numbered as in the spreadsheet."""
    first = _sheets(stream)[0]
    if not formulas.need_both:
        for line, row in enumerate(first.iter_rows(), 1):
            yield line, tuple(map(_content, row))
        return
    sources = _sheets(stream, values=False)[0]
    for line, (row, own) in enumerate(zip(first.iter_rows(), sources.iter_rows(), strict=True), 1):
        yield line, tuple(map(_cell, row, own))


def _cell(cell: Any, source: Any) -> Any:
    """Return the value of a cell, of which `source` is the formula if it has one."""
    if cell.data_type == "e":
        return _WithoutValue(cell.coordinate, f"the error {cell.value}", _MISTAKEN)
    if source.data_type == "f" and cell.value is None and cell.data_type != "str":  # a text may be empty
        formula = getattr(source.value, "text", source.value)
        return _WithoutValue(cell.coordinate, f"the formula {short_repr(formula)} without its value", _UNKNOWN)
    return _content(cell)


# ---------------------------------------------------------------------------------------------------
# Numbers that are shown in a format
# ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Formatted:
    """A number in a cell that shows it otherwise."""

    number: int | float
    name: str  # of the cell, such as "B2"
    form: str  # such as "0%"

    def __str__(self) -> str:
        return str(self.number)


_PLAIN = frozenset({"General", "@"})
_DIGITS = re.compile(r"(#,##)?0(?:\.(0+))?")


def _content(cell: Any) -> Any:
    """Return the value of a cell, with its format if that shows a number otherwise."""
    value = cell.value
    if type(value) in (int, float) and cell.number_format not in _PLAIN:
        digits = _DIGITS.fullmatch(cell.number_format)
        shown = digits and f"{value:{',' if digits[1] else ''}.{len(digits[2] or '')}f}"
        if shown != str(value):
            return _Formatted(value, cell.coordinate, cell.number_format)
    return value


def _as_stored(cells: Mapping[str, tuple[str, _Formatted]], counts: Mapping[str, int]) -> Iterator[str]:
    """Yield the note on each column with numbers that are shown otherwise, of which `cells` has the first."""
    for name, (place, cell) in cells.items():
        more = f" (and {counts[name] - 1:,} more)" if counts[name] > 1 else ""
        yield (
            f"{place}, column {name}{more}: the cell {cell.name} is read as {cell.number}, as it is stored, and not as "
            f"the format {cell.form!r} shows it. To compare what is shown, write such cells as text"
        )


# ---------------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------------

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # ECMA-376, part 1, 22.9.2.19: what XML cannot hold


def _unescaped(text: str) -> str:
    if "_x" not in text:
        return text
    plain = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if plain != text else text


def _value(cell: Any, path: str, block: Block, row: int, name: str) -> Any:
    """Return the value of a cell of a column that is read."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return _unescaped(cell)
    if isinstance(cell, _Formatted):
        return cell.number
    if isinstance(cell, (int, float)) or cell is ABSENT:
        return cell
    place = f"{block.place(row)}, column {name}"
    if isinstance(cell, _WithoutValue):
        raise FormatError(path, f"the cell {cell.name} holds {cell.text}. {cell.remedy}", place)
    problem = (
        f"the cell holds the date or time {cell} instead of the text that was typed. Format the column as text and "
        "type such cells again, or write the rows as CSV."
    )
    raise FormatError(path, problem, place)
