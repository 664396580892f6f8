"""Read the values of columns: ids as exact text, and answers as lists."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import as_list, is_text
from anls_eval.errors import short_repr
from anls_eval.files.errors import FormatError
from anls_eval.files.source import ABSENT, Column
from anls_eval.structure import SQUAD_KEYS, without_squad_form

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


def answer_lists(column: Column) -> Column:
    """Return the accepted answers, unwrapped from SQuAD's form."""
    if isinstance(column, pa.Array):
        kind = column.type
        if pa.types.is_struct(kind) and {field.name for field in kind} == SQUAD_KEYS:
            return answer_lists(pc.struct_field(column, "text"))
        column = text_or_list(column)
    return column if isinstance(column, pa.Array) else list(map(without_squad_form, column))


def due_predictions(column: Column) -> list[Any]:
    """Return the value that each annotation of DUE has as a prediction; None if it has none, a list if several."""
    values = [[own.get("value") for own in _due_values(annotation)] for annotation in as_list(column)]
    return [own[0] if len(own) == 1 else own or None for own in values]


def due_answers(column: Column) -> list[list[Any]]:
    """Return the values of each annotation of DUE with their variants."""
    found = [[text for own in _due_values(annotation) for text in _variants(own)] for annotation in as_list(column)]
    return [list(dict.fromkeys(own)) for own in found]


def _due_values(annotation: Any) -> list[dict[str, Any]]:
    return [own for own in annotation if isinstance(own, dict)] if isinstance(annotation, list) else []


def _variants(value: dict[str, Any]) -> list[Any]:
    variants = value.get("value_variants")
    found = [value.get("value"), *(variants if isinstance(variants, list) else [])]
    return [own for own in found if isinstance(own, (str, int, float))]


def text_or_list(column: pa.Array) -> Column:
    """Return an Arrow array of texts or lists of texts unchanged, and any other as a Python list."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return column if is_text(kind) else column.to_pylist()


def with_more(answers: Column, more: Column, answer_types: Column | None) -> list[Any]:
    """Append the further accepted answers to each list of answers, unless the answer itself is a list."""
    kinds = [None] * len(answers) if answer_types is None else as_list(answer_types)

    def joined(first: Any, further: Any, kind: Any) -> Any:
        is_one_list = isinstance(kind, str) and kind.startswith("list")
        are_lists = isinstance(first, list) and isinstance(further, list)
        return [*first, *further] if are_lists and not is_one_list else first

    return list(map(joined, as_list(answers), as_list(more), kinds))
