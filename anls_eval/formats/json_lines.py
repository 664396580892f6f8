"""JSON Lines: one JSON value a line, read as it is needed; the sample logs of lm-eval and lmms-eval among them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from anls_eval.formats.errors import FormatError, shown
from anls_eval.formats.files import File, lines_of
from anls_eval.formats.json_text import parse
from anls_eval.formats.samples import unfolded
from anls_eval.formats.source import ABSENT, VALUE, Block, Source, by_columns, in_blocks, on_lines

_LOOKED_AT = 100  # rows whose keys are taken as the columns


def open_json_lines(file: File) -> Source:
    """Open a file of one JSON value a line. Blank lines are skipped.

    Raises:
        FormatError: The first lines are not JSON, or there are none.
    """
    first = [value for _, value in islice(_values(file), _LOOKED_AT)]
    if not first:
        raise FormatError(file.path, "", "the file is empty. Expected a JSON object on each line.")
    of_objects = isinstance(first[0], dict)
    names = tuple(dict.fromkeys(name for row in first if isinstance(row, dict) for name in unfolded(row)))

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        for block in in_blocks(_rows(file, of_objects), size):
            lines, rows = zip(*block, strict=True)
            columns = by_columns(rows, wanted) if of_objects else {VALUE: list(rows)}
            yield Block(columns, on_lines("line", lines))

    return Source("jsonl", names if of_objects else (VALUE,), None, read, None if of_objects else "values")


def _values(file: File) -> Iterator[tuple[int, Any]]:
    for number, line in lines_of(file):
        if not line.isspace():
            try:
                value = parse(line.rstrip("\r\n"), file.path, number)
            except FormatError as error:
                file.refuse_row(f"line {number}", error)
                value = {}
            yield number, value


def _rows(file: File, of_objects: bool) -> Iterator[tuple[int, Any]]:
    for number, value in _values(file):
        if isinstance(value, dict) != of_objects:
            place, expected = f"line {number}", "an object" if of_objects else "no object"
            problem = f"{shown(value)}, unlike the first line. Expected {expected}."
            file.refuse_row(place, FormatError(file.path, place, problem))
            value = {} if of_objects else ABSENT
        yield number, unfolded(value) if of_objects else value
