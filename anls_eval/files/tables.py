"""CSV and TSV, whose cells are text, and spreadsheets."""

import csv
import itertools
import operator
import re
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from anls_eval.errors import short_repr
from anls_eval.files.errors import FormatError, check_names
from anls_eval.files.files import File, lines_of
from anls_eval.files.joined import check_zip
from anls_eval.files.source import ABSENT, Block, Source, in_blocks, on_lines
from anls_eval.limits import raise_limit

_Rows = Iterator[tuple[int, Sequence[Any]]]  # the number of the line that a row ends on, and its fields


def open_csv(file: File, usual: str, others: str) -> Source:
    """Open a table of text whose first line names the columns; types are not guessed, and empty lines are skipped."""
    delimiter, skipped = _separator(file, usual, others)
    header = next(_text_rows(file, delimiter, skipped), None)
    names = _checked_header(header[1] if header else [], file.path)

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        rows = _text_rows(file, delimiter, skipped)
        next(rows)
        return _blocks(_of_width(rows, len(names), file), names, wanted, size, "line")

    return Source("tsv" if delimiter == "\t" else "csv", names, None, read, in_cells=True)


def _separator(file: File, usual: str, others: str) -> tuple[str, int]:
    """Return what separates the cells, the usual character if the header has it, and how many lines to skip."""
    first = next((line for _, line in lines_of(file) if not line.isspace()), "")
    named = _SEPARATOR_LINE.fullmatch(first.strip("\r\n"))  # as Excel writes and reads it
    if named:
        return file.how.separator or named[1], 1
    skipped = int(first.startswith(_TYPE_LINE))
    if file.how.separator is not None:
        return file.how.separator, skipped
    if skipped:
        first = next((line for _, line in itertools.islice(lines_of(file), 1, None) if not line.isspace()), "")
    plain = _QUOTED.sub("", first)
    return usual if usual in plain else max((usual, *others), key=plain.count), skipped


_TYPE_LINE = "#TYPE System."  # the first line that PowerShell's Export-Csv writes up to version 5
_SEPARATOR_LINE = re.compile(r"(?i)sep=(.)")
_QUOTED = re.compile(r'"[^"]*"')


def _text_rows(file: File, delimiter: str, skipped: int = 0) -> _Rows:
    # The limit is one for the whole process; the pictures in VLMEvalKit's tables are over the usual one.
    csv.field_size_limit(max(csv.field_size_limit(), min(sys.maxsize, 2**31 - 1)))
    lines = itertools.islice(map(operator.itemgetter(1), lines_of(file)), skipped, None)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num + skipped, row
    except csv.Error as error:
        raise FormatError(
            file.path,
            f"not a row of a table: {error}. Quote a field that contains quotes, and double the quotes inside. If the "
            "file ends here, it was truncated.",
            f"line {reader.line_num + skipped}",
        ) from None


def _of_width(rows: _Rows, width: int, file: File) -> _Rows:
    for line, row in rows:
        if len(row) != width:
            place = f"line {line}"
            problem = (
                f"{len(row)} fields where the header has {width}: {short_repr(list(row))}. Quote fields that contain "
                "the separator or line ends. If the file ends here, it was truncated."
            )
            file.refuse_row(place, FormatError(file.path, problem, place))
            row = [ABSENT] * width
        yield line, row


def _checked_header(header: Sequence[Any], path: str) -> tuple[str, ...]:
    names = tuple("" if name is None else str(name) for name in header)
    if not any(names):
        raise FormatError(path, "the table is empty. Expected a first row that names the columns.")
    check_names(names, path, "line 1")
    return names


def _blocks(rows: _Rows, names: tuple[str, ...], wanted: Sequence[str], size: int, word: str) -> Iterator[Block]:
    first_of = {name: at for at, name in reversed([*enumerate(names)])}  # several may have no name
    positions = [first_of[name] for name in wanted]
    for block in in_blocks(rows, size):
        lines, fields = zip(*block, strict=True)
        columns = {name: [row[at] for row in fields] for name, at in zip(wanted, positions, strict=True)}
        yield Block(columns, on_lines(word, lines))


def open_xlsx(file: File) -> Source:
    """Open the first sheet of a spreadsheet, whose first row names the columns; an empty cell is the empty text."""
    # A formula is read as its text: programs that write tables turn an answer such as =1+1 into one, without a value.
    header = [cell for _, row in itertools.islice(_sheet_rows(file), 1) for cell in row]
    while header and header[-1] is None:
        header.pop()
    header = [_unescaped(cell) if isinstance(cell, str) else cell for cell in header]
    names = _checked_header(header, file.path)

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        rows = _sheet_rows(file)
        next(rows)
        width = len(names)
        filled = ((line, (*row, *[None] * (width - len(row)))) for line, row in rows if set(row) - {None})
        for block in _blocks(filled, names, wanted, size, "row"):
            for name, column in block.columns.items():
                for row, cell in enumerate(column):
                    column[row] = _cell(cell, file.path, f"{block.place(row)}, column {name}")
            yield block

    return Source("xlsx", names, None, read, in_cells=True)


def _sheet_rows(file: File) -> _Rows:
    """Yield the rows of the first sheet, numbered as in the spreadsheet."""
    try:
        import openpyxl
    except ImportError:
        raise FormatError(
            file.path, "reading a spreadsheet needs openpyxl: pip install '.[eval]' in the folder of anls"
        ) from None
    with file.open_seekable() as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                check_zip(archive, stream, file.path)
                size = sum(part.file_size for part in archive.infolist())
            file.check_expansion(size)
            with warnings.catch_warnings():  # from openpyxl, about styles and extensions that it ignores
                warnings.simplefilter("ignore")
                sheet = openpyxl.load_workbook(stream, read_only=True).worksheets[0]
            sheet.reset_dimensions()  # some programs write wrong ones, and cells would be lost
            yield from enumerate(sheet.iter_rows(values_only=True), 1)
        except FormatError:
            raise
        except Exception as error:  # a damaged file makes openpyxl raise almost anything
            raise_limit(error)
            reason = str(error) or type(error).__name__
            raise FormatError(
                file.path, f"not a readable spreadsheet: {reason}. Save it again as .xlsx, or as CSV."
            ) from None


_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # ECMA-376, part 1, 22.9.2.19: what XML cannot hold


def _unescaped(text: str) -> str:
    plain = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if plain != text else text


def _cell(value: Any, path: str, place: str) -> Any:
    if value is None:
        return ""
    if isinstance(value, str):
        return _unescaped(value) if "_x" in value else value
    if isinstance(value, (int, float)):
        return value
    raise FormatError(
        path,
        f"the cell holds {short_repr(value)} instead of the text that was typed. Format the column as text.",
        place,
    )
