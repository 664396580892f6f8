"""CSV and TSV, whose cells are text, and what spreadsheets share with them: a header, and rows of cells."""

import csv
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from anls_eval.errors import short_repr
from anls_eval.files.errors import FormatError, check_names
from anls_eval.files.files import File, lines_of
from anls_eval.files.source import ABSENT, Block, Source, in_blocks, on_lines
from anls_eval.json_faults import NUL

Rows = Iterator[tuple[int, Sequence[Any]]]
"""The number of the line that a row ends on, and its fields."""


def open_csv(file: File, usual: str, others: str) -> Source:
    """Open a table of text whose first line names the columns; types are not guessed, and empty lines are skipped."""
    delimiter, skipped = _separator(file, usual, others)
    header = next(_text_rows(file, delimiter, skipped), None)
    names = checked_header(header[1] if header else [], file.path)

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        rows = _text_rows(file, delimiter, skipped)
        next(rows, None)
        return blocks_of(_of_width(rows, len(names), delimiter, file), names, wanted, size, "line", file)

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


_NEVER_CLOSED = "unexpected end"
_FAULTS = {
    "new-line character": "a carriage return (\\r) in a field without quotes. Quote the field, or remove it.",
    _NEVER_CLOSED: "the file ends within a quoted field of this row. It was truncated, or a quote is not doubled.",
    "expected after": "text after a closing quote. Quote a field that contains quotes, and double the quotes inside.",
}
"""What is wrong with a row of CSV, by what the message of the csv module contains."""


def _text_rows(file: File, delimiter: str, skipped: int = 0) -> Rows:
    # The limit is one for the whole process; the pictures in VLMEvalKit's tables are over the usual one.
    csv.field_size_limit(max(csv.field_size_limit(), min(sys.maxsize, 2**31 - 1)))
    first = skipped + 1  # line of the row

    def lines() -> Iterator[str]:
        for number, line in itertools.islice(lines_of(file, with_marks=True), skipped, None):
            if "\0" in line:  # what a power loss can leave of a file, too
                raise FormatError(file.path, f"{NUL}. Write the file again, or remove it.", f"line {number}")
            yield line.lstrip("\ufeff") if number == first else line  # in a row, it is part of a text

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num + skipped, row
            first = reader.line_num + skipped + 1
    except csv.Error as error:
        told = next((words for known, words in _FAULTS.items() if known in str(error)), f"{error}.")
        line = first if _NEVER_CLOSED in str(error) else reader.line_num + skipped
        raise FormatError(file.path, f"not a row of a table: {told}", f"line {line}") from None


def _of_width(rows: Rows, width: int, delimiter: str, file: File) -> Rows:
    """Refuse rows that are wider or narrower than the header, and note those that seem to be several."""
    before, places = 1, []
    for number, (line, row) in enumerate(rows):
        if line > before + 1 and _are_rows(delimiter.join(row), delimiter, width):
            places.append(line)
        before = line
        if len(row) != width:
            place = f"line {line}"
            hint = "If the file ends here, it was truncated."
            if number == 0 and len(row) == width + 1:
                hint = "If each row begins with its name, write the table without these (in R: row.names = FALSE)."
            problem = (
                f"{len(row)} fields where the header has {width}: {short_repr(list(row))}. Quote fields that contain "
                f"the separator or line ends. {hint}"
            )
            file.refuse_row(place, FormatError(file.path, problem, place))
            row = [ABSENT] * width
        yield line, row
    if places:
        more = f" (and {len(places) - 1:,} more)" if len(places) > 1 else ""
        file.notes[
            f"line {places[0]}{more} ends a row of several lines, each with as many fields as the header. If these are "
            "rows, a quote at the start of a cell joined them: quote such a cell, and double the quotes in it"
        ] = None


def _are_rows(text: str, delimiter: str, width: int) -> bool:
    """Return whether each of several lines has as many fields as a row, if quotes mean nothing."""
    lines = _LINE_END.split(text)
    return len(lines) > 1 < width and all(own.count(delimiter) == width - 1 for own in lines)


_LINE_END = re.compile(r"\r\n|\r|\n")


def checked_header(header: Sequence[Any], path: str) -> tuple[str, ...]:
    """Return the names of the columns, or raise a FormatError if there are none or two are alike."""
    names = tuple("" if name is None else str(name) for name in header)
    if not any(names):
        raise FormatError(path, "the table is empty. Expected a first row that names the columns.")
    check_names(names, path, "line 1")
    return names


def blocks_of(
    rows: Rows, names: tuple[str, ...], wanted: Sequence[str], size: int, word: str, file: File
) -> Iterator[Block]:
    """Yield the wanted columns of rows; `word` is that for a line in messages. A header among the rows is refused."""
    first_of = {name: at for at, name in reversed([*enumerate(names)])}  # several may have no name
    positions = [first_of[name] for name in wanted]
    headers = set(filter(None, names))
    first = ""  # place of a name in a table with one column
    for block in in_blocks(rows, size):
        lines, fields = zip(*block, strict=True)
        columns = {name: [row[at] for row in fields] for name, at in zip(wanted, positions, strict=True)}
        if not headers.isdisjoint(columns[wanted[0]]):  # of one column, which takes no time
            for row in (row for row, cells in enumerate(fields) if _is_header(cells, names)):
                place = f"{word} {lines[row]}"
                if len(names) == 1:  # where it may be a value
                    first = first or place
                    continue
                file.refuse_row(place, FormatError(file.path, _REPEATED, place))
                for column in columns.values():
                    column[row] = ABSENT
        if first:
            file.notes[f"{first} is {names[0]!r}, the name of the only column, which was read as a value"] = None
        yield Block(columns, on_lines(word, lines))


_REPEATED = (
    "the header is repeated, as in files that were joined. Remove it here, or take the files as they were before, from "
    "one folder."
)


def _is_header(cells: Sequence[Any], names: Sequence[str]) -> bool:
    """Return whether the cells of a row are the names of the columns, in any order."""
    texts = ["" if cell is None else str(cell) for cell in cells]
    return sorted(texts[: len(names)]) == sorted(names) and not any(texts[len(names) :])
