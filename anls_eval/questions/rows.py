"""Read rows of predictions and references, with or without a question_id, into stored columns."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from anls_eval.arrow import as_list
from anls_eval.errors import short_repr
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.inputs.values import Where, describe_value, number_text
from anls_eval.questions.columns import Side, stored_answers, stored_ids, stored_texts, stored_trees
from anls_eval.rules.protocol import Protocol


def read_batch(predictions: Any, references: Any, rules: Protocol) -> dict[str, Side]:
    """Read and check a batch; without ids, both sides must have the same length."""
    if rules.tree:
        (prediction_ids, texts), (reference_ids, answers) = _read_trees(predictions, references)
    else:
        prediction_ids, texts = _read_rows(predictions, "predictions", "prediction_text")
        reference_ids, answers = _read_rows(references, "references", "answers")
    is_bare = {"predictions": None in prediction_ids[:1], "references": None in reference_ids[:1]}
    bare, other = sorted(is_bare, key=is_bare.__getitem__, reverse=True)
    if texts and answers and is_bare[bare] and not is_bare[other]:
        raise ValueError(
            f"{other} have question_ids and {bare} have none; either both need question_ids or neither does."
        )
    if is_bare[bare]:
        check_same_length(texts, answers, "references")
    prediction_name = _row_name("predictions", "prediction_text", prediction_ids)
    reference_name = _row_name("references", "answers", reference_ids)
    if rules.tree:
        text_column = stored_trees(texts, "prediction", prediction_name, rules)
        answer_column = stored_trees(answers, "reference", reference_name, rules)
    else:
        text_column, answer_column = stored_texts(texts, prediction_name), stored_answers(answers, reference_name)
    return {
        "predictions": Side(stored_ids(prediction_ids), text_column),
        "references": Side(stored_ids(reference_ids), answer_column),
    }


def _row_name(side: str, key: str, ids: list[str | None]) -> Where:
    def name(row: int) -> str:
        return f"{side}[{row}]" if ids[row] is None else f"{side}[{row}] (question_id {ids[row]!r}): {key!r}"

    return name


def _read_trees(predictions: Any, references: Any) -> Iterator[tuple[list[str | None], list[Any]]]:
    """Yield the ids and trees of both sides. A dict with a question_id is a row, other dicts are trees.

    Dicts without ids are rows only if all on both sides have just the key of a row. A list of answers in a row holds
    alternatives, while a bare list is one tree.
    """
    sides = ("predictions", "prediction_text", predictions), ("references", "answers", references)
    given = [(side, key, [] if rows is None else as_list(read_column(rows, side))) for side, key, rows in sides]
    are_rows = all(isinstance(row, Mapping) and set(row) == {key} for _, key, rows in given for row in rows)
    for side, key, rows in given:
        if are_rows or any(map(is_row, rows)):
            ids, values = _read_rows(rows, side, key, is_tree=True)
            yield ids, [tuple(value) if key == "answers" and isinstance(value, list) else value for value in values]
        else:
            yield [None] * len(rows), rows


def is_row(value: Any) -> bool:
    """Return whether a value is a row with a question_id."""
    return isinstance(value, Mapping) and "question_id" in value


def _read_rows(rows: Any, side: str, key: str, is_tree: bool = False) -> tuple[list[str | None], list[Any]]:
    """Split rows into question_ids and values; bare values have no ids."""
    if rows is None:
        return [], []
    listed = as_list(read_column(rows, side))
    try:
        ids, values = [row["question_id"] for row in listed], [row[key] for row in listed]
    except (KeyError, TypeError, IndexError):
        ids, values = _read_unusual_rows(listed, side, key, is_tree)
    if not set(map(type, ids)) <= {str}:
        ids = [None if id_ is _NO_ID else _id_text(id_, f"{side}[{row}]") for row, id_ in enumerate(ids)]
    return ids, values


_NO_ID = object()


def _read_unusual_rows(rows: list[Any], side: str, key: str, is_tree: bool) -> tuple[list[Any], list[Any]]:
    """Read bare values or rows without ids; raise a ValueError for a row that is neither."""

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
