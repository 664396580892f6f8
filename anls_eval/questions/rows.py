"""Read rows of predictions and references, with or without a question_id, into stored columns."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from anls_eval.arrow import as_list
from anls_eval.errors import short_repr
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.inputs.values import describe_value, number_text
from anls_eval.questions.columns import Side, stored_ids, stored_texts, stored_trees
from anls_eval.questions.pairing import check_same_ids
from anls_eval.rules.protocol import Protocol


def read_batch(predictions: Any, references: Any, rules: Protocol) -> dict[str, Side]:
    """Read and check a batch; without ids, both sides must have the same length."""
    given = {"predictions": predictions, "references": references}
    rows = {side: [] if own is None else as_list(read_column(own, side)) for side, own in given.items()}
    read = _read_trees(rows) if rules.tree else {side: _read_rows(own, side) for side, own in rows.items()}
    (prediction_ids, texts), (reference_ids, answers) = read.values()
    if texts and answers:
        check_same_ids(prediction_ids[0] is None, reference_ids[0] is None)
    if None in prediction_ids[:1] + reference_ids[:1]:
        check_same_length(texts, answers, "references")

    def stored(side: str, ids: list[str | None], values: list[Any]) -> pa.Array:
        def where(row: int) -> str:
            return f"{side}[{row}]" + ("" if ids[row] is None else f" (question_id {ids[row]!r}): {_KEYS[side]!r}")

        if rules.tree:
            return stored_trees(values, side, where, rules)
        return stored_texts(values, where, side)

    values = {side: stored(side, ids, own) for side, (ids, own) in read.items()}
    own_ids = stored_ids(prediction_ids)
    other_ids = own_ids if reference_ids == prediction_ids else stored_ids(reference_ids)  # mostly the same
    return {
        "predictions": Side(own_ids, values["predictions"]),
        "references": Side(other_ids, values["references"]),
    }


_KEYS = {"predictions": "prediction_text", "references": "answers"}  # of the values in rows


def _read_trees(rows: dict[str, list[Any]]) -> dict[str, tuple[list[str | None], list[Any]]]:
    """Return the ids and trees of both sides; a dict with a question_id is a row, other dicts are trees."""
    # Dicts without ids are rows only if all on both sides have just the key of a row.
    are_rows = all(isinstance(row, Mapping) and set(row) == {_KEYS[side]} for side in rows for row in rows[side])
    read: dict[str, tuple[list[str | None], list[Any]]] = {}
    for side, own in rows.items():
        if not (are_rows or any(map(is_row, own))):
            read[side] = [None] * len(own), own
            continue
        ids, values = _read_rows(own, side, is_tree=True)
        if side == "references":  # a list of answers in a row holds alternatives, while a bare list is one tree
            values = [tuple(value) if isinstance(value, list) else value for value in values]
        read[side] = ids, values
    return read


def is_row(value: Any) -> bool:
    """Return whether a value is a row with a question_id."""
    return isinstance(value, Mapping) and "question_id" in value


def _read_rows(rows: list[Any], side: str, is_tree: bool = False) -> tuple[list[str | None], list[Any]]:
    """Split rows into question_ids and values; bare values have no ids."""
    key = _KEYS[side]
    try:
        ids, values = [row["question_id"] for row in rows], [row[key] for row in rows]
    except (KeyError, TypeError, IndexError):
        ids, values = _read_unusual_rows(rows, side, key, is_tree)
    if operator.countOf(map(type, ids), str) < len(ids):
        ids = [None if id_ is _NO_ID else _id_text(id_, f"{side}[{row}]") for row, id_ in enumerate(ids)]
    return ids, values


_NO_ID = object()


def _read_unusual_rows(rows: list[Any], side: str, key: str, is_tree: bool) -> tuple[list[Any], list[Any]]:
    """Read bare values or rows without ids; raise a ValueError for a row that is neither."""
    if not any(issubclass(kind, Mapping) for kind in set(map(type, rows))):
        return [_NO_ID] * len(rows), rows

    def is_wrapped(row: Any) -> bool:  # in contrast to answers in SQuAD's form
        return isinstance(row, Mapping) and (key in row or not (side == "references" and "text" in row))

    wrapped = list(map(is_wrapped, rows))
    if not any(wrapped):
        return [_NO_ID] * len(rows), rows
    expected = f"{{'question_id': ..., {key!r}: ...}}"
    with_id = [in_row and "question_id" in row for row, in_row in zip(rows, wrapped, strict=True)]
    kinds = list(zip(wrapped, with_id, strict=True))
    for number, row in enumerate(rows):
        if kinds[number] != kinds[0]:
            where = f"{side}[{number}] is {describe_value(row)}, unlike {side}[0]"
            raise ValueError(f"{where}; expected all rows in one form, {expected}.")
    for number, row in enumerate(rows):
        if key not in row or (not with_id[number] and len(row) > 1):
            remedy = "Rename its keys."
            if is_tree and with_id[number]:
                row_of_tree = f'{{"question_id": 1, "{key}": {{...}}}}'
                remedy += f" A tree that has its own question_id goes in a row: {row_of_tree}."
            raise ValueError(f"{side}[{number}] is {describe_value(row)}; expected {expected}. {remedy}")
    return [row.get("question_id", _NO_ID) for row in rows], [row[key] for row in rows]


def _id_text(value: object, where: str) -> str:
    """Return an id as text: 17 and "17" are one id, "017" is another."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return number_text(int(value), f"the question_id of {where}")
    raise ValueError(f"{where} has the question_id {short_repr(value)}; expected a string or an integer.")
