"""Read the values of columns: ids as exact text, and answers as lists, also from the text of a list in a cell."""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import as_list, is_text
from anls_eval.errors import short_repr
from anls_eval.files.errors import FormatError
from anls_eval.files.source import ABSENT, Column

_SQUAD = {"text", "answer_start"}

Place = Callable[[int], str]


def id_texts(column: Column, path: str, place: Place, in_cells: bool) -> Any:
    """Return the ids as a list or large_string array: 17 and "17" are one id, "017" is another."""
    if isinstance(column, pa.Array):
        if not column.null_count and (is_text(column.type) or pa.types.is_integer(column.type)):
            column = column.cast(pa.large_string())
            if pc.min(pc.binary_length(column)).as_py():  # no id is empty
                return column
        column = column.to_pylist()
    kinds = set(map(type, column))
    if kinds == {int}:
        return list(map(str, column))
    if kinds == {str} and "" not in column:
        return column
    return [_id_text(value, path, place(row), in_cells) for row, value in enumerate(column)]


def _id_text(value: Any, path: str, place: str, in_cells: bool) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and in_cells and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if value is None or value is ABSENT or value == "":
        problem = "the row has no question id. Fill it in, or remove the row."
    elif isinstance(value, float):
        problem = f"the question id {value!r} is a floating-point number, which can lose digits. Write ids as text."
    else:
        problem = f"the question id is {short_repr(value)}; expected text or an integer."
    raise FormatError(path, problem, place)


def present(column: Column, name: str, what: str, path: str, place: Place) -> Column:
    """Return a column, or raise a FormatError if a row does not have it."""
    if isinstance(column, list) and ABSENT in column:
        row = column.index(ABSENT)
        remedy = 'Write "" where no answer was given.' if what == "prediction" else "Add them, or remove the row."
        raise FormatError(path, f"{name!r}, which holds the {what} in other rows, is missing. {remedy}", place(row))
    return column


def answer_lists(column: Column, in_cells: bool) -> Column:
    """Return the accepted answers, unwrapped from SQuAD's form and, in cells, parsed from the text of a list."""
    if isinstance(column, pa.Array):
        kind = column.type
        if pa.types.is_struct(kind) and {field.name for field in kind} == _SQUAD:
            return answer_lists(pc.struct_field(column, "text"), in_cells)
        column = column.to_pylist() if in_cells else text_or_list(column)
    if isinstance(column, pa.Array):
        return column
    if in_cells:
        return [list_in_text(value) if isinstance(value, str) else value for value in column]
    return [_without_squad_form(value) for value in column]


def text_or_list(column: pa.Array) -> Column:
    """Return an Arrow array of texts or lists of texts unchanged, and any other as a Python list."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return column if is_text(kind) else column.to_pylist()


def _without_squad_form(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == _SQUAD:
        return value["text"]
    if isinstance(value, list) and value and all(isinstance(item, dict) and item.keys() >= _SQUAD for item in value):
        return [item["text"] for item in value]
    return value


_LONGEST_LIST = 1_000_000  # characters; a longer text is one answer
# A string as Python's repr writes it; evaluating it can neither fail nor warn.
_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4})"
_STRING = rf"'(?:[^'\\\n\r\0]|{_ESCAPE})*'|\"(?:[^\"\\\n\r\0]|{_ESCAPE})*\""
_LIST = re.compile(rf"\[\s*(?:(?:{_STRING})(?:\s*,\s*|\s+|\s*(?=\])))*\]")


def list_in_text(text: str) -> str | list[str]:
    """Return the list of strings that a text contains as JSON, Python or NumPy writes it; otherwise the text."""
    bare = text.strip()
    if not (bare.startswith("[") and bare.endswith("]")) or len(bare) > _LONGEST_LIST:
        return text
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        # A lone surrogate, which Python's parser cannot encode, is the same written as an escape.
        bare = bare.encode("utf-8", "backslashreplace").decode()
        return [ast.literal_eval(item) for item in re.findall(_STRING, bare)] if _LIST.fullmatch(bare) else text
    return value if all(isinstance(item, str) for item in value) else text


def with_more(answers: Column, more: Column, answer_types: Column | None) -> list[Any]:
    """Append the further accepted answers to each list of answers, unless the answer itself is a list."""
    kinds = [None] * len(answers) if answer_types is None else as_list(answer_types)

    def joined(first: Any, further: Any, kind: Any) -> Any:
        is_one_list = isinstance(kind, str) and kind.startswith("list")
        are_lists = isinstance(first, list) and isinstance(further, list)
        return [*first, *further] if are_lists and not is_one_list else first

    return list(map(joined, as_list(answers), as_list(more), kinds))
