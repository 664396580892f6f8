"""Columns as people pass them: lists, NumPy arrays, pandas Series, Arrow columns."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, cast

import numpy as np
import pyarrow as pa

from anls_eval.arrow import arrow_type, as_array, as_list, has_no_gap, text_array, text_list_array
from anls_eval.inputs.values import Where, describe_value, to_answers, to_text


def prediction_texts(values: list[Any], where: Where) -> pa.LargeStringArray:
    """The texts, null where there is none; raises UnicodeEncodeError for a lone surrogate, which Arrow cannot hold."""
    try:
        return text_array(values)
    except TypeError:  # not all are texts: look at each
        return text_array(each_prediction(values, where))


def answer_texts(values: list[Any], where: Where) -> pa.LargeListArray:
    """The lists of answers, none of them empty; raises UnicodeEncodeError as above."""
    # A bare string would be taken as a list of characters.
    if operator.countOf(map(type, values), list) == len(values) or set(map(type, values)) <= {list, tuple}:
        with contextlib.suppress(TypeError):
            answers = text_list_array(values)
            if has_no_gap(answers):
                return answers
    return text_list_array(each_answers(values, where))


def each_prediction(values: list[Any], where: Where) -> list[str | None]:
    """Return the text of each prediction, read one by one."""
    return [to_text(value, where(row), "one string for each question") for row, value in enumerate(values)]


def each_answers(values: list[Any], where: Where) -> list[list[str]]:
    """Return the accepted answers of each question, read one by one."""
    return [to_answers(value, where(row)) for row, value in enumerate(values)]


def read_column(values: Any, name: str, wanted: pa.DataType | None = None) -> list[Any] | pa.Array | pa.ChunkedArray:
    """A column as a list, or as it is if it is an Arrow column of the wanted type."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values if wanted is not None and arrow_type(values.type) == wanted else values.to_pylist()
    if isinstance(values, list):
        return values
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        return cast(list[Any], values.to_pylist())
    if hasattr(values, "to_dicts"):  # a DataFrame of polars or of pandas, whose iteration gives column names
        return cast(list[Any], values.to_dicts())
    if hasattr(values, "columns") and hasattr(values, "to_dict"):
        return cast(list[Any], values.to_dict("records"))
    has_items = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set))
    if not has_items or (isinstance(values, np.ndarray) and not values.ndim):
        raise ValueError(
            f"{name} is {describe_value(values)}; expected a list or column with one item for each question."
        )
    if getattr(values, "dtype", None) in (np.float16, np.float32):
        return list(np.asarray(values))  # NumPy writes 0.1 where tolist gives 0.10000000149011612
    return list(values.tolist() if hasattr(values, "tolist") else values)


def read_block(predictions: Any, answers: Any, start: int) -> tuple[Any, Any]:
    """A block as two Arrow arrays, or as two lists if some text holds a lone surrogate, which Arrow cannot."""

    def row_of(side: str) -> Where:
        return lambda row: f"{side}[{start + row}]"

    if not isinstance(predictions, list):
        predictions = as_array(predictions)
    if not isinstance(answers, list):
        answers = as_array(answers)
        answers = answers if has_no_gap(answers) else answers.to_pylist()  # to be refused with the row's number
    try:
        return (
            prediction_texts(predictions, row_of("predictions")) if isinstance(predictions, list) else predictions,
            answer_texts(answers, row_of("answers")) if isinstance(answers, list) else answers,
        )
    except UnicodeEncodeError:
        listed = as_list(predictions), as_list(answers)
        return each_prediction(listed[0], row_of("predictions")), each_answers(listed[1], row_of("answers"))


def check_same_length(predictions: Sequence[Any], answers: Sequence[Any], name: str) -> None:
    """Raise a ValueError unless both sides have the same number of rows."""
    n = len(predictions)
    if n == len(answers):
        return
    hint = ""
    if n and len(answers) and all(isinstance(own, (list, tuple)) and len(own) == n for own in answers):
        hint = f" {name} seem to be one list for each set of references: turn them with list(zip(*{name}))."
    raise ValueError(
        f"{n} predictions but {len(answers)} {name}; expected one list of accepted answers for each prediction.{hint}"
    )
