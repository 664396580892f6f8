"""JSON Lines, read line by line, including the sample logs of lm-eval and lmms-eval."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from anls_eval.errors import short_repr
from anls_eval.files.columns import names_of_role
from anls_eval.files.errors import FormatError, NoRowsError
from anls_eval.files.files import File, lines_of
from anls_eval.files.json_files import is_list_of_rows
from anls_eval.files.json_text import OneFilter, parse, parse_lines, rows_of, unfolded
from anls_eval.files.source import ABSENT, VALUE, Block, Source, by_columns, in_blocks, on_lines

_LOOKED_AT = 100  # rows whose keys are the columns
_LINES_AT_ONCE, _CHARACTERS_AT_ONCE = 1_000, 1 << 20


def open_json_lines(file: File) -> Source:
    """Open a file with one JSON value per line; empty lines are skipped."""
    first = [value for _, value in islice(_each_row(file), _LOOKED_AT)]
    if not first:
        raise NoRowsError(file.path, "the file is empty. Expected a JSON object on each line.")
    _refuse_documents(file, first[0])
    of_objects = isinstance(first[0], dict)
    names = tuple(dict.fromkeys(name for row in first if isinstance(row, dict) for name in unfolded(row)))

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        for block in in_blocks(_rows(file, of_objects), size):
            lines, rows = zip(*block, strict=True)
            columns = by_columns(rows, wanted) if of_objects else {VALUE: list(rows)}
            yield Block(columns, on_lines("line", lines))

    return Source("jsonl", names if of_objects else (VALUE,), None, read, None if of_objects else "values")


def _refuse_documents(file: File, first: Any) -> None:
    """Raise a FormatError if a line is not a row but a document with many, as in JSON files that were joined."""
    key = ".data" if isinstance(first, dict) else "."
    rows: Any = first.get("data") if isinstance(first, dict) else first
    if is_list_of_rows(rows) and not _ROLES.isdisjoint(rows[0]):
        raise FormatError(
            file.path,
            "a list of rows on one line, as in JSON files that were joined. Write each row on a line of its own, as "
            f"jq -c '{key}[]' does, or take the files as they were before, from one folder.",
            "line 1",
        )


_ROLES = names_of_role("prediction") | names_of_role("answers") | {"answer", "paragraphs"}


def _values(file: File) -> Iterator[tuple[int, Any]]:
    for lines in _together(lines_of(file)):
        values: Iterable[Any] | None = parse_lines([line for _, line in lines])
        for (number, _), value in zip(lines, _one_by_one(file, lines) if values is None else values, strict=True):
            yield number, value


def _together(lines: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield groups of non-empty lines; those before an unreadable line are yielded before its error is raised."""
    held: list[tuple[int, str]] = []
    size = 0
    try:
        for number, line in lines:
            if not line.isspace():
                held.append((number, line.rstrip("\r\n")))
                size += len(line)
            if len(held) == _LINES_AT_ONCE or size > _CHARACTERS_AT_ONCE:
                yield held
                held, size = [], 0
    except FormatError:
        yield held
        raise
    yield held


def _one_by_one(file: File, lines: list[tuple[int, str]]) -> Iterator[Any]:
    for number, line in lines:
        try:
            yield parse(line, file.path, number, file.notes)
        except FormatError as error:
            file.refuse_row(f"line {number}", error)
            yield {}


def _rows(file: File, of_objects: bool) -> Iterator[tuple[int, Any]]:
    one_filter = OneFilter(file, lambda: (value for _, value in _values(file)))
    for number, value in _each_row(file):
        if not one_filter.passes(value):
            continue
        if isinstance(value, dict) != of_objects:
            place, expected = f"line {number}", "an object" if of_objects else "a value that is not an object"
            problem = f"{short_repr(value)}, unlike the first line. Expected {expected}."
            file.refuse_row(place, FormatError(file.path, problem, place))
            value = {} if of_objects else ABSENT
        yield number, unfolded(value) if of_objects else value
    one_filter.finish()


def _each_row(file: File) -> Iterator[tuple[int, Any]]:
    for number, value in _values(file):
        for row in rows_of(value):
            yield number, row
